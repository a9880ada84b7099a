import JSON
import TestStores
import Testing

private let counters = """
  {"name":"Counters","entities":[
    {"name":"Counter","attributes":[
      {"name":"name","type":"string"},{"name":"count","type":"int32","default":0}],
     "unique":[["name"]]}]}
  """

extension HostClient {
  /// Returns `name count version` of every counter.
  fileprivate func counters() throws -> [String] {
    try call("fetch", #"{"entity":"Counter"}"#)["objects"]?.array?.map { object in
      [
        object["values"]?["name"]?.string, object["values"]?["count"]?.text,
        object["version"]?.text,
      ]
      .map { $0 ?? "-" }.joined(separator: " ")
    } ?? []
  }

  /// Returns the number of retained commits.
  fileprivate func commits() throws -> Int? {
    try call("history", "{}")["transactions"]?.array?.count
  }
}

/// Runs a body with two clients of a store that has one counter.
private func withClients(
  _ body: @escaping @Sendable (HostClient, HostClient) throws -> Void
) async throws {
  try await onOwnThread {
    let host = try ServiceHost(model: counters)
    let client = HostClient(host)
    _ = try client.call(
      "save",
      #"{"insert":[{"id":"Counter/t1","values":{"name":"a"}}],"author":"ann"}"#
    )
    try body(client, HostClient(host))
    try host.close()
  }
}

@Suite struct `A repeated transaction` {
  private static let upper = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
  private static let lower = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
  private static let increment =
    #""entity":"Counter","predicate":"TRUEPREDICATE","set":{"count":{"@expression":"count + 1"}}"#

  /// The five methods, each with params that change something.
  private static let methods = [
    ("save", #""insert":[{"id":"Counter/t1","values":{"name":"b"}}]"#),
    ("update", increment + #","returning":"ids""#),
    ("delete", #""ids":["Counter/p1"],"returning":"ids""#),
    ("undo", #""author":"ann""#),
    ("redo", #""author":"ann""#),
  ]

  private static func params(_ params: String, _ transaction: String) -> String {
    #"{\#(params),"transaction":"\#(transaction)"}"#
  }

  // Evidence: P-067a, P-067b
  @Test(arguments: methods)
  func `returns the first answer and changes nothing`(method: String, params: String) async throws {
    try await withClients { client, other in
      if method == "redo" { _ = try client.call("undo", #"{"author":"ann"}"#) }
      let first = try client.call(method, Self.params(params, Self.upper))
      #expect(first["token"] != nil)
      let counters = try client.counters()
      let commits = try client.commits()
      for text in [Self.upper, Self.lower] {
        #expect(try client.call(method, Self.params(params, text)) == first)
        #expect(try other.call(method, Self.params(params, text)) == first)
      }
      #expect(try client.counters() == counters)
      #expect(try client.commits() == commits)
    }
  }

  // Evidence: P-067b
  @Test func `of an update increments once`() async throws {
    try await withClients { client, other in
      for sender in [client, other, client] {
        let answer = try sender.call("update", Self.params(Self.increment, Self.lower))
        #expect(answer["count"] == 1)
      }
      #expect(try client.counters() == ["a 1 2"])
    }
  }

  // Evidence: P-067b
  @Test func `does not compare the other params`() async throws {
    try await withClients { client, _ in
      let first = try client.call(
        "save",
        Self.params(#""insert":[{"id":"Counter/t1","values":{"name":"b"}}]"#, Self.lower)
      )
      #expect(
        try client.call("save", Self.params(#""delete":["Counter/p1"]"#, Self.lower)) == first
      )
      #expect(try client.counters() == ["a 0 1", "b 0 1"])
    }
  }

  // Evidence: P-067b
  @Test(arguments: ["update", "delete"])
  func `names no objects that the first answer did not`(method: String) async throws {
    try await withClients { client, _ in
      let params = method == "update" ? Self.increment : #""ids":["Counter/p1"]"#
      let first = try client.call(method, Self.params(params, Self.lower))
      #expect(first["count"] == 1)
      #expect(first["ids"] == nil)
      let more = params + #","returning":"ids""#
      #expect(try client.call(method, Self.params(more, Self.lower)) == first)
    }
  }

  /// All ordered pairs of two different methods.
  private static let pairs = methods.flatMap { first in
    methods.filter { $0.0 != first.0 }.map { (first, $0) }
  }

  // Evidence: P-067c
  @Test(arguments: pairs)
  func `fails when another method repeats it`(
    first: (String, String),
    second: (String, String)
  ) async throws {
    try await withClients { client, _ in
      if first.0 == "redo" { _ = try client.call("undo", #"{"author":"ann"}"#) }
      #expect(try client.call(first.0, Self.params(first.1, Self.upper))["token"] != nil)
      let counters = try client.counters()
      let answer = try client.call(second.0, Self.params(second.1, Self.lower))
      #expect(answer["code"] == -32602)
      #expect(try client.counters() == counters)
    }
  }

  // Evidence: P-067a
  @Test(arguments: [
    "", "x", "6f9619ff8b86d011b42d00c04fc964ff", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}",
    "6f9619ff-8b86-d011-b42d-00c04fc964fg", "6f9619ff-8b86-d011-b42d-00c04fc964ff ",
  ])
  func `has a UUID and no other text`(text: String) async throws {
    try await withClients { (client, _) throws in
      for (method, params) in Self.methods {
        #expect(try client.call(method, Self.params(params, text))["code"] == -32602)
      }
      #expect(try client.counters() == ["a 0 1"])
    }
  }

  // Evidence: P-067d
  @Test func `is executed if it failed or was a dry run before`() async throws {
    try await withClients { client, _ in
      let taken = try client.call(
        "save",
        Self.params(#""insert":[{"id":"Counter/t1","values":{"name":"a"}}]"#, Self.lower)
      )
      #expect(taken["code"] == 1105)
      let insert = #""insert":[{"id":"Counter/t1","values":{"name":"b"}}]"#
      let dryRun = try client.call("save", Self.params(insert + #","dryRun":true"#, Self.lower))
      #expect(dryRun["dryRun"] != nil)
      #expect(try client.counters() == ["a 0 1"])
      let carriedOut = try client.call("save", Self.params(insert, Self.lower))
      #expect(carriedOut["ids"] == ["Counter/t1": "Counter/p2"])
    }
  }
}
