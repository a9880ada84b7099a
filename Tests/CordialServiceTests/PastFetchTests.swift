import CordialService
import JSON
import TestSeeds
import Testing

/// Results of random requests that were recorded at many commits, against fetches of the past.
@Suite struct `A fetch of the past` {
  /// What a fetch returned at a commit.
  private struct Record {
    let request: OracleRequest
    let token: String
    let result: JSONValue
  }

  private static let commits = 250

  /// Commits random writes, and records the result of a request after each.
  private static func records(
    _ host: ServiceHost,
    _ peer: HostPeer,
    _ random: inout SplitMix64
  ) throws -> [Record] {
    var ids = StoredIDs()
    var records: [Record] = []
    let first = RandomWrite.first(&random)
    _ = try peer.call(first.method, first.params.text)
    while records.count < commits {
      for entity in StoredIDs.entities where records.count % 10 == 0 {
        let list = try peer.call("fetch", #"{"entity":"\#(entity)","result":"ids"}"#)["ids"]
        ids.byEntity[entity] = (list?.array ?? []).compactMap(\.string)
      }
      let write = RandomWrite.random(ids, &random)
      _ = try peer.call(write.method, write.params.text)
      var request = OracleRequest.random(ids, &random)
      while request.form == .history { request = .random(ids, &random) }
      let fetch = request.expectation(since: "", asOf: nil)
      let result = try peer.call(fetch.method, fetch.params)
      guard let token = result["token"]?.string else { continue }
      records.append(Record(request: request, token: token, result: result))
    }
    return records
  }

  // Evidence: P-057a, P-057c
  @Test(arguments: Seeds.first(4))
  func `returns what it returned, after undos and up to a purge`(seed: UInt64) async throws {
    try await onOwnThread {
      var random = SplitMix64(seed: seed)
      var options = ServiceHost.Options()
      options.limits.historyDaysMin = 0
      let host = try ServiceHost(model: ObserveOracle.model, options)
      let peer = HostPeer(host)
      let records = try Self.records(host, peer, &random)
      func check(_ records: some Sequence<Record>) throws {
        for record in records {
          let fetch = record.request.expectation(since: "", asOf: record.token)
          let result = try peer.call(fetch.method, fetch.params)
          let isEqual = Self.ordered(result) == Self.ordered(record.result)
          #expect(isEqual, "\(fetch.params) \(Seeds.repeating(seed))\n\(result.text)")
        }
      }
      try check(records)
      let purged = try peer.call("history/purge", #"{"keep":{"transactions":60}}"#)
      try host.settlePurge()
      #expect(purged["transactions"]?.integer ?? 0 > 50)
      let oldest = try #require(purged["token"]?.string.flatMap(Self.number))
      let isKept = { (record: Record) in Self.number(of: record.token) ?? 0 >= oldest }
      let kept = records.filter(isKept)
      #expect(kept.count >= 20)
      try check(kept)
      for record in records where !isKept(record) {
        let fetch = record.request.expectation(since: "", asOf: record.token)
        #expect(try peer.call(fetch.method, fetch.params)["code"] == 1201)
      }
      try host.close()
    }
  }

  /// Returns a result with the included objects ordered by ID: they have no order.
  private static func ordered(_ result: JSONValue) -> JSONValue {
    .object(
      (result.members ?? []).map { member in
        guard member.name == "included", let included = member.value.members else { return member }
        return JSONMember("included", .object(included.sorted { $0.name < $1.name }))
      }
    )
  }

  /// Returns the number of the commit that a token names.
  private static func number(of token: String) -> Int? {
    token.split(separator: "-").dropFirst().first.flatMap { Int($0) }
  }
}
