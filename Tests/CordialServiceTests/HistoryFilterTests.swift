import JSON
import TestStores
import Testing

@Suite struct `Filters of history` {
  private func withPeer(_ body: @escaping @Sendable (HostPeer) throws -> Void) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: TestModels.todo)
      let peer = HostPeer(host)
      for author in ["sync/a", "ann", "sync/b"] {
        _ = try peer.call("save", insertTask("task", author: author))
      }
      try body(peer)
      try host.close()
    }
  }

  private static func authors(_ answer: JSONValue) -> [String?] {
    (answer["transactions"]?.array ?? []).map { $0["author"]?.string }
  }

  // Evidence: P-071a
  @Test func `authors are given by name or by the beginning of a name`() async throws {
    try await withPeer { peer in
      let synced = try peer.call("history", #"{"authors":[{"prefix":"sync/"}]}"#)
      #expect(Self.authors(synced) == ["sync/a", "sync/b"])
      let two = try peer.call("history", #"{"authors":[null,"ann",{"prefix":"sync/b"}]}"#)
      #expect(Self.authors(two) == ["ann", "sync/b"])
      let refused = try peer.call("history", #"{"authors":[{"prefix":1}]}"#)
      #expect(refused["code"] == -32602)
    }
  }

  // Evidence: P-071a
  @Test func `a date is a beginning too`() async throws {
    try await withPeer { peer in
      let commits = try peer.call("history")["transactions"]?.array ?? []
      let second = try #require(commits[1]["time"]?.string)
      let from = try peer.call("history", #"{"since":"\#(second)"}"#)
      let times = commits.filter { $0["time"]?.string ?? "" >= second }.count
      #expect(from["transactions"]?.array?.count == times)
      #expect(
        Self.authors(try peer.call("history", #"{"since":"1999-01-01T00:00:00Z"}"#)).count == 3
      )
      #expect(Self.authors(try peer.call("history", #"{"since":"2999-01-01T00:00:00Z"}"#)) == [])
      let refused = try peer.call("history", #"{"since":"yesterday"}"#)
      #expect(refused["code"] == -32602)
    }
  }

  // Evidence: P-071f
  @Test func `reserved names are refused`() async throws {
    try await withPeer { peer in
      let saved = try peer.call("save", insertTask("task", author: "external"))
      #expect(saved["code"] == -32602)
      for (method, params) in [
        ("delete", #"{"ids":["Task/p1"],"author":"external"}"#),
        ("update", #"{"entity":"Task","predicate":"TRUEPREDICATE","set":{},"author":"external"}"#),
        ("initialize", #"{"cordial":{"author":"external"}}"#),
        ("follower/register", #"{"name":"spotlight"}"#),
      ] {
        let refused = try peer.call(method, params)
        #expect(refused["code"] == -32602, "\(method)")
      }
      let undone = try peer.call("undo", #"{"author":"external"}"#)
      #expect(undone["undone"] == 0)
    }
  }
}
