import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// A query for the ordered objects of a fetch, or for a window of these objects.
struct RowsQuery: LiveQuery {
  struct Result: QueryResult {
    /// The object numbers, in the order of the fetch.
    var objects: ObjectSequence = []
    /// The rows around the window; nil for a fetch without a window.
    var window: WindowRows?
    /// The commit at which `objects` was last read or edited; equal commits mean equal objects.
    var revision: Int64
    /// The digests of the rows of `objects`; empty unless rows have values of other objects.
    var digests: [UInt64] = []
    var extras = ResultExtras()

    var elementCount: Int { objects.count }
    var bytes: Int {
      8 * ((window?.rows.count ?? 0) + objects.count + digests.count) + extras.bytes
    }
  }

  let plan: FetchPlan

  /// The divisor of the number of rows in a result.
  ///
  /// The result is read again if the number of objects that may enter, leave or move exceeds the
  /// quotient.
  private static let rereadRatio = 8
  /// The number of objects that may always move without another read of the whole result.
  private static let movesMin = 16

  var usesCollation: Bool { plan.usesCollation }
  var mayRunOnLoop: Bool { plan.reads.relatedNames.isEmpty && !plan.callsProgram }
  var matching: Matching { Matching(of: plan.condition) }
  var isKept: Bool { true }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest {
    var reads = plan.relatedReads
    reads.included = inclusion.entities
    return plan.interest(
      inclusion,
      reads: reads,
      ignoresValues: request.mode == .ids && request.include.isEmpty
    )
  }

  func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits {
    VerdictLimits(
      membersMax: Self.editsMax(result),
      // The limit has a minimum, because changed objects may be outside the result if rows do not
      // decide the condition.
      valuesMax: max(Observation.valuesMin, result.window?.rows.count ?? result.objects.count)
    )
  }

  /// Returns the maximum number of objects that may enter, leave or move in an edit of a result.
  ///
  /// With more objects, the whole fetch is read again.
  private static func editsMax(_ result: Result) -> Int {
    let length = result.window?.rows.count ?? result.objects.count
    return max(movesMin, length / rereadRatio)
  }

  func isShort(_ members: [ObjectKey: Verdict.Match], for result: Result) -> Bool {
    // The refresh must not need SQL that may take long, for example a regular expression or a sort.
    guard result.extras.sections == nil, members.values.allSatisfy({ $0.after != nil }),
      members.count <= Self.editsMax(result)
    else { return false }
    guard let window = result.window else { return true }
    let isCounted = members.values.allSatisfy { $0.before != nil }
    return window.hasSpare(for: members.count) && window.rows.count > members.count
      && (window.start == 0 || plan.orderColumns != nil && isCounted)
      && (result.extras.total == nil || isCounted)
  }

  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    for result: Result,
    _ request: ObservedRequest,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict {
    var members: [ObjectKey: Verdict.Match] = [:]
    var values: Set<ObjectKey> = []
    switch own {
    case .values(let touched): values = touched
    case .members(let found, let touched): (members, values) = (found, touched)
    case .unaffected: break
    case .count, .reaching, .undecided: return .undecided
    }
    let membersMax = verdictLimits(for: result, request).membersMax
    for (path, keys) in reached {
      // A result of IDs has no values of its objects.
      if path.role == .values, request.mode == .ids { continue }
      guard let found = try origins(path, keys), found.count <= membersMax else {
        return .undecided
      }
      for object in found {
        let key = plan.key(object)
        if path.role == .values {
          values.insert(key)
        } else if members[key] == nil {
          members[key] = Verdict.Match(before: nil, after: nil)
        }
      }
    }
    guard members.count <= membersMax else { return .undecided }
    return members.isEmpty ? .values(values) : .members(members, values: values)
  }

  // MARK: Whole results

