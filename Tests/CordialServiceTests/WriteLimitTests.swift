import CordialService
import JSON
import JSONRPC
import Testing

@Suite struct `The size of a write` {
  private static let limits: Limits = {
    var limits = Limits()
    limits.affectedMax = 3
    limits.saveChangesMax = 6
    return limits
  }()

  private static let all = #""entity":"Task","predicate":"TRUEPREDICATE""#

  /// Saves tasks, each with a memo where that is wanted.
  private static func save(_ count: Int, _ peer: HostPeer, withMemos: Bool = false) throws {
    for number in 0..<count {
      let memo = withMemos ? #",{"id":"Memo/t1","values":{"task":"Task/t1"}}"# : ""
      let task = #"{"id":"Task/t1","values":{"title":"\#(number)"}}"#
      let saved = try peer.call("save", #"{"insert":[\#(task)\#(memo)]}"#)
      #expect(saved["ids"] != nil)
    }
  }

  private static func expect(_ answer: JSONValue, exceeds limit: String, _ max: Int64) {
    #expect(answer["code"] == 1302)
    #expect(answer["data"]?["limit"] == .string(limit))
    #expect(answer["data"]?["max"] == .integer(max))
  }

  // Evidence: P-064c
  @Test func `is limited where a predicate deletes`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      try Self.save(4, peer)
      Self.expect(try peer.call("delete", "{\(Self.all)}"), exceeds: "affected", 3)
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 4)
      let three = #"{"entity":"Task","predicate":"title != '0'"}"#
      #expect(try peer.call("delete", three)["count"] == 3)
    }
  }

  // Evidence: P-064c
  @Test func `is limited where deletes cascade`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      try Self.save(4, peer, withMemos: true)
      let ids = (1...4).map { #""Task/p\#($0)""# }
      let four = #"{"ids":[\#(ids.joined(separator: ","))]}"#
      Self.expect(try peer.call("delete", four), exceeds: "affected", 3)
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 4)
      let three = #"{"ids":[\#(ids.dropFirst().joined(separator: ","))]}"#
      #expect(try peer.call("delete", three)["count"] == 3)
      let memos = try peer.call("fetch", #"{"entity":"Memo","result":"count"}"#)
      #expect(memos["count"] == 1)
    }
  }

  // Evidence: P-064c
  @Test func `is limited where an update reads each object, and where it is undone`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      try Self.save(7, peer)
      let group = try peer.call("save", #"{"insert":[{"entity":"Group"}]}"#)
      #expect(group["objects"]?.array?.count == 1)
      let grouped = #"{\#(Self.all),"set":{"group":"Group/p1"}}"#
      Self.expect(try peer.call("update", grouped), exceeds: "saveChanges", 6)
      // One statement of SQL changes any number.
      #expect(try peer.call("update", #"{\#(Self.all),"set":{"priority":1}}"#)["count"] == 7)
      Self.expect(try peer.call("undo"), exceeds: "affected", 3)
      let ids = #"{\#(Self.all),"set":{"priority":3},"returning":"ids"}"#
      Self.expect(try peer.call("update", ids), exceeds: "affected", 3)
      let three = #"{"entity":"Task","predicate":"title > '3'","set":{"priority":2}}"#
      #expect(try peer.call("update", three)["count"] == 3)
      #expect(try peer.call("undo")["undone"] == 1)
      let twos = #"{"entity":"Task","predicate":"priority == 2","result":"count"}"#
      #expect(try peer.call("fetch", twos)["count"] == 0)
    }
  }

  /// Each notification names the authors of the commits since the one before.
  // Evidence: P-020c
  @Test(arguments: ["author", "context"])
  func `is limited in its author and context`(member: String) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      func name(_ count: Int) -> String {
        #""\#(member)":"\#(String(repeating: "é", count: count))""#
      }
      let requests = [
        ("save", #""insert":[{"entity":"Task"}]"#), ("delete", #""ids":["Task/p1"]"#),
        ("update", #"\#(Self.all),"set":{"priority":1}"#), ("undo", #""count":1"#),
        ("redo", #""count":1"#),
      ]
      for (method, params) in requests {
        let refused = try peer.call(method, "{\(params),\(name(513))}")
        Self.expect(refused, exceeds: "nameBytes", 1024)
      }
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 0)
      let saved = try peer.call("save", #"{"insert":[{"entity":"Task"}],\#(name(512))}"#)
      #expect(saved["token"] != nil)
      let other = HostPeer(host)
      Self.expect(
        try other.call("initialize", #"{"cordial":{\#(name(513))}}"#),
        exceeds: "nameBytes",
        1024
      )
    }
  }
}
