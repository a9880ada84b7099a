import Algorithms
import CordialValues
import DequeModule
import JSONRPC
import PersistentHistory

/// One subscription of a connection.
struct LiveSubscription {
  let number: Int
  let key: String?
  /// The number of the observation in the registry.
  let observation: Int
  /// The result that the client has; nil while it is the observation's.
  var behind: KeptResult?

  init(number: Int, key: String?, observation: Int) {
    self.number = number
    self.key = key
    self.observation = observation
  }

  /// The name on the wire.
  var name: String { Self.name(number) }

  static func name(_ number: Int) -> String { "s\(number)" }
}

/// A former result of an observation that clients still have; they share it.
///
/// It counts in the memory of the process until the last of them has a later one.
final class KeptResult: Sendable {
  let result: any LiveResult
  /// The approximate memory of the result, in bytes.
  let bytes: Int

  private let memory: ByteBudget.Kept

  init(_ result: any LiveResult, _ budget: ByteBudget) {
    self.result = result
    bytes = result.bytes
    memory = budget.keep()
    memory.set(bytes)
  }
}

/// The subscriptions of one connection, with the position that they share.
struct ObservedState {
  /// The subscriptions, in the order of their numbers.
  var subscriptions: [LiveSubscription] = []
  /// The numbers of the subscriptions by their keys.
  var numbersByKey: [String: Int] = [:]
  /// The position of all subscriptions, which the client knows; nil before the first subscription.
  var position: StoreToken?
  /// The position of the client's results; nil while they are those of the registry.
  ///
  /// A commit that changes none of the results leaves this nil.
  var lag: LogPosition?
  /// The subscriptions whose results have changed since `lag`.
  var pending: Set<Int> = []
  /// The subscriptions that ended since the last message, with their last updates.
  var ended: [(number: Int, body: UpdateBody)] = []
  /// The subscriptions whose observations are read alone; the connection waits for them.
  var postponed: Set<Int> = []
  /// Since when the connection has waited for observations that take long; nil without such a wait.
  var lateSince: ContinuousClock.Instant?
  /// Whether the peer did not accept bytes when a result changed.
  var isBlocked = false
  /// The parts of a message that the peer has not accepted yet.
  var parts: Deque<ChangesMessage.Part> = []
  /// The work that waits for the end of the update that is being built, or nil if none is.
  private(set) var afterUpdate: [@Sendable (isolated Service) -> Void]?
  var nextNumber = 1
  /// The time since which changes wait for responses to the connection's own saves, or nil.
  var deferredSince: Int64?
  var coalescing = Coalescing.idle

  /// The period for which changes are coalesced.
  enum Coalescing {
    case idle
    /// A message was sent less than a period ago.
    case running
  }

  /// The memory of `parts`.
  var partBytes: Int { parts.reduce(0) { $0 + $1.ownBytes } }

  /// Whether an update is being built, or the first result of a subscription.
  var isUpdating: Bool { afterUpdate != nil }

  /// Whether something has to be reported.
  var hasNews: Bool { lag != nil || !ended.isEmpty }

  /// Records that an update is being built.
  mutating func beginUpdate() {
    afterUpdate = afterUpdate ?? []
  }

  /// Adds work for the end of the update; returns whether an update is being built.
  mutating func wait(for work: @escaping @Sendable (isolated Service) -> Void) -> Bool {
    afterUpdate?.append(work)
    return isUpdating
  }

  /// Records the end of an update and returns the work that waited for it.
  mutating func endUpdate() -> [@Sendable (isolated Service) -> Void] {
    defer { afterUpdate = nil }
    return afterUpdate ?? []
  }

  /// Returns the index of a subscription, or nil if there is none with that number.
  func index(of number: Int) -> Int? {
    let index = subscriptions.partitioningIndex { $0.number >= number }
    return index < subscriptions.count && subscriptions[index].number == number ? index : nil
  }

  /// Records that the client has another result of a subscription than the registry.
  ///
  /// - Parameters:
  ///   - number: The number of the subscription.
  ///   - result: The client's result, unless the client has an earlier one already.
  ///   - position: The position of the client's results, unless it lags already.
  mutating func fallBehind(_ number: Int, with result: KeptResult, at position: LogPosition) {
    guard let index = index(of: number) else { return }
    if subscriptions[index].behind == nil { subscriptions[index].behind = result }
    pending.insert(number)
    if lag == nil { lag = position }
  }

  /// Records that the client has all results of the registry.
  mutating func catchUp() {
    for number in pending {
      if let index = index(of: number) { subscriptions[index].behind = nil }
    }
    pending = []
    lag = nil
    lateSince = nil
    isBlocked = false
  }
}
