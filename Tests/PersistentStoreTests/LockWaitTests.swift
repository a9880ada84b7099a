import JSON
import PersistentStore
import Synchronization
import TestStores
import Testing

@Suite struct `Writes behind a lock of another process` {
  // Evidence: P-134d
  @Test func `fail after the same time, whatever waits before them`() async throws {
    let store = try TestStore(TestModels.todo)
    let persistent = store.store
    let other = try ForeignConnection(store.folder.path + "/store.sqlite")
    try other.execute("BEGIN IMMEDIATE")
    let save = try JSONParser.parse(#"{"insert":[{"entity":"Task"}]}"#)
    let alone = await Failures.of(1) { failures in
      persistent.save(SaveRequest(save)) { failures.add($0) }
    }
    let together = await Failures.of(8) { failures in
      for number in 0..<4 {
        var request = SaveRequest(save)
        request.source = number
        request.isDryRun = number == 3
        persistent.save(request) { failures.add($0) }
        let name = "follower \(number)"
        persistent.register(follower: name, since: nil, silence: 1000, source: number) {
          failures.add($0)
        }
      }
    }
    #expect((alone.codes + together.codes).allSatisfy { $0 == .storeBusy })
    // One after the other, they would take eight times as long.
    #expect(together.duration < alone.duration * 4)
    try other.execute("ROLLBACK")
    _ = try await store.save(#"{"insert":[{"entity":"Task"}]}"#)
  }
}

/// The failures of requests that were sent at once.
private final class Failures: Sendable {
  private let codes = Mutex<[StoreError.Code?]>([])
  private let count: Int
  private let start = ContinuousClock.now
  private let end: @Sendable (Duration) -> Void

  private init(_ count: Int, _ end: @escaping @Sendable (Duration) -> Void) {
    (self.count, self.end) = (count, end)
  }

  /// Sends requests; returns their failures, and the time until the last of them.
  static func of(
    _ count: Int,
    _ send: (Failures) -> Void
  ) async -> (codes: [StoreError.Code?], duration: Duration) {
    let sent = Mutex<Failures?>(nil)
    let duration = await withCheckedContinuation { continuation in
      let failures = Failures(count) { continuation.resume(returning: $0) }
      sent.withLock { $0 = failures }
      send(failures)
    }
    return (sent.withLock { $0?.codes.withLock { $0 } ?? [] }, duration)
  }

  /// Adds the outcome of a request, on the thread that performed it.
  func add(_ outcome: Result<some Any, StoreError>) {
    let isLast = codes.withLock { codes in
      if case .failure(let error) = outcome { codes.append(error.code) } else { codes.append(nil) }
      return codes.count == count
    }
    if isLast { end(start.duration(to: .now)) }
  }
}
