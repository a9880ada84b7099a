import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let shelves = """
  {"name":"Shelves","entities":[
    {"name":"Item","abstract":true,"attributes":[
      {"name":"code","type":"string","optional":true},
      {"name":"number","type":"int32","optional":true}],
     "unique":[["code"],["shelf","number"]],
     "relationships":[
      {"name":"shelf","destination":"Shelf","optional":true,"inverse":"items"}]},
    {"name":"Book","parent":"Item","attributes":[]},
    {"name":"Disc","parent":"Item","attributes":[]},
    {"name":"Shelf","attributes":[],"relationships":[
      {"name":"items","destination":"Item","toMany":true,"inverse":"shelf"}]}]}
  """

@Suite struct `Uniqueness holds in the state that a save leaves` {
  private let store: TestStore
  /// Two books and a disc with the same number, of which only the first book is on the shelf.
  private let (first, second, disc): (String, String, String)

  init() async throws {
    store = try TestStore(shelves)
    let answer = try await store.save(
      """
      {"insert":[{"id":"Shelf/t1"},
        {"id":"Book/t1","values":{"code":"a","number":1,"shelf":"Shelf/t1"}},
        {"id":"Book/t2","values":{"code":"b","number":1}},
        {"id":"Disc/t1","values":{"code":"c","number":1}}]}
      """
    )
    func id(_ temporary: String) throws -> String {
      try #require(answer["ids"]?[temporary]?.string)
    }
    first = try id("Book/t1")
    second = try id("Book/t2")
    disc = try id("Disc/t1")
  }

