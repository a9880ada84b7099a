import JSON
import Testing

extension HostPeer {
  /// Opens the session with a period for gathering changes.
  fileprivate func initialize(coalesce milliseconds: Int) throws {
    _ = try call("initialize", #"{"cordial":{"coalesce":\#(milliseconds)}}"#)
  }
}

@Suite struct `A connection that gathers changes` {
  // Evidence: P-081a, P-085c
  @Test func `receives several commits as one message at the end of the period`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      try reader.initialize(coalesce: 100)
      try reader.observeTasks()
      let from = try writer.saveTask("first", author: "cy")
      #expect(reader.insertedTitles == ["first"])
      try writer.saveTask("a", author: "ann")
      try host.advance(milliseconds: 60)
      let token = try writer.saveTask("b", author: "bob")
      try host.advance(milliseconds: 39)
      #expect(reader.changes.count == 1)
      try host.advance(milliseconds: 1)
      #expect(reader.changes.count == 2)
      let changes = try #require(reader.changes.last)
      #expect(changes["from"]?.string == from)
      #expect(changes["token"]?.string == token)
      #expect(changes["authors"] == ["ann", "bob"])
      #expect(reader.insertedTitles == ["first", "a", "b"])
    }
  }

  // Evidence: P-085c
  @Test func `is notified at once after a quiet period, and begins a period`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      try reader.initialize(coalesce: 100)
      try reader.observeTasks()
      let first = try writer.saveTask("a")
      #expect(reader.changes.count == 1)
      // The period ends without changes, and a pause follows that is no part of a period.
      try host.advance(milliseconds: 170)
      #expect(reader.changes.count == 1)
      let second = try writer.saveTask("b")
      #expect(reader.changes.count == 2)
      #expect(reader.changes.last?["from"]?.string == first)
      try writer.saveTask("c")
      try host.advance(milliseconds: 99)
      #expect(reader.changes.count == 2)
      try host.advance(milliseconds: 1)
      #expect(reader.changes.count == 3)
      #expect(reader.changes.last?["from"]?.string == second)
      // The message at the end of a period begins another one.
      try writer.saveTask("d")
      try host.advance(milliseconds: 99)
      #expect(reader.changes.count == 3)
      try host.advance(milliseconds: 1)
      #expect(reader.insertedTitles == ["a", "b", "c", "d"])
    }
  }

  // Evidence: P-081c, P-082a
  @Test func `receives nothing about an object inserted and deleted in the period`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      try reader.initialize(coalesce: 100)
      try reader.observeTasks()
      let from = try writer.saveTask("first")
      try writer.saveTask("short", author: "ann")
      let deleted = try writer.call("delete", #"{"ids":["Task/p2"],"author":"bob"}"#)
      #expect(deleted["count"] == 1)
      try host.advance(milliseconds: 100)
      #expect(reader.changes.count == 1)
      // The next message spans the commits about that object.
      try writer.saveTask("long", author: "cy")
      let changes = try #require(reader.changes.last)
      #expect(changes["from"]?.string == from)
      let authors = (changes["authors"]?.array ?? []).compactMap(\.string)
      #expect(Set(authors) == ["ann", "bob", "cy"])
      #expect(reader.insertedTitles == ["first", "long"])
    }
  }

  // Evidence: P-085c
  @Test func `has a period of its own`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let periods = [0, 30, 90]
      let readers = periods.map { _ in HostPeer(host) }
      for (reader, period) in zip(readers, periods) {
        try reader.initialize(coalesce: period)
        try reader.observeTasks()
      }
      try writer.saveTask("a")
      #expect(readers.map { $0.changes.count } == [1, 1, 1])
      try writer.saveTask("b")
      for (milliseconds, expected) in [(0, [2, 1, 1]), (30, [2, 2, 1]), (60, [2, 2, 2])] {
        try host.advance(milliseconds: milliseconds)
        #expect(readers.map { $0.changes.count } == expected)
      }
    }
  }
}

