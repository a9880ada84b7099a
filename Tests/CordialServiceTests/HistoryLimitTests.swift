import CordialService
import Glibc
import JSON
import PersistentStore
import TestStores
import Testing

// The clock of `ServiceHost.service` stands still, so that the service removes old history at its
// start only: these tests restart it, or use a clocked service.
@Suite struct `The automatic removal of history` {
  // Evidence: P-129d
  @Test func `removes commits that are older than historyDaysMax`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.folder = try TestFolder()
      var host = try ServiceHost(model: TestModels.todo, options)
      try HostPeer(host).saveTask("a", author: "one")
      host.advance(days: 20)
      try HostPeer(host).saveTask("b", author: "two")
      let steps: [(days: Int64, retained: [String])] = [
        (9, ["one", "two"]), (2, ["two"]), (20, []),
      ]
      for (days, retained) in steps {
        try host.close()
        host.advance(days: days)
        host = try ServiceHost(model: nil, options)
        try host.settlePurge()
        #expect(try HostPeer(host).retainedAuthors() == retained)
      }
      let count = try HostPeer(host).call("fetch", HostPeer.countTasks)
      #expect(count["count"] == 2)
      try host.close()
    }
  }

  // Evidence: P-129d
  @Test func `removes old commits while the service runs`() async throws {
    try await withHost { host in
      let peer = HostPeer(host, of: try host.makeClockedService())
      try peer.saveTask("a", author: "one")
      host.advance(days: 20)
      try peer.saveTask("b", author: "two")
      // While a removal is under way, a commit begins no other one.
      try host.settlePurge()
      host.advance(days: 11)
      try peer.saveTask("c", author: "three")
      try host.settlePurge()
      #expect(try peer.retainedAuthors() == ["two", "three"])
    }
  }

  /// Saves twenty versions of a task with a title of a thousand letters.
  private static func saveVersions(_ peer: HostPeer) throws {
    try peer.saveTask("a", author: "1")
    for number in 2...20 {
      let title = String(repeating: "\(number % 10)", count: 1000)
      let update = #"{"id":"Task/p1","values":{"title":"\#(title)"}}"#
      _ = try peer.call("save", #"{"update":[\#(update)],"author":"\#(number)"}"#)
    }
  }

  // Evidence: P-129d
  @Test(arguments: [(0, 5...11), (7, 20...20)])
  func `removes commits beyond historyBytesMax that historyDaysMin does not retain`(
    daysMin: Int,
    expected: ClosedRange<Int>
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.folder = try TestFolder()
      options.limits.historyDaysMin = daysMin
      let host = try ServiceHost(model: TestModels.todo, options)
      try Self.saveVersions(HostPeer(host))
      try host.close()
      options.limits.historyBytesMax = 10_000
      let limited = try ServiceHost(model: nil, options)
      try limited.settlePurge()
      // The remaining commits are the end of the log.
      let authors = try HostPeer(limited).retainedAuthors()
      #expect(expected.contains(authors.count), "\(authors.count) commits remain")
      #expect(authors == (1...20).suffix(authors.count).map { "\($0)" })
      try limited.close()
    }
  }

  // Evidence: P-128d, P-129b
  @Test(arguments: [(40, ["three", "four"]), (7, [])] as [(Int, [String])])
  func `retains what a follower has not read until the follower is expired`(
    followerDaysMax: Int,
    retained: [String]
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.folder = try TestFolder()
      options.limits.followerDaysMax = followerDaysMax
      let host = try ServiceHost(model: TestModels.todo, options)
      let peer = HostPeer(host)
      try peer.saveTask("a", author: "one")
      let since = try peer.saveTask("b", author: "two")
      try peer.saveTask("c", author: "three")
      try peer.saveTask("d", author: "four")
      let registered = try peer.call(
        "follower/register",
        #"{"name":"mirror","since":"\#(since)"}"#
      )
      #expect(registered["token"]?.string == since)
      try host.close()
      host.advance(days: 31)
      let later = try ServiceHost(model: nil, options)
      try later.settlePurge()
      #expect(try HostPeer(later).retainedAuthors() == retained)
      try later.close()
    }
  }

  // Evidence: P-129b
  @Test func `retains what a live subscription has not reported`() async throws {
    try await withHost { host in
      let service = try host.makeClockedService()
      let writer = HostPeer(host, of: service)
      let reader = HostPeer(host, of: service)
      try writer.saveTask("a", author: "one")
      let position = try reader.observeTasks()
      reader.stopReading()
      try writer.saveTask("b", author: "two")
      host.advance(days: 31)
      try writer.saveTask("c", author: "three")
      try host.settlePurge()
      #expect(try writer.retainedAuthors() == ["two", "three"])
      reader.resumeReading()
      try host.settle()
      // The subscription continues and does not start over.
      let changes = try #require(reader.changes.first)
      #expect(changes["from"]?.string == position)
      #expect(changes["authors"] == ["two", "three"])
      #expect(changes["updates"]?.array?.first?["fresh"] == nil)
      #expect(reader.insertedTitles == ["b", "c"])
    }
  }
}

