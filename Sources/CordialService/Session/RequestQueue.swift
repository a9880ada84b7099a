import CordialProtocol
import DequeModule
import JSON
import JSONRPC

/// A request on its way.
struct Request: Sendable {
  let session: Int
  /// Counts the requests of its session.
  let serial: Int
  /// Where its answer stands among those of its session.
  let place: Int
  let id: RequestID
  let method: Method
  let params: JSONValue
}

/// Decides which of a connection's requests may start: the order in which they came, but for what
/// may run together.
///
/// Reads run beside reads, writes go to the writer one behind the other; a read waits for the
/// writes before it, a write for the reads before it, and what runs alone for everything.
struct RequestQueue {
  private var waiting: Deque<Request> = []
  /// A few at the most, but for those that run beside anything.
  private var running: [(serial: Int, order: Method.Order)] = []

  /// How many reads of one connection run at a time: others wait their turn among the readers.
  private static let readsMax = 4

  /// Whether a write is under way.
  var isWriting: Bool { running.contains { $0.order == .write } }

  var count: Int { waiting.count + running.count }
  var isEmpty: Bool { count == 0 }

  mutating func add(_ request: Request) {
    waiting.append(request)
  }

  /// The next request that may start, which counts as running from now on.
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

  /// Takes a request out that did not start.
  mutating func cancel(_ id: RequestID) -> Request? {
    guard let place = waiting.firstIndex(where: { $0.id == id }) else { return nil }
    return waiting.remove(at: place)
  }

  /// Takes every request out that did not start.
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
