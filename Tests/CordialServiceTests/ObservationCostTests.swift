import CordialService
import JSON
import TestStores
import Testing

/// The statements and reruns of observed fetches, as `observe/list` counts them.
@Suite struct `The costs of observed fetches` {
  private static let model = """
    {"name":"M","version":"1","entities":[{"name":"Item","attributes":[
      {"name":"n","type":"int64"},{"name":"k","type":"int64"},{"name":"s","type":"string"}],
      "indexes":[["n"]]}]}
    """

  private static func costs(_ peer: HostPeer) throws -> [JSONValue] {
    try peer.call("observe/list")["subscriptions"]?.array ?? []
  }

  // Evidence: P-086d
  @Test(arguments: [
    ("k == $x", "equality"), ("k == $x AND n > -1", "equality"), ("k IN $y", "equality"),
    ("k BETWEEN $z", "range"), ("k >= $x AND k < $e", "range"),
  ])
  func `a commit runs nothing for those that it does not concern`(
    predicate: String,
    matching: String
  ) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: Self.model)
      let peer = HostPeer(host)
      let items = (0..<200).map { #"{"entity":"Item","values":{"n":\#($0),"k":\#($0),"s":"a"}}"# }
      _ = try peer.call("save", #"{"insert":[\#(items.joined(separator: ","))]}"#)
      let observer = HostPeer(host)
      for number in 0..<200 {
        let arguments = """
          {"x":\(number),"y":[\(number),1000],"z":[\(number),\(number)],"e":\(number + 1)}
          """
        let fetch = #"{"entity":"Item","predicate":"\#(predicate)","arguments":\#(arguments)}"#
        let answer = try observer.call("observe", #"{"fetch":\#(fetch)}"#)
        #expect(answer["result"]?["count"] == 1)
      }
      // A value that the result has, one that moves the object to another fetch, and a delete.
      for save in [
        #"{"update":[{"id":"Item/p5","values":{"s":"b"}}]}"#,
        #"{"update":[{"id":"Item/p5","values":{"k":17}}]}"#,
        #"{"delete":["Item/p9"]}"#,
      ] {
        _ = try peer.call("save", save)
        try host.settle()
      }
      let costs = try Self.costs(peer)
      #expect(costs.allSatisfy { $0["matching"]?.string == matching })
      let woken = costs.enumerated().filter { $0.element["wakes"] != 0 }.map(\.offset)
      // The objects p5 and p9 have the numbers 4 and 8.
      #expect(woken == [4, 8, 17])
      for (index, cost) in costs.enumerated() {
        #expect(cost["reruns"] == 0)
        if !woken.contains(index) { #expect(cost["statements"] == 0) }
      }
      #expect(observer.changes.count == 3)
      try host.close()
    }
  }

  // Evidence: P-086d
  @Test func `a window, its sections and its total are not read again`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: Self.model)
      let peer = HostPeer(host)
      let items = (0..<300).map {
        #"{"entity":"Item","values":{"n":\#($0),"k":\#($0 % 3),"s":"a"}}"#
      }
      _ = try peer.call("save", #"{"insert":[\#(items.joined(separator: ","))]}"#)
      let observer = HostPeer(host)
      for fetch in [
        #""sort":["n"],"limit":10,"total":true"#, #""sort":["n"],"limit":10,"offset":150"#,
        #""sectionBy":"k","sort":["-n"],"limit":20"#, #""result":"count","predicate":"k < 2""#,
        #""sort":["s","n"],"limit":10"#,
      ] {
        _ = try observer.call("observe", #"{"fetch":{"entity":"Item",\#(fetch)}}"#)
      }
      for number in 0..<20 {
        let insert = #"{"entity":"Item","values":{"n":\#(-1 - number),"k":\#(number % 3),"s":"a"}}"#
        let change = #"{"id":"Item/p\#(number + 1)","values":{"k":\#((number + 1) % 3)}}"#
        let saved = try peer.call("save", #"{"insert":[\#(insert)],"update":[\#(change)]}"#)
        #expect(saved["token"] != nil)
        try host.settle()
      }
      #expect(try Self.costs(peer).map { $0["reruns"]?.integer } == [0, 0, 0, 0, 0])
      try host.close()
    }
  }
}
