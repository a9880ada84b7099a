import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// A model whose two titles sort by the collation, one with stored sort keys.
private func model(_ sorted: String) -> String {
  """
  {"name":"M","entities":[
    {"name":"Group","attributes":[
      {"name":"name","type":"string","optional":true\(sorted)}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Task","attributes":[
      {"name":"title","type":"string","optional":true\(sorted)},
      {"name":"copy","type":"string","optional":true},
      {"name":"rank","type":"int64","optional":true}],
     "relationships":[
      {"name":"group","destination":"Group","inverse":"tasks","optional":true}]},
    {"name":"Special","parent":"Task"}]}
  """
}

// Evidence: P-055e
@Suite struct `Sorts with stored sort keys` {
  private let store: TestStore

  init() throws {
    store = try TestStore(model(#","sorted":"localized""#))
  }

  private static let texts = [
    "null", #""""#, #""a""#, #""A""#, #""ä""#, #""item 2""#, #""item 10""#, #""Zürich""#, #""zoo""#,
    #""東京""#, #""ไทย""#, #""e\u0301""#, #""é""#, #""a\u0000b""#, #""😀""#, #""straße""#,
    "\"\(String(repeating: "long ä text ", count: 60))\"",
  ]

  /// Saves the same random text as `title` and as `copy`.
  private func save(_ random: inout SplitMix64, _ count: Int) async throws {
    let tasks = (0..<count).map { number in
      let text = random.pick(Self.texts)
      let entity = random.oneIn(4) ? "Special" : "Task"
      let group = random.oneIn(4) ? "null" : "\"Group/t\(1 + random.below(3))\""
      return #"{"id":"\#(entity)/t\#(number + 10)","values":{"title":\#(text),"copy":\#(text),"#
        + #""rank":\#(random.below(3)),"group":\#(group)}}"#
    }
    let groups = (1...3).map {
      #"{"id":"Group/t\#($0)","values":{"name":\#(random.pick(Self.texts))}}"#
    }
    try await store.save(#"{"insert":[\#((groups + tasks).joined(separator: ","))]}"#)
  }

  private func expectSameOrder(_ comment: String) throws {
    for (first, second) in [
      ("title:localized", "copy:localized"), ("-title:localized", "-copy:localized"),
    ] {
      for (before, after) in [("", ""), (#""rank","#, ""), ("", #","-rank""#)] {
        let sorted = try [first, second].map {
          try store.ids(#"{"entity":"Task","sort":[\#(before)"\#($0)"\#(after)]}"#)
        }
        #expect(sorted[0] == sorted[1], "\(first) \(before)\(after); \(comment)")
      }
    }
  }

  @Test(arguments: Seeds.first(20))
  func `have the order of the collation after every kind of write`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let comment = "\(Seeds.repeating(seed))"
    try await save(&random, 30)
    try expectSameOrder(comment)
    try store.foreign("UPDATE Task SET title = 'foreign ' || _id, copy = 'foreign ' || _id")
    try store.foreign("INSERT INTO Special(title, copy) VALUES ('Ä2', 'Ä2'), ('ä10', 'ä10')")
    store.hidesUnsealed = true
    try expectSameOrder(comment)
    store.hidesUnsealed = false
    try await store.seal()
    try expectSameOrder(comment)
    let ids = try store.ids(#"{"entity":"Task"}"#)
    try await store.save(
      #"{"update":[{"id":"\#(random.pick(ids))","values":{"title":"b","copy":"b"}}],"#
        + #""delete":["\#(random.pick(ids))"],"author":"ann"}"#
    )
    try expectSameOrder(comment)
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    try expectSameOrder(comment)
    #expect(try problems() == [])
  }

  private func problems() throws -> JSONValue? {
    try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
  }

  /// The plan of a fetch, a line for each step.
  private func plan(_ sort: [String], subentities: Bool = false) throws -> String {
    try store.snapshot { snapshot in
      try snapshot.explain(
        FetchRequest(entity: "Task", sort: sort, limit: 20, subentities: subentities),
        isCount: false,
        isValues: false
      ).plan.joined(separator: "\n")
    }
  }

  @Test func `read an index`() throws {
    #expect(try plan(["title:localized"]).contains("USING INDEX cordial_Task.title:localized"))
    // SQLite sorts only the equal ones, because they ascend by their numbers.
    for sort in [["title:localized"], ["-title:localized"]] {
      #expect(try !plan(sort).contains("TEMP B-TREE FOR ORDER BY"))
    }
    #expect(try plan(["copy:localized"]).contains("TEMP B-TREE FOR ORDER BY"))
    let family = try plan(["title:localized"], subentities: true)
    #expect(family.contains("MERGE (UNION ALL)"))
    #expect(!family.contains("TEMP B-TREE FOR ORDER BY"))
  }

  // Evidence: P-107
  @Test func `are counted where they have no index`() async throws {
    try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"}]}"#)
    for _ in 1...2 { _ = try store.fetch(#"{"entity":"Task","sort":["copy:localized"]}"#) }
    for sort in ["title:localized", "-title:localized"] {
      _ = try store.fetch(#"{"entity":"Task","sort":["\#(sort)"],"subentities":false}"#)
    }
    let sorts = store.store.unindexedSorts.slowest
    #expect(sorts.map { "\($0.sort.entity) \($0.sort.keys)" } == [#"Task ["copy:localized"]"#])
    #expect(sorts.first?.requests.count == 2)
    try store.snapshot { snapshot in
      _ = try snapshot.objects(
        snapshot.plan(FetchRequest(entity: "Task", sort: ["title"], sectionBy: "rank"))
      )
    }
    #expect(store.store.unindexedSorts.slowest.contains { $0.sort.keys == ["rank", "title"] })
  }

  @Test func `are not read while they are of another ICU`() async throws {
    try await store.save(
      #"{"insert":[{"entity":"Task","values":{"title":"b"}},"#
        + #"{"entity":"Task","values":{"title":"a"}}]}"#
    )
    let folder = store.folder
    store.store.close()
    try store.foreign(
      """
      UPDATE cordial_meta SET value = 'another' WHERE name = 'unicode';
      UPDATE Task SET "title:localized" = CASE _id WHEN 1 THEN x'01' ELSE x'02' END;
      """
    )
    let reading = try TestStore(nil, in: folder, mode: .readOnly)
    let ids = try reading.ids(#"{"entity":"Task","sort":["title:localized"]}"#)
    #expect(ids == ["Task/p2", "Task/p1"])
    // Who only reads cannot compute them anew, and takes them for no damage.
    let verified = try reading.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
    #expect(verified["problems"] == [])
  }

  @Test func `are counted, the slowest hundred`() async throws {
    try await store.save(#"{"insert":[{"entity":"Task"},{"entity":"Task"}]}"#)
    for number in 0..<110 {
      let keys = (0..<7).map { number >> $0 & 1 == 1 ? #""-rank""# : #""rank""# }
      _ = try store.fetch(#"{"entity":"Task","sort":[\#(keys.joined(separator: ","))]}"#)
    }
    let sorts = store.store.unindexedSorts.slowest.map(\.requests.microsecondsMax)
    #expect(sorts.count == 100)
    #expect(sorts == sorts.sorted(by: >))
  }

  @Test func `are computed again after an update of ICU`() async throws {
    var random = SplitMix64(seed: 1)
    try await save(&random, 30)
    let folder = store.folder
    store.store.close()
    try store.foreign(
      """
      UPDATE cordial_meta SET value = 'another' WHERE name = 'unicode';
      UPDATE Task SET "title:localized" = x'00';
      """
    )
    let again = try TestStore(nil, in: folder)
    let sorted = try ["title", "copy"].map {
      try again.ids(#"{"entity":"Task","sort":["\#($0):localized"]}"#)
    }
    #expect(sorted[0] == sorted[1])
  }

  @Test func `are found if they are wrong`() async throws {
    try await store.save(
      #"{"insert":[{"entity":"Task","values":{"title":"a"}},{"entity":"Task"}]}"#
    )
    try store.foreign(#"UPDATE Task SET "title:localized" = x'01' WHERE _id = 2"#)
    let found = try problems()?.array
    #expect(found?.count == 1)
    #expect(found?.first?.text.contains("title:localized") == true)
  }

  @Test func `are added by a migration`() async throws {
    let folder = try TestFolder()
    do {
      let plain = try TestStore(model(""), in: folder)
      try await plain.save(
        #"{"insert":[{"entity":"Task","values":{"title":"b","copy":"b"}},"#
          + #"{"entity":"Special","values":{"title":"Ä","copy":"Ä"}}]}"#
      )
    }
    let migrated = try TestStore(model(#","sorted":"localized""#), in: folder)
    let ids = try migrated.ids(#"{"entity":"Task","sort":["title:localized"]}"#)
    #expect(ids.map { String($0.prefix(7)) } == ["Special", "Task/p1"])
  }

  @Test(arguments: [
    (#"{"name":"a","type":"int64","sorted":"localized"}"#, #"[["a"]]"#, "attributes[0].sorted"),
    (#"{"name":"a","type":"string","sorted":"German"}"#, #"[["a"]]"#, "attributes[0].sorted"),
    (
      #"{"name":"a","type":"string","transient":true,"sorted":"localized"}"#, "[]",
      "attributes[0].sorted"
    ),
    (#"{"name":"a","type":"int64"}"#, #"[["a:localized"]]"#, "indexes[0]"),
    (#"{"name":"a","type":"string"}"#, #"[["a:German"]]"#, "indexes[0]"),
  ])
  func `are for strings`(attribute: String, index: String, path: String) throws {
    let text =
      #"{"name":"M","entities":[{"name":"E","attributes":[\#(attribute)],"#
      + #""indexes":\#(index)}]}"#
    let error = #expect(throws: ModelError.self) {
      try ModelDocument.parse(Array(text.utf8).span)
    }
    #expect(error?.problems.map(\.path) == ["entities[0].\(path)"])
  }

  @Test func `are kept for the keys of indexes`() async throws {
    let text = """
      {"name":"M","entities":[{"name":"Task","attributes":[
        {"name":"done","type":"boolean"},{"name":"title","type":"string"}],
       "indexes":[["done","-title:localized"]]}]}
      """
    let store = try TestStore(text)
    try await store.save(
      """
      {"insert":[{"entity":"Task","values":{"done":true,"title":"b"}},
        {"entity":"Task","values":{"done":true,"title":"Ä"}},
        {"entity":"Task","values":{"done":false,"title":"c"}}]}
      """
    )
    let request = #"{"entity":"Task","sort":["done","-title:localized"]}"#
    #expect(try store.ids(request) == ["Task/p3", "Task/p1", "Task/p2"])
    let plan = try store.snapshot { snapshot in
      try snapshot.explain(
        FetchRequest(entity: "Task", sort: ["done", "-title:localized"]),
        isCount: false,
        isValues: false
      ).plan.joined()
    }
    #expect(plan.contains("USING INDEX") && !plan.contains("TEMP B-TREE"))
  }

  @Test(arguments: Seeds.first(10))
  func `are paged by cursors`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    try await save(&random, 40)
    for sort in ["title:localized", "-title:localized", "group.name:localized"] {
      let all = try store.ids(#"{"entity":"Task","sort":["\#(sort)"]}"#)
      for limit in [1, 3, 41] {
        var ids: [String] = []
        var next: String?
        repeat {
          let page = try store.snapshot { snapshot in
            let plan = try snapshot.plan(
              FetchRequest(entity: "Task", sort: [sort], limit: limit, after: next)
            )
            let (objects, hasMore) = try snapshot.page(plan)
            let last = hasMore ? objects.last : nil
            return (
              try objects.map { try snapshot.wrappedID(plan.key($0)).description },
              try last.flatMap { try snapshot.cursor(plan, after: $0) }
            )
          }
          ids += page.0
          next = page.1
        } while next != nil
        #expect(ids == all, "\(sort), \(limit); \(Seeds.repeating(seed))")
      }
    }
  }
}
