import CordialService
import JSON
import PersistentStore
import TestStores
import Testing

/// Long values, which the loop leaves to other threads.
@Suite struct `Objects with long values` {
  private static let long = String(repeating: "ab", count: StoreReader.loopValueBytesMax)

  private func title(_ answer: JSONValue) -> String? {
    answer["objects"]?.array?.first?["values"]?["title"]?.string
  }

  // Evidence: P-018d, P-051a
  @Test(arguments: [1, 2])
  func `are fetched by ID on a thread of the store, and others on the loop`(
    count: Int
  ) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      _ = try peer.call("save", insertTask(Self.long))
      for _ in 1...2 { _ = try peer.call("save", insertTask("b")) }
      let readers = try host.blockReaders()
      let shorts = (2...3).prefix(count).map { "\"Task/p\($0)\"" }.joined(separator: ",")
      let other = HostPeer(host)
      let long = peer.send("fetch", #"{"ids":["Task/p1"]}"#)
      let short = other.send("fetch", #"{"ids":[\#(shorts)]}"#)
      try host.run(until: "the short one is answered") { other.answer(to: short) != nil }
      #expect(title(try #require(other.answer(to: short)?["result"])) == "b")
      #expect(peer.answer(to: long) == nil)
      for reader in readers { reader.release() }
      try host.settle()
      #expect(title(try #require(peer.answer(to: long)?["result"])) == Self.long)
    }
  }

  // Evidence: P-018d
  @Test func `with long IDs are fetched on a thread of the store`() async throws {
    try await withHost { host in
      let (peer, other) = (HostPeer(host), HostPeer(host))
      _ = try peer.call("save", insertTask("b"))
      let readers = try host.blockReaders()
      let long = peer.send("fetch", #"{"ids":["Task/s\#(String(repeating: "a", count: 5000))"]}"#)
      let short = other.send("fetch", #"{"ids":["Task/p1"]}"#)
      try host.run(until: "the short one is answered") { other.answer(to: short) != nil }
      #expect(peer.answer(to: long) == nil)
      for reader in readers { reader.release() }
      try host.settle()
      // The entity has no identities.
      #expect(peer.answer(to: long)?["error"] != nil)
    }
  }

  // Evidence: P-018d
  @Test func `that are long together are fetched on a thread of the store`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      let text = String(repeating: "c", count: StoreReader.loopValueBytesMax)
      for _ in 1...6 { _ = try peer.call("save", insertTask(text)) }
      _ = try peer.call("save", insertTask("b"))
      let readers = try host.blockReaders()
      let ids = (1...6).map { "\"Task/p\($0)\"" }.joined(separator: ",")
      let number = peer.send("fetch", #"{"ids":[\#(ids)]}"#)
      let other = HostPeer(host)
      let short = other.send("fetch", #"{"ids":["Task/p7"]}"#)
      try host.run(until: "another one is answered") { other.answer(to: short) != nil }
      #expect(peer.answer(to: number) == nil)
      for reader in readers { reader.release() }
      try host.settle()
      let objects = peer.answer(to: number)?["result"]?["objects"]?.array ?? []
      #expect(objects.map { $0["values"]?["title"]?.string } == Array(repeating: text, count: 6))
    }
  }

  // Evidence: P-082a, P-084c
  @Test func `are observed as others are`() async throws {
    try await withHost { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      for predicate in ["title CONTAINS 'ba'", "title CONTAINS[c] 'X'", "title ENDSWITH 'x'"] {
        _ = try peer.call(
          "observe",
          #"{"fetch":{"entity":"Task","predicate":"\#(predicate)"},"mode":"ids"}"#
        )
      }
      _ = try peer.call("observe", #"{"ids":["Task/p1"]}"#)
      for text in [Self.long, "x", Self.long + "x", "ba"] {
        let save =
          text == Self.long
          ? insertTask(text) : #"{"update":[{"id":"Task/p1","values":{"title":"\#(text)"}}]}"#
        _ = try writer.call("save", save)
        _ = try peer.call("observe/flush", "{}")
      }
      let steps = peer.changes.map { change in
        (change["updates"]?.array ?? []).map { update in
          let name = update["subscription"]?.string ?? ""
          if let object = update["objects"]?.array?.first?["object"] {
            return name + " \(object["values"]?["title"]?.string?.count ?? -1)"
          }
          let inserted = update["insert"]?.array?.isEmpty == false
          return name + (inserted ? "+" : "-")
        }
      }
      let length = Self.long.count
      #expect(
        steps == [
          ["s1+", "s4 \(length)"], ["s1-", "s2+", "s3+", "s4 1"], ["s1+", "s4 \(length + 1)"],
          ["s2-", "s3-", "s4 2"],
        ]
      )
    }
  }
}
