import CordialService
import JSON
import JSONRPC
import Testing

@Suite struct `What the index does` {
  private static let model = """
    {"name": "Notes", "version": "1", "entities": [
      {"name": "Note", "attributes": [{"name": "title", "type": "string", "optional": true}],
       "spotlight": {"displayName": "title"}}]}
    """

  // Evidence: P-095e
  @Test func `a rebuild reports its progress before its answer`() async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      let rows = (0..<2500).map { _ in #"{"entity":"Note","values":{"title":"milk"}}"# }
      _ = try peer.call("save", "{\"insert\":[\(rows.joined(separator: ","))]}")
      _ = try peer.call("observe/flush")
      let before = peer.messages.count
      let answer = try peer.call("index/rebuild", #"{"workDoneToken":"w"}"#)
      #expect(answer["documents"] == 2500)
      let messages = peer.messages.dropFirst(before)
      let progress = messages.filter { $0["method"] == "$/progress" }.map { $0["params"] ?? .null }
      #expect(progress.allSatisfy { $0["token"] == "w" })
      let kinds = progress.map { $0["value"]?["kind"]?.string }
      #expect(kinds.first == "begin" && kinds.last == "end" && kinds.count >= 3)
      #expect(kinds.dropFirst().dropLast().allSatisfy { $0 == "report" })
      #expect(progress[1]["value"]?["percentage"] == 40)
      #expect(messages.last?["result"]?["documents"] == 2500)
      let odd = try peer.call("index/rebuild", #"{"workDoneToken":{}}"#)
      #expect(odd["code"] == -32602)
      // Without a token, there is none.
      _ = try peer.call("index/rebuild")
      #expect(peer.messages.count == before + progress.count + 3)
    }
  }

  // Evidence: P-095c
  @Test func `status names the oldest commit of a search`() async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      _ = try peer.call("observe/flush")
      let first = try peer.call("index/status")
      let insert = #"{"insert":[{"entity":"Note","values":{"title":"milk"}}]}"#
      let token = try peer.call("save", insert)["token"]
      _ = try peer.call("observe/flush")
      let second = try peer.call("index/status")
      #expect(second["oldest"] == first["oldest"] && second["oldest"] != token)
      _ = try peer.call("index/rebuild")
      #expect(try peer.call("index/status")["oldest"] == token)
    }
  }

  // Evidence: P-007a
  @Test func `a comparison ends where its client cancels it, or the service stops`() async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      _ = try peer.call("save", #"{"insert":[{"entity":"Note","values":{"title":"milk"}}]}"#)
      let blocked = host.blockComparisons()
      let (verified, cancelled) = (peer.send("index/verify"), peer.send("index/verify"))
      try host.settle()
      peer.cancel(cancelled)
      host.enter { $0.stop {} }
      blocked.release()
      try host.run(until: "both are answered") { peer.answeredIDs.count == 3 }
      #expect(peer.answer(to: verified)?["error"]?["data"]?["code"] == "closed")
      #expect(peer.answer(to: cancelled)?["error"]?["code"] == -32800)
      try host.settle()
      #expect(peer.isClosed)
    }
  }
}
