import JSON
import TestStores
import Testing

@Suite struct `Pages of values` {
  private func withPeer(_ body: @escaping @Sendable (HostPeer) throws -> Void) async throws {
    try await onOwnThread {
      let host = try ServiceHost(
        model: """
          {"name":"M","entities":[{"name":"A","attributes":[
            {"name":"n","type":"int32","optional":true},{"name":"k","type":"string"}]}]}
          """
      )
      let peer = HostPeer(host)
      let rows = [("3", "b"), ("null", "a"), ("1", "b"), ("3", "a"), ("2", "b"), ("null", "b")]
      let inserts = rows.map { #"{"entity":"A","values":{"n":\#($0),"k":"\#($1)"}}"# }
      _ = try peer.call("save", #"{"insert":[\#(inserts.joined(separator: ","))]}"#)
      try body(peer)
      try host.close()
    }
  }

  // Evidence: P-058d
  @Test(arguments: ["n", "-n", "k"], [1, 2, 4])
  func `continue after a cursor, nulls included`(sort: String, limit: Int) async throws {
    try await withPeer { peer in
      let request = #""entity":"A","result":"values","select":["n","k"],"sort":["\#(sort)"]"#
      let whole = try peer.call("fetch", "{\(request)}")
      #expect(whole["next"] == nil)
      var rows: [JSONValue] = []
      var after = ""
      repeat {
        let page = try peer.call("fetch", #"{\#(request),"limit":\#(limit)\#(after),"total":true}"#)
        rows += page["rows"]?.array ?? []
        #expect(page["total"] == 6)
        after = page["next"]?.string.map { #","after":"\#($0)""# } ?? ""
      } while !after.isEmpty && rows.count < 20
      #expect(.array(rows) == whole["rows"])
    }
  }

  // Evidence: P-058d
  @Test func `have sections and totals, and groups have totals`() async throws {
    try await withPeer { peer in
      let sections = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["n"],"sectionBy":"k","limit":1}"#
      )
      let expected: JSONValue = [
        ["name": "a", "offset": 0, "count": 2], ["name": "b", "offset": 2, "count": 4],
      ]
      #expect(sections["sections"] == expected)
      let groups = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["n","@count"],"groupBy":["n"],"total":true}"#
      )
      #expect(groups["total"] == 4)
      let distinct = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["k"],"distinct":true,"total":true,"limit":1}"#
      )
      #expect(distinct["total"] == 2)
      let refused = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["k"],"distinct":true,"sectionBy":"k"}"#
      )
      #expect(refused["code"] == -32602)
    }
  }
}