  /// The number of rows whose memory is counted together.
  private static let countedRows = 1024

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    let snapshot = reader.snapshot
    var result = Result(revision: snapshot.head.number)
    var window = WindowRows(of: plan.request, spareMax: reader.limits.windowSpareMax)
    let spare = plan.isWindow ? window.spare : 0
    let first = plan.request.offset - window.start
    let last = plan.request.limit.map { first + $0 } ?? .max
    let wantsDigests = request.mode != .ids && self.wantsDigests
    /// The memory of a row in bytes: its object number, its entry in the window, and its digest.
    let rowBytes = 8 * (1 + (plan.isWindow ? 1 : 0) + (wantsDigests ? 1 : 0))
    var rowCount = 0
    /// Adds an object, and returns whether the object is inside the window.
    func add(_ object: Int64) throws -> Bool {
      let isInside = !plan.isWindow || (first..<last).contains(window.rows.count)
      if plan.isWindow { window.rows.append(object) }
      if isInside { result.objects.append(object) }
      rowCount += 1
      if rowCount.isMultiple(of: Self.countedRows) { try out.count(Self.countedRows * rowBytes) }
      return isInside
    }
    let isDiscarding = out.isDiscarding
    let hasMore: Bool
    if request.mode == .ids || isDiscarding && !wantsDigests {
      out.beginList(.ids)
      hasMore = try snapshot.eachNumber(plan, spare: spare) { object in
        guard try add(object), !isDiscarding else { return }
        try out.element { $0.string(try snapshot.wrappedID(plan.key(object)).description) }
      }
      out.endList()
    } else {
      out.beginList(.objects)
      hasMore = try snapshot.eachObject(plan, spare: spare) { object, write in
        guard try add(object) else { return }
        try out.element { writer in
          let start = writer.bytes.count
          write(&writer)
          if wantsDigests { result.digests.append(UInt64(digestOf: writer.bytes[start...])) }
        }
      }
      out.endList()
    }
    window.isComplete = !hasMore
    if plan.isWindow { result.window = window }
    try finish(request, result, snapshot, &out)
    result.extras = try reader.readExtras(request, plan, of: Array(result.objects), &out)
    return result
  }

  /// Writes the members after the rows: the count, and the first objects of a list of IDs.
  private func finish(
    _ request: ObservedRequest,
    _ result: Result,
    _ snapshot: StoreSnapshot,
    _ out: inout UpdateWriter
  ) throws {
    try out.member(.count) { $0.integer(Int64(result.objects.count)) }
    guard request.mode == .ids, request.first > 0, !out.isDiscarding else { return }
    out.beginList(.objects)
    for object in result.objects.prefix(request.first) {
      try out.element { writer in
        if try !snapshot.write(object, as: plan, to: &writer) { writer.null() }
      }
    }
    out.endList()
  }

  /// Writes the members of a known result, without searching or sorting.
  ///
  /// - Complexity: One look-up for each row.
  func write(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    let snapshot = reader.snapshot
    let isIDs = request.mode == .ids
    out.beginList(isIDs ? .ids : .objects)
    for object in result.objects {
      try out.element { writer in
        if isIDs {
          writer.string(try snapshot.wrappedID(plan.key(object)).description)
        } else if try !snapshot.write(object, as: plan, to: &writer) {
          writer.null()
        }
      }
    }
    out.endList()
    try finish(request, result, snapshot, &out)
    if let sections = result.extras.sections {
      try out.member(.sections) { FetchSection.write(sections, to: &$0) }
    }
    if let total = result.extras.total { try out.member(.total) { $0.integer(total) } }
    _ = try reader.readIncluded(request, (plan.entity, Array(result.objects)), &out)
  }

  func inclusionStart(in model: Model) -> EntityDescription? { plan.entity }

  func including(
    _ result: Result,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])? {
    (plan.entity, Array(result.objects))
  }

  // MARK: Results after changes

  /// Removes and inserts the objects that may enter, leave or move; returns nil if the whole fetch
  /// must be read again.
  func refresh(_ old: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    let (reader, snapshot) = (change.reader, change.reader.snapshot)
    let (members, values): ([ObjectKey: Verdict.Match], Set<ObjectKey>)
    switch change.verdict {
    case .values(let touched): (members, values) = ([:], touched)
    case .members(let found, let touched): (members, values) = (found, touched)
    case .unaffected, .undecided, .count, .reaching: return nil
    }
    var refreshed = RefreshedResult(result: old, sequence: SequenceDifference())
    if !members.isEmpty {
      guard members.count <= Self.editsMax(old) else { return nil }
      let matching = try self.matching(members, snapshot)
      if let window = old.window {
        let refresh = WindowRefresh(snapshot: snapshot, plan: plan, rows: change.rows)
        guard
          let new = try refresh.run(window, members, matching, isReread: &refreshed.isReread)
        else { return nil }
        refreshed.result.window = new
        refreshed.result.objects = ObjectSequence(new.rows[new.range])
        refreshed.sequence = try SequenceDifference(from: old.objects, to: refreshed.result.objects)
      } else {
        let staying = staying(old, members, matching, change)
        let edit = try SequenceEdit(
          of: old.objects,
          candidates: Set(members.keys.map(\.object)).subtracting(staying)
        ) { kept in
          try snapshot.offsets(of: Array(matching.subtracting(staying)), in: kept, plan)
            .map { ($0.object, $0.offset) }
        }
        // If related objects decide the order, any object may have moved.
        refreshed.sequence =
          try change.interest.mayReorder(change.changes)
          ? SequenceDifference(from: old.objects, to: edit.sequence) : edit.difference
        refreshed.result.objects = edit.sequence
      }
      if refreshed.sequence?.isEmpty == false {
        refreshed.result.revision = snapshot.head.number
      }
      try refreshTotal(members, matching, snapshot, &refreshed)
      let rereadsSections = try change.refreshSections(
        plan,
        members,
        matching: matching,
        &refreshed.result.extras
      )
      if rereadsSections { refreshed.isReread = true }
    }
    // Members that match as before and have not moved may still have new values.
    let touched = Set(values.map(\.object)).union(members.keys.map(\.object))
    try refreshDigests(old, touched, reader, &refreshed)
    refreshed.result.extras.included = try reader.included(
      change.request,
      (plan.entity, Array(refreshed.result.objects))
    )
    return refreshed
  }

  func keepingSequence(of old: Result, in new: Result) -> Result {
    guard new.objects == old.objects else { return new }
    var kept = new
    kept.revision = old.revision
    kept.objects = old.objects
    return kept
  }

  /// Returns the objects that match before and after the changes and cannot have moved.
  ///
  /// A verdict names such objects only if rows do not decide whether the objects match.
  private func staying(
    _ result: Result,
    _ members: [ObjectKey: Verdict.Match],
    _ matching: Set<Int64>,
    _ change: ResultChange
  ) -> Set<Int64> {
    let undecided = members.filter { $1.before == nil && matching.contains($0.object) }.keys
    guard !undecided.isEmpty,
      let moving = change.interest.moving(in: change.changes)
    else { return [] }
    let still = Set(undecided.filter { !moving.contains($0) }.map(\.object))
    return still.intersection(result.objects)
  }

  /// Returns the members that match the fetch now.
  private func matching(
    _ members: [ObjectKey: Verdict.Match],
    _ snapshot: StoreSnapshot
  ) throws -> Set<Int64> {
    var matching: Set<Int64> = []
    var undecided: [Int64] = []
    for (key, match) in members {
      switch match.after {
      case true?: matching.insert(key.object)
      case nil: undecided.append(key.object)
      case false?: break
      }
    }
    guard !undecided.isEmpty else { return matching }
    return matching.union(try snapshot.matching(undecided.sorted(), plan))
  }

  private func refreshTotal(
    _ members: [ObjectKey: Verdict.Match],
    _ matching: Set<Int64>,
    _ snapshot: StoreSnapshot,
    _ refreshed: inout RefreshedResult<Result>
  ) throws {
    guard let total = refreshed.result.extras.total else { return }
    if !plan.isWindow {
      refreshed.result.extras.total = Int64(refreshed.result.objects.count)
    } else if let difference = ResultReader.countDifference(members, matching: matching) {
      refreshed.result.extras.total = total + difference
    } else {
      refreshed.result.extras.total = try snapshot.count(plan)
      refreshed.isReread = true
    }
  }

  /// Whether rows have values of related objects, so that only digests show whether rows differ.
  private var wantsDigests: Bool { !plan.reads.relatedNames.isEmpty }

  /// Updates the digests of entering and touched rows, and removes the digests of leaving rows.
  private func refreshDigests(
    _ old: Result,
    _ touched: Set<Int64>,
    _ reader: ResultReader,
    _ refreshed: inout RefreshedResult<Result>
  ) throws {
    guard old.digests.count == old.objects.count, wantsDigests else { return }
    let difference = refreshed.sequence ?? SequenceDifference()
    for removal in difference.removals { refreshed.result.digests.remove(at: removal.offset) }
    for insertion in difference.insertions {
      refreshed.result.digests.insert(
        try reader.digest(insertion.element, plan),
        at: insertion.offset
      )
    }
    guard !touched.isEmpty else { return }
    for (offset, object) in refreshed.result.objects.enumerated() where touched.contains(object) {
      refreshed.result.digests[offset] = try reader.digest(object, plan)
    }
  }

  // MARK: Explanations

  var explainedFetch: FetchRequest? { plan.request }
  /// The condition of a window; nil without a window, because the difference of all rows names
  /// every inserted and deleted object.
  var explainedCondition: RowCondition? { plan.isWindow ? plan.condition : nil }
  var windowEntities: [Int]? { plan.isWindow ? plan.resultEntities : nil }

  func orderReads(of entity: Int) -> Set<String>? { plan.orderRelated[entity] }

  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool {
    plan.resultEntities.contains(change.key.entity)
      && difference.objects.contains(change.key.object)
  }

  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? {
    plan.part(property, inclusion)
  }
}