  private func check(
    _ request: String,
    id: String,
    _ properties: JSONValue = ["shelf", "number"],
    existing: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try store.lines("Item code number shelf")
    let refusal = try await store.refusal(request)
    #expect(refusal?.code == "uniquenessViolation", sourceLocation: sourceLocation)
    #expect(
      refusal?.data.withoutProblems
        == ["id": .string(id), "properties": properties, "existing": .string(existing)],
      sourceLocation: sourceLocation
    )
    #expect(try store.lines("Item code number shelf") == before, sourceLocation: sourceLocation)
  }

  // Evidence: P-063d, P-063e
  @Test func `values that come from the other end violate a set of the entity family`()
    async throws
  {
    try await check(
      #"{"update":[{"id":"Shelf/p1","values":{"items":{"@add":["\#(disc)"]}}}]}"#,
      id: disc,
      existing: first
    )
    try await check(
      #"{"update":[{"id":"Shelf/p1","values":{"items":["\#(first)","\#(disc)"]}}]}"#,
      id: disc,
      existing: first
    )
    try await check(
      """
      {"insert":[{"id":"Disc/tnew","values":{"number":1}}],
       "update":[{"id":"Shelf/p1","values":{"items":{"@add":["Disc/tnew"]}}}]}
      """,
      id: "Disc/tnew",
      existing: first
    )
  }

  // Evidence: P-063d
  @Test func `two inserts of a family violate a set that a third insert completes`() async throws {
    try await check(
      """
      {"insert":[{"id":"Shelf/tnew","values":{"items":["Book/tnew","Disc/tnew"]}},
        {"id":"Book/tnew","values":{"number":1}},{"id":"Disc/tnew","values":{"number":1}}]}
      """,
      id: "Disc/tnew",
      existing: "Book/tnew"
    )
  }

  // Evidence: P-063d, P-063e
  @Test func `values that come from the other end violate a set of one table`() async throws {
    try await check(
      #"{"update":[{"id":"Shelf/p1","values":{"items":{"@add":["\#(second)"]}}}]}"#,
      id: second,
      existing: first
    )
  }

  // Evidence: P-063d, P-119b
  @Test func `an update by predicate names the two objects that it makes equal`() async throws {
    func update(_ entity: String, _ predicate: String, _ set: String) -> String {
      #"{"updateMatching":{"entity":"\#(entity)","predicate":"\#(predicate)","set":\#(set)}}"#
    }
    try await check(
      update("Book", "TRUEPREDICATE", #"{"code":"z"}"#),
      id: second,
      ["code"],
      existing: first
    )
    try await check(
      update("Disc", "TRUEPREDICATE", #"{"code":"a"}"#),
      id: disc,
      ["code"],
      existing: first
    )
    try await check(
      update("Book", "TRUEPREDICATE", #"{"shelf":"Shelf/p1"}"#),
      id: second,
      existing: first
    )
    try await check(
      update("Disc", "TRUEPREDICATE", #"{"shelf":"Shelf/p1"}"#),
      id: disc,
      existing: first
    )
    try await check(
      update("Shelf", "TRUEPREDICATE", #"{"items":{"@add":["\#(second)"]}}"#),
      id: second,
      existing: first
    )
  }

  // Evidence: P-063d, P-119b
  @Test func `an update by predicate lists every violation`() async throws {
    let refusal = try await store.refusal(
      #"{"updateMatching":{"entity":"Item","predicate":"TRUEPREDICATE","set":{"code":"z"}}}"#
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(refusal?.data["problems"]?.array?.map { $0["id"]?.string } == [second, disc])
  }

  // Evidence: P-063c
  @Test func `an update by predicate may pass unique values to other objects`() async throws {
    try await store.save(
      #"{"update":[{"id":"\#(second)","values":{"number":2,"shelf":"Shelf/p1"}}]}"#
    )
    try await store.save(
      """
      {"updateMatching":{"entity":"Book","predicate":"TRUEPREDICATE",
        "set":{"number":{"@expression":"number + 1"}}}}
      """
    )
    #expect(
      try store.lines("Book number")
        == ["\(first) v2 number=2", "\(second) v3 number=3"]
    )
  }
}

private let plan = """
  {"name":"Plan","entities":[
    {"name":"Group","attributes":[],"relationships":[
      {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Task","attributes":[
      {"name":"title","type":"string"},
      {"name":"rank","type":"int32","optional":true},
      {"name":"slot","type":"int16","default":0},
      {"name":"day","type":"date","optional":true}],
     "unique":[["title"],["rank"],["slot","day"]],
     "relationships":[{"name":"group","destination":"Group","inverse":"tasks"}]},
    {"name":"Tag","identity":"name","attributes":[
      {"name":"name","type":"string"},{"name":"level","type":"int64","optional":true}],
     "unique":[["level"]]}]}
  """

@Suite struct `A required to-one is checked in the state that a save leaves` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(plan)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"tasks":["Task/t1"]}},{"id":"Group/t2"},
        {"id":"Task/t1","values":{"title":"a"}}]}
      """
    )
  }

  // Evidence: P-063b
  @Test func `it is set from the other end alone`() throws {
    #expect(try store.lines("Task group") == ["Task/p1 v1 group=Group/p1"])
  }

  // Evidence: P-063b
  @Test(arguments: [
    #"{"id":"Group/p1","values":{"tasks":{"@remove":["Task/p1"]}}},{"id":"Group/p2","values":{"tasks":{"@add":["Task/p1"]}}}"#,
    #"{"id":"Group/p2","values":{"tasks":{"@add":["Task/p1"]}}},{"id":"Group/p1","values":{"tasks":{"@remove":["Task/p1"]}}}"#,
    #"{"id":"Group/p1","values":{"tasks":[]}},{"id":"Group/p2","values":{"tasks":["Task/p1"]}}"#,
    #"{"id":"Task/p1","values":{"group":null}},{"id":"Group/p2","values":{"tasks":["Task/p1"]}}"#,
    #"{"id":"Group/p1","values":{"tasks":[]}},{"id":"Task/p1","values":{"group":"Group/p2"}}"#,
  ])
  func `one change removes it and another one sets it again`(updates: String) async throws {
    try await store.save(#"{"update":[\#(updates)]}"#)
    #expect(try store.lines("Task group") == ["Task/p1 v2 group=Group/p2"])
  }

  // Evidence: P-063b
  @Test func `a deleted group may pass its task to another group`() async throws {
    try await store.save(
      #"{"update":[{"id":"Group/p2","values":{"tasks":["Task/p1"]}}],"delete":["Group/p1"]}"#
    )
    #expect(try store.lines("Task group") == ["Task/p1 v2 group=Group/p2"])
  }

  // Evidence: P-063b
  @Test func `it is missing where no change sets it`() async throws {
    for update in [
      #"{"id":"Group/p1","values":{"tasks":[]}}"#, #"{"id":"Task/p1","values":{"group":null}}"#,
    ] {
      let refusal = try await store.refusal(#"{"update":[\#(update)]}"#)
      #expect(refusal?.code == "validationFailed")
      let problem = refusal?.data["problems"]?.array?.first
      #expect(problem?["id"] == "Task/p1")
      #expect(problem?["property"] == "group")
      #expect(problem?["rule"] == "required")
    }
  }
}

@Suite struct `A save exchanges unique values` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(plan)
    let day = #""day":"2026-01-01T00:00:00.000Z","group":"Group/t1""#
    try await store.save(
      """
      {"insert":[{"id":"Group/t1"},{"id":"Task/t1","values":{"title":"a","rank":1,"slot":1,\(day)}},
        {"id":"Task/t2","values":{"title":"b","rank":2,"slot":2,\(day)}},
        {"id":"Task/t3","values":{"title":"c","rank":3,"slot":3,\(day)}},
        {"id":"Tag/sred","values":{"level":1}},{"id":"Tag/sblue","values":{"level":2}}]}
      """
    )
  }

  private let what = "Task title rank slot"

  /// `update Task/p1 before rank=1 title="a"` for each change of the newest commit, by object.
  private func newestChanges() throws -> [String] {
    try store.snapshot { snapshot in
      let head = snapshot.head.number
      let commit = try #require(
        try snapshot.log.transactions(after: head - 1, through: head, limit: 1).first
      )
      return try commit.changes.map { change in
        let before = change.before.map { "\($0.property)=\($0.value.text)" }.sorted()
        let id = try snapshot.wrappedID(change.key)
        return (["\(change.kind) \(id) before"] + before).joined(separator: " ")
      }.sorted()
    }
  }

  // Evidence: P-063c, P-063l
  @Test(arguments: [
    (#""title":"b""#, #""title":"a""#, "title", #""a""#, #""b""#),
    (#""rank":2"#, #""rank":1"#, "rank", "1", "2"),
    (#""slot":2"#, #""slot":1"#, "slot", "1", "2"),
  ])
  func `two objects swap a value`(
    first: String,
    second: String,
    property: String,
    before: String,
    after: String
  ) async throws {
    let original = try store.lines(what)
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p1","version":1,"values":{\(first)}},
        {"id":"Task/p2","version":1,"values":{\(second)}}],"author":"ann"}
      """
    )
    #expect(
      answer["objects"]
        == [["id": "Task/p1", "version": 2], ["id": "Task/p2", "version": 2]]
    )
    #expect(
      try newestChanges() == [
        "update Task/p1 before \(property)=\(before)", "update Task/p2 before \(property)=\(after)",
      ]
    )
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(
      try store.lines(what)
        == original.map {
          $0.hasPrefix("Task/p3") ? $0 : $0.replacing(" v1 ", with: " v3 ")
        }
    )
    try await store.save(#"{"redo":1,"author":"ann"}"#)
    #expect(try store.lines("Task \(property)")[0].hasPrefix("Task/p1 v4 \(property)="))
  }

  // Evidence: P-063c
  @Test func `three objects exchange their values in a cycle`() async throws {
    try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"title":"b","rank":2,"slot":2}},
        {"id":"Task/p2","values":{"title":"c","rank":3,"slot":3}},
        {"id":"Task/p3","values":{"title":"a","rank":1,"slot":1}}],"author":"ann"}
      """
    )
    #expect(
      try store.lines(what) == [
        "Task/p1 v2 title=b rank=2 slot=2", "Task/p2 v2 title=c rank=3 slot=3",
        "Task/p3 v2 title=a rank=1 slot=1",
      ]
    )
    #expect(
      try newestChanges() == [
        #"update Task/p1 before rank=1 slot=1 title="a""#,
        #"update Task/p2 before rank=2 slot=2 title="b""#,
        #"update Task/p3 before rank=3 slot=3 title="c""#,
      ]
    )
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(
      try store.lines(what) == [
        "Task/p1 v3 title=a rank=1 slot=1", "Task/p2 v3 title=b rank=2 slot=2",
        "Task/p3 v3 title=c rank=3 slot=3",
      ]
    )
  }

  // Evidence: P-063c
  @Test func `objects with an identity swap another unique value`() async throws {
    try await store.save(
      """
      {"update":[{"id":"Tag/sred","values":{"level":2}},{"id":"Tag/sblue","values":{"level":1}}]}
      """
    )
    #expect(try store.lines("Tag level") == ["Tag/sred v2 level=2", "Tag/sblue v2 level=1"])
  }

  // Evidence: P-063c
  @Test func `an object takes the values of an object that the save deletes`() async throws {
    try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"title":"c","rank":3,"slot":3}}],"delete":["Task/p3"],
       "author":"ann"}
      """
    )
    #expect(
      try store.lines(what)
        == ["Task/p1 v2 title=c rank=3 slot=3", "Task/p2 v1 title=b rank=2 slot=2"]
    )
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(
      try store.lines(what) == [
        "Task/p1 v3 title=a rank=1 slot=1", "Task/p2 v1 title=b rank=2 slot=2",
        "Task/p3 v2 title=c rank=3 slot=3",
      ]
    )
  }

  // Evidence: P-063c, P-063k
  @Test func `an insert takes the identity of an object that the save deletes`() async throws {
    let answer = try await store.save(
      #"{"insert":[{"id":"Tag/sred","values":{"level":2}}],"delete":["Tag/sred","Tag/sblue"]}"#
    )
    #expect(answer["ids"] == ["Tag/sred": "Tag/sred"])
    #expect(try store.lines("Tag level") == ["Tag/sred v1 level=2"])
    #expect(
      try newestChanges() == [
        #"delete Tag/sblue before level=2 name="blue""#,
        #"delete Tag/sred before level=1 name="red""#, "insert Tag/sred before",
      ]
    )
  }

  // Evidence: P-063c
  @Test func `values that two objects have in the end are refused`() async throws {
    let before = try store.lines(what)
    let refusal = try await store.refusal(
      """
      {"update":[{"id":"Task/p1","values":{"rank":2}},{"id":"Task/p2","values":{"rank":3}}]}
      """
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(
      refusal?.data.withoutProblems
        == ["id": "Task/p2", "properties": ["rank"], "existing": "Task/p3"]
    )
    #expect(try store.lines(what) == before)
  }
}
