import JSON
import TestStores
import Testing

private let routes = """
  {"name":"Routes","entities":[
    {"name":"Route","attributes":[{"name":"name","type":"string","optional":true}],
     "relationships":[
      {"name":"stops","destination":"Stop","toMany":true,"ordered":true,"inverse":"route",
       "deleteRule":"nullify"},
      {"name":"tags","destination":"Tag","toMany":true,"ordered":true,"inverse":"routes"}]},
    {"name":"Stop","attributes":[{"name":"name","type":"string","optional":true}],
     "relationships":[
      {"name":"route","destination":"Route","optional":true,"inverse":"stops"}]},
    {"name":"Tag","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"routes","destination":"Route","toMany":true,"inverse":"tags"}]}]}
  """

/// Runs a body with a client of a store that has a route with three stops and three tags.
private func withClient(_ body: @escaping @Sendable (HostClient) throws -> Void) async throws {
  try await onOwnThread {
    let host = try ServiceHost(model: routes)
    let client = HostClient(host)
    let stops = (1...3).map { #"{"id":"Stop/t\#($0)"}"# }
    let tags = ["a", "b", "c"].map { #"{"id":"Tag/s\#($0)"}"# }
    _ = try client.call(
      "save",
      """
      {"insert":[\((stops + tags).joined(separator: ",")),
        {"id":"Route/t1","values":{"stops":["Stop/t1","Stop/t2","Stop/t3"],
                                   "tags":["Tag/sa","Tag/sb","Tag/sc"]}},{"id":"Route/t2"}]}
      """
    )
    try body(client)
    try host.close()
  }
}

extension HostClient {
  /// Saves an update of the route.
  fileprivate func update(_ values: String) throws {
    _ = try call("save", #"{"update":[{"id":"Route/p1","values":{\#(values)}}]}"#)
  }

  /// Returns `before` of each update of the route, oldest first.
  fileprivate func before(_ params: String = "{}") throws -> [JSONValue] {
    var found: [JSONValue] = []
    for transaction in try call("history", params)["transactions"]?.array ?? [] {
      for change in transaction["changes"]?.array ?? []
      where change["id"] == "Route/p1" && change["change"] == "update" {
        found.append(change["before"] ?? .null)
      }
    }
    return found
  }
}

// Evidence: P-071d
@Suite struct `The history of an ordered to-many` {
  @Test(arguments: [
    (#""stops":["Stop/p3","Stop/p1","Stop/p2"]"#, #"{"stops":["Stop/p1","Stop/p2","Stop/p3"]}"#),
    (#""stops":{"@add":["Stop/p3"],"@at":1}"#, #"{"stops":["Stop/p1","Stop/p2","Stop/p3"]}"#),
    (#""tags":["Tag/sc","Tag/sb","Tag/sa"]"#, #"{"tags":["Tag/sa","Tag/sb","Tag/sc"]}"#),
    (
      #""name":"x","tags":{"@add":["Tag/sa"],"@at":2}"#,
      #"{"name":null,"tags":["Tag/sa","Tag/sb","Tag/sc"]}"#
    ),
  ])
  func `has the order before the change`(values: String, before: String) async throws {
    try await withClient { client in
      try client.update(values)
      let expected = try JSONParser.parse(before)
      #expect(try client.before() == [expected])
    }
  }

  @Test func `has the order before each commit, whatever followed`() async throws {
    try await withClient { client in
      try client.update(#""stops":["Stop/p3","Stop/p1","Stop/p2"]"#)
      try client.update(#""stops":["Stop/p2","Stop/p3","Stop/p1"]"#)
      let expected: [JSONValue] = [
        ["stops": ["Stop/p1", "Stop/p2", "Stop/p3"]], ["stops": ["Stop/p3", "Stop/p1", "Stop/p2"]],
      ]
      #expect(try client.before() == expected)
      // One member leaves the list, one is deleted, and one joins.
      _ = try client.call(
        "save",
        #"{"update":[{"id":"Stop/p3","values":{"route":"Route/p2"}}],"delete":["Stop/p2"]}"#
      )
      _ = try client.call("save", #"{"insert":[{"id":"Stop/t4","values":{"route":"Route/p1"}}]}"#)
      #expect(try client.before().prefix(2) == expected[...])
      try client.update(#""stops":["Stop/p4","Stop/p1"]"#)
      let last: JSONValue = ["stops": ["Stop/p1", "Stop/p4"]]
      #expect(try client.before() == expected + [last])
    }
  }

  @Test func `has the orders of a many-to-many with inserted and deleted link rows`() async throws {
    try await withClient { client in
      try client.update(#""tags":["Tag/sc","Tag/sa","Tag/sb"]"#)
      try client.update(#""tags":{"@remove":["Tag/sa"]}"#)
      try client.update(#""tags":["Tag/sb","Tag/sc"]"#)
      try client.update(#""tags":{"@add":["Tag/sa"],"@at":0}"#)
      _ = try client.call("delete", #"{"ids":["Tag/sc"]}"#)
      let expected: [JSONValue] = [
        ["tags": ["Tag/sa", "Tag/sb", "Tag/sc"]], ["tags": ["@add": ["Tag/sa"], "@remove": []]],
        ["tags": ["Tag/sc", "Tag/sb"]], ["tags": ["@add": [], "@remove": ["Tag/sa"]]],
        ["tags": ["@add": ["Tag/sc"], "@remove": []]],
      ]
      #expect(try client.before() == expected)
    }
  }

  @Test func `has each order once when it is read page by page`() async throws {
    try await withClient { client in
      var expected: [JSONValue] = []
      var stops = ["Stop/p1", "Stop/p2", "Stop/p3"]
      for _ in 1...5 {
        expected.append(["stops": .array(stops.map { .string($0) })])
        stops.append(stops.removeFirst())
        try client.update(#""stops":[\#(stops.map { "\"\($0)\"" }.joined(separator: ","))]"#)
      }
      var since = ""
      var read: [JSONValue] = []
      for _ in 1...20 {
        let params = #"{"limit":2\#(since)}"#
        read += try client.before(params)
        let page = try client.call("history", params)
        guard page["more"]?.bool == true else { break }
        since = #","since":"\#(page["token"]?.string ?? "")""#
      }
      #expect(read == expected)
    }
  }

  @Test func `has the orders of an owner that was deleted later`() async throws {
    try await withClient { client in
      try client.update(#""stops":["Stop/p3","Stop/p1","Stop/p2"]"#)
      try client.update(#""tags":["Tag/sc","Tag/sa","Tag/sb"]"#)
      _ = try client.call("delete", #"{"ids":["Route/p1"]}"#)
      #expect(
        try client.before() == [
          ["stops": ["Stop/p1", "Stop/p2", "Stop/p3"]], ["tags": ["Tag/sa", "Tag/sb", "Tag/sc"]],
        ]
      )
    }
  }
}
