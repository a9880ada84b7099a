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
  var view = ClientView.current

  init(number: Int, key: String?, observation: Int) {
    self.number = number
    self.key = key
    self.observation = observation
  }
}

/// The subscriptions of one connection, with the position that they share.
struct ObservedState {
  /// The subscriptions, in the order of their numbers.
  var subscriptions: [LiveSubscription] = []
  /// The numbers of the subscriptions by their keys.
  var numbersByKey: [String: Int] = [:]
  /// The position that the client knows for all its subscriptions; nil without subscriptions.
  var position: StoreToken?
  /// The position of the client's results; nil while the client has the registry's results.
  ///
  /// A commit that changes none of the results leaves this nil.
  private(set) var behindAt: LogPosition?
  /// The subscriptions whose clients have former results.
  private var behind: Set<Int> = []
  /// The subscriptions that ended since the last message, with their last updates.
  var ended: [(number: Int, body: UpdateBody)] = []
  /// The subscriptions whose observations are read alone; the connection waits for them.
  var leftOut: Set<Int> = []
  /// The start of the connection's wait for slow observations; nil without such a wait.
  var lateSince: ContinuousClock.Instant?
  /// Whether a result changed while the peer accepted no bytes.
  var isBlocked = false
  /// The parts of a message that the peer has not accepted yet.
  var parts: Deque<ChangesMessage.Part> = []
  /// The work that waits for the end of the current update; nil if no update is being built.
  private(set) var afterUpdate: [@Sendable (isolated Service) -> Void]?
  var nextNumber = 1
  /// The time in microseconds since which changes wait for the response to the connection's own
  /// save; nil if no changes wait.
  var deferredSince: Int64?
  var coalescing = Coalescing.idle

  /// The state of the period in which changes are coalesced.
  enum Coalescing {
    case idle
    /// A message was sent less than a period ago.
    case running
  }

  /// The memory of `parts`.
  var partBytes: Int { parts.reduce(0) { $0 + $1.ownBytes } }

  /// Whether an update, or the first result of a subscription, is being built.
  var isUpdating: Bool { afterUpdate != nil }

  /// Whether the client is behind, or an ended subscription must be reported.
  var hasNews: Bool { behindAt != nil || !ended.isEmpty }

  /// Records that an update is being built.
  mutating func beginUpdate() {
    afterUpdate = afterUpdate ?? []
  }

  /// Adds work that runs at the end of the current update; returns false if no update is being
  /// built.
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

  /// Adds a subscription whose client has the result of the observation.
  mutating func insert(_ subscription: LiveSubscription) {
    let index = subscriptions.partitioningIndex { $0.number >= subscription.number }
    subscriptions.insert(subscription, at: index)
    if let key = subscription.key { numbersByKey[key] = subscription.number }
  }

  /// Removes a subscription and returns it; nil if there is none with that number.
  mutating func remove(_ number: Int) -> LiveSubscription? {
    guard let index = index(of: number) else { return nil }
    let subscription = subscriptions.remove(at: index)
    if let key = subscription.key { numbersByKey[key] = nil }
    behind.remove(number)
    leftOut.remove(number)
    if subscriptions.isEmpty { catchUp() }
    return subscription
  }

  // MARK: What the client has

  /// The memory of the client's former results in bytes, as if none were shared.
  var formerBytes: Int {
    behind.reduce(0) { sum, number in
      sum + (index(of: number).flatMap { subscriptions[$0].view.former?.bytes } ?? 0)
    }
  }

  /// The subscriptions whose clients have former results, with these results, ordered by number.
  var formerViews: [(subscription: LiveSubscription, result: KeptResult)] {
    behind.sorted().compactMap { number in
      guard let index = index(of: number), let result = subscriptions[index].view.former else {
        return nil
      }
      return (subscriptions[index], result)
    }
  }

  /// Returns whether the client has a former result of a subscription.
  func isBehind(_ number: Int) -> Bool { behind.contains(number) }

  /// Records that the client's result of a subscription differs from the registry's result.
  ///
  /// - Parameters:
  ///   - number: The number of the subscription.
  ///   - result: The client's result; ignored if the client already has a former result.
  ///   - position: The position of the client's results; ignored if the client is already behind.
  mutating func fallBehind(_ number: Int, with result: KeptResult, at position: LogPosition?) {
    guard let index = index(of: number) else { return }
    if subscriptions[index].view.former == nil { subscriptions[index].view = .behind(result) }
    behind.insert(number)
    stay(at: position)
  }

  /// Records the position of the client's results, unless the client is already behind.
  mutating func stay(at position: LogPosition?) {
    behindAt = behindAt ?? position
  }

  /// Records that the client has received a result at a different position than the registry's.
  mutating func receive(_ result: KeptResult, of number: Int) {
    guard let index = index(of: number) else { return }
    subscriptions[index].view = .behind(result)
    behind.insert(number)
  }

  /// Records the position of all results that the client has received.
  mutating func move(to position: LogPosition) {
    behindAt = position
  }

  /// Records that the client has all results of the registry.
  mutating func catchUp() {
    for number in behind {
      if let index = index(of: number) { subscriptions[index].view = .current }
    }
    behind = []
    behindAt = nil
    lateSince = nil
    isBlocked = false
  }
}
