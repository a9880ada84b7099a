import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore
import Subscriptions

/// The rows of values of a fetch, such as groups; all rows together are one element.
struct ValuesQuery: LiveQuery {
  let fetch: FetchRequest
  let plan: ValuesPlan

  /// The number of objects up to which one of them is named in `observe/list`.
  private static let namedMax = 64

  var usesCollation: Bool { plan.usesCollation }
  var matching: Matching { .sql }

  func interest(_ observation: Observation) -> Interest {
    .fetch(
      entities: plan.resultEntities,
      Interest.Membership(plan.ownRead, condition: plan.condition),
      related: plan.related
    )
  }

  /// All rows are read again; the objects only explain it.
  func verdictLimits(_ observation: Observation) -> VerdictLimits {
    let explains = observation.request.explains
    return VerdictLimits(membersMax: explains ? Observation.valuesMin : Self.namedMax)
  }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> ObservedResult {
    let snapshot = reader.snapshot
    var result = ObservedResult(at: snapshot)
    var digest = ContentDigest.Stream()
    var count = 0
    out.beginList("rows")
    try snapshot.eachRow(of: plan) { write in
      try out.element { writer in
        let start = writer.bytes.count
        write(&writer)
        digest.add(Array(writer.bytes[start...]))
        digest.add([0])
      }
      count += 1
    }
    out.endList()
    try out.member("count") { $0.integer(Int64(count)) }
    result.rowCount = count
    if request.fetch?.sectionBy != nil {
      var sections = JSONWriter()
      try snapshot.writeValueSections(fetch, bytesMax: .max, to: &sections)
      digest.add(sections.bytes)
      try out.member("sections") { $0.raw(sections.bytes) }
    }
    if request.fetch?.total == true {
      let total = try snapshot.countValues(fetch)
      digest.add(Array("\(total)".utf8))
      try out.member("total") { $0.integer(total) }
    }
    result.rows = digest.prefix
    return result
  }

  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow],
    _ reader: ResultReader
  ) throws -> RefreshedResult? {
    // Only properties that the result does not read have changed.
    if case .values = verdict { RefreshedResult(result: observation.result) } else { nil }
  }

  func compare(
    _ old: ObservedResult,
    _ new: ObservedResult,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {
    difference.rowsDiffer = old.rows != new.rows
  }

  func write(
    _ difference: ResultDifference,
    _ new: ObservedResult,
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
    plan.ownRead.contains(property) ? "select" : nil
  }
}
