import CordialService
import JSON
import TestStores
import Testing

/// What a client knows of an observed `TitlesQuery`.
private struct Titles: Equatable {
  var counts: [String: Int64] = [:]

  /// Starts over from a whole result.
  init(_ result: JSONValue?) {
    apply(result)
  }

  /// Applies an update, or a part of one.
  mutating func apply(_ update: JSONValue?) {
    for element in update?["rows"]?.array ?? [] {
      let count = element["count"]?.integer ?? 0
      counts[element["title"]?.string ?? ""] = count == 0 ? nil : count
    }
  }

  /// Applies the updates of all messages since a client had so many.
  mutating func apply(_ changes: some Sequence<JSONValue>) {
    for change in changes {
      for update in change["updates"]?.array ?? [] { apply(update) }
    }
  }
}

/// Nothing but its type and the line that makes it knows a kind of live query: one that the service
/// does not have is served as the others are.
@Suite struct `A kind of live query of the test's own` {
  private static let request = #"{"fetch":{"entity":"Task","result":"count"}}"#

  private static func withTitles(
    limits: Limits = Limits(),
    _ body: @escaping @Sendable (ServiceHost) throws -> Void
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.limits = limits
      options.addedKind = TitlesQuery.kind
      let host = try ServiceHost(model: TestModels.todo, options)
      try body(host)
      try host.close()
    }
  }

  private static func resumed(_ token: JSONValue?) -> String {
    #"{"fetch":{"entity":"Task","result":"count"},"since":\#(token?.text ?? "null")}"#
  }

  @Test func `is observed, shared and listed`() async throws {
    try await Self.withTitles { host in
      let (writer, reader, other) = (HostPeer(host), HostPeer(host), HostPeer(host))
      try writer.saveTask("a")
      var titles = Titles(try reader.call("observe", Self.request)["result"])
      #expect(titles.counts == ["a": 1])
      try writer.saveTask("b")
      try writer.saveTask("a")
      titles.apply(reader.changes)
      #expect(titles.counts == ["a": 2, "b": 1])
      let whole = try other.call("observe", Self.request)
      #expect(Titles(whole["result"]) == titles)
      // A change that the query does not read is no update.
      let before = reader.changes.count
      _ = try writer.call("save", #"{"update":[{"id":"Task/p1","values":{"priority":3}}]}"#)
      #expect(reader.changes.count == before)
      let list = try reader.call("observe/list")["subscriptions"]
      #expect(list?.array?.first?["rows"] == 2)
      #expect(list?.array?.first?["matching"] == "sql")
    }
  }

  @Test func `resumes with the difference, or starts over where that is longer`() async throws {
    try await Self.withTitles { host in
      let (writer, reader) = (HostPeer(host), HostPeer(host))
      for title in ["a", "b", "c"] { try writer.saveTask(title) }
      let first = try reader.call("observe", Self.request)
      var titles = Titles(first["result"])
      reader.disconnect()
      _ = try writer.call("delete", #"{"ids":["Task/p1"]}"#)
      try writer.saveTask("d")
      let again = HostPeer(host)
      let resumed = try again.call("observe", Self.resumed(first["token"]))
      #expect(resumed["fresh"] == false)
      titles.apply(resumed["update"])
      #expect(titles.counts == ["b": 1, "c": 1, "d": 1])
      let same = try HostPeer(host).call("observe", Self.resumed(resumed["token"]))
      #expect(same["update"] == [:])
      _ = try writer.call("delete", #"{"entity":"Task","predicate":"TRUEPREDICATE"}"#)
      let over = try HostPeer(host).call("observe", Self.resumed(resumed["token"]))
      #expect(over["fresh"] == true)
      #expect(over["why"] == "larger")
      #expect(Titles(over["result"]).counts == [:])
    }
  }

  @Test func `gives a slow reader the difference from what it has`() async throws {
    try await Self.withTitles { host in
      let (writer, reader) = (HostPeer(host), HostPeer(host))
      for title in ["a", "b", "c", "d"] { try writer.saveTask(title) }
      var titles = Titles(try reader.call("observe", Self.request)["result"])
      reader.stopReading()
      try writer.saveTask("short")
      _ = try writer.call("delete", #"{"entity":"Task","predicate":"title == 'short'"}"#)
      try writer.saveTask("b")
      #expect(reader.changes.isEmpty)
      reader.resumeReading()
      try host.settle()
      let change = try #require(reader.changes.first)
      #expect(reader.changes.count == 1)
      #expect(change["updates"]?.array?.first?["rows"] == [["title": "b", "count": 2]])
      titles.apply(reader.changes)
      #expect(titles.counts == ["a": 1, "b": 2, "c": 1, "d": 1])
    }
  }

  @Test func `is coalesced`() async throws {
    try await Self.withTitles { host in
      let (writer, reader) = (HostPeer(host), HostPeer(host))
      _ = try reader.call("initialize", #"{"cordial":{"coalesce":100}}"#)
      _ = try reader.call("observe", Self.request)
      try writer.saveTask("first")
      #expect(reader.changes.count == 1)
      try writer.saveTask("a")
      try writer.saveTask("b")
      #expect(reader.changes.count == 1)
      try host.advance(milliseconds: 100)
      #expect(reader.changes.count == 2)
      let titles: JSONValue = [["title": "a", "count": 1], ["title": "b", "count": 1]]
      #expect(reader.changes.last?["updates"]?.array?.first?["rows"] == titles)
    }
  }

  @Test func `is sent in parts`() async throws {
    var limits = Limits()
    limits.partBytesMax = 1500
    try await Self.withTitles(limits: limits) { host in
      let (writer, reader) = (HostPeer(host), HostPeer(host))
      var titles = Titles(try reader.call("observe", Self.request)["result"])
      let inserts = (1...200).map { #"{"entity":"Task","values":{"title":"title \#($0)"}}"# }
      _ = try writer.call("save", #"{"insert":[\#(inserts.joined(separator: ","))]}"#)
      #expect(reader.changes.count > 3)
      #expect(reader.changes.last?["more"] == nil)
      titles.apply(reader.changes)
      #expect(titles.counts.count == 200)
    }
  }
}
