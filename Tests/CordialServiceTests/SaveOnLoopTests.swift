import CordialService
import CordialValues
import JSON
import TestSeeds
import TestStores
import Testing

/// Small saves that the service performs on its loop, beside those of the writer's thread.
@Suite struct `Saves on the loop` {
  // Evidence: P-060a, P-082a
  @Test(arguments: Seeds.first(8))
  func `are answered and observed in the order of their commits`(seed: UInt64) async throws {
    try await onOwnThread {
      var random = SplitMix64(seed: seed)
      let host = try ServiceHost(model: TestModels.todo)
      let observer = HostPeer(host)
      let peers = (0..<3).map { _ in HostPeer(host) }
      _ = try observer.call("observe", #"{"fetch":{"entity":"Task","sort":["priority"]}}"#)
      var tokens: [String] = []
      for step in 0..<60 {
        let peer = random.oneIn(3) ? random.pick(peers) : peers[0]
        let durability = random.oneIn(4) ? "full" : "normal"
        let save = #"{"insert":[{"entity":"Task","values":{"priority":\#(step)}}],"#
        let answer = try peer.call("save", save + #""durability":"\#(durability)"}"#)
        tokens.append(try #require(answer["token"]?.string))
      }
      try host.settle()
      #expect(tokens.map { StoreToken($0)?.number } == Array(1...60))
      let inserted = observer.changes.flatMap { change in
        (change["updates"]?.array ?? []).flatMap { $0["insert"]?.array ?? [] }
      }
      let priorities = inserted.map { $0["object"]?["values"]?["priority"]?.integer }
      #expect(priorities == Array(0..<60), "\(Seeds.repeating(seed))")
      // Each update begins where the one before ended.
      let chain = zip(observer.changes, observer.changes.dropFirst())
      #expect(chain.allSatisfy { $0["token"] == $1["from"] }, "\(Seeds.repeating(seed))")
      #expect(observer.changes.last?["token"]?.string == tokens.last)
      try host.close()
    }
  }
}
