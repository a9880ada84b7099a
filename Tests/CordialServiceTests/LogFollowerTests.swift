import CordialService
import CordialValues
import JSON
import JSONRPC
import PersistentHistory
import Synchronization
import TestStores
import Testing

/// A follower that records the calls of the service.
private final class RecordingFollower: LogFollower {
  struct Lateness: Error {}

  private struct State {
    var woken: [Int64] = []
    var reached: [Int64] = []
    var isStopped = false
    /// The waiting completions.
    var waiting: [@Sendable ((any Error)?) -> Void] = []
  }

  let pauseMilliseconds: Int
  let retention: HistoryRetention?
  /// Whether the follower never reaches a commit, so that each wait ends by its time limit.
  private let isStuck: Bool
  private let state = Mutex(State())

  init(pause: Int = 0, retains: Int64? = nil, isStuck: Bool = false) {
    pauseMilliseconds = pause
    retention = retains.map { HistoryRetention(number: $0, reason: "the recorder") }
    self.isStuck = isStuck
  }

  var statusName: String? { "recorder" }
  var position: StoreToken? { nil }
  var woken: [Int64] { state.withLock { $0.woken } }
  var reached: [Int64] { state.withLock { $0.reached } }
  var isStopped: Bool { state.withLock { $0.isStopped } }

  func wake(through commit: Int64) { state.withLock { $0.woken.append(commit) } }

  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    state.withLock { $0.reached.append(commit.number) }
    guard isStuck else {
      completion(nil)
      return nil
    }
    return { completion(Lateness()) }
  }

  func stop() { state.withLock { $0.isStopped = true } }
}

@Suite struct `A follower of the log` {
  private static let save = #"{"insert":[{"id":"Task/t1","values":{"title":"a"}}]}"#

  private func with(
    _ follower: RecordingFollower,
    _ body: @escaping @Sendable (ServiceHost, HostClient) throws -> Void
  ) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.followers = [follower]
      options.limits.historyDaysMin = 0
      let host = try ServiceHost(model: TestModels.todo, options)
      try body(host, HostClient(host))
      #expect(!follower.isStopped)
      try host.close()
      #expect(follower.isStopped)
    }
  }

  @Test func `is woken at the start and after each commit`() async throws {
    let follower = RecordingFollower()
    try await with(follower) { _, client in
      #expect(follower.woken == [0])
      _ = try client.call("save", Self.save)
      _ = try client.call("save", Self.save)
      #expect(follower.woken == [0, 1, 2])
    }
  }

  @Test func `is woken once for all commits of its pause`() async throws {
    let follower = RecordingFollower(pause: 500)
    try await with(follower) { host, client in
      try host.advance(milliseconds: 500)
      #expect(follower.woken == [0])
      _ = try client.call("save", Self.save)
      try host.advance(milliseconds: 300)
      _ = try client.call("save", Self.save)
      #expect(follower.woken == [0])
      try host.advance(milliseconds: 200)
      #expect(follower.woken == [0, 2])
    }
  }

  @Test func `is listed by status`() async throws {
    try await with(RecordingFollower()) { _, client in
      _ = try client.call("save", Self.save)
      let listed = try client.call("status", "{}")["followers"]?.array ?? []
      #expect(listed.compactMap { $0["name"]?.string } == ["spotlight", "recorder"])
      #expect(listed.last?["behind"]?.integer == 1)
    }
  }

  @Test func `retains the history that it needs`() async throws {
    try await with(RecordingFollower(retains: 1)) { host, client in
      for _ in 0..<4 { _ = try client.call("save", Self.save) }
      try host.advance(milliseconds: 1000)
      let purged = try client.call("history/purge", #"{"keep":{"transactions":1}}"#)
      #expect(purged["heldBy"]?.string == "the recorder")
      #expect(purged["transactions"]?.integer == 1)
    }
  }

  @Test func `delays a flush until it reaches the newest commit`() async throws {
    let follower = RecordingFollower()
    try await with(follower) { _, client in
      _ = try client.call("save", Self.save)
      #expect(try client.call("observe/flush", "{}")["token"]?.string?.contains("-1-") == true)
      #expect(follower.reached == [1])
    }
  }

  @Test func `fails a flush when it does not reach the commit in time`() async throws {
    try await with(RecordingFollower(isStuck: true)) { host, client in
      let session = host.connect(framing: .line)
      let line = #"{"jsonrpc":"2.0","id":9,"method":"observe/flush","params":{}}"# + "\n"
      host.send(Array(line.utf8), to: session)
      try host.settle()
      #expect(session.sink.takeEvents().isEmpty)
      try host.advance(milliseconds: 60_000)
      #expect(!session.sink.takeEvents().isEmpty)
    }
  }
}
