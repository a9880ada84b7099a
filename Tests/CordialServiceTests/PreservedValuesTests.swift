import JSON
import TestStores
import Testing

@Suite struct `Values that history preserves` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"A","attributes":[
        {"name":"code","type":"string","preserveAfterDeletion":true},
        {"name":"text","type":"string"}]},
      {"name":"B","attributes":[{"name":"text","type":"string"}],"indexes":[["-text"]]}]}
    """

  // Evidence: P-071g, P-111d
  @Test func `are all that a delete reports, and an undo restores the others too`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: Self.model)
      let peer = HostPeer(host)
      _ = try peer.call(
        "save",
        #"{"insert":[{"entity":"A","values":{"code":"x","text":"y"}},"#
          + #"{"entity":"B","values":{"text":"z"}}]}"#
      )
      _ = try peer.call("delete", #"{"ids":["A/p1","B/p1"]}"#)
      let history = try peer.call("history")
      let changes = history["transactions"]?.array?.last?["changes"]?.array ?? []
      #expect(changes.map { $0["before"] } == [["code": "x"], ["text": "z"]])
      _ = try peer.call("undo")
      let fetched = try peer.call("fetch", #"{"ids":["A/p1"]}"#)
      #expect(fetched["objects"]?.array?.first?["values"] == ["code": "x", "text": "y"])
      try host.close()
    }
  }
}
