import CordialProtocol
import DequeModule
import JSON
import JSONRPC

/// A request that waits or runs.
struct Request: Sendable {
  let session: Int
  /// The number of the request within its session.
  let serial: Int
  /// The answer slot of the request within its session.
  let slot: Int
  let id: RequestID
  let method: Method
  let params: JSONValue
}

/// The queue of a connection's requests, which decides which of them may start.
///
/// Requests start in the order in which they arrive, by these rules:
///
/// - A read runs concurrently with other reads, and waits for the writes before it.
/// - A write goes to the writer after the writes before it, and waits for the reads before it.
/// - A request of order `alone` waits for all requests before it, and the others wait for it; those
///   of order `any` do not.
/// - A request of order `any` waits for the requests before it to start, and for none to end.
struct RequestQueue {
  private var waiting: Deque<Request> = []
  /// The requests that have started and are not answered.
  private var running: [(serial: Int, order: Method.Order)] = []

  /// The maximum number of concurrent reads of one connection, which leaves readers to the others.
  private static let readsMax = 4

  /// Whether a write is running.
  var isWriting: Bool { running.contains { $0.order == .write } }

  var count: Int { waiting.count + running.count }
  var isEmpty: Bool { count == 0 }

  mutating func add(_ request: Request) {
    waiting.append(request)
  }

  /// Removes and returns the next request that may start, and counts it as running.
  mutating func next() -> Request? {
    guard let first = waiting.first, mayStart(first.method.order) else { return nil }
    waiting.removeFirst()
    running.append((first.serial, first.method.order))
    return first
  }

  mutating func finish(_ serial: Int) {
    if let index = running.firstIndex(where: { $0.serial == serial }) {
      running.swapAt(index, running.count - 1)
      running.removeLast()
    }
  }

  /// Removes and returns a request that has not started, or nil if no such request waits.
  mutating func cancel(_ id: RequestID) -> Request? {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
    return waiting.remove(at: index)
  }

  /// Removes and returns the requests that have not started and for which a condition holds.
  mutating func cancel(where isCancelled: (Request) -> Bool) -> [Request] {
    let cancelled = waiting.filter(isCancelled)
    waiting.removeAll(where: isCancelled)
    return Array(cancelled)
  }

  /// Removes and returns all requests that have not started.
  mutating func cancelAll() -> [Request] {
    defer { waiting.removeAll() }
    return Array(waiting)
  }

  private func mayStart(_ order: Method.Order) -> Bool {
    switch order {
    case .any: true
    case .read:
      running.allSatisfy { $0.order == .read || $0.order == .any }
        && running.count { $0.order == .read } < Self.readsMax
    case .write: running.allSatisfy { $0.order == .write || $0.order == .any }
    case .alone: running.isEmpty
    }
  }
}
