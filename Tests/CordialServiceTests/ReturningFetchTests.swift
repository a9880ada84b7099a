import CordialService
import JSON
import TestStores
import Testing

/// A store with a fetch that no index sorts.
private struct ReturningFetch {
  private static let model = """
    {"name":"M","version":"1","entities":[{"name":"Item","attributes":[
      {"name":"n","type":"int64"},{"name":"s","type":"string"}]}]}
    """
  static let fetch = #"{"entity":"Item","sort":["-s","n"],"predicate":"n >= 0"}"#

  let host: ServiceHost
  let writer: HostPeer

  init(_ limits: Limits = Limits()) throws {
    var options = ServiceHost.Options()
    options.limits = limits
    host = try ServiceHost(model: Self.model, options)
    writer = HostPeer(host)
    let items = (0..<50).map { #"{"entity":"Item","values":{"n":\#($0),"s":"\#($0 % 7)"}}"# }
    _ = try writer.call("save", #"{"insert":[\#(items.joined(separator: ","))]}"#)
  }

  /// The number of requests that sorted all their objects.
  func sorts() throws -> Int64 {
    let status = try writer.call("status")
    return (status["slowSorts"]?.array ?? []).reduce(0) { $0 + ($1["count"]?.integer ?? 0) }
  }

  func observe(_ peer: HostPeer) throws -> JSONValue {
    try peer.call("observe", #"{"fetch":\#(Self.fetch)}"#)
  }

  func change() throws {
    let changes = """
      {"insert":[{"entity":"Item","values":{"n":70,"s":"3"}}],"delete":["Item/p5"],
       "update":[{"id":"Item/p9","values":{"s":"9"}},{"id":"Item/p11","values":{"n":-1}}]}
      """
    let saved = try writer.call("save", changes)
    #expect(saved["token"] != nil, "\(saved.text)")
    try host.settle()
  }
}

/// Fetches that are observed again after their last subscription ended.
@Suite struct `A fetch that is observed again` {
  // Evidence: P-080i
  @Test(arguments: ["unobserve", "disconnect", "another"])
  func `is answered without a sort`(end: String) async throws {
    try await onOwnThread {
      let test = try ReturningFetch()
      let first = HostPeer(test.host)
      let observed = try test.observe(first)
      let name = observed["subscription"]?.string ?? ""
      #expect(try test.sorts() > 0)
      if end == "unobserve" { _ = try first.call("unobserve", #"{"subscription":"\#(name)"}"#) }
      if end == "disconnect" { first.disconnect() }
      try test.host.settle()
      try test.change()
      let before = try test.sorts()
      let again = try test.observe(HostPeer(test.host))
      #expect(try test.sorts() == before)
      #expect(again["result"]?["objects"]?.array?.count == 49)
      let fetched = try test.writer.call("fetch", ReturningFetch.fetch)
      #expect(again["result"]?["objects"] == fetched["objects"])
      #expect(again["token"] == fetched["token"])
      try test.host.close()
    }
  }

  // Evidence: P-080i
  @Test(arguments: ["number", "memory", "changes"])
  func `is sorted again beyond a limit`(limit: String) async throws {
    try await onOwnThread {
      var limits = Limits()
      if limit == "number" { limits.recentMax = 0 }
      if limit == "memory" { limits.recentBytesMax = 1000 }
      if limit == "changes" { limits.recentChangesMax = 3 }
      let test = try ReturningFetch(limits)
      let first = HostPeer(test.host)
      _ = try test.observe(first)
      first.disconnect()
      try test.host.settle()
      try test.change()
      let before = try test.sorts()
      _ = try test.observe(HostPeer(test.host))
      #expect(try test.sorts() > before)
      try test.host.close()
    }
  }

  // Evidence: P-080i
  @Test func `is sorted again after a minute`() async throws {
    try await onOwnThread {
      let test = try ReturningFetch()
      let first = HostPeer(test.host)
      _ = try test.observe(first)
      first.disconnect()
      try test.host.settle()
      try test.host.advance(milliseconds: 61_000)
      let before = try test.sorts()
      _ = try test.observe(HostPeer(test.host))
      #expect(try test.sorts() > before)
      try test.host.close()
    }
  }
}
