import JSON
import TestStores
import Testing

@Suite struct `What observe refuses` {
  // Evidence: P-052m
  @Test(arguments: ["due < now()", "random() < 2", "random:(3) == 1"])
  func `values that are not part of a commit`(predicate: String) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let peer = HostPeer(host)
      let fetch = #"{"entity":"Task","predicate":\#(JSONValue.string(predicate).text)}"#
      #expect(try peer.call("fetch", fetch)["objects"] == [])
      let refused = try peer.call("observe", #"{"fetch":\#(fetch)}"#)
      #expect(refused["code"] == -32602)
      #expect(refused["data"]?["hint"] == "Send the time as an argument")
      try host.close()
    }
  }
}
