import CordialService
import JSON
import JSONRPC
import Testing

extension HostPeer {
  /// Saves tasks whose titles are long.
  ///
  /// - Parameters:
  ///   - count: The number of tasks.
  ///   - titleBytes: The length of each title.
  /// - Throws: `WaitTimeout`, or an error of the test.
  func saveLongTasks(_ count: Int, titleBytes: Int) throws {
    let title = String(repeating: "x", count: titleBytes)
    let task = #"{"entity":"Task","values":{"title":"\#(title)"}}"#
    let inserts = Array(repeating: task, count: count).joined(separator: ",")
    let saved = try call("save", #"{"insert":[\#(inserts)]}"#)
    try #require(saved["token"] != nil)
  }

  /// Sends requests as one batch, and returns their IDs.
  @discardableResult
  func sendBatch(_ requests: [(method: String, params: String)]) -> [Int] {
    let first = lastID + 1
    let texts = requests.map { method, params in
      String(decoding: request(method, params).dropLast(), as: UTF8.self)
    }
    send(bytes: Array("[\(texts.joined(separator: ","))]\n".utf8))
    return Array(first..<(first + requests.count))
  }

  /// The responses of the first batch that was answered.
  var batchResponses: [JSONValue]? { messages.first { $0.array != nil }?.array }
}

/// A fetch of 360 kB, after `saveLongTasks(12, titleBytes: 30_000)`.
private let longFetch = (method: "fetch", params: #"{"entity":"Task","limit":12}"#)

/// Runs a body with a service whose tasks are 360 kB long.
private func withLongTasks(
  _ change: @escaping @Sendable (inout Limits) -> Void = { _ in },
  _ body: @escaping @Sendable (ServiceHost) throws -> Void
) async throws {
  var limits = Limits()
  change(&limits)
  try await withHost(limits: limits) { host in
    let writer = HostPeer(host)
    try writer.saveLongTasks(12, titleBytes: 30_000)
    writer.disconnect()
    try body(host)
  }
}

// Evidence: P-012e
@Suite struct `The responses of a batch` {
  /// Without a bound, all responses are built before the first byte is sent.
  @Test(arguments: [false, true])
  func `are built as the peer reads them`(initializes: Bool) async throws {
    try await withLongTasks { host in
      let peer = HostPeer(host)
      if initializes { _ = try peer.call("initialize") }
      peer.read(bytes: 1)
      let ids = peer.sendBatch(Array(repeating: longFetch, count: 30))
      try host.settle()
      #expect(peer.batchResponses == nil)
      let later = try HostPeer(host).saveTask("later")
      peer.resumeReading()
      try host.run(until: "the batch is answered") { peer.batchResponses != nil }
      let responses = try #require(peer.batchResponses)
      #expect(responses.compactMap { $0["id"]?.integer }.sorted() == ids.map(Int64.init))
      let tokens = responses.compactMap { $0["result"]?["token"]?.string }
      #expect(tokens.count == 30)
      #expect(tokens.first != later)
      // Most of the responses were built after the later save.
      #expect(tokens.count { $0 == later } >= 15)
      #expect(tokens.last == later)
    }
  }

  @Test func `that are short are sent together, as they are known`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      var ids: [Int] = []
      try host.withBlockedWriter {
        ids = peer.sendBatch([
          ("save", insertTask("a")), ("nothing", "{}"), ("fetch", HostPeer.countTasks),
        ])
      }
      try host.settle()
      #expect(peer.messages.count == 1)
      let order = peer.batchResponses?.compactMap { $0["id"]?.integer }
      #expect(order == [ids[1], ids[0], ids[2]].map(Int64.init))
    }
  }

