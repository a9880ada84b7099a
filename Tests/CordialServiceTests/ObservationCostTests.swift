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

  private static let relatedModel = """
    {"name":"R","version":"1","entities":[
      {"name":"Group","attributes":[{"name":"title","type":"string","optional":true},
        {"name":"rank","type":"int64","default":0}],"relationships":[
        {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"},
        {"name":"owner","destination":"Owner","inverse":"groups","optional":true}]},
      {"name":"Owner","attributes":[{"name":"name","type":"string","optional":true}],
       "relationships":[{"name":"groups","destination":"Group","toMany":true,"inverse":"owner"}]},
      {"name":"Task","attributes":[{"name":"title","type":"string"},
        {"name":"done","type":"boolean","default":false}],"relationships":[
        {"name":"group","destination":"Group","inverse":"tasks","optional":true},
        {"name":"tags","destination":"Tag","toMany":true,"inverse":"tasks"}]},
      {"name":"Tag","attributes":[{"name":"name","type":"string","optional":true}],
       "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"tags"}]}]}
    """

  // Evidence: P-086d
  @Test func `objects are found from a changed object that they reference`() async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: Self.relatedModel)
      let peer = HostPeer(host)
      let groups = (1...20).map { #"{"id":"Group/t\#($0)","values":{"title":"g"}}"# }
      let tasks = (1...200).map { number in
        let links = #""group":"Group/t\#(1 + number % 20)","tags":["Tag/t\#(number % 5)"]"#
        return #"{"entity":"Task","values":{"title":"\#(number % 7)",\#(links)}}"#
      }
      let tags = (0..<5).map { #"{"id":"Tag/t\#($0)","values":{"name":"t"}}"# }
      let inserts = (groups + tags + tasks).joined(separator: ",")
      #expect(try peer.call("save", "{\"insert\":[\(inserts)]}")["token"] != nil)
      let observer = HostPeer(host)
      let fetches = [
        #"{"entity":"Task","predicate":"group.title == 'g'","sort":["title"]}"#,
        #"{"entity":"Task","select":["title","group.title"],"sort":["title"]}"#,
        #"{"entity":"Task","sort":["group.rank","title"]}"#,
        #"{"entity":"Task","predicate":"group.owner.name == 'o'"}"#,
        #"{"entity":"Group","predicate":"ANY tasks.done == YES"}"#,
        #"{"entity":"Group","predicate":"SUBQUERY(tasks, $t, ANY $t.tags.name == 'q').@count > 0"}"#,
        #"{"entity":"Task","sort":["title"],"include":["group"]}"#,
      ]
      for fetch in fetches {
        #expect(try observer.call("observe", #"{"fetch":\#(fetch)}"#)["result"] != nil)
      }
      var states = try fetches.map { try Self.rows(peer, $0) }
      var differences = Array(repeating: 0, count: fetches.count)
      for save in [
        #"{"update":[{"id":"Group/p3","values":{"title":"h"}}]}"#,
        #"{"update":[{"id":"Group/p4","values":{"rank":2}}]}"#,
        #"{"insert":[{"id":"Owner/to","values":{"name":"o"}}],"#
          + #""update":[{"id":"Group/p5","values":{"owner":"Owner/to"}}]}"#,
        #"{"update":[{"id":"Owner/p1","values":{"name":"x"}}]}"#,
        #"{"update":[{"id":"Task/p7","values":{"done":true}}]}"#,
        #"{"update":[{"id":"Task/p7","values":{"group":"Group/p1"}}]}"#,
        #"{"update":[{"id":"Tag/p2","values":{"name":"q"}}]}"#,
        #"{"delete":["Task/p7"]}"#,
      ] {
        #expect(try peer.call("save", save)["token"] != nil)
        try host.settle()
        let now = try fetches.map { try Self.rows(peer, $0) }
        for index in fetches.indices where states[index] != now[index] { differences[index] += 1 }
        states = now
      }
      let costs = try Self.costs(peer)
      #expect(costs.map { $0["reruns"]?.integer } == Array(repeating: 0, count: fetches.count))
      #expect(costs.allSatisfy { $0["wakes"]?.integer ?? 0 > 0 })
      // Each difference of a result is one update of its subscription.
      let updates = fetches.indices.map { index in
        observer.changes.count { change in
          (change["updates"]?.array ?? []).contains {
            $0["subscription"]?.string == "s\(index + 1)"
          }
        }
      }
      #expect(updates == differences)
      #expect(differences.allSatisfy { $0 > 0 })
      try host.close()
    }
  }

  /// Returns the answer to a fetch without its token.
  private static func rows(_ peer: HostPeer, _ fetch: String) throws -> [JSONValue?] {
    let answer = try peer.call("fetch", fetch)
    return [answer["objects"], answer["included"]]
  }
}
