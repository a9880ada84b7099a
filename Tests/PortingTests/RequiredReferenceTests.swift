import Cordial
import CordialProtocol
import JSON
import Porting
import TestSeeds
import Testing

// Evidence: P-135h
@Suite struct `Objects that require one another` {
  private static let model = """
    {"name":"R","entities":[
      {"name":"Node","attributes":[{"name":"rank","type":"int64"}],"relationships":[
        {"name":"first","destination":"Node"},{"name":"second","destination":"Node"}]}]}
    """

  /// Returns the lines of nodes, each with the ranks of the nodes that it requires.
  private static func lines(_ nodes: [(first: Int, second: Int)]) -> [String] {
    nodes.enumerated().map { rank, node in
      #"{"id":"Node/\#(rank)","values":{"rank":\#(rank),"first":"Node/\#(node.first)","#
        + #""second":"Node/\#(node.second)"}}"#
    }
  }

  /// Imports lines and compares the references in the store with those of the nodes.
  private static func check(
    _ lines: [String],
    _ nodes: [(first: Int, second: Int)],
    batch: Int,
    _ comment: Comment
  ) async throws {
    try await withClient(model) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: batch
      )
      #expect(summary.imported == nodes.count, comment)
      #expect(summary.unknownCount == 0, comment)
      let answer = try await client.call(
        "fetch",
        ["entity": "Node", "select": ["rank", "first", "second"], "limit": 100_000]
      )
      var ranks: [String: Int] = [:]
      let objects = answer["objects"]?.array ?? []
      for object in objects {
        guard let id = object["id"]?.string, let rank = object["values"]?["rank"]?.integer
        else { continue }
        ranks[id] = Int(rank)
      }
      #expect(ranks.count == nodes.count, comment)
      for object in objects {
        let rank = try #require(object["id"]?.string.flatMap { ranks[$0] })
        let first = object["values"]?["first"]?.string.flatMap { ranks[$0] }
        let second = object["values"]?["second"]?.string.flatMap { ranks[$0] }
        #expect(first == nodes[rank].first, comment)
        #expect(second == nodes[rank].second, comment)
      }
    }
  }

  @Test(arguments: Seeds.first(30))
  func `are imported in any order`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let count = 1 + random.below(80)
    // A node requires near ones, so that there are circles of many lengths and chains between them.
    let reach = 1 + random.below(8)
    func near(_ rank: Int) -> Int {
      min(max(rank + random.below(2 * reach) - (seed % 2 == 0 ? reach : 2), 0), count - 1)
    }
    let nodes = (0..<count).map { (first: near($0), second: near($0)) }
    var lines = Self.lines(nodes)
    switch seed % 4 {
    case 0: break
    case 1: lines.reverse()
    default: lines.shuffle(using: &random)
    }
    let batch = 1 + random.below(20)
    try await Self.check(lines, nodes, batch: batch, "\(Seeds.repeating(seed))")
  }

  /// What a search has found is not searched again: these would otherwise take hours.
  @Test(arguments: ["ring", "chain", "details"])
  func `may be many`(shape: String) async throws {
    let count = 3000
    let nodes = (0..<count).map { rank -> (first: Int, second: Int) in
      switch shape {
      case "ring": ((rank + 1) % count, rank)
      // All wait for the last one, and each for the next one.
      case "chain": (count - 1, min(rank + 1, count - 1))
      // The second half requires the first half, whose last one waits for the last line.
      default:
        rank < count / 2
          ? (rank + 1 < count / 2 ? rank + 1 : count - 1, rank)
          : (rank == count - 1 ? rank : rank - count / 2, rank)
      }
    }
    try await Self.check(Self.lines(nodes), nodes, batch: 100, "\(shape)")
  }

  @Test(arguments: [false, true])
  func `may be an owner and its many parts`(isOwnerFirst: Bool) async throws {
    let model = """
      {"name":"R","entities":[
        {"name":"Owner","attributes":[],"relationships":[
          {"name":"parts","destination":"Part","toMany":true,"minimumCount":1,"inverse":"owner"}]},
        {"name":"Part","attributes":[],"relationships":[
          {"name":"owner","destination":"Owner","inverse":"parts"}]}]}
      """
    let count = 2000
    let ids = (0..<count).map { #""Part/\#($0)""# }
    let owner = #"{"id":"Owner/x","values":{"parts":[\#(ids.joined(separator: ","))]}}"#
    let parts = ids.map { #"{"id":\#($0),"values":{"owner":"Owner/x"}}"# }
    try await withClient(model) { client in
      let summary = try await Importer.run(
        Array((isOwnerFirst ? [owner] + parts : parts + [owner]).joined(separator: "\n").utf8),
        into: client,
        batch: 100
      )
      #expect(summary.imported == count + 1)
      let owned = try await client.call(
        "fetch",
        ["entity": "Owner", "predicate": "parts.@count == 2000", "result": "count"]
      )
      #expect(owned["count"]?.integer == 1)
    }
  }
}