  @Test func `precede the notifications of the time in which they are sent`() async throws {
    try await withLongTasks { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize")
      _ = try peer.call("observe", #"{"fetch":{"entity":"Group"}}"#)
      peer.read(bytes: 1)
      peer.sendBatch(Array(repeating: longFetch, count: 20))
      try host.settle()
      let group = #"{"insert":[{"entity":"Group","values":{"title":"g"}}]}"#
      _ = try HostPeer(host).call("save", group)
      #expect(peer.changes.isEmpty)
      peer.resumeReading()
      try host.run(until: "the change is reported") { !peer.changes.isEmpty }
      let kinds = peer.messages.map { $0.array != nil ? "batch" : $0["method"]?.string ?? "answer" }
      #expect(kinds == ["answer", "answer", "batch", "changes"])
      #expect(peer.batchResponses?.count == 20)
    }
  }

  @Test func `precede the responses to later requests while they are sent`() async throws {
    try await withLongTasks { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize")
      peer.read(bytes: 1)
      peer.sendBatch(Array(repeating: longFetch, count: 20))
      let model = peer.send("model")
      try host.settle()
      peer.resumeReading()
      try host.run(until: "the model is answered") { peer.answer(to: model) != nil }
      #expect(peer.messages.map { $0.array != nil } == [false, true, false])
    }
  }

  @Test func `of cancelled requests are errors in the same array`() async throws {
    try await withLongTasks { host in
      let peer = HostPeer(host)
      peer.read(bytes: 1)
      let ids = peer.sendBatch(Array(repeating: longFetch, count: 20))
      try host.settle()
      for id in ids.suffix(5) { peer.cancel(id) }
      peer.resumeReading()
      try host.run(until: "the batch is answered") { peer.batchResponses != nil }
      let responses = try #require(peer.batchResponses)
      #expect(responses.count == 20)
      let cancelled = responses.filter { $0["error"]?["code"] == -32800 }
      #expect(cancelled.compactMap { $0["id"]?.integer } == ids.suffix(5).map(Int64.init))
    }
  }

  @Test func `are freed where the peer leaves`() async throws {
    try await withLongTasks { host in
      let peer = HostPeer(host)
      peer.read(bytes: 1)
      peer.sendBatch(Array(repeating: longFetch, count: 30))
      try host.settle()
      let held = host.enter { $0.budget.bytes }
      #expect(held > 1 << 20)
      // 1 MiB waits for the peer, and some reads had begun by then.
      #expect(held < 4 << 20)
      peer.disconnect()
      try host.settle()
      #expect(host.enter { $0.budget.bytes } == 0)
    }
  }

  /// The changes that `observe/flush` waits for precede its response, so that no array can be open.
  // Evidence: P-019a, P-086c
  @Test func `with observe/flush are sent as a whole, up to a limit`() async throws {
    try await withLongTasks { limits in
      limits.answerBytesMax = 3 << 20
    } _: { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize")
      let ids = peer.sendBatch(
        Array(repeating: longFetch, count: 20) + [(method: "observe/flush", params: "{}")]
      )
      try host.run(until: "the batch is answered") { peer.batchResponses != nil }
      let responses = try #require(peer.batchResponses)
      #expect(responses.compactMap { $0["id"]?.integer }.sorted() == ids.map(Int64.init))
      let refused = responses.filter { $0["error"]?["data"]?["limit"] == "answerBytes" }
      // Nine responses reach the limit, and some reads had begun by then.
      #expect((6...11).contains(refused.count), "\(refused.count)")
      #expect(refused.allSatisfy { $0["error"]?["code"] == 1302 })
      let flush = responses.first { $0["id"]?.integer == ids.last.map(Int64.init) }
      #expect(flush?["result"]?["token"] != nil)
    }
  }
}

// Evidence: P-019e
@Suite struct `Responses that wait for earlier ones` {
  @Test func `let no further request begin beyond their limit`() async throws {
    try await withLongTasks { limits in
      limits.heldBytesMax = 2 << 20
    } _: { host in
      let peer = HostPeer(host)
      // Without `initialize`, the responses keep the order of the requests, and the first one waits
      // for a commit that does not exist.
      let token = try HostPeer(host).saveTask("a")
      let next = token.split(separator: "-").enumerated().map { index, part in
        index == 1 ? "\((Int(part) ?? 0) + 1)" : String(part)
      }.joined(separator: "-")
      peer.send("fetch", #"{"entity":"Group","at":"\#(next)"}"#)
      for _ in 1...20 { peer.send(longFetch.method, longFetch.params) }
      try host.settle()
      #expect(peer.answeredIDs.isEmpty)
      #expect(host.enter { $0.budget.bytes } < 4 << 20)
      try host.advance(milliseconds: 6000)
      try host.run(until: "all are answered") { peer.answeredIDs.count == 21 }
      #expect(peer.answeredIDs == Array(1...21))
    }
  }
}
