import Testing

@Suite struct `A process killed at any moment` {
  // Evidence: P-095a
  @Test(arguments: 1...10)
  func `loses no acknowledged save, from the store nor from the index`(round: Int) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let child = try Child(["serve", store])
    let peer = Peer(child)
    // Many saves are under way; how many were answered at the kill differs from round to round.
    var sent = 0
    for _ in 0..<40 {
      sent = try peer.request("save", ["insert": .array((0..<20).map { save(sent + 1, $0) })])
    }
    var acknowledged = 0
    for id in 1...(round * 3) {
      guard try peer.answer(id)["result"] != nil else { throw Failure("save \(id) failed") }
      acknowledged = id
    }
    child.end()
    while let text = try child.stream.line() {
      // What was on its way in the pipe was acknowledged too; a cut line was not.
      do { acknowledged = max(acknowledged, try JSON(text)["id"]?.integer ?? 0) } catch {}
    }
    let again = Peer(try Child(["serve", store]))
    let count =
      try again.call("fetch", ["entity": "Task", "result": "count"])["count"]?.integer ?? 0
    #expect(count >= acknowledged * 20)
    #expect(count % 20 == 0, "a save is all or nothing")
    for id in 1...acknowledged {
      let found = try again.call(
        "fetch",
        ["entity": "Task", "predicate": "priority == \(id)", "result": "count"]
      )
      #expect(found["count"] == 20, "save \(id) of \(acknowledged)")
    }
    let verified = try again.call("index/verify")
    #expect(verified["differences"] == [])
    #expect(verified["checked"]?.integer == count)
    let hits = try again.call("search", ["query": "word\(acknowledged)"])
    #expect(hits["total"] == 20)
  }

  private func save(_ number: Int, _ row: Int) -> JSON {
    task("row \(row) of word\(number)", priority: number)
  }

  @Test func `leaves a socket and a lock that the next one takes over`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    for number in 1...5 {
      let daemon = try fixture.daemon(store)
      let peer = try daemon.connect()
      try peer.call("save", ["insert": [task("t\(number)")]])
      #expect(
        try peer.call("fetch", ["entity": "Task", "result": "count"])["count"]?.integer == number
      )
      daemon.child.end()
    }
  }
}

@Suite struct `A foreign SQLite client` {
  private func check(_ store: String, _ peer: Peer) throws {
    let fetch: JSON = ["entity": "Task", "sort": ["-priority"]]
    let observed = try peer.call("observe", ["fetch": fetch])
    var view = View(observed)
    var position = observed["token"]
    for (text, word, count) in [
      ("INSERT INTO Task(title, priority, completed, myDay) VALUES('foreign',3,0,0)", "foreign", 1),
      ("INSERT INTO Task(title, priority, completed, myDay) VALUES('other',9,0,0)", "other", 2),
      ("UPDATE Task SET title='changed' WHERE title='foreign'", "changed", 2),
      ("DELETE FROM Task WHERE title='other'", "changed", 1),
    ] {
      try ForeignClient.write(store, text)
      let changes = try peer.changes()
      #expect(changes["from"] == position, "\(text)")
      #expect(changes["authors"] == ["external"], "\(text)")
      position = changes["token"]
      try view.apply(changes)
      #expect(view.objects.count == count, "\(text)")
      #expect(.array(view.objects) == (try peer.call("fetch", fetch)["objects"]), "\(text)")
      let found = try peer.call(
        "search",
        ["query": .string(word), "at": position ?? .null]
      )
      #expect(found["total"] == 1, "\(text)")
    }
    #expect(try peer.call("index/verify")["differences"] == [])
    let history = try peer.call("history")
    #expect(history["transactions"]?.array?.count == 4)
    #expect(history["transactions"]?[0]?["author"] == "external")
  }

  @Test func `is observed over standard streams`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let child = try Child(["serve", store])
    try check(store, Peer(child))
  }

  @Test func `is observed over a socket`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let daemon = try fixture.daemon(store)
    try check(store, try daemon.connect())
  }

  @Test func `is found by the next process after no service ran`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    try ForeignClient.write(
      store,
      "INSERT INTO Task(title, priority, completed, myDay) VALUES('alone',1,0,0)"
    )
    let peer = Peer(try Child(["serve", store]))
    let fetched = try peer.call("fetch", ["entity": "Task"])
    #expect(fetched["objects"]?[0]?["values"]?["title"] == "alone")
    #expect(
      try peer.call("search", ["query": "alone", "at": fetched["token"] ?? .null])["total"] == 1
    )
    #expect(try peer.call("history")["transactions"]?[0]?["author"] == "external")
  }
}
