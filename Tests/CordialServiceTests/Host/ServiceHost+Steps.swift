import CordialService
import Dispatch
import JSONRPC
import Logging
import PersistentStore
import TestStores

/// Runs a body with a service of a new store, on a thread of its own.
///
/// - Parameters:
///   - model: The store's model.
///   - limits: The limits of the service.
///   - stepMilliseconds: The time for which one observed request delays the others.
///   - body: What to do with the service.
/// - Throws: What the body throws, `StoreError`, or `WaitTimeout`.
func withHost(
  model: String = TestModels.todo,
  limits: Limits = Limits(),
  stepMilliseconds: Int = 10_000,
  _ body: @escaping @Sendable (ServiceHost) throws -> Void
) async throws {
  try await onOwnThread {
    var options = ServiceHost.Options()
    options.limits = limits
    options.stepMilliseconds = stepMilliseconds
    let host = try ServiceHost(model: model, options)
    try body(host)
    try host.close()
  }
}

/// Steps that stop halfway, where `settle` and `advance` wait until the service is idle.
extension ServiceHost {
  /// Runs a body while the writer is blocked, so that the saves that the body sends wait together.
  ///
  /// - Parameter body: What to do meanwhile. It must not settle, which waits for the writer.
  /// - Throws: What the body throws, or `WaitTimeout`.
  func withBlockedWriter(_ body: () throws -> Void) throws {
    let entered = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    store.seal { _ in
      entered.signal()
      leave.wait()
    }
    defer { leave.signal() }
    try waitFor(entered, "the writer is blocked")
    try body()
  }

  /// Runs a body while all threads of searches are busy, so that its searches begin after it.
  ///
  /// - Parameter body: What to do meanwhile. It must not wait for a search.
  /// - Throws: What the body throws, or `WaitTimeout`.
  func withBlockedSearches(_ body: () throws -> Void) throws {
    let entered = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    for _ in 0..<SearchThreads.countMax {
      service.searches.search(
        { _, _ in
          entered.signal()
          leave.wait()
        },
        completion: { _ in }
      )
    }
    defer { for _ in 0..<SearchThreads.countMax { leave.signal() } }
    for _ in 0..<SearchThreads.countMax { try waitFor(entered, "a thread of searches is busy") }
    try body()
  }

  /// Lets a reader of the store wait, after the reads that were requested before.
  ///
  /// - Returns: The wait, which the test must end.
  func blockReader() -> BlockedReader {
    let blocked = BlockedReader()
    store.read(.ofService) { _ in blocked.enter() }
    return blocked
  }

  /// Lets all readers of the store wait, after the reads that were requested before.
  ///
  /// - Returns: The waits, each of which the test must end.
  /// - Throws: `WaitTimeout`.
  func blockReaders() throws -> [BlockedReader] {
    let blocked = (0..<store.readersMax).map { _ in blockReader() }
    for reader in blocked { try waitFor(reader.entered, "a reader is blocked") }
    return blocked
  }

  /// Lets the thread that compares the whole index wait.
  ///
  /// - Returns: The wait, which the test must end.
  func blockComparisons() -> BlockedReader {
    let blocked = BlockedReader()
    service.searches.compare(
      { _, _ in
        blocked.enter()
        return MessageBytes([])
      },
      completion: { _ in }
    )
    return blocked
  }

  /// Waits until a reader waits.
  ///
  /// - Parameter reader: The wait.
  /// - Throws: `WaitTimeout`.
  func waitUntilBlocked(_ reader: BlockedReader) throws {
    try waitFor(reader.entered, "a reader is blocked")
  }

  /// Waits until the writer has executed its saves, without answering them: no job of the loop
  /// runs.
  ///
  /// - Throws: `WaitTimeout`.
  func waitForWriter() throws {
    let passed = DispatchSemaphore(value: 0)
    store.seal { _ in passed.signal() }
    try waitFor(passed, "the writer is idle")
  }

  /// Advances the time and runs the timers that become due, before the jobs that wait already.
  ///
  /// - Parameter milliseconds: By how much.
  func fireTimers(milliseconds: Int) {
    let end = loop.now + milliseconds
    while true {
      let (passed, work) = loop.nextTimer(through: end)
      clock.advance(milliseconds: Int64(passed))
      guard let work else { return }
      loop.enter(work)
    }
  }

  /// Advances the time of commits without running timers.
  ///
  /// - Parameter days: By how much.
  func advance(days: Int64) {
    clock.advance(milliseconds: days * 86_400_000)
  }

  /// Settles until an automatic purge has ended, which is a chain of reads and writes without an
  /// answer.
  ///
  /// - Throws: `WaitTimeout`.
  func settlePurge() throws {
    // Each round passes the readers and the writer once: the goal, the removal of commits, the
    // removal of changes, the end of the removal, and the oldest position are five.
    for _ in 0..<8 { try settle() }
  }

  /// Makes another service of the same store, with a clock that follows the virtual time.
  ///
  /// The clock of `service` stands still, so that `service` removes old history at its start only.
  ///
  /// - Returns: The service, which has looked for commits.
  /// - Throws: `SQLiteError`, or `WaitTimeout`.
  func makeClockedService() throws -> Service {
    let time = clock
    let clocked = try Service(
      store: store,
      index: index,
      indexRules: service.indexRules,
      loop: loop,
      limits: Limits(),
      facts: .init(
        name: "cordial",
        version: "0",
        process: "cordial 2",
        clock: { 1000 * time.now }
      ),
      log: Logger(label: "host") { _ in SwiftLogNoOpLogHandler() }
    )
    clocked.lookForCommits()
    try settlePurge()
    return clocked
  }

  private func waitFor(_ semaphore: DispatchSemaphore, _ what: String) throws {
    guard semaphore.wait(timeout: .now() + timeoutSeconds) == .success else {
      throw WaitTimeout(description: "Waited \(timeoutSeconds) s in vain until \(what)")
    }
  }
}

/// A reader of a store that waits until the test releases it.
final class BlockedReader: Sendable {
  let entered = DispatchSemaphore(value: 0)
  private let leave = DispatchSemaphore(value: 0)

  fileprivate func enter() {
    entered.signal()
    leave.wait()
  }

  /// Ends the wait, also where it has not begun.
  func release() {
    leave.signal()
  }
}
