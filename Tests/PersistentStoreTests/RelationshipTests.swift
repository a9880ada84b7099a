import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Both ends of a relationship are updated from either end` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  /// Expects the relationships of every task, group, memo and label.
  private func expect(
    _ lines: [String],
    _ what: String = "Group tasks; Task group memo labels; Memo task; Label tasks",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try store.lines(what) == lines, sourceLocation: sourceLocation)
  }

  private func make(_ entity: String, _ count: Int) async throws {
    let inserts = (1...count).map { #"{"id":"\#(entity)/t\#($0)"}"# }.joined(separator: ",")
    try await store.save(#"{"insert":[\#(inserts)]}"#)
  }

  // MARK: Within one save

  @Test func `a to-one to an earlier or later object of the same save`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"group":"Group/t1"}},{"id":"Group/t1"},
        {"id":"Task/t2","values":{"group":"Group/t1"}}]}
      """
    )
    try expect(
      [
        "Group/p1 v1 tasks=[Task/p1,Task/p2]", "Task/p1 v1 group=Group/p1",
        "Task/p2 v1 group=Group/p1",
      ],
      "Group tasks; Task group"
    )
  }

  @Test func `a to-many to later objects of the same save`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"tasks":["Task/t1","Task/t2"]}},{"id":"Task/t1"},
        {"id":"Task/t2"}]}
      """
    )
    try expect(
      [
        "Group/p1 v1 tasks=[Task/p1,Task/p2]", "Task/p1 v1 group=Group/p1",
        "Task/p2 v1 group=Group/p1",
      ],
      "Group tasks; Task group"
    )
  }

  @Test(arguments: [
    #"{"id":"Task/t1","values":{"memo":"Memo/t1"}},{"id":"Memo/t1"}"#,
    #"{"id":"Memo/t1","values":{"task":"Task/t1"}},{"id":"Task/t1"}"#,
    #"{"id":"Memo/t1"},{"id":"Task/t1","values":{"memo":"Memo/t1"}}"#,
    #"{"id":"Task/t1","values":{"memo":"Memo/t1"}},{"id":"Memo/t1","values":{"task":"Task/t1"}}"#,
  ])
  func `a one-to-one within a save, set from either side`(inserts: String) async throws {
    try await store.save(#"{"insert":[\#(inserts)]}"#)
    try expect(["Task/p1 v1 memo=Memo/p1", "Memo/p1 v1 task=Task/p1"], "Task memo; Memo task")
  }

  // Evidence: P-061b
  @Test func `cycles of temporary IDs`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"blocks":["Task/t2"],"labels":["Label/t1"]}},
        {"id":"Task/t2","values":{"blocks":["Task/t3"]}},
        {"id":"Task/t3","values":{"blocks":["Task/t1","Task/t3"]}},
        {"id":"Label/t1","values":{"tasks":["Task/t1","Task/t3"]}}]}
      """
    )
    try expect(
      [
        "Task/p1 v1 blocks=[Task/p2] blockedBy=[Task/p3] labels=[Label/p1]",
        "Task/p2 v1 blocks=[Task/p3] blockedBy=[Task/p1] labels=[]",
        "Task/p3 v1 blocks=[Task/p1,Task/p3] blockedBy=[Task/p2,Task/p3] labels=[Label/p1]",
        "Label/p1 v1 tasks=[Task/p1,Task/p3]",
      ],
      "Task blocks blockedBy labels; Label tasks"
    )
  }

  // MARK: To-one and to-many

  @Test func `a to-one is set, changed and cleared`() async throws {
    try await make("Group", 2)
    try await make("Task", 1)
    for (sent, lines) in [
      (
        #""Group/p1""#,
        ["Group/p1 v1 tasks=[Task/p1]", "Group/p2 v1 tasks=[]", "Task/p1 v2 group=Group/p1"]
      ),
      (
        #""Group/p2""#,
        ["Group/p1 v1 tasks=[]", "Group/p2 v1 tasks=[Task/p1]", "Task/p1 v3 group=Group/p2"]
      ),
      ("null", ["Group/p1 v1 tasks=[]", "Group/p2 v1 tasks=[]", "Task/p1 v4 group=null"]),
    ] {
      try await store.save(#"{"update":[{"id":"Task/p1","values":{"group":\#(sent)}}]}"#)
      try expect(lines, "Group tasks; Task group")
    }
  }

  // Evidence: P-062b
  @Test func `a to-many is sent as the whole list, or as added and removed members`() async throws {
    try await make("Group", 2)
    try await make("Task", 4)
    for (group, sent, first, second) in [
      ("Group/p1", #"["Task/p1","Task/p2"]"#, "[Task/p1,Task/p2]", "[]"),
      ("Group/p1", #"["Task/p2","Task/p3","Task/p2"]"#, "[Task/p2,Task/p3]", "[]"),
      ("Group/p2", #"["Task/p3","Task/p4"]"#, "[Task/p2]", "[Task/p3,Task/p4]"),
      ("Group/p1", #"{"@add":["Task/p1","Task/p2"]}"#, "[Task/p1,Task/p2]", "[Task/p3,Task/p4]"),
      ("Group/p1", #"{"@remove":["Task/p2","Task/p4"]}"#, "[Task/p1]", "[Task/p3,Task/p4]"),
      ("Group/p2", #"{"@add":["Task/p1"],"@remove":["Task/p3"]}"#, "[]", "[Task/p1,Task/p4]"),
      ("Group/p2", "[]", "[]", "[]"),
    ] {
      try await store.save(#"{"update":[{"id":"\#(group)","values":{"tasks":\#(sent)}}]}"#)
      let tasks = try store.fetch(#"{"entity":"Group","select":["tasks"]}"#)
        .map { ($0["values"]?["tasks"]?.array ?? []).compactMap(\.string).joined(separator: ",") }
      #expect(tasks.map { "[\($0)]" } == [first, second], "\(group) \(sent)")
    }
  }

  /// The inverse of a to-one is no change of its owner.
  // Evidence: P-065b
  @Test func `a moved task increments its version, and neither of its groups does`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Group/t1"},{"id":"Group/t2"},{"id":"Task/t1","values":{"group":"Group/t1"}}]}"#
    )
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"group":"Group/p2"}}]}"#)
    try expect(["Group/p1 v1", "Group/p2 v1", "Task/p1 v2"], "Group; Task")
    try await store.save(#"{"update":[{"id":"Group/p1","values":{"tasks":["Task/p1"]}}]}"#)
    #expect(try store.lines("Task; Group")[0] == "Task/p1 v3")
    #expect(try store.lines("Group")[1] == "Group/p2 v1")
  }

  // MARK: One-to-one

  // Evidence: P-062d
  @Test func `a one-to-one target that is claimed twice goes to the later claim`() async throws {
    try await make("Task", 2)
    try await make("Memo", 2)
    for (save, lines) in [
      (
        #"{"id":"Task/p1","values":{"memo":"Memo/p1"}}"#,
        ["Task/p1 memo=Memo/p1", "Task/p2 memo=null", "Memo/p1 task=Task/p1", "Memo/p2 task=null"]
      ),
      (
        #"{"id":"Task/p2","values":{"memo":"Memo/p1"}}"#,
        ["Task/p1 memo=null", "Task/p2 memo=Memo/p1", "Memo/p1 task=Task/p2", "Memo/p2 task=null"]
      ),
      (
        #"{"id":"Memo/p2","values":{"task":"Task/p2"}}"#,
        ["Task/p1 memo=null", "Task/p2 memo=Memo/p2", "Memo/p1 task=null", "Memo/p2 task=Task/p2"]
      ),
      (
        #"{"id":"Task/p1","values":{"memo":"Memo/p1"}},{"id":"Task/p2","values":{"memo":"Memo/p1"}}"#,
        ["Task/p1 memo=null", "Task/p2 memo=Memo/p1", "Memo/p1 task=Task/p2", "Memo/p2 task=null"]
      ),
      (
        #"{"id":"Task/p1","values":{"memo":"Memo/p2"}},{"id":"Memo/p1","values":{"task":"Task/p1"}}"#,
        ["Task/p1 memo=Memo/p1", "Task/p2 memo=null", "Memo/p1 task=Task/p1", "Memo/p2 task=null"]
      ),
      (
        #"{"id":"Memo/p1","values":{"task":null}}"#,
        ["Task/p1 memo=null", "Task/p2 memo=null", "Memo/p1 task=null", "Memo/p2 task=null"]
      ),
    ] {
      try await store.save(#"{"update":[\#(save)]}"#)
      let actual = try store.lines("Task memo; Memo task").map(withoutVersion)
      #expect(actual == lines, "\(save)")
    }
  }

  @Test func `an object that loses its one-to-one target changes too`() async throws {
    try await make("Task", 2)
    try await make("Memo", 1)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"memo":"Memo/p1"}}]}"#)
    try await store.save(#"{"update":[{"id":"Task/p2","values":{"memo":"Memo/p1"}}]}"#)
    try expect(
      ["Task/p1 v3 memo=null", "Task/p2 v2 memo=Memo/p1", "Memo/p1 v3 task=Task/p2"],
      "Task memo; Memo task"
    )
  }

  private func withoutVersion(_ line: String) -> String {
    line.split(separator: " ").enumerated().filter { $0.offset != 1 }.map { String($0.element) }
      .joined(separator: " ")
  }

  // MARK: Many-to-many

  // Evidence: P-062c, P-065b
  @Test func `a many-to-many changes both sides`() async throws {
    try await make("Task", 2)
    try await make("Label", 2)
    for (save, lines) in [
      (
        #"{"id":"Task/p1","values":{"labels":["Label/p1","Label/p2"]}}"#,
        [
          "Task/p1 v2 labels=[Label/p1,Label/p2]", "Task/p2 v1 labels=[]",
          "Label/p1 v2 tasks=[Task/p1]", "Label/p2 v2 tasks=[Task/p1]",
        ]
      ),
      (
        #"{"id":"Label/p2","values":{"tasks":{"@add":["Task/p2"],"@remove":["Task/p1"]}}}"#,
        [
          "Task/p1 v3 labels=[Label/p1]", "Task/p2 v2 labels=[Label/p2]",
          "Label/p1 v2 tasks=[Task/p1]", "Label/p2 v3 tasks=[Task/p2]",
        ]
      ),
      (
        #"{"id":"Label/p1","values":{"tasks":[]}}"#,
        [
          "Task/p1 v4 labels=[]", "Task/p2 v2 labels=[Label/p2]", "Label/p1 v3 tasks=[]",
          "Label/p2 v3 tasks=[Task/p2]",
        ]
      ),
    ] {
      let answer = try await store.save(#"{"update":[\#(save)]}"#)
      try expect(lines, "Task labels; Label tasks")
      // What is answered is the version that the object has now.
      let id = answer["objects"]?.array?.first?["id"]?.string ?? ""
      let version = answer["objects"]?.array?.first?["version"]?.integer ?? -1
      #expect(lines.contains { $0.hasPrefix("\(id) v\(version) ") }, "\(answer.text)")
    }
  }

  @Test func `a many-to-many of an entity with itself`() async throws {
    try await make("Task", 3)
    try await store.save(
      #"{"update":[{"id":"Task/p1","values":{"blocks":["Task/p2","Task/p3"]}}]}"#
    )
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"blockedBy":["Task/p3"]}}]}"#)
    try await store.save(
      #"{"update":[{"id":"Task/p2","values":{"blockedBy":{"@remove":["Task/p1"],"@add":["Task/p2"]}}}]}"#
    )
    try expect(
      [
        "Task/p1 v4 blocks=[Task/p3] blockedBy=[Task/p3]",
        "Task/p2 v3 blocks=[Task/p2] blockedBy=[Task/p2]",
        "Task/p3 v3 blocks=[Task/p1] blockedBy=[Task/p1]",
      ],
      "Task blocks blockedBy"
    )
  }

  @Test func `the returned version is correct when objects of one save change one another`()
    async throws
  {
    try await make("Task", 2)
    try await make("Label", 1)
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"title":"a","labels":["Label/p1"]}},
        {"id":"Label/p1","values":{"name":"b","tasks":{"@add":["Task/p2"]}}},
        {"id":"Task/p2","values":{"title":"c"}}]}
      """
    )
    #expect(answer["objects"]?.array?.map { $0["version"]?.integer } == [2, 2, 2])
    try expect(
      [
        "Task/p1 v2 title=a labels=[Label/p1]", "Task/p2 v2 title=c labels=[Label/p1]",
        "Label/p1 v2 name=b tasks=[Task/p1,Task/p2]",
      ],
      "Task title labels; Label name tasks"
    )
  }
}

@Suite struct `Relationships that are their own inverse, or have none` {
  private static let model = """
    {"name": "People", "version": "1", "entities": [
      {"name": "Person",
       "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [
         {"name": "spouse", "destination": "Person", "inverse": "spouse", "optional": true},
         {"name": "friends", "destination": "Person", "toMany": true, "inverse": "friends"},
         {"name": "follows", "destination": "Person", "toMany": true},
         {"name": "idol", "destination": "Person", "optional": true}]}]}
    """
  private let store: TestStore

  init() throws {
    store = try TestStore(Self.model)
  }

  private func make(_ count: Int) async throws {
    let inserts = (1...count).map { _ in #"{"entity":"Person"}"# }.joined(separator: ",")
    try await store.save(#"{"insert":[\#(inserts)]}"#)
  }

  @Test func `a symmetric one-to-one set at one end is set at both`() async throws {
    try await make(3)
    try await store.save(#"{"update":[{"id":"Person/p1","values":{"spouse":"Person/p2"}}]}"#)
    #expect(
      try store.lines("Person spouse") == [
        "Person/p1 v2 spouse=Person/p2", "Person/p2 v2 spouse=Person/p1",
        "Person/p3 v1 spouse=null",
      ]
    )
    try await store.save(#"{"update":[{"id":"Person/p3","values":{"spouse":"Person/p2"}}]}"#)
    #expect(
      try store.lines("Person spouse") == [
        "Person/p1 v3 spouse=null", "Person/p2 v3 spouse=Person/p3",
        "Person/p3 v2 spouse=Person/p2",
      ]
    )
    try await store.save(#"{"update":[{"id":"Person/p2","values":{"spouse":null}}]}"#)
    #expect(
      try store.lines("Person spouse") == [
        "Person/p1 v3 spouse=null", "Person/p2 v4 spouse=null", "Person/p3 v3 spouse=null",
      ]
    )
  }

  @Test func `a symmetric many-to-many set at one end is set at both`() async throws {
    try await make(3)
    try await store.save(
      #"{"update":[{"id":"Person/p2","values":{"friends":["Person/p1","Person/p3"]}}]}"#
    )
    #expect(
      try store.lines("Person friends") == [
        "Person/p1 v2 friends=[Person/p2]", "Person/p2 v2 friends=[Person/p1,Person/p3]",
        "Person/p3 v2 friends=[Person/p2]",
      ]
    )
    try await store.save(
      #"{"update":[{"id":"Person/p1","values":{"friends":{"@remove":["Person/p2"]}}}]}"#
    )
    #expect(
      try store.lines("Person friends") == [
        "Person/p1 v3 friends=[]", "Person/p2 v3 friends=[Person/p3]",
        "Person/p3 v2 friends=[Person/p2]",
      ]
    )
  }

  @Test func `without an inverse the other end is unchanged`() async throws {
    try await make(3)
    try await store.save(
      """
      {"update":[{"id":"Person/p1","values":{"follows":["Person/p2","Person/p1"],
        "idol":"Person/p3"}}]}
      """
    )
    #expect(
      try store.lines("Person follows idol") == [
        "Person/p1 v2 follows=[Person/p1,Person/p2] idol=Person/p3",
        "Person/p2 v1 follows=[] idol=null", "Person/p3 v1 follows=[] idol=null",
      ]
    )
  }

  @Test func `a reference without an inverse to a deleted object is nullified too`() async throws {
    try await make(3)
    try await store.save(
      """
      {"update":[{"id":"Person/p1","values":{"follows":["Person/p2","Person/p3"],
        "idol":"Person/p3","spouse":"Person/p3","friends":["Person/p3"]}}]}
      """
    )
    try await store.save(#"{"delete":["Person/p3"]}"#)
    #expect(
      try store.lines("Person follows idol spouse friends") == [
        "Person/p1 v3 follows=[Person/p2] idol=null spouse=null friends=[]",
        "Person/p2 v1 follows=[] idol=null spouse=null friends=[]",
      ]
    )
  }
}
