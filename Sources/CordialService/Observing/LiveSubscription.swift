import Algorithms
import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// What one connection observes.
struct ObservedState {
  /// In the order in which they were made.
  var subscriptions: [LiveSubscription] = []
  var table = SubscriptionTable()
  /// The position of all of them, which the client knows; nil before the first.
  var position: StoreToken?
  /// How far the log was looked at: what is before it and after the position said nothing.
  var examined = LogPosition(commit: 0, lastChange: 0)
  /// The authors of commits between the position and `examined`, each once.
  var unreportedAuthors: [String?] = []
  /// The commits that have to be looked at go up to here.
  var wanted: Int64 = 0
  /// Whether an update is being made; what has to wait for it is in `afterUpdate`.
  var isUpdating = false
  var afterUpdate: [@Sendable (isolated Service) -> Void] = []
  var nextNumber = 1
  /// Since when news have been put aside for saves of the connection's own; nil when none are.
  var owedSince: Int64?
  /// Whether a pause for gathering changes is running.
  var isGathering = false

  /// The index of a subscription, nil when there is none; they are ordered by their numbers.
  func index(of number: Int) -> Int? {
    let index = subscriptions.partitioningIndex { $0.number >= number }
    return index < subscriptions.count && subscriptions[index].number == number ? index : nil
  }
}

/// One subscription with what its client was last told.
struct LiveSubscription: Sendable {
  /// What is observed, compiled.
  enum Target: Sendable {
    /// The objects with their IDs as the client wrote them, and the form of each entity's.
    case objects([(id: String, key: ObjectKey?)], plans: [Int: FetchPlan], call: FetchCall)
    case fetch(FetchPlan, call: FetchCall)
  }

  let number: Int
  let key: String?
  let mode: ObserveCall.Mode
  var target: Target
  /// The entities of observed IDs that hold an identity value which no object has.
  var awaited: Set<Int> = []
  /// Whether it was compiled for a store in which a to-one may lead to an object that is gone.
  var mayDangle: Bool
  /// Counts the times that its interest became another.
  var revision = 0
  /// Of a fetch: the sequence that the client has.
  var sequence: [Int64] = []
  /// Of a target that reads behind key paths: what each object's row looked like.
  var digests: [ObjectKey: ContentDigest] = [:]

  /// The name on the wire.
  var name: String { "s\(number)" }

  /// Whether values may change though none of the object's own properties did.
  var readsRelated: Bool {
    switch target {
    case .objects(_, let plans, _): plans.values.contains { !$0.related.isEmpty }
    case .fetch(let plan, _): !plan.relatedNames.isEmpty
    }
  }

  /// What its result depends on.
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
        entities: plan.kinds,
        membership: plan.membership,
        related: plan.related
      )
    }
  }
}
