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
