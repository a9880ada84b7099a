import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

/// One transaction of the log as lines `update Task/p1 title,done before title="Milk"`.
func log(_ store: TestStore, after number: Int64 = 0) throws -> [[String]] {
  try store.snapshot { snapshot in
    let transactions = try snapshot.log.transactions(
      after: number,
      through: snapshot.head.number,
      limit: 1000
    )
    return transactions.map { transaction in
      ["\(transaction.author ?? "nobody")"]
        + transaction.changes.map { line($0, snapshot) }
    }
  }
}

private func line(_ change: HistoryChange, _ snapshot: StoreSnapshot) -> String {
  let name = "\(snapshot.model.entity(change.key.entity).name)/p\(change.key.object)"
  var words = [change.kind.rawValue, name]
  if change.kind == .update { words.append(change.properties.sorted().joined(separator: ",")) }
  if change.kind != .insert, !change.before.isEmpty {
    words.append("before")
    words += change.before.map { "\($0.property)=\($0.value.text)" }.sorted()
  }
  for (sign, pairs) in [("+", change.linked), ("-", change.unlinked)] {
    for (property, keys) in pairs.sorted(by: { $0.key < $1.key }) {
      words += keys.sorted().map { "\(sign)\(property):p\($0.object)" }
    }
  }
  return words.joined(separator: " ")
}

@Suite struct `Changes by an external SQLite client` {
  private let store: TestStore

