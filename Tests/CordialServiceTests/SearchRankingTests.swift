import CordialService
import JSON
import JSONRPC
import Testing

@Suite struct `The order of hits` {
  private static let model = """
    {"name": "Pages", "version": "1", "entities": [
      {"name": "Page", "identity": "code",
       "attributes": [{"name": "code", "type": "string"},
                      {"name": "title", "type": "string", "optional": true},
                      {"name": "body", "type": "string", "optional": true}],
       "spotlight": {"displayName": "title", "attributes": {"body": 1}}},
      {"name": "Film", "identity": "code",
       "attributes": [{"name": "code", "type": "string"},
                      {"name": "title", "type": "string", "optional": true},
                      {"name": "views", "type": "int64", "optional": true},
                      {"name": "seen", "type": "date", "optional": true}],
       "spotlight": {"displayName": "title",
                     "boost": {"views": 0.3, "seen": {"weight": 1, "halfLifeDays": 30}}}}]}
    """

  private func insert(_ rows: [(code: String, values: String)], of entity: String) -> String {
    let rows = rows.map { row in
      #"{"entity":"\#(entity)","values":{"code":"\#(row.code)",\#(row.values)}}"#
    }
    return "{\"insert\":[\(rows.joined(separator: ","))]}"
  }

  private func order(_ peer: HostPeer, _ query: String, _ rest: String = "") throws -> [String] {
    _ = try peer.call("observe/flush")
    let answer = try peer.call("search", #"{"query":"\#(query)"\#(rest)}"#)
    return (answer["hits"]?.array ?? []).map(code)
  }

  /// The identity of a hit.
  private func code(_ hit: JSONValue) -> String {
    String((hit["id"]?.string ?? "").drop { $0 != "/" }.dropFirst(2))
  }

  // Evidence: P-093c
  @Test func `neighbours, exact words and display names come first`() async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      _ = try peer.call(
        "save",
        insert(
          [
            ("apart", #""body":"oat flakes with cold milk""#),
            ("near", #""body":"cold flakes with oat milk""#),
            ("turned", #""body":"cold flakes with milk oat""#),
            ("part", #""body":"milky tea and one cup""#),
            ("whole", #""body":"milk tea and one cup""#),
            ("text", #""body":"bread""#), ("name", #""title":"bread""#),
            ("other", #""body":"nothing of it here""#), ("more", #""body":"nor in this one""#),
          ],
          of: "Page"
        )
      )
      #expect(try order(peer, "oat milk") == ["near", "turned", "apart"])
      #expect(try order(peer, "milk oat") == ["turned", "near", "apart"])
      #expect(try order(peer, "tea milk", #","prefix":true"#) == ["whole", "part"])
      #expect(try order(peer, "bread") == ["name", "text"])
      for limit in 1...2 {
        let best = try order(peer, "oat milk", #","limit":\#(limit)"#)
        #expect(best == Array(["near", "turned"].prefix(limit)))
      }
    }
  }

  // Evidence: P-093d
  @Test func `numbers and dates change the score by their formulas`() async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      let rows = [
        ("none", #""seen":null"#), ("views", #""views":999"#), ("negative", #""views":-5"#),
        ("new", #""seen":"2026-01-01T00:00:00.000Z""#),
        ("old", #""seen":"2025-12-02T00:00:00.000Z""#),
        ("ancient", #""seen":"1900-01-01T00:00:00.000Z""#),
      ].map { (code: $0.0, values: #""title":"milk","# + $0.1) }
      _ = try peer.call("save", insert(rows, of: "Film"))
      _ = try peer.call("save", insert([("page", #""title":"bread and milk""#)], of: "Page"))
      _ = try peer.call("observe/flush")
      let answer = try peer.call(
        "search",
        #"{"query":"milk","match":"all","entities":["Film"],"explain":true}"#
      )
      let hits = answer["hits"]?.array ?? []
      var scores: [String: Double] = [:]
      for hit in hits {
        guard case .number(let score)? = hit["score"] else { continue }
        scores[code(hit)] = score
        // The shares of the only term are the score.
        #expect(hit["explanation"]?.array?.first?["share"] == hit["score"])
      }
      let none = try #require(scores["none"])
      func factor(_ code: String) throws -> Double { try #require(scores[code]) / none }
      // 1 + 0.3 × log10(1 + 999)
      #expect(abs(try factor("views") - 1.9) < 0.02)
      #expect(abs(try factor("negative") - 1) < 0.02)
      // A missing date counts as ten half-lives, and so does one before that.
      #expect(abs(try factor("ancient") - 1) < 0.02)
      #expect(abs(try factor("new") / (factor("old")) - 2) < 0.05)
      #expect(try peer.call("index/verify")["differences"] == [])

      // A changed number is in step with its commit, and the former one with the former commit.
      let before = try peer.call("history")["token"]?.string ?? ""
      let update = #"{"update":[{"id":"Film/snone","values":{"views":99999999}}]}"#
      _ = try peer.call("save", update)
      _ = try peer.call("observe/flush")
      #expect(try order(peer, "milk", #","entities":["Film"],"limit":3"#).contains("none"))
      let past = try peer.call(
        "search",
        #"{"query":"milk","match":"all","entities":["Film"],"explain":true,"asOf":"\#(before)"}"#
      )
      #expect(past["hits"] == answer["hits"])
      _ = try peer.call("index/rebuild")
      #expect(try peer.call("index/verify")["differences"] == [])
    }
  }
}
