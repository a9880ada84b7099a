import Algorithms
import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// The subscriptions of one connection, with the position that they share.
struct ObservedState {
  /// The subscriptions, in the order of their numbers.
  var subscriptions: [LiveSubscription] = []
  var table = SubscriptionTable()
  /// The position of all subscriptions, which the client knows; nil before the first subscription.
  var position: StoreToken?
  /// The position up to which the log was examined.
  ///
  /// The commits between `position` and this one changed no result.
  var examined = LogPosition(commit: 0, lastChange: 0)
  /// The authors of commits between the position and `examined`, each once.
  var unreportedAuthors: [String?] = []
  /// The newest commit that has to be examined.
  var wanted: Int64 = 0
  /// The work that waits for the end of the update that is being built, or nil if none is.
  private(set) var afterUpdate: [@Sendable (isolated Service) -> Void]?
  var nextNumber = 1
  /// The time since which changes wait for responses to the connection's own saves, or nil.
  var deferredSince: Int64?
  var coalescing = Coalescing.idle

  /// The period for which changes are coalesced.
  enum Coalescing {
    case idle
    /// The period is running; its end updates the subscriptions.
    case running
    /// The period has ended, and no update has begun since.
    case over
  }

  /// Whether an update is being built, or the first result of a subscription.
  var isUpdating: Bool { afterUpdate != nil }

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
}

/// One subscription, with the state of its client's result.
struct LiveSubscription: Sendable {
  /// The compiled target of a subscription.
  enum Target: Sendable {
    /// Objects with their IDs as the client wrote them, and one plan for each entity.
    case objects([(id: String, key: ObjectKey?)], plans: [Int: FetchPlan], call: FetchCall)
    case fetch(FetchPlan, call: FetchCall)
  }

  let number: Int
  let key: String?
  let mode: ObserveCall.Mode
  var target: Target
  /// The entities of the observed IDs whose identity value no object has.
  var awaited: Set<Int> = []
  /// Whether the target was compiled for a store that may have dangling references.
  var mayDangle: Bool
  /// The number of times that the interest has changed.
  var revision = 0
  /// The sequence that the client of a fetch has.
  var sequence: [Int64] = []
  /// The digest of each object's row, for a target that reads related objects.
  var digests: [ObjectKey: ContentDigest] = [:]

  /// The name on the wire.
  var name: String { "s\(number)" }

  /// Whether values may change without a change of the object's own properties.
  var readsRelated: Bool {
    switch target {
    case .objects(_, let plans, _): plans.values.contains { !$0.related.isEmpty }
    case .fetch(let plan, _): !plan.relatedNames.isEmpty
    }
  }

  /// The data on which the result depends.
  var interest: Interest {
    switch target {
    case .objects(let objects, let plans, _):
      return .objects(
        Set(objects.compactMap(\.key)),
        related: plans.values.reduce(into: [:]) { related, plan in
          related.merge(plan.related) { $0.union($1) }
        },
        awaited: awaited
      )
    case .fetch(let plan, _):
      return .fetch(
        entities: plan.resultEntities,
        membership: plan.membership,
        related: plan.related
      )
    }
  }
}
