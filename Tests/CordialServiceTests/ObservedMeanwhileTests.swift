import CordialService
import JSON
import PersistentStore
import Testing

/// Commits and steps of all connections while one connection adds a subscription.
@Suite struct `While a subscription is added` {
  /// The objects that a connection has of its subscriptions, by the updates that it received.
  private func inserted(_ peer: HostPeer) -> [String] {
    peer.changes.flatMap { $0["updates"]?.array ?? [] }.flatMap { update in
      let name = update["subscription"]?.string ?? ""
      return (update["insert"]?.array ?? []).map { row in
        "\(name) \(row["object"]?["values"]?["title"]?.string ?? "")"
      }
    }
  }

  // Evidence: P-081a, P-082c
  @Test func `a step of the others takes no update from its older subscriptions`() async throws {
    try await withHost(model: ObserveOracle.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      _ = try peer.call("initialize", #"{"cordial":{"coalesce":1000}}"#)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      func insert(_ entities: [String], _ title: String) -> String {
        let objects = entities.map { #"{"entity":"\#($0)","values":{"title":"\#(title)"}}"# }
        return #"{"insert":[\#(objects.joined(separator: ","))]}"#
      }
      // The first update begins a period in which the connection gets no others, so that the
      // observations stay at its commit.
      _ = try writer.call("save", insert(["Task"], "first"))
      _ = try writer.call("save", insert(["Group"], "first"))
      // The second subscription is of a later commit than the first one.
      let second = peer.send("observe", #"{"fetch":{"entity":"Group"}}"#)
      let readers = try host.blockReaders()
      let saved = writer.send("save", insert(["Task", "Group"], "second"))
      try host.run(until: "the save is answered") { writer.answer(to: saved) != nil }
      #expect(peer.answer(to: second)?["result"]?["result"]?["objects"]?.array?.count == 1)
      // A step of both subscriptions waits for a reader, and then the third subscription.
      let last = host.blockReader()
      let third = peer.send("observe", #"{"fetch":{"entity":"Tag"}}"#)
      readers[0].release()
      try host.waitUntilBlocked(last)
      try host.runNext(before: "the step has ended")
      last.release()
      for reader in readers.dropFirst() { reader.release() }
      try host.settle()
      #expect(peer.answer(to: third)?["result"] != nil)
      try host.advance(milliseconds: 2000)
      #expect(inserted(peer) == ["s1 first", "s1 second", "s2 second"])
    }
  }

  // Evidence: P-081a, P-082c
  @Test func `an external deletion reaches its older subscriptions`() async throws {
    try await withHost(model: ObserveOracle.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      let group = #"{"id":"Group/tg","values":{"title":"group"}}"#
      let task = #"{"entity":"Task","values":{"title":"task","group":"Group/tg"}}"#
      _ = try writer.call("save", #"{"insert":[\#(group),\#(task)]}"#)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Task","select":["group"]}}"#)
      // The second subscription is of the commit that seals the deletion.
      let path = host.store.container.storePath
      try ForeignWriter.write(path, #"DELETE FROM "Group" WHERE title = 'group'"#)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Tag"}}"#)
      let updates = peer.changes.flatMap { $0["updates"]?.array ?? [] }
      #expect(updates.count == 1)
      let updated = updates.first?["update"]?.array ?? []
      #expect(updated.first?["object"]?["values"]?["group"]?.isNull == true)
    }
  }
}

/// History that another process removed before a connection was notified of it.
@Suite struct `Where the history of a subscription was removed` {
  private static let purge = #"{"keep":{"transactions":0}}"#

  private func withPurged(
    _ body: @escaping @Sendable (ServiceHost, HostPeer, _ last: String) throws -> Void
  ) async throws {
    try await withHost { host in
      let other = HostPeer(host, of: try host.makeClockedService())
      let peer = HostPeer(host)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Task","select":["title"]}}"#)
      _ = try peer.call("observe", #"{"fetch":\#(HostPeer.countTasks)}"#)
      peer.stopReading()
      let missed = try other.saveTask("missed")
      host.advance(days: 40)
      // The other process does not know of the subscriptions.
      try ForeignWriter.write(host.store.container.storePath, "DELETE FROM cordial_lease")
      let last = try other.saveTask("kept")
      try host.settlePurge()
      let purged = try other.call("history/purge", Self.purge)
      #expect(purged["token"]?.string == missed)
      host.service.lookForCommits()
      try host.settle()
      try body(host, peer, last)
    }
  }

  private func check(_ updates: [JSONValue]) {
    #expect(updates.map { $0["subscription"]?.string } == ["s1", "s2"])
    #expect(updates.allSatisfy { $0["fresh"] == true && $0["why"] == "log" })
    let titles = updates.first?["result"]?["objects"]?.array?.map { $0["values"]?["title"] }
    #expect(titles == ["missed", "kept"])
    #expect(updates.last?["result"]?["count"] == 2)
  }

  // Evidence: P-084b
  @Test func `each subscription starts over`() async throws {
    try await withPurged { host, peer, last in
      peer.resumeReading()
      try host.settle()
      #expect(peer.changes.count == 1)
      #expect(peer.changes.last?["token"]?.string == last)
      check(peer.changes.last?["updates"]?.array ?? [])
    }
  }

  // Evidence: P-084b
  @Test func `each one starts over before the response to another`() async throws {
    try await withPurged { host, peer, last in
      let third = peer.send("observe", #"{"fetch":{"entity":"Label"}}"#)
      peer.resumeReading()
      try host.settle()
      #expect(peer.answer(to: third)?["result"]?["token"]?.string == last)
      #expect(peer.changes.count == 1)
      check(peer.changes.last?["updates"]?.array ?? [])
    }
  }
}
