package import Dispatch
import Synchronization

/// A pool of read connections, each lent to one worker at a time.
final class ReaderPool: Sendable {
  private struct State {
    var idle: [Confined<StoreReader>] = []
    var createdCount = 0
    var waiting: [@Sendable (Result<StoreReader, StoreError>) -> Void] = []
  }

  private let queue = DispatchQueue(label: "cordial.readers", attributes: .concurrent)
  private let state = Mutex(State())
  private let path: String
  private let role: StoreConnection.Role
  private let facts: StoreFile.Facts
  private let unindexed: UnindexedSorts
  private let used: UsedIndexes
  /// The maximum number of connections.
  private let readersMax: Int

  init(
    path: String,
    role: StoreConnection.Role,
    facts: StoreFile.Facts,
    unindexed: UnindexedSorts,
    used: UsedIndexes,
    readersMax: Int
  ) {
    self.readersMax = readersMax
    self.unindexed = unindexed
    self.used = used
    self.path = path
    self.role = role
    self.facts = facts
  }

  func read(_ body: @escaping @Sendable (Result<StoreReader, StoreError>) -> Void) {
    let starts = state.withLock { state in
      state.waiting.append(body)
      return state.createdCount - state.idle.count < readersMax
    }
    if starts { queue.async { self.work() } }
  }

  /// Takes a reader, or creates one up to the limit, and works until nothing is waiting.
  private func work() {
    guard let reader = take() else { return }
    while let body = nextBody(returning: reader) { body(.success(reader.value)) }
  }

  private func take() -> Confined<StoreReader>? {
    let (idle, mayCreate) = state.withLock { state in
      guard !state.waiting.isEmpty else { return (nil as Confined<StoreReader>?, false) }
      if let reader = state.idle.popLast() { return (reader, false) }
      guard state.createdCount < readersMax else { return (nil, false) }
      state.createdCount += 1
      return (nil, true)
    }
    if let idle { return idle }
    guard mayCreate else { return nil }
    do {
      return Confined(
        try StoreReader(path: path, role: role, facts: facts, unindexed: unindexed, used: used)
      )
    } catch {
      let failure = StoreError(any: error)
      let (failed, hasIdle) = state.withLock { state in
        state.createdCount -= 1
        // The readers that exist serve what waits: the file may have been removed since.
        if state.createdCount > 0 { return (state.waiting[..<0], !state.idle.isEmpty) }
        defer { state.waiting.removeAll() }
        return (state.waiting[...], false)
      }
      failed.forEach { $0(.failure(failure)) }
      if hasIdle { queue.async { self.work() } }
      return nil
    }
  }

  private func nextBody(
    returning reader: Confined<StoreReader>
  ) -> (@Sendable (Result<StoreReader, StoreError>) -> Void)? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.idle.append(reader)
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}

/// A wrapper for a value that is not `Sendable`, which several threads use one after the other.
///
/// A value that one serial queue uses is bound to that queue, and every use is checked. The owner
/// of any other value ensures the order: the pool lends a reader to one worker at a time.
package struct Confined<Value>: @unchecked Sendable {
  private let stored: Value
  private let queue: DispatchQueue?

  /// Wraps a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - queue: The only queue that uses the value; nil when the owner ensures the order.
  package init(_ value: Value, to queue: DispatchQueue? = nil) {
    stored = value
    self.queue = queue
  }

  /// The value; its use on another queue ends the process.
  package var value: Value {
    if let queue { dispatchPrecondition(condition: .onQueue(queue)) }
    return stored
  }
}