@Suite struct `A purge` {
  private static let all = #"{"keep":{"transactions":0}}"#

  /// Runs a body with a service that has no minimum retention.
  private static func withoutDaysMin(
    _ body: @escaping @Sendable (ServiceHost) throws -> Void
  ) async throws {
    var limits = Limits()
    limits.historyDaysMin = 0
    try await withHost(limits: limits, body)
  }

  // Evidence: P-128a, P-129b
  @Test func `stops at a follower, which heldBy names`() async throws {
    try await Self.withoutDaysMin { host in
      let peer = HostPeer(host)
      let tokens = try (1...4).map { try peer.saveTask("\($0)", author: "\($0)") }
      _ = try peer.call("follower/register", #"{"name":"mirror","since":"\#(tokens[1])"}"#)
      let held = try peer.call("history/purge", Self.all)
      #expect(held["token"]?.string == tokens[1])
      #expect(held["transactions"] == 2)
      #expect(held["heldBy"]?.string?.contains("mirror") == true)
      #expect(try peer.retainedAuthors() == ["3", "4"])
      // Commits that the follower has read are no longer retained.
      _ = try peer.call("follower/acknowledge", #"{"name":"mirror","token":"\#(tokens[2])"}"#)
      let less = try peer.call("history/purge", Self.all)
      #expect(less["token"]?.string == tokens[2])
      #expect(less["transactions"] == 1)
      _ = try peer.call("follower/remove", #"{"name":"mirror"}"#)
      let free = try peer.call("history/purge", Self.all)
      #expect(free["token"]?.string == tokens[3])
      #expect(free["heldBy"] == nil)
      #expect(try peer.retainedAuthors() == [])
    }
  }

  // Evidence: P-128d
  @Test func `skips an expired follower, which has to register again with since`() async throws {
    try await Self.withoutDaysMin { host in
      let peer = HostPeer(host)
      let first = try peer.saveTask("a", author: "one")
      let last = try peer.saveTask("b", author: "two")
      _ = try peer.call("follower/register", #"{"name":"mirror","since":"\#(first)"}"#)
      host.advance(days: 8)
      let purged = try peer.call("history/purge", Self.all)
      #expect(purged["token"]?.string == last)
      #expect(purged["heldBy"] == nil)
      for (method, params) in [
        ("follower/register", #"{"name":"mirror"}"#),
        ("follower/acknowledge", #"{"name":"mirror","token":"\#(last)"}"#),
      ] {
        let refused = try peer.call(method, params)
        #expect(refused["code"] == 1201, "\(method)")
        #expect(refused["data"]?["oldest"]?.string == last, "\(method)")
      }
      let again = try peer.call(
        "follower/register",
        #"{"name":"mirror","since":"\#(last)"}"#
      )
      #expect(again["token"]?.string == last)
    }
  }

  // Evidence: P-129c
  @Test func `lets saves through between its steps`() async throws {
    try await Self.withoutDaysMin { host in
      let purger = HostPeer(host)
      let writer = HostPeer(host)
      // Rows for ten steps.
      let inserts = Array(repeating: #"{"entity":"Group"}"#, count: 40_000).joined(separator: ",")
      _ = try purger.call("save", #"{"insert":[\#(inserts)]}"#)
      try purger.saveTask("a", author: "one")
      try purger.saveTask("b", author: "two")
      let purge = purger.send("history/purge", Self.all)
      // The writer is blocked before the last step, and the save comes after the next one.
      var save = 0
      try host.withBlockedWriter { save = writer.send("save", insertTask("c")) }
      try host.run(until: "the save is answered") { writer.answer(to: save) != nil }
      #expect(purger.answer(to: purge) == nil)
      try host.settlePurge()
      #expect(purger.answer(to: purge)?["result"] != nil)
    }
  }

  // Evidence: P-129b
  @Test func `stops at a live subscription until its client reads again`() async throws {
    try await Self.withoutDaysMin { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      try writer.saveTask("a", author: "one")
      let position = try reader.observeTasks()
      reader.stopReading()
      try writer.saveTask("b", author: "two")
      let last = try writer.saveTask("c", author: "three")
      let held = try writer.call("history/purge", Self.all)
      #expect(held["token"]?.string == position)
      #expect(held["heldBy"]?.string?.contains("subscription") == true)
      #expect(try writer.retainedAuthors() == ["two", "three"])
      reader.resumeReading()
      try host.settle()
      #expect(reader.insertedTitles == ["b", "c"])
      let free = try writer.call("history/purge", Self.all)
      #expect(free["token"]?.string == last)
      #expect(free["heldBy"] == nil)
    }
  }

  // Evidence: P-129b
  @Test func `passes a subscription that ended while its update was made`() async throws {
    try await Self.withoutDaysMin { host in
      let (writer, reader) = (HostPeer(host), HostPeer(host))
      try reader.observeTasks()
      let readers = try host.blockReaders()
      // An update of so many changes is made by a reader.
      let tasks = Array(repeating: #"{"entity":"Task"}"#, count: 100).joined(separator: ",")
      let saved = writer.send("save", #"{"insert":[\#(tasks)]}"#)
      try host.run(until: "the save is answered") { writer.answer(to: saved) != nil }
      let last = host.blockReader()
      readers[0].release()
      try host.waitUntilBlocked(last)
      reader.disconnect()
      for blocked in readers.dropFirst() + [last] { blocked.release() }
      try host.settle()
      #expect(reader.changes.isEmpty)
      let newest = try writer.saveTask("newest")
      let free = try writer.call("history/purge", Self.all)
      #expect(free["token"]?.string == newest)
      #expect(free["heldBy"] == nil)
    }
  }

  // Evidence: P-129b
  @Test func `stops at a live subscription of another service of the store`() async throws {
    try await Self.withoutDaysMin { host in
      let writer = HostPeer(host)
      let other = HostPeer(host, of: try host.makeClockedService())
      try writer.saveTask("a", author: "one")
      let position = try other.observeTasks()
      try host.settle()
      try writer.saveTask("b", author: "two")
      let last = try writer.saveTask("c", author: "three")
      let held = try writer.call("history/purge", Self.all)
      #expect(held["token"]?.string == position)
      #expect(held["heldBy"]?.string == "a live subscription of the process \(getpid())")
      other.disconnect()
      try host.settle()
      let free = try writer.call("history/purge", Self.all)
      #expect(free["token"]?.string == last)
      #expect(free["heldBy"] == nil)
    }
  }

  // Evidence: P-129b
  @Test(arguments: [(Int32.max, ""), (getpid(), "1")])
  func `ignores the subscriptions of a process that has ended`(
    process: Int32,
    start: String
  ) async throws {
    try await Self.withoutDaysMin { host in
      let writer = HostPeer(host)
      try writer.saveTask("a", author: "one")
      try ForeignWriter.write(
        host.store.container.storePath,
        "INSERT INTO cordial_lease VALUES ('other', \(process), '\(start)', 1)"
      )
      let last = try writer.saveTask("b", author: "two")
      let free = try writer.call("history/purge", Self.all)
      #expect(free["token"]?.string == last)
      #expect(free["heldBy"] == nil)
    }
  }

  // Evidence: P-081c, P-129b
  @Test func `retains the authors that the next changes name`() async throws {
    try await Self.withoutDaysMin { host in
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      let position = try reader.observeTasks()
      // Commits that concern no subscription: the position of the connection stays.
      for author in ["ann", "bob", "cy"] {
        _ = try writer.call("save", #"{"insert":[{"entity":"Group"}],"author":"\#(author)"}"#)
      }
      _ = try writer.call("history/purge", Self.all)
      try writer.saveTask("a", author: "dee")
      let changes = try #require(reader.changes.first)
      #expect(changes["from"]?.string == position)
      let authors = (changes["authors"]?.array ?? []).compactMap(\.string)
      #expect(Set(authors) == ["ann", "bob", "cy", "dee"])
    }
  }
}
