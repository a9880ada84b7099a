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
  @Test(arguments: [[], ["n"], ["-n"], ["k"], ["-k", "n"], ["-k:localized"]], [1, 2, 3, 5])
  func `of groups continue after a cursor`(sort: [String], limit: Int) async throws {
    try await withPeer { peer in
      for having in ["", #","having":"@count < 2""#] {
        let keys = JSONValue.array(sort.map { .string($0) }).text
        let request =
          #""entity":"A","result":"values","select":["@count","n"],"groupBy":["n","k"],"#
          + #""sort":\#(keys)\#(having)"#
        let whole = try peer.call("fetch", "{\(request)}")
        #expect(whole["rows"]?.array?.count == 6)
        var rows: [JSONValue] = []
        var after = ""
        repeat {
          let page = try peer.call("fetch", #"{\#(request),"limit":\#(limit)\#(after)}"#)
          rows += page["rows"]?.array ?? []
          after = page["next"]?.string.map { #","after":"\#($0)""# } ?? ""
        } while !after.isEmpty && rows.count < 20
        #expect(.array(rows) == whole["rows"])
      }
    }
  }

  // Evidence: P-058d
  @Test func `of groups have sections that count groups`() async throws {
    try await withPeer { peer in
      let request = #""entity":"A","result":"values","select":["@count"],"groupBy":["k","n"]"#
      let answer = try peer.call("fetch", "{\(request),\"sectionBy\":\"-n\",\"limit\":1}")
      let expected: JSONValue = [
        ["name": 3, "offset": 0, "count": 2], ["name": 2, "offset": 2, "count": 1],
        ["name": 1, "offset": 3, "count": 1], ["name": nil, "offset": 4, "count": 2],
      ]
      #expect(answer["sections"] == expected)
      let next = answer["next"]?.string ?? ""
      let more = try peer.call(
        "fetch",
        "{\(request),\"sectionBy\":\"-n\",\"after\":\"\(next)\"}"
      )
      #expect(more["rows"]?.array?.count == 5)
      #expect(more["sections"] == expected)
      let other = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["@count"],"groupBy":["k"],"after":"\#(next)"}"#
      )
      #expect(other["code"] == -32602)
      let outside = try peer.call(
        "fetch",
        #"{"entity":"A","result":"values","select":["@count"],"groupBy":["k"],"sectionBy":"n"}"#
      )
      #expect(outside["code"] == -32602)
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
