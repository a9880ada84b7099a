import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// A query for rows of values, such as groups; an update replaces all rows.
///
/// The query is a class because it has many properties, and every result refers to it.
final class ValuesQuery: LiveQuery {
  struct Result: QueryResult {
    /// The digest of the rows.
    let digest: UInt64
    /// The number of the rows.
    let count: Int

    var elementCount: Int { count }
    var bytes: Int { 0 }
  }

  let fetch: FetchRequest
  let plan: ValuesPlan

  init(fetch: FetchRequest, plan: ValuesPlan) {
    self.fetch = fetch
    self.plan = plan
  }

  /// The maximum number of objects that may enter or leave; with more, `observe/list` names no
  /// object.
  private static let namedMax = 64

  var usesCollation: Bool { plan.usesCollation }
  var matching: Matching { .sql }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest {
    .fetch(
      entities: plan.resultEntities,
      Interest.Membership(plan.reads.own, condition: plan.condition),
      related: plan.related
    )
  }

  /// Returns limits that matter only for explanations, because all rows are read again whenever
  /// objects enter, leave or move.
  func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits {
    VerdictLimits(membersMax: request.explains ? Observation.valuesMin : Self.namedMax)
  }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    let snapshot = reader.snapshot
    var digest = ResultDigest()
    var count = 0
    out.beginList(.rows)
    try snapshot.eachRow(of: plan) { write in
      try out.element { writer in
        let start = writer.bytes.count
        write(&writer)
        digest.add(writer.bytes[start...])
        digest.add(CollectionOfOne(0))
      }
      count += 1
    }
    out.endList()
    try out.member(.count) { $0.integer(Int64(count)) }
    if request.fetch?.sectionBy != nil {
      var sections = JSONWriter()
      try snapshot.writeValueSections(fetch, bytesMax: .max, to: &sections)
      digest.add(sections.bytes)
      try out.member(.sections) { $0.raw(sections.bytes) }
    }
    if request.fetch?.total == true {
      let total = try snapshot.countValues(fetch)
      digest.add("\(total)".utf8)
      try out.member(.total) { $0.integer(total) }
    }
    return Result(digest: digest.value, count: count)
  }

  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    // The verdict `values` means that the changes wrote only properties that the result does not
    // read.
    if case .values = change.verdict { RefreshedResult(result: result) } else { nil }
  }

  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {
    difference.rowsDiffer = old.digest != new.digest
  }

  func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    _ = try read(builder.observation.request, builder.reader, to: &out)
  }

  var explainedFetch: FetchRequest? { fetch }
  var explainedCondition: RowCondition? { plan.condition }

  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool {
    isCandidate(plan.resultEntities)
  }

  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? {
    plan.reads.own.contains(property) ? "select" : nil
  }
}
