import CordialProtocol
import DequeModule
import JSON
import JSONRPC
import ProtocolSchemas

/// A request that waits or runs.
struct Request: Sendable {
  let session: Int
  /// The sequence number of the request within its session.
  let serial: Int
  let received: Peer.Request
  let method: Method
  /// The time limit that the client sends, in seconds; nil for none.
  let timeoutSeconds: Double?
  /// Whether the request reads a few objects by key and its response waits for no other response.
  let isCheap: Bool
  /// The memory of the response while it is built.
  ///
  /// The value is nil before the request begins, and for a method whose response is always short.
  var share: AnswerShare?
  /// Whether the response did not fit into the free memory, so that the next attempt reserves
  /// memory.
  var needsReservation = false

  var id: RequestID { received.id }
  var params: JSONValue { received.params }
  /// The memory of the request, in bytes.
  var bytes: Int { received.bytes }
}

/// The queue of a connection's requests.
///
/// The queue decides which requests may start.
///
/// Requests start in the order in which they arrive, by these rules:
///
/// - A read waits for the writes before it. At most `readsMax` reads run concurrently. A read of a
///   few objects by key overtakes the reads that wait for this maximum.
/// - A write goes to the writer after the writes before it, and waits for the reads before it.
/// - A request of order `alone` waits for all requests before it. While it runs, only requests of
///   order `any` start.
/// - A request of order `any` starts as soon as all requests before it have started.
struct RequestQueue {
  private var waiting: Deque<Request> = []
  /// The requests that have started and are not answered.
  private var running: [(serial: Int, order: Method.Order)] = []

  /// The maximum number of concurrent reads of one connection, so that readers remain for other
  /// connections.
  private let readsMax: Int

  /// Whether a write is running.
  var isWriting: Bool { running.contains { $0.order == .write } }

  /// Creates the queue of a connection.
  ///
  /// - Parameter readsMax: The maximum number of concurrent reads.
  init(readsMax: Int) {
    self.readsMax = readsMax
  }

  var count: Int { waiting.count + running.count }
  var isEmpty: Bool { count == 0 }

  mutating func add(_ request: Request) {
    waiting.append(request)
  }

  /// The next request that may start; nil while no request may start.
  var next: Request? { startable.map { waiting[$0] } }

  /// The index of the next request that may start; nil while no request may start.
  private var startable: Int? {
    guard let first = waiting.first else { return nil }
    if mayStart(first.method.order) { return 0 }
    guard first.method.order == .read, isReading else { return nil }
    // The reads at the head of the queue wait only for running reads, so a cheap read among them
    // may start.
    return waiting.prefix { $0.method.order == .read }.firstIndex(where: \.isCheap)
  }

  /// Whether all running requests are reads or of order `any`.
  private var isReading: Bool {
    running.allSatisfy { $0.order == .read || $0.order == .any }
  }

  /// Moves the next request that may start to the running requests.
  mutating func startNext() {
    guard let index = startable else { return }
    let next = waiting.remove(at: index)
    running.append((next.serial, next.method.order))
  }

  /// Puts a running request back at the head of the queue.
  mutating func postpone(_ request: Request) {
    finish(request.serial)
    waiting.prepend(request)
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

  /// Removes and returns the requests that have not started and that satisfy a condition.
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
      isReading
        && running.count { $0.order == .read } < readsMax
    case .write: running.allSatisfy { $0.order == .write || $0.order == .any }
    case .alone: running.isEmpty
    }
  }
}
