import Testing

@Suite struct `Observing over a socket` {
  // Evidence: P-081a, P-081b, P-086c
  @Test func `a save by another connection is one changes notification`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let ids = try writer.call("save", ["insert": [task("a"), task("b")]])["objects"]
    let first = ids?[0]?["id"] ?? .null
    for (mode, target, keys) in [
      ("values", ["fetch": ["entity": "Task"]], ["remove", "insert", "update", "count"]),
      ("ids", ["fetch": ["entity": "Task"]], ["remove", "insert", "count"]),
      ("signal", ["fetch": ["entity": "Task"]], ["signal"]),
      ("values", ["ids": [first]], ["objects"]),
      ("signal", ["ids": [first]], ["signal"]),
    ] as [(String, [String: JSON], Set<String>)] {
      let reader = try daemon.connect()
      let observed = try reader.call(
        "observe",
        .object(target.merging(["mode": .string(mode)]) { $1 })
      )
      #expect(observed["fresh"] == true)
      #expect((observed["result"] == nil) == (mode == "signal"))
      let saved = try writer.call(
        "save",
        [
          "update": [["id": first, "values": ["title": "\(mode) \(keys.count)"]]],
          "insert": [task("new")], "author": "writer",
        ]
      )
      let changes = try reader.changes()
      #expect(changes["from"] == observed["token"])
      #expect(changes["token"] == saved["token"])
      #expect(changes["authors"] == ["writer"])
      let updates = changes["updates"]?.array ?? []
      #expect(updates.count == 1)
      #expect(updates.at(0)["subscription"] == observed["subscription"])
      #expect(Set((updates.at(0).object ?? [:]).keys) == keys.union(["subscription"]))
      // Nothing else came: the flush is answered behind every change.
      try reader.call("observe/flush")
      #expect(reader.takeNotifications() == [])
      reader.stream.close()
    }
  }

  // Evidence: P-080a, P-080d
  @Test func `an observed fetch is answered as the same fetch would be, with its count`() throws {
    let fixture = try Fixture()
    let peer = Peer(try Child(["serve", try fixture.store()]))
    let first = try peer.call("save", ["insert": [task("b", priority: 1), task("a")]])["token"]
    let fetch: JSON = ["entity": "Task", "predicate": "priority < 2", "sort": ["title"]]
    let fetched = try peer.call("fetch", fetch)
    let observed = try peer.call("observe", ["fetch": fetch])
    #expect(observed["subscription"]?.string?.isEmpty == false)
    #expect(observed["token"] == first)
    #expect(observed["fresh"] == true)
    #expect(observed["result"]?["objects"] == fetched["objects"])
    #expect(observed["result"]?["count"] == 2)
    // A client with the result of the newest commit misses nothing.
    let resumed = try peer.call("observe", ["fetch": fetch, "since": first ?? .null])
    #expect(resumed["token"] == first)
    #expect(resumed["fresh"] == false)
    #expect(resumed["update"] == [:])
    let ids: JSON = ["ids": ["Task/p2", "Task/p9"]]
    let byIDs = try peer.call("observe", ids)
    #expect(byIDs["fresh"] == true)
    #expect(byIDs["result"]?["objects"] == (try peer.call("fetch", ids)["objects"]))
  }

  // Evidence: P-083
  @Test func `the mode ids reports inserts and deletes only`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    try writer.call("save", ["insert": [task("a")]])
    let observed = try reader.call("observe", ["ids": ["Task/p1", "Task/p2"], "mode": "ids"])
    #expect(observed["result"]?["ids"] == ["Task/p1"])
    #expect(observed["result"]?["count"] == 1, "the number of the IDs that were answered")
    try writer.call("save", ["update": [["id": "Task/p1", "values": ["title": "b"]]]])
    try reader.call("observe/flush")
    #expect(reader.takeNotifications() == [])
    try writer.call("save", ["insert": [task("b")]])
    #expect(
      try reader.changes()["updates"]?[0]?["objects"] == [["id": "Task/p2", "change": "insert"]]
    )
    try writer.call("save", ["delete": ["Task/p1"]])
    #expect(
      try reader.changes()["updates"]?[0]?["objects"] == [["id": "Task/p1", "change": "delete"]]
    )
  }

  // Evidence: P-082b, P-082d
  @Test func `a deleted object is reported with its last values`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    try writer.call("save", ["insert": [["id": "Group/t1"], task("a", priority: 7)]])
    try writer.call("save", ["update": [["id": "Task/p1", "values": ["group": "Group/p1"]]]])
    let reader = try daemon.connect()
    try reader.call("observe", ["ids": ["Task/p1"]])
    try reader.call("observe", ["fetch": ["entity": "Task"]])
    try writer.call("delete", ["ids": ["Task/p1"]])
    let updates = try reader.changes()["updates"]
    for gone in [updates?[0]?["objects"]?[0], updates?[1]?["remove"]?[0]] {
      #expect(gone?["last"]?["title"] == "a")
      #expect(gone?["last"]?["priority"] == 7)
      #expect(gone?["last"]?["group"] == "Group/p1")
    }
    #expect(updates?[0]?["objects"]?[0]?["change"] == "delete")
    #expect(updates?[1]?["remove"]?[0]?["deleted"] == true)
    #expect(updates?[1]?["count"] == 0)
  }

  // Evidence: P-081e
  @Test func `own saves are reported after their responses`() throws {
    let fixture = try Fixture()
    let peer = try fixture.daemon(try fixture.store()).connect()
    try peer.call("observe", ["fetch": ["entity": "Task"]])
    for number in 0..<50 {
      let saved = try peer.call("save", ["insert": [task("t\(number)")]])
      #expect(peer.notifications.isEmpty, "changes came before the answer")
      let changes = try peer.changes()
      #expect(changes["token"] == saved["token"])
      #expect(changes["updates"]?[0]?["count"]?.integer == number + 1)
    }
  }

  @Test func `all subscriptions move together, in the order of their creation`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    var names: [JSON?] = []
    for mode in ["values", "ids", "signal", "values"] {
      names.append(
        try reader.call("observe", ["fetch": ["entity": "Task"], "mode": .string(mode)])[
          "subscription"
        ]
      )
    }
    try writer.call("save", ["insert": [task("a")]])
    #expect(try reader.changes()["updates"]?.array?.map { $0["subscription"] } == names)
  }

  // Evidence: P-081c
  @Test func `the next notification covers commits without affected subscriptions`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    let observed = try reader.call(
      "observe",
      ["fetch": ["entity": "Task", "predicate": "priority > 5"]]
    )
    try writer.call("save", ["insert": [["entity": "Group"]], "author": "one"])
    try reader.call("observe/flush")
    try writer.call("save", ["insert": [task("low")], "author": "two"])
    try reader.call("observe/flush")
    #expect(reader.takeNotifications() == [])
    try writer.call("save", ["insert": [task("high", priority: 9)], "author": "three"])
    let changes = try reader.changes()
    #expect(changes["from"] == observed["token"])
    #expect(
      Set((changes["authors"]?.array ?? []).compactMap(\.string)) == ["one", "two", "three"]
    )
  }

  // Evidence: P-086b
  @Test func `after unobserve no notification names the subscription`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    let kept = try reader.call("observe", ["fetch": ["entity": "Group"]])
    let observed = try reader.call("observe", ["fetch": ["entity": "Task"]])
    let params: JSON = ["subscription": observed["subscription"] ?? .null]
    try reader.call("unobserve", params)
    #expect(try reader.errorCode("unobserve", params) == 1301)
    try writer.call("save", ["insert": [task("a"), ["entity": "Group"]]])
    let updates = try reader.changes()["updates"]
    #expect(updates?.array?.count == 1)
    #expect(updates?[0]?["subscription"] == kept["subscription"])
  }

  @Test func `an update without a change leaves every view correct`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    try writer.call("save", ["insert": [task("a", priority: 1)]])
    for values in [[:], ["priority": 1], ["title": "a", "priority": 1]] as [JSON] {
      let reader = try daemon.connect()
      var view = View(try reader.call("observe", ["fetch": ["entity": "Task"]]))
      try writer.call("save", ["update": [["id": "Task/p1", "values": values]]])
      try reader.call("observe/flush")
      for changes in reader.takeNotifications() { try view.apply(changes["params"] ?? .null) }
      let fresh = try reader.call("fetch", ["entity": "Task"])["objects"]
      #expect(JSON.array(view.objects).text == fresh?.text, "\(values.text)")
    }
  }

  // Evidence: P-086a
  @Test func `a subscription replaces the one with the same key`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    let first = try reader.call("observe", ["fetch": ["entity": "Task"], "key": "box"])
    let second = try reader.call("observe", ["fetch": ["entity": "Group"], "key": "box"])
    #expect(first["subscription"] == second["subscription"])
    try writer.call("save", ["insert": [task("a")]])
    try reader.call("observe/flush")
    #expect(reader.takeNotifications() == [])
    try writer.call("save", ["insert": [["entity": "Group"]]])
    #expect(try reader.changes()["updates"]?.array?.count == 1)
  }

  // Evidence: P-084a
  @Test func `a change behind a key path wakes a fetch that reads it`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    try writer.call(
      "save",
      [
        "insert": [
          ["id": "Group/t1", "values": ["title": "old"]],
          ["entity": "Task", "values": ["title": "a", "group": "Group/t1"]],
        ]
      ]
    )
    let reader = try daemon.connect()
    try reader.call(
      "observe",
      ["fetch": ["entity": "Task", "select": ["title", "group.title"]]]
    )
    try reader.call(
      "observe",
      ["fetch": ["entity": "Task", "predicate": "group.title == 'old'"]]
    )
    try writer.call("save", ["update": [["id": "Group/p1", "values": ["title": "new"]]]])
    let updates = try reader.changes()["updates"]
    #expect(updates?[0]?["update"]?[0]?["object"]?["values"]?["group.title"] == "new")
    #expect(updates?[1]?["remove"]?[0]?["id"] == "Task/p1")
    #expect(updates?[1]?["remove"]?[0]?["deleted"] == nil)
  }

  // Evidence: P-085a
  @Test func `a reader that stops reading gets one coalesced view when it reads again`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    let fetch: JSON = ["entity": "Task", "sort": ["-priority"]]
    let observed = try reader.call("observe", ["fetch": fetch])
    var view = View(observed)
    let text = String(repeating: "x", count: 20_000)
    for number in 0..<600 {
      try writer.call("save", ["insert": [task(text, priority: number % 7)]])
    }
    var count = 0
    while view.objects.count < 600 {
      try view.apply(try reader.changes())
      count += 1
    }
    #expect(count < 600, "12 MB of changes can't all have been queued")
    #expect(.array(view.objects) == (try reader.call("fetch", fetch)["objects"]))
  }

  // Evidence: P-080c, P-081d
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a chain of random saves applied by a client is what a fresh fetch answers`(
    seed: UInt64
  ) throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let reader = try daemon.connect()
    let fetches: [JSON] = [
      ["entity": "Task"],
      ["entity": "Task", "sort": ["priority", "-title"], "limit": 7, "offset": 2],
      ["entity": "Task", "predicate": "priority > 3 AND title != nil", "sort": ["-title"]],
      ["entity": "Task", "predicate": "group.title == 'even'", "sort": ["group.title", "title"]],
      [
        "entity": "Task",
        "predicate": "priority IN group.tasks.priority AND group.tasks.@count > 1",
      ],
      [
        "entity": "Group", "select": ["n": "tasks.@count", "sum": "tasks.@sum.priority"],
        "predicate": "SUBQUERY(tasks, $t, ANY $t.group.tasks.title != nil).@count > 0",
      ],
      [
        "entity": "Task", "select": ["title", "group.title"], "sort": ["-group.title"], "limit": 9,
      ],
    ]
    var views: [String: View] = [:]
    var names: [String] = []
    var position: JSON?
    var isBroken = false
    for fetch in fetches {
      let observed = try reader.call("observe", ["fetch": fetch])
      names.append(observed["subscription"]?.string ?? "")
      views[names.last ?? ""] = View(observed)
      position = observed["token"]
    }
    var random = RandomSaves(seed: seed)
    var present: [String] = []
    var groups: [String] = []
    for step in 0..<200 {
      let params = random.save(&present, &groups)
      let saved = try writer.answer(try writer.request("save", params))
      guard let result = saved["result"] else {
        Issue.record("seed \(seed), step \(step): \(params.text) \(saved.text)")
        continue
      }
      for object in result["objects"]?.array ?? [] {
        let id = object["id"]?.string ?? ""
        if id.hasPrefix("Task/"), !present.contains(id) { present.append(id) }
        if id.hasPrefix("Group/"), !groups.contains(id) { groups.append(id) }
      }
      try reader.call("observe/flush")
      for changes in reader.takeNotifications().compactMap({ $0["params"] }) {
        if !isBroken, changes["from"] != position {
          isBroken = true
          Issue.record("seed \(seed), step \(step): a gap before \(changes.text.prefix(200))")
        }
        position = changes["token"]
        for update in changes["updates"]?.array ?? [] {
          try views[update["subscription"]?.string ?? ""]?.apply(update: update)
        }
      }
      // A wrong view stays wrong, so that looking at every fourth finds it too.
      guard step % 4 == 3 else { continue }
      for (name, fetch) in zip(names, fetches) {
        let fresh = try reader.call("fetch", fetch)["objects"]
        guard let view = views[name].map({ JSON.array($0.objects) }), view != fresh else {
          continue
        }
        Issue.record(
          """
          seed \(seed), step \(step), \(fetch.text), after \(params.text)
          applied: \(view.text)
          fetched: \(fresh?.text ?? "nothing")
          """
        )
        return
      }
    }
  }
}

/// What a client holds of a result.
struct View {
  private(set) var objects: [JSON]

  init(_ observed: JSON) {
    objects = observed["result"]?["objects"]?.array ?? []
  }

  mutating func apply(_ changes: JSON) throws {
    for update in changes["updates"]?.array ?? [] { try apply(update: update) }
  }

  /// Removals by descending old offset, then insertions by ascending new offset, then updates.
  mutating func apply(update: JSON) throws {
    if let result = update["result"] {
      objects = result["objects"]?.array ?? []
      return
    }
    func places(_ name: String) -> [(offset: Int, row: JSON)] {
      (update[name]?.array ?? []).map { ($0["offset"]?.integer ?? -1, $0) }
    }
    for (offset, row) in places("remove").sorted(by: { $0.offset > $1.offset }) {
      guard objects.indices.contains(offset), objects[offset]["id"] == row["id"] else {
        throw Failure("a removal at \(offset) that is not there: \(update.text)")
      }
      objects.remove(at: offset)
    }
    for (offset, row) in places("insert").sorted(by: { $0.offset < $1.offset }) {
      guard offset >= 0, offset <= objects.count, let object = row["object"] else {
        throw Failure("an insertion at \(offset) that can't be: \(update.text)")
      }
      objects.insert(object, at: offset)
    }
    for (offset, row) in places("update") {
      guard objects.indices.contains(offset), objects[offset]["id"] == row["id"],
        let object = row["object"]
      else { throw Failure("an update at \(offset) that can't be: \(update.text)") }
      objects[offset] = object
    }
    guard update["count"]?.integer == objects.count else {
      throw Failure("\(objects.count) objects, but \(update.text)")
    }
  }
}

/// Random saves that repeat with their seed.
private struct RandomSaves {
  private var state: UInt64
  private var updateCount = 0

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  private mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  private mutating func values(_ groups: [String]) -> JSON {
    var values: [String: JSON] = [:]
    if next(2) == 0 { values["title"] = next(5) == 0 ? nil : .string("title \(next(20))") }
    if next(2) == 0 { values["priority"] = .integer(Int64(next(8))) }
    if next(3) == 0 {
      values["group"] = groups.isEmpty || next(4) == 0 ? .null : .string(groups[next(groups.count)])
    }
    return .object(values)
  }

  mutating func save(_ present: inout [String], _ groups: inout [String]) -> JSON {
    var inserts: [JSON] = []
    var updates: [JSON] = []
    var deletes: [JSON] = []
    if groups.count < 3 {
      inserts.append([
        "entity": "Group", "values": ["title": groups.count % 2 == 0 ? "even" : "odd"],
      ])
    } else if next(6) == 0 {
      let title: JSON = next(2) == 0 ? "even" : "odd"
      updates.append(["id": .string(groups[next(groups.count)]), "values": ["title": title]])
    }
    for _ in 0..<next(4) { inserts.append(["entity": "Task", "values": values(groups)]) }
    var touched: Set<String> = []
    for _ in 0..<next(4) where !present.isEmpty {
      let id = present[next(present.count)]
      guard touched.insert(id).inserted else { continue }
      // It always changes something; an update that doesn't has its own test.
      guard case .object(var changed) = values(groups) else { continue }
      updateCount += 1
      changed["title"] = .string("title \(next(20)) \(updateCount)")
      updates.append(["id": .string(id), "values": .object(changed)])
    }
    for _ in 0..<next(3) where present.count > 5 {
      let place = next(present.count)
      guard touched.insert(present[place]).inserted else { continue }
      deletes.append(.string(present.remove(at: place)))
    }
    return ["insert": .array(inserts), "update": .array(updates), "delete": .array(deletes)]
  }
}
