import Testing

@Suite struct `Changes by an external client reach subscriptions` {
  private let fixture: Fixture
  private let store: String
  private let writer: Peer
  private let reader: Peer

  /// Tasks 1 and 2 in group 1, task 3 in none.
  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
    let daemon = try fixture.daemon(store)
    writer = try daemon.connect()
    reader = try daemon.connect()
    func task(_ title: JSON, _ group: JSON) -> JSON {
      ["entity": "Task", "values": ["title": title, "group": group]]
    }
    try writer.call(
      "save",
      [
        "insert": [
          ["id": "Group/t1", "values": ["title": "even"]], task("a", "Group/t1"),
          task("b", "Group/t1"), task("c", nil),
        ]
      ]
    )
  }

  private static let fetches: [JSON] = [
    ["entity": "Task"], ["entity": "Task", "predicate": "group != nil"],
    ["entity": "Group", "predicate": "ANY tasks.title != nil", "select": ["n": "tasks.@count"]],
    ["entity": "Task", "predicate": "group.title == 'even'", "sort": ["group.title", "-title"]],
    [
      "entity": "Task", "select": ["title", "group", "group.title"], "sort": ["-group.title"],
      "limit": 5,
    ],
    ["entity": "Group", "sort": ["title"]],
  ]

  // Evidence: P-070c, P-082a, P-083
  @Test func `a row that replaces another is reported in every mode`() throws {
    let watcher = try Watcher(reader, Self.fetches)
    try ForeignClient.write(
      store,
      "INSERT OR REPLACE INTO Task(_id, title, priority, completed, myDay) VALUES(2, 'z', 0, 0, 0)"
    )
    #expect(try watcher.catchUp() == nil)
    let fetched = try reader.call("fetch", ["ids": ["Task/p2"]])["objects"]?[0]
    #expect(fetched?["values"]?["title"] == "z")
    #expect(fetched?["values"]?["group"] == .null)
  }

  /// Makes the first commit that may leave a dangling to-one.
  private func breakLinks() throws {
    try ForeignClient.write(store, "DELETE FROM Task WHERE _id = 3")
    let fetched = try reader.call("fetch", ["ids": ["Task/p3"]])
    #expect(fetched["missing"] == ["Task/p3": "deleted"])
  }

  @Test func `a row that replaces another is one update of its object`() throws {
    try breakLinks()
    let observed = try reader.call("observe", ["fetch": ["entity": "Task"]])
    try reader.call("observe", ["ids": ["Task/p2"]])
    try ForeignClient.write(
      store,
      "INSERT OR REPLACE INTO Task(_id, title, priority, completed, myDay) VALUES(2, 'z', 0, 0, 0)"
    )
    let changes = try reader.changes()
    #expect(changes["from"] == observed["token"] && changes["authors"] == ["external"])
    let update = changes["updates"]?[0]
    #expect(update?["remove"] == [] && update?["insert"] == [])
    #expect(update?["update"]?.array?.count == 1)
    #expect(update?["update"]?[0]?["object"]?["values"]?["title"] == "z")
    let object = changes["updates"]?[1]?["objects"]?[0]
    #expect(object?["change"] == "update")
    #expect(object?["object"]?["values"]?["title"] == "z")
  }

  // Evidence: P-073b, P-084b
  @Test func `a deleted target is reported at the objects that referenced it`() throws {
    let watcher = try Watcher(reader, Self.fetches)
    let held = try writer.call("observe", ["ids": ["Task/p1", "Task/p3"]])
    #expect(held["result"]?["objects"]?[0]?["values"]?["group"] == "Group/p1")
    try ForeignClient.write(store, "DELETE FROM \"Group\"")
    #expect(try watcher.catchUp() == nil)
    #expect(
      try reader.call("fetch", ["entity": "Task", "predicate": "group != nil"])["objects"] == []
    )
    let update = try writer.changes()["updates"]?[0]
    let change = update?["objects"]?[0]
    #expect(change?["id"] == "Task/p1")
    #expect(change?["change"] == "update")
    #expect(change?["object"]?["values"]?["group"] == .null)
    // The next is told as a difference again, and one that takes the number is led to again.
    for sql in [
      "INSERT INTO \"Group\"(_id, title) VALUES(1, 'even')", "DELETE FROM \"Group\"",
      "UPDATE Task SET \"group\" = 9", "INSERT INTO \"Group\"(_id, title) VALUES(9, 'odd')",
      "UPDATE \"Group\" SET title = 'even'", "UPDATE OR REPLACE \"Group\" SET _id = 4",
    ] {
      try ForeignClient.write(store, sql)
      let problem = try watcher.catchUp()
      #expect(problem == nil, "\(sql)")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `after any external write the notified result equals a fresh fetch`(seed: UInt64) throws {
    let watcher = try Watcher(reader, Self.fetches)
    var random = RandomWrites(seed: seed)
    for step in 0..<40 {
      var done: [String] = []
      for _ in 0..<1 + random.next(3) {
        if random.next(4) == 0 {
          let params = random.save()
          _ = try writer.answer(try writer.request("save", params))
          done.append(params.text)
        } else {
          let sql = (0..<1 + random.next(3)).map { _ in random.statement() }.joined(separator: "; ")
          try ForeignClient.write(store, sql)
          done.append(sql)
        }
      }
      guard let problem = try watcher.catchUp() else { continue }
      Issue.record("seed \(seed), step \(step), after \(done)\n\(problem)")
      return
    }
    let found = try reader.call("index/verify")
    #expect(found["differences"] == [], "seed \(seed)")
  }
}

/// Random writes of a foreign client and of ours, that repeat with their seed.
private struct RandomWrites {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  private mutating func task() -> Int { 1 + next(8) }
  private mutating func group() -> Int { 1 + next(4) }
  private mutating func target() -> String { next(4) == 0 ? "NULL" : "\(group())" }
  private mutating func title() -> String { next(2) == 0 ? "even" : "odd" }

  /// One SQL statement that succeeds whatever the tables hold.
  mutating func statement() -> String {
    switch next(9) {
    case 0, 1:
      return """
        INSERT OR REPLACE INTO Task(_id, title, priority, completed, myDay, "group") \
        VALUES(\(task()), 't\(next(5))', \(next(3)), 0, 0, \(target()))
        """
    case 2: return "UPDATE OR REPLACE Task SET _id = \(task()) WHERE _id = \(task())"
    case 3: return "DELETE FROM \"Group\" WHERE _id = \(group())"
    case 4:
      return "INSERT OR REPLACE INTO \"Group\"(_id, title) VALUES(\(group()), '\(title())')"
    case 5: return "DELETE FROM Task WHERE _id = \(task())"
    case 6: return "UPDATE Task SET \"group\" = \(target()) WHERE _id > \(task())"
    case 7: return "UPDATE OR REPLACE \"Group\" SET _id = \(group()) WHERE _id = \(group())"
    default: return "UPDATE Task SET title = 't\(next(5))' WHERE _id = \(task())"
    }
  }

  /// A save, which may be refused for an object that is gone.
  mutating func save() -> JSON {
    switch next(3) {
    case 0: return ["insert": [["entity": "Group", "values": ["title": .string(title())]]]]
    case 1:
      let values: JSON = ["title": .string("own \(next(5))"), "group": "Group/p\(group())"]
      return ["update": [["id": "Task/p\(task())", "values": values]]]
    default: return ["delete": ["Group/p\(group())"]]
    }
  }
}
