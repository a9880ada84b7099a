import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// An observed request, and the form of its updates.
///
/// It is a class because it has many parts, and each step copies observations.
final class ObservedRequest: Sendable {
  let target: ObserveCall.Target
  let mode: ObserveCall.Mode
  let includesBefore: Bool
  /// Whether updates say why they are sent.
  let explains: Bool
  let first: Int
  /// The text that names the request: equal texts have equal results and updates.
  ///
  /// It has the mode and the params. That of a search has the subscription too, because its results
  /// are of different positions of the index.
  let identity: String
  /// The JSON text of the params that name the request.
  let text: String

  /// Creates the request of a call.
  ///
  /// - Parameters:
  ///   - call: The call.
  ///   - subscriber: The subscription that the call makes.
  init(_ call: ObserveCall, _ subscriber: Subscriber) {
    target = call.target
    mode = call.mode
    includesBefore = call.includesBefore
    explains = call.explains
    first = call.first ?? 0
    text = String(call.identity.dropFirst(mode.rawValue.count))
    identity =
      call.isSearch
      ? "search \(subscriber.session) \(subscriber.number) \(call.identity)" : call.identity
  }

  /// The fetch of the request; nil for history.
  var fetch: FetchCall? {
    switch target {
    case .ids(_, let fetch), .fetch(let fetch): fetch
    case .history, .search: nil
    }
  }

  /// The paths of included relationships.
  var include: [String] { fetch?.include ?? [] }
}

/// The compiled target of an observed request.
enum ObservedPlan: Sendable {
  /// Objects by their IDs, with one plan for each entity.
  case objects([String], plans: [Int: FetchPlan])
  case rows(FetchPlan)
  case count(FetchPlan)
  case values(FetchRequest, ValuesPlan)
  case history(HistoryCall)
  case search

  /// Whether the result depends on ICU's folding or collation.
  var usesCollation: Bool {
    switch self {
    case .objects(_, let plans): plans.values.contains(where: \.usesCollation)
    case .rows(let plan), .count(let plan): plan.usesCollation
    case .values(_, let plan): plan.usesCollation
    case .history, .search: false
    }
  }

  /// Whether the event loop may read the rows of a few objects: they have no values of other
  /// objects, and none that functions of the program compute, which may take long.
  var mayRunOnLoop: Bool {
    switch self {
    case .objects(_, let plans):
      plans.values.allSatisfy { $0.related.isEmpty && !$0.callsProgram }
    case .rows(let plan): plan.relatedNames.isEmpty && !plan.callsProgram
    case .count, .values, .history, .search: true
    }
  }
}

/// A subscription to an observation.
struct Subscriber: Sendable, Hashable, Comparable {
  let session: Int
  /// The number of the subscription within its session.
  let number: Int

  static func < (first: Subscriber, second: Subscriber) -> Bool {
    (first.session, first.number) < (second.session, second.number)
  }
}

/// One observed request with its current result, which all its subscriptions share.
struct Observation: Sendable {
  let request: ObservedRequest
  var plan: ObservedPlan
  /// The hash of the model of the plan.
  let modelHash: String
  /// Whether the plan was compiled for a store that may have dangling references.
  var mayDangle: Bool
  /// The properties that decide which objects are included: of the objects of the result, and of
  /// other objects by entity number.
  var inclusion: Inclusion
  var result: ObservedResult
  /// The position of the result.
  var position: LogPosition

  /// The data on which `included` depends.
  struct Inclusion: Sendable {
    /// The relationships of the result's objects.
    var relationships: Set<String> = []
    /// The entities of the included objects.
    var entities: Set<Int> = []
  }

  /// The data on which the result depends.
  var interest: Interest {
    switch plan {
    case .objects(_, let plans):
      var related = including([:])
      for plan in plans.values { related.merge(plan.related) { $0.union($1) } }
      let isAwaiting = result.named.contains { $0.key == nil }
      // An object gets an awaited identity by its insertion, or from an external client.
      for plan in plans.values where isAwaiting {
        guard let identity = plan.entity.identity else { continue }
        related[plan.entity.number, default: []].insert(identity.name)
      }
      return .objects(
        SmallSet(result.named.lazy.compactMap(\.key)),
        related: related,
        awaited: isAwaiting ? Set(plans.keys) : []
      )
    case .rows(let plan), .count(let plan):
      var reads: RelatedReads?
      if case .rows = self.plan {
        reads = plan.relatedReads
        reads?.included = inclusion.entities
      }
      return .fetch(
        entities: plan.resultEntities,
        Interest.Membership(
          plan.membership.union(inclusion.relationships),
          order: plan.orderReads,
          condition: plan.condition,
          counted: Self.counted(plan),
          ignoresValues: ignoresValues,
          isCount: isCount,
          reads: reads
        ),
        related: including(plan.related)
      )
    case .values(_, let plan):
      return .fetch(
        entities: plan.resultEntities,
        Interest.Membership(plan.ownRead, condition: plan.condition),
        related: plan.related
      )
    case .history: return .commits
    // The index decides when a search has another result, not a commit.
    case .search: return .objects([])
    }
  }

  /// Returns the columns with which the sections of a fetch and the rows before its window are
  /// counted.
  private static func counted(_ plan: FetchPlan) -> Set<String> {
    var columns: Set<String> = []
    if let section = plan.sectionColumn { columns.insert(section) }
    if plan.request.offset > 0, let order = plan.orderColumns { columns.formUnion(order) }
    return columns
  }

  /// Whether nothing depends on the values of the objects of a fetch, only on their sequence.
  private var ignoresValues: Bool {
    switch plan {
    case .count: request.include.isEmpty
    case .rows: request.mode == .ids && request.include.isEmpty
    case .objects, .values, .history, .search: false
    }
  }

  /// Whether the result is a number, and no update says which objects altered it.
  private var isCount: Bool {
    guard case .count(let plan) = plan else { return false }
    return plan.sectionColumn == nil && request.fetch?.sectionBy == nil && !request.explains
      && request.include.isEmpty
  }

  /// Returns how many objects a verdict names, before the whole request is read again.
  ///
  /// - Parameter isStopped: Whether the comparison has to end.
  /// - Returns: The limits.
  func verdictLimits(_ isStopped: @escaping @Sendable () -> Bool) -> VerdictLimits {
    var limits = verdictLimits
    limits.isStopped = isStopped
    return limits
  }

  /// How many objects a verdict names, before the whole request is read again.
  var verdictLimits: VerdictLimits {
    switch plan {
    case .rows:
      VerdictLimits(
        membersMax: ResultReader.editsMax(result),
        // Where rows do not decide the condition, the objects may be outside the result.
        valuesMax: max(Self.valuesMin, result.window?.rows.count ?? result.objects.count)
      )
    // All rows are read again; the objects only explain it.
    case .values: VerdictLimits(membersMax: request.explains ? Self.valuesMin : Self.namedMax)
    case .count: VerdictLimits(membersMax: Self.valuesMin)
    case .objects, .history, .search: VerdictLimits()
    }
  }

  /// The number of objects that a verdict may name for a result of any size.
  private static let valuesMin = 4096
  /// The number of objects up to which one of them is named in `observe/list`.
  private static let namedMax = 64

  private func including(_ related: [Int: Set<String>]) -> [Int: Set<String>] {
    inclusion.entities.reduce(into: related) { $0[$1] = [ChangeSet.everyProperty] }
  }
}
