import CordialService
import JSON
import Testing

@Suite struct `The unit of positions` {
  private static let model = """
    {"name": "Searched", "version": "1", "entities": [
      {"name": "Task",
       "attributes": [{"name": "title", "type": "string"}, {"name": "body", "type": "string"}],
       "spotlight": {"displayName": "title", "attributes": {"title": 1, "body": 1}}}]}
    """
  /// Before the word are 1, 2, 3 and 4 bytes in UTF-8.
  private static let title = "aé€😀 milk"
  private static let body = "x " + String(repeating: "😀 other ", count: 60) + "milk 😀 end"
  private static let ranges: [String: JSONValue] = [
    "utf-8": [[11, 15]], "utf-16": [[6, 10]], "utf-32": [[5, 9]],
  ]

  private func save(_ peer: HostPeer) throws {
    let values: JSONValue = ["title": .string(Self.title), "body": .string(Self.body)]
    let insert: JSONValue = ["insert": [["entity": "Task", "values": values]]]
    _ = try peer.call("save", insert.text)
  }

  private func check(_ hit: JSONValue?, _ encoding: String) throws {
    #expect(hit?["highlights"]?["title"] == Self.ranges[encoding])
    let snippet = try #require(hit?["snippet"])
    let (text, range) = (try #require(snippet["text"]?.string), snippet["highlights"]?.array?.first)
    #expect(text.hasPrefix("…"))
    let (start, end) = (range?.array?.first?.integer, range?.array?.last?.integer)
    let (from, to) = (Int(try #require(start)), Int(try #require(end)))
    let word =
      switch encoding {
      case "utf-8": String(decoding: Array(text.utf8)[from..<to], as: UTF8.self)
      case "utf-16": String(decoding: Array(text.utf16)[from..<to], as: UTF16.self)
      default: String(String.UnicodeScalarView(Array(text.unicodeScalars)[from..<to]))
      }
    #expect(word == "milk")
  }

  private static let search = #""query":"milk","highlight":true,"snippet":true"#

  // Evidence: P-012d, P-093b
  @Test(arguments: ["utf-8", "utf-16", "utf-32"])
  func `is the one that the connection names`(encoding: String) async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      let answer = try peer.call(
        "initialize",
        #"{"cordial":{"positionEncoding":"\#(encoding)"}}"#
      )
      #expect(answer["capabilities"]?["cordial"]?["positionEncoding"] == .string(encoding))
      try save(peer)
      try check(peer.call("search", "{\(Self.search)}")["hits"]?.array?.first, encoding)
      let observed = try peer.call("observe", #"{"search":{\#(Self.search)}}"#)
      try check(observed["result"]?["hits"]?.array?.first, encoding)
    }
  }

  /// Equal searches of connections with other units have other updates.
  @Test func `is that of each connection, also in updates`() async throws {
    try await withHost(model: Self.model) { host in
      let encodings = ["utf-8", "utf-32", "utf-16"]
      let peers = try encodings.map { encoding in
        let peer = HostPeer(host)
        _ = try peer.call("initialize", #"{"cordial":{"positionEncoding":"\#(encoding)"}}"#)
        _ = try peer.call("observe", #"{"search":{\#(Self.search)}}"#)
        return peer
      }
      try save(HostPeer(host))
      for (peer, encoding) in zip(peers, encodings) {
        _ = try peer.call("observe/flush")
        let update = try #require(peer.changes.last?["updates"]?.array?.first)
        try check(update["insert"]?.array?.first?["object"], encoding)
      }
    }
  }

  // Evidence: P-012d
  @Test func `is the first known one of an editor, and otherwise UTF-16`() async throws {
    try await withHost(model: Self.model) { host in
      let cases: [(params: String, encoding: String)] = [
        (
          #"{"capabilities":{"general":{"positionEncodings":["utf-7","utf-8","utf-16"]}}}"#, "utf-8"
        ),
        (#"{"capabilities":{"general":{"positionEncodings":[]}}}"#, "utf-16"),
        (#"{"capabilities":{}}"#, "utf-16"),
        (
          #"{"capabilities":{"general":{"positionEncodings":["utf-8"]}},"#
            + #""initializationOptions":{"cordial":{"positionEncoding":"utf-32"}}}"#, "utf-32"
        ),
      ]
      for (params, encoding) in cases {
        let answer = try HostPeer(host).call("initialize", params)
        #expect(answer["capabilities"]?["cordial"]?["positionEncoding"] == .string(encoding))
      }
      let refused = try HostPeer(host).call(
        "initialize",
        #"{"cordial":{"positionEncoding":"utf-9"}}"#
      )
      #expect(refused["code"] == -32602)
      #expect(refused["message"]?.string?.contains("positionEncoding") == true)
    }
  }
}