@Suite struct `A connection that gathers no changes` {
  // Evidence: P-085c
  @Test(arguments: ["{}", #"{"cordial":{"coalesce":0}}"#])
  func `receives each commit while no time passes`(params: String) async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      _ = try reader.call("initialize", params)
      var position = try reader.observeTasks()
      let time = host.loop.now
      for (index, title) in ["a", "b", "c"].enumerated() {
        let token = try writer.saveTask(title)
        #expect(reader.changes.count == index + 1)
        #expect(reader.changes.last?["from"]?.string == position)
        #expect(reader.changes.last?["token"]?.string == token)
        position = token
      }
      #expect(host.loop.now == time)
    }
  }
}

@Suite struct `The saves of an observing connection` {
  // Evidence: P-081e
  @Test(arguments: [0, 50])
  func `are reported to it after their answers`(coalesce: Int) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      try peer.initialize(coalesce: coalesce)
      try peer.observeTasks()
      try host.withBlockedWriter {
        for title in ["a", "b", "c"] { peer.send("save", insertTask(title)) }
      }
      try host.settle()
      try host.advance(milliseconds: coalesce)
      var answered: Set<String> = []
      for message in peer.messages {
        if let token = message["result"]?["token"]?.string { answered.insert(token) }
        guard let token = message["params"]?["token"]?.string else { continue }
        #expect(answered.contains(token), "The changes came before the answer of \(token)")
      }
      #expect(peer.insertedTitles == ["a", "b", "c"])
    }
  }

  // Evidence: P-081e
  @Test func `are reported after their answers when the loop performs the last one`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      try peer.observeTasks()
      func save(_ titles: [String]) -> String {
        let inserts = titles.map { #"{"entity":"Task","values":{"title":"\#($0)"}}"# }
        return #"{"insert":[\#(inserts.joined(separator: ","))],"durability":"normal"}"#
      }
      _ = try peer.call("save", save(["a"]))
      // The writer's thread performs the first, which is large, and the loop the second.
      let first = peer.send("save", save((0..<9).map { "b\($0)" }))
      try host.waitForWriter()
      let second = peer.send("save", save(["c"]))
      try host.settle()
      let messages = peer.messages
      let answers = try [first, second].map { id in
        try #require(messages.firstIndex { $0["id"]?.integer == Int64(id) })
      }
      #expect(answers[0] < answers[1])
      let report = try #require(
        messages.firstIndex { message in
          message["method"]?.string == "changes" && message.text.contains("b0")
        }
      )
      #expect(report > answers[0])
      #expect(peer.insertedTitles == ["a"] + (0..<9).map { "b\($0)" } + ["c"])
    }
  }

  // Evidence: P-081e, P-085c
  @Test func `are reported after their answers when the period ends in between`() async throws {
    try await withHost { host in
      let other = HostPeer(host)
      try other.saveTask("a")
      let peer = HostPeer(host)
      try peer.initialize(coalesce: 50)
      // An update of an observed object needs no reader: it can be sent at once.
      _ = try peer.call("observe", #"{"ids":["Task/p1"]}"#)
      _ = try other.call("save", #"{"update":[{"id":"Task/p1","values":{"priority":7}}]}"#)
      #expect(peer.changes.count == 1)
      _ = try other.call("save", #"{"update":[{"id":"Task/p1","values":{"priority":1}}]}"#)
      try host.advance(milliseconds: 30)
      let id = peer.send("save", #"{"update":[{"id":"Task/p1","values":{"title":"b"}}]}"#)
      try host.waitForWriter()
      host.fireTimers(milliseconds: 20)
      #expect(peer.changes.count == 1)
      // The answer ends the wait, so that no further period begins.
      let timersSet = host.loop.timersSet
      host.fireTimers(milliseconds: 500)
      #expect(host.loop.timersSet == timersSet)
      try host.settle()
      let token = try #require(peer.answer(to: id)?["result"]?["token"])
      let messages = peer.messages
      let answer = try #require(messages.firstIndex { $0["id"]?.integer == Int64(id) })
      let report = try #require(messages.firstIndex { $0["params"]?["token"] == token })
      #expect(answer < report)
      let object = peer.changes.last?["updates"]?.array?.first?["objects"]?.array?.first?["object"]
      #expect(object?["values"]?["title"] == "b")
      #expect(object?["values"]?["priority"] == 1)
    }
  }
}
