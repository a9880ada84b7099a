import CordialService
import JSON
import PersistentStore
import Testing

/// Writes of an external SQLite client that no save of Cordial would make.
@Suite struct `Observed results after external writes` {
  private static let model = """
    {"name":"M","version":"1","entities":[
      {"name":"Node","abstract":true,"attributes":[{"name":"n","type":"int64","optional":true}]},
      {"name":"Item","parent":"Node","relationships":[
        {"name":"people","destination":"Person","toMany":true,"inverse":"items"},
        {"name":"desk","destination":"Desk","inverse":"owner","optional":true}]},
      {"name":"Person","attributes":[{"name":"name","type":"string","optional":true}],
       "relationships":[
         {"name":"items","destination":"Item","toMany":true,"inverse":"people"}]},
      {"name":"Desk","attributes":[{"name":"room","type":"string","optional":true}],
       "relationships":[
         {"name":"owner","destination":"Item","inverse":"desk","optional":true}]}]}
    """

  private static let requests = [
    #"{"fetch":{"entity":"Item"}}"#, #"{"fetch":{"entity":"Item","result":"ids"}}"#,
    #"{"fetch":{"entity":"Item","result":"count"}}"#,
    #"{"fetch":{"entity":"Item","sort":["people.@count"]}}"#,
    #"{"fetch":{"entity":"Item","sort":["people.@count"],"limit":5,"total":true}}"#,
    #"{"fetch":{"entity":"Node"}}"#, #"{"fetch":{"entity":"Node","predicate":"n != 7"}}"#,
  ]

  // Evidence: P-082a, P-082b, P-082c, P-084a
  @Test(arguments: [
    // A link row before the row of its object.
    [
      "INSERT INTO Link(source, target) VALUES (N + 9, 1); INSERT INTO Item(_id, n) VALUES (N + 9, 5)"
    ],
    // An object that is deleted without its link row, and the row later.
    ["DELETE FROM Item WHERE _id = N + 1", "DELETE FROM Person WHERE _id = 1"],
    ["DELETE FROM Item WHERE _id = N + 1", "DELETE FROM Link"],
    // A to-one of a descendant that dangles.
    ["DELETE FROM Desk"], ["DELETE FROM Desk", "INSERT INTO Desk(_id, room) VALUES (1, 'b')"],
  ])
  func `equal a fetch`(writes: [String]) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: Self.model)
      let peer = HostPeer(host)
      let saved = try peer.call(
        "save",
        """
        {"insert":[
          {"id":"Item/t1","values":{"desk":"Desk/t1"}},{"id":"Item/t2","values":{}},
          {"id":"Desk/t1","values":{"room":"a"}},
          {"id":"Person/t1","values":{"name":"x","items":["Item/t1"]}}]}
        """
      )
      let first = try #require(saved["ids"]?["Item/t1"]?.string?.split(separator: "p").last)
      let observers = try Self.requests.map { request in
        let observer = HostPeer(host)
        let answer = try observer.call("observe", request)
        return (observer, request, try #require(answer["result"]))
      }
      for write in writes {
        let sql = write.replacing("N +", with: "\(try #require(Int64(first))) - 1 +")
          .replacing("Link", with: "cordial_pairs_Item_people")
        try ForeignWriter.write(host.store.container.storePath, sql)
        host.service.lookForCommits()
        try host.settle()
      }
      for (observer, request, result) in observers {
        let fetch = try #require(JSONText.parsed(request)?["fetch"])
        let expected = try peer.call("fetch", fetch.text)
        var state = ListState(result)
        for change in observer.changes {
          for update in change["updates"]?.array ?? [] { try state.apply(update) }
        }
        let name = "\(writes) \(request)"
        if fetch["result"] == "count" {
          #expect(state.count == expected["count"], "\(name)")
        } else if let ids = expected["ids"]?.array {
          #expect(state.elements == ids, "\(name)")
        } else {
          #expect(state.elements == expected["objects"]?.array, "\(name)")
        }
        if fetch["total"] == true { #expect(state.total == expected["total"], "\(name)") }
      }
      try host.close()
    }
  }

  /// A list of objects or IDs, to which updates are applied as the protocol says.
  private struct ListState {
    var elements: [JSONValue]
    var count: JSONValue?
    var total: JSONValue?

    init(_ result: JSONValue) {
      elements = result["objects"]?.array ?? result["ids"]?.array ?? []
      count = result["count"]
      total = result["total"]
    }

    mutating func apply(_ update: JSONValue) throws {
      count = update["count"] ?? count
      total = update["total"] ?? total
      var moved: [Int64: JSONValue] = [:]
      for removal in (update["remove"]?.array ?? []).reversed() {
        let offset = try #require(removal["offset"]?.integer)
        moved[offset] = elements.remove(at: Int(offset))
      }
      for insertion in update["insert"]?.array ?? [] {
        let former = insertion["movedFrom"]?.integer.flatMap { moved[$0] }
        let element = try #require(insertion["object"] ?? former ?? insertion["id"])
        elements.insert(element, at: Int(try #require(insertion["offset"]?.integer)))
      }
      for change in update["update"]?.array ?? [] {
        elements[Int(try #require(change["offset"]?.integer))] = try #require(change["object"])
      }
    }
  }
}

@Suite struct `An observed identity that another object takes over` {
  // Evidence: P-082e, P-082h
  @Test func `is updated with the values that the former object had`() async throws {
    let model = """
      {"name":"M","version":"1","entities":[{"name":"Tag","identity":"name","attributes":[
        {"name":"name","type":"string"},{"name":"color","type":"string","optional":true}]}]}
      """
    try await onOwnThread {
      let host = try ServiceHost(model: model)
      let peer = HostPeer(host)
      _ = try peer.call("save", #"{"insert":[{"id":"Tag/sx","values":{"color":"red"}}]}"#)
      let observer = HostPeer(host)
      _ = try observer.call("observe", #"{"ids":["Tag/sx"],"before":true}"#)
      let insert = #"{"id":"Tag/sx","values":{"color":"blue"}}"#
      _ = try peer.call("save", #"{"delete":["Tag/sx"],"insert":[\#(insert)]}"#)
      try host.settle()
      let update = try #require(
        observer.changes.first?["updates"]?.array?.first?["objects"]?.array?.first
      )
      #expect(update["change"] == "update")
      #expect(update["before"]?["color"] == "red")
      #expect(update["object"]?["values"]?["color"] == "blue")
      try host.close()
    }
  }
}