  /// Tasks 1 and 2 in group 1, at version 1; the log has one transaction.
  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"Home"}},
        {"id":"Task/t1","values":{"title":"Milk","priority":1,"group":"Group/t1"}},
        {"id":"Task/t2","values":{"title":"Bread","group":"Group/t1"}},
        {"id":"Label/t1"}]}
      """
    )
  }

  /// Runs SQL, seals, and expects one external transaction with these changes, in any order.
  private func check(
    _ sql: String,
    _ changes: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try store.snapshot { $0.head.number }
    try store.foreign(sql)
    let number = try await store.seal()
    #expect(number == before + 1, sourceLocation: sourceLocation)
    let entries = try log(store, after: before)
    #expect(entries.map { $0[0] } == ["external"], sourceLocation: sourceLocation)
    let found = entries.flatMap { $0.dropFirst() }.sorted()
    #expect(found == changes.sorted(), "\(sql)", sourceLocation: sourceLocation)
  }

  private func versions() throws -> [String] {
    try store.lines("Task; Group; Label")
  }

  // Evidence: P-042a, P-042e
  @Test func `an insert`() async throws {
    try await check(
      #"INSERT INTO "Task"(title, "group") VALUES ('Eggs', 1)"#,
      ["insert Task/p3"]
    )
    #expect(
      try store.lines("Task title group done") == [
        "Task/p1 v1 title=Milk group=Group/p1 done=false",
        "Task/p2 v1 title=Bread group=Group/p1 done=false",
        "Task/p3 v1 title=Eggs group=Group/p1 done=false",
      ]
    )
    // Our next number is behind it.
    let answer = try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(answer["ids"] == ["Task/t1": "Task/p4"])
  }

  @Test func `an insert with a number of its own choice`() async throws {
    try await check("INSERT INTO Task(_id, title) VALUES (40, 'Eggs')", ["insert Task/p40"])
    let answer = try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(answer["ids"] == ["Task/t1": "Task/p41"])
  }

  @Test func `an update names what differs, with the values before`() async throws {
    try await check(
      "UPDATE Task SET title = 'Oat milk', priority = 1, done = 1, due = 5 WHERE _id = 1",
      [#"update Task/p1 done,due,title before done=0 due=null title="Milk""#]
    )
    #expect(try versions() == ["Task/p1 v2", "Task/p2 v1", "Group/p1 v1", "Label/p1 v1"])
  }

  @Test func `several statements of one client are one commit`() async throws {
    try await check(
      """
      BEGIN; UPDATE Task SET title = 'a' WHERE _id = 1; UPDATE Task SET title = 'b', "group" = NULL;
      INSERT INTO Task(title) VALUES ('c'); UPDATE Task SET title = 'd' WHERE _id = 3;
      DELETE FROM Task WHERE _id = 2; COMMIT
      """,
      [
        #"update Task/p1 group,title before group=1 title="Milk""#,
        #"delete Task/p2 before done=0 due=null group=1 memo=null priority=null title="Bread""#,
        "insert Task/p3",
      ]
    )
    #expect(try versions().prefix(2) == ["Task/p1 v2", "Task/p3 v1"])
  }

  // Evidence: P-070b
  @Test func `several commits of it are sealed into one`() async throws {
    try store.foreign("UPDATE Task SET title = 'a' WHERE _id = 1")
    try store.foreign("UPDATE Task SET title = 'b', done = 1 WHERE _id = 1")
    #expect(try await store.seal() == 2)
    #expect(
      try log(store, after: 1) == [
        ["external", #"update Task/p1 done,title before done=0 title="Milk""#]
      ]
    )
  }

  @Test func `rolled back changes are not reported`() async throws {
    try store.foreign("BEGIN; DELETE FROM Task; ROLLBACK")
    #expect(try store.snapshot { $0.head.number } == 1)
    #expect(try store.ids(#"{"entity":"Task"}"#) == ["Task/p1", "Task/p2"])
  }

  @Test func `a delete keeps all values, and runs no delete rules`() async throws {
    try await check("DELETE FROM \"Group\"", [#"delete Group/p1 before rank=null title="Home""#])
    #expect(try versions() == ["Task/p1 v1", "Task/p2 v1", "Label/p1 v1"])
  }

  // MARK: REPLACE, IGNORE and their kin

  // Evidence: P-070c
  @Test func `a row that replaces another is a change of it`() async throws {
    let before = try store.snapshot { $0.head.number }
    try store.foreign("INSERT OR REPLACE INTO Task(_id, title) VALUES (1, 'Oat milk')")
    try await store.seal()
    #expect(
      try log(store, after: before) == [
        [
          "external",
          #"update Task/p1 group,priority,title before group=1 priority=1 title="Milk""#,
        ]
      ]
    )
    #expect(try store.lines("Task title group")[0] == "Task/p1 v2 title=Oat milk group=null")
  }

  @Test func `a row that replaces another is changed in what differs only`() async throws {
    let before = try store.snapshot { $0.head.number }
    try store.foreign(
      """
      UPDATE Task SET priority = 2 WHERE _id = 1;
      REPLACE INTO Task(_id, title, priority, "group") VALUES (1, 'Oat milk', 2, 1);
      REPLACE INTO Task(_id, title, priority, "group") VALUES (1, 'Soy milk', 2, 1);
      """
    )
    try await store.seal()
    #expect(
      try log(store, after: before) == [
        ["external", #"update Task/p1 priority,title before priority=1 title="Milk""#]
      ]
    )
  }

  /// What the log's own columns are called, an entity's may be called too.
  @Test func `a row with properties named like columns of the log may be replaced`() async throws {
    let names = ["number", "entity", "object", "kind", "version", "before", "other", "old"]
    let attributes = names.map { #"{"name":"\#($0)","type":"int32","default":1}"# }
    let store = try TestStore(
      """
      {"name":"Names","entities":[
        {"name":"List","attributes":[],"relationships":[
          {"name":"items","destination":"Item","toMany":true,"ordered":true,"inverse":"list"}]},
        {"name":"Item","attributes":[\(attributes.joined(separator: ","))],"relationships":[
          {"name":"list","destination":"List","optional":true,"inverse":"items"}]}]}
      """
    )
    try await store.save(
      #"{"insert":[{"id":"List/t1","values":{"items":["Item/t1","Item/t2"]}},{"id":"Item/t1"},{"id":"Item/t2"}]}"#
    )
    let columns = names.map { "\"\($0)\"" }.joined(separator: ", ")
    try store.foreign(
      "REPLACE INTO Item(_id, list, \(columns)) VALUES (1, 1, 2, 1, 2, 1, 2, 1, 2, 2)"
    )
    try store.foreign("INSERT OR IGNORE INTO Item(_id) VALUES (2)")
    try await store.seal()
    let lines = try log(store, after: 1)
    #expect(lines.count == 1 && lines[0].count == 3)
    #expect(
      lines.first?.contains(
        "update Item/p1 number,object,old,other,version"
          + " before number=1 object=1 old=1 other=1 version=1"
      ) == true,
      "\(lines)"
    )
    #expect(lines.first?.contains { $0.hasPrefix("update List/p1 items") } == true, "\(lines)")
  }

  @Test func `a row that the same client inserted and replaced is an insert`() async throws {
    let before = try store.snapshot { $0.head.number }
    try store.foreign("INSERT INTO Task(_id) VALUES (9); REPLACE INTO Task(_id) VALUES (9)")
    try await store.seal()
    #expect(try log(store, after: before) == [["external", "insert Task/p9"]])
  }

  @Test func `each of many rows that replace others is one change`() async throws {
    let count = 2_000
    let rows = "WITH RECURSIVE n(i) AS (VALUES (100) UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
      .replacing("?", with: "\(99 + count)")
    try store.foreign("\(rows) INSERT INTO Task(_id, title) SELECT i, 'a' FROM n")
    try await store.seal()
    let before = try store.snapshot { $0.head.number }
    try store.foreign("\(rows) REPLACE INTO Task(_id, title) SELECT i, 'b' FROM n")
    try await store.seal()
    let entry = try log(store, after: before)
    #expect(entry.first?.count == count + 1)
    #expect(entry.first?.last == #"update Task/p\#(99 + count) title before title="a""#)
  }

  @Test func `a row that replaces several by uniqueness removes those`() async throws {
    let store = try TestStore(
      """
      {"name": "Unique", "version": "1", "entities": [
        {"name": "Item", "identity": "code", "attributes": [
          {"name": "code", "type": "string"}, {"name": "a", "type": "int64", "optional": true},
          {"name": "b", "type": "int64", "optional": true}],
         "unique": [["a", "b"]]}]}
      """
    )
    try await store.save(
      """
      {"insert":[{"id":"Item/sx","values":{"a":1,"b":1}},{"id":"Item/sy","values":{"a":2,"b":2}},
        {"id":"Item/sz","values":{"a":3}}]}
      """
    )
    try store.foreign("REPLACE INTO Item(code, a, b) VALUES ('x', 2, 2)")
    try await store.seal()
    #expect(
      try log(store, after: 1).flatMap { $0.dropFirst() }.sorted() == [
        #"delete Item/p1 before a=1 b=1 code="x""#, #"delete Item/p2 before a=2 b=2 code="y""#,
        "insert Item/p4",
      ]
    )
    #expect(try store.lines("Item a") == ["Item/sz v1 a=3", "Item/sx v1 a=2"])
    // An update that displaces another row removes that one too.
    try store.foreign("UPDATE OR REPLACE Item SET code = 'x' WHERE code = 'z'")
    try await store.seal()
    #expect(
      try log(store, after: 2).flatMap { $0.dropFirst() }.sorted() == [
        #"delete Item/p4 before a=2 b=2 code="x""#, #"update Item/p3 code before code="z""#,
      ]
    )
  }

  @Test func `an insert that was ignored changes nothing`() async throws {
    try store.foreign("INSERT OR IGNORE INTO Task(_id, title) VALUES (1, 'Oat milk')")
    try await store.seal()
    #expect(try log(store, after: 1).flatMap { $0.dropFirst() } == [])
    #expect(try store.lines("Task title")[0] == "Task/p1 v1 title=Milk")
  }

  @Test func `an upsert is an update`() async throws {
    try await check(
      """
      INSERT INTO Task(_id, title) VALUES (1, 'Oat milk'), (7, 'Eggs')
      ON CONFLICT(_id) DO UPDATE SET title = excluded.title
      """,
      [#"update Task/p1 title before title="Milk""#, "insert Task/p7"]
    )
    #expect(try versions().prefix(3) == ["Task/p1 v2", "Task/p2 v1", "Task/p7 v1"])
  }

  @Test func `an upsert that does nothing changes nothing`() async throws {
    try store.foreign("INSERT INTO Task(_id) VALUES (1) ON CONFLICT DO NOTHING")
    try await store.seal()
    #expect(try log(store, after: 1).flatMap { $0.dropFirst() } == [])
    #expect(try versions()[0] == "Task/p1 v1")
  }

  @Test func `a row that is given another number becomes a different object`() async throws {
    try await check(
      "UPDATE Task SET _id = 9 WHERE _id = 2",
      [
        #"delete Task/p2 before done=0 due=null group=1 memo=null priority=null title="Bread""#,
        "insert Task/p9",
      ]
    )
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=Milk", "Task/p9 v1 title=Bread"])
  }

  @Test func `an object inserted and deleted in one commit is not reported`() async throws {
    try store.foreign("INSERT INTO Task(_id) VALUES (9); DELETE FROM Task WHERE _id = 9")
    try await store.seal()
    try store.snapshot { (snapshot) throws in
      let set = try #require(
        try snapshot.log.changeSet(from: 1, through: snapshot.head.number)
      )
      #expect(set.changes.isEmpty)
      #expect(try snapshot.lastCommits(after: 1).map(\.author) == ["external"])
    }
    // Its number was given.
    let answer = try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(answer["ids"] == ["Task/t1": "Task/p10"])
  }

  // MARK: Pairs

  // Evidence: P-042d
  @Test func `link rows are changes of both sides`() async throws {
    try await check(
      "INSERT INTO cordial_pairs_Task_labels(source, target) VALUES (1, 1), (2, 1)",
      [
        "update Task/p1 labels +labels:p1", "update Task/p2 labels +labels:p1",
        "update Label/p1 tasks +tasks:p1 +tasks:p2",
      ]
    )
    #expect(try versions() == ["Task/p1 v2", "Task/p2 v2", "Group/p1 v1", "Label/p1 v2"])
    try await check(
      "DELETE FROM cordial_pairs_Task_labels WHERE source = 2",
      ["update Task/p2 labels -labels:p1", "update Label/p1 tasks -tasks:p2"]
    )
    #expect(try versions() == ["Task/p1 v2", "Task/p2 v3", "Group/p1 v1", "Label/p1 v3"])
    #expect(
      try store.lines("Task labels; Label tasks") == [
        "Task/p1 v2 labels=[Label/p1]", "Task/p2 v3 labels=[]", "Label/p1 v3 tasks=[Task/p1]",
      ]
    )
  }

  @Test func `a dangling link row is not listed`() async throws {
    try store.foreign("INSERT INTO cordial_pairs_Task_labels VALUES (1, 1), (1, 77), (77, 1)")
    try await store.seal()
    #expect(
      try store.fetch(#"{"entity":"Task","select":["labels","labels.@count"],"limit":1}"#)
        .first?["values"]?.text == #"{"labels":["Label/p1"],"labels.@count":1}"#
    )
    #expect(
      try store.fetch(#"{"entity":"Label","select":["tasks"]}"#).first?["values"]?.text
        == #"{"tasks":["Task/p1"]}"#
    )
  }

  // MARK: Versions

  // Evidence: P-070c
  @Test func `a version never decreases`() async throws {
    for round in 1...3 {
      try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"\#(round)"}}]}"#)
    }
    var last: Int64 = 4
    for sql in [
      "UPDATE Task SET title = 'x' WHERE _id = 1",
      "INSERT OR REPLACE INTO Task(_id, title) VALUES (1, 'y')",
      "BEGIN; DELETE FROM Task WHERE _id = 1; INSERT INTO Task(_id) VALUES (1); COMMIT",
      "BEGIN; DELETE FROM Task WHERE _id = 1; INSERT INTO Task(_id) VALUES (1);"
        + "UPDATE Task SET title = 'z' WHERE _id = 1; COMMIT",
    ] {
      try store.foreign(sql)
      try await store.seal()
      let version = try version("Task/p1")
      #expect(version > last, "\(sql): \(last), then \(version)")
      last = version
    }
  }

  /// Not even when somebody reads between the delete and the row that comes back.
  @Test func `a version never decreases across sealed commits`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"a"}}]}"#)
    try store.foreign("DELETE FROM Task WHERE _id = 1")
    try await store.seal()
    try store.foreign("INSERT INTO Task(_id, title) VALUES (1, 'b')")
    try await store.seal()
    #expect(try version("Task/p1") > 2)
  }

  private func version(_ id: String) throws -> Int64 {
    try store.fetch(#"{"entity":"Task","predicate":"SELF == \"\#(id)\""}"#)
      .first?["version"]?.integer ?? -1
  }

  /// A change of another client is a change, external or not.
  @Test func `an external change is a conflict for a client with an older version`() async throws {
    try store.foreign("UPDATE Task SET title = 'Oat milk' WHERE _id = 1")
    let refusal = try await store.refusal(
      #"{"update":[{"id":"Task/p1","version":1,"values":{"title":"Soy milk"}}]}"#
    )
    #expect(refusal?.code == "saveConflict")
    let conflict = refusal?.data["conflicts"]?.array?.first
    #expect(conflict?["base"] == "Milk")
    #expect(conflict?["store"] == "Oat milk")
    #expect(conflict?["client"] == "Soy milk")
  }

  // MARK: Sealing

  // Evidence: P-070d
  @Test func `readers do not see unsealed changes`() async throws {
    _ = try store.snapshot { $0.token }
    try store.foreign("UPDATE Task SET title = 'x'")
    #expect(throws: UnsealedChanges.self) { try store.snapshot { $0.token } }
    #expect(throws: UnsealedChanges.self) { try store.fetch(#"{"entity":"Task"}"#) }
    try await store.seal()
    #expect(try store.lines("Task title") == ["Task/p1 v2 title=x", "Task/p2 v2 title=x"])
    #expect(try store.snapshot { $0.head.isSealed })
  }

  @Test func `a snapshot that began before keeps its state`() throws {
    try store.snapshot { (snapshot) throws in
      try store.foreign("DELETE FROM Task")
      #expect(try snapshot.count(try snapshot.plan(FetchRequest(entity: "Task"))) == 2)
    }
  }

  @Test func `a save after external changes seals them first`() async throws {
    try store.foreign("UPDATE Task SET title = 'x' WHERE _id = 1")
    try await store.save(
      #"{"update":[{"id":"Task/p1","values":{"title":"ours"}}],"author":"ann"}"#
    )
    #expect(
      try log(store, after: 1) == [
        ["external", #"update Task/p1 title before title="Milk""#],
        ["ann", #"update Task/p1 title before title="x""#],
      ]
    )
    #expect(try store.lines("Task title")[0] == "Task/p1 v3 title=ours")
  }

  @Test func `a failed save after external changes still seals them`() async throws {
    try store.foreign("UPDATE Task SET title = 'x' WHERE _id = 1")
    #expect(try await store.refusal(#"{"delete":["Task/p9"]}"#)?.code == "objectNotFound")
    #expect(try log(store, after: 1).map { $0[0] } == ["external"])
  }

  @Test func `sealing again adds no commit`() async throws {
    #expect(try await store.seal() == 1)
    #expect(try await store.seal() == 1)
    #expect(try store.snapshot { $0.head.number } == 1)
  }

  @Test func `another process may seal the changes`() async throws {
    _ = try store.snapshot { $0.token }
    let other = try TestStore(nil, in: store.folder)
    try store.foreign("UPDATE Task SET title = 'x'")
    try await other.seal()
    #expect(try store.lines("Task title")[0] == "Task/p1 v2 title=x")
    let answer = try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    let second = try await other.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(answer["ids"] == ["Task/t1": "Task/p3"])
    #expect(second["ids"] == ["Task/t1": "Task/p4"])
  }

  // MARK: Dangling

  // Evidence: P-073b
  @Test func `a to-one to an externally deleted object reads null`() async throws {
    try store.foreign("DELETE FROM \"Group\"")
    try await store.seal()
    #expect(
      try store.lines("Task group group.title") == [
        "Task/p1 v1 group=null group.title=null", "Task/p2 v1 group=null group.title=null",
      ]
    )
    for (predicate, ids) in [
      ("group == nil", ["Task/p1", "Task/p2"]), ("group != nil", []),
      ("group.title == nil", ["Task/p1", "Task/p2"]), (#"group == \"Group/p1\""#, []),
    ] {
      #expect(
        try store.ids(#"{"entity":"Task","predicate":"\#(predicate)"}"#) == ids,
        "\(predicate)"
      )
    }
  }

  @Test func `a to-one that an external client set to a missing object reads null`() async throws {
    try store.foreign("UPDATE Task SET \"group\" = 77 WHERE _id = 1")
    try await store.seal()
    #expect(try store.lines("Task group")[0] == "Task/p1 v2 group=null")
  }
}
