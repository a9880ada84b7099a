import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// A query that counts the objects of a fetch.
struct CountQuery: LiveQuery {
  struct Result: QueryResult {
    var count: Int64
    var extras = ResultExtras()

    var elementCount: Int { 0 }
    var bytes: Int { extras.bytes }
  }

  let plan: FetchPlan

  var usesCollation: Bool { plan.usesCollation }
  var matching: Matching { Matching(of: plan.condition) }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest {
    // Updates that report only the count do not need the objects that altered the count.
    let isNumber =
      plan.sectionColumn == nil && request.fetch?.sectionBy == nil && !request.explains
      && request.include.isEmpty
    return plan.interest(
      inclusion,
      ignoresValues: request.include.isEmpty,
      isCount: isNumber
    )
  }

  func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits {
    VerdictLimits(membersMax: Observation.valuesMin)
  }

  func isShort(_ members: [ObjectKey: Verdict.Match], for result: Result) -> Bool {
    result.extras.sections == nil
      && members.values.allSatisfy { $0.before != nil && $0.after != nil }
  }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    let count = try reader.snapshot.count(plan)
    try out.member(.count) { $0.integer(count) }
    return Result(count: count, extras: try reader.readExtras(request, plan, of: [], &out))
  }

  /// Counts the objects that enter or leave; returns nil if the rows do not decide which objects
  /// enter or leave.
  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    var refreshed = RefreshedResult(result: result)
    switch change.verdict {
    case .unaffected, .values: return refreshed
    case .reaching, .undecided: return nil
    case .count(let difference, _):
      refreshed.result.count += difference
      refreshed.result.extras.total? += difference
      return refreshed
    case .members(let members, _):
      guard members.values.allSatisfy({ $0.after != nil }),
        let difference = ResultReader.countDifference(members, matching: [])
      else { return nil }
      refreshed.result.count += difference
      refreshed.result.extras.total? += difference
      refreshed.isReread = try change.refreshSections(
        plan,
        members,
        matching: [],
        &refreshed.result.extras
      )
      return refreshed
    }
  }

  func inclusionStart(in model: Model) -> EntityDescription? { plan.entity }

  func including(
    _ result: Result,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])? { (plan.entity, []) }

  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {
    difference.countDiffers = old.count != new.count
  }

  func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    guard difference.countDiffers else { return }
    try out.member(.count) { $0.integer(new.count) }
  }

  var explainedFetch: FetchRequest? { plan.request }
  var explainedCondition: RowCondition? { plan.condition }

  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool {
    isCandidate(plan.resultEntities)
  }

  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? {
    plan.part(property, inclusion)
  }
}

/// The parts that fetches of objects and counts of objects share.
extension FetchPlan {
  /// Returns the data on which the result depends.
  ///
  /// - Parameters:
  ///   - inclusion: The data that decides which objects are included.
  ///   - reads: The paths to related objects; nil if the effect of a change of these objects is
  ///     always undecided.
  ///   - ignoresValues: Whether the result depends only on the sequence of the objects.
  ///   - isCount: Whether the result depends only on the number of the objects.
  /// - Returns: The data.
  func interest(
    _ inclusion: Observation.Inclusion,
    reads: RelatedReads? = nil,
    ignoresValues: Bool,
    isCount: Bool = false
  ) -> Interest {
    // These columns are needed to count the sections and the rows before the window.
    var counted: Set<String> = []
    if let section = sectionColumn { counted.insert(section) }
    if request.offset > 0, let order = orderColumns { counted.formUnion(order) }
    return .fetch(
      entities: resultEntities,
      Interest.Membership(
        self.reads.membership.union(inclusion.relationships),
        order: self.reads.order,
        condition: condition,
        counted: counted,
        ignoresValues: ignoresValues,
        isCount: isCount,
        reads: reads
      ),
      related: inclusion.related(with: related)
    )
  }

  /// Returns the part of the fetch that reads a property of the result's own objects; nil for none.
  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? {
    if sectionColumn == property { return "section" }
    if reads.order.contains(property) { return "sort" }
    if reads.valueNames[property] != nil { return "select" }
    if inclusion.relationships.contains(property) { return "include" }
    return reads.membership.contains(property) ? "predicate" : nil
  }
}
