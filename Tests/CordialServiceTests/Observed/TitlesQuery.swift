import CordialProtocol
import CordialService
import CordialValues
import JSON
import ObjectModel
import PersistentStore
import ProtocolSchemas

/// A kind of live query that the service does not have: how many tasks have each title.
struct TitlesQuery: LiveQuery {
  struct Result: QueryResult {
    var counts: [String: Int64] = [:]

    var elementCount: Int { counts.count }
    var bytes: Int { 64 * counts.count }
  }

  let plan: FetchPlan

  /// Makes the query of observed numbers of tasks.
  static let kind: AddedKind = { request, reader in
    guard case .fetch(let fetch) = request.target, fetch.form == .count else { return nil }
    return TitlesQuery(plan: try reader.snapshot.plan(FetchRequest(entity: fetch.entity)))
  }

  var matching: Matching { .sql }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest {
    .fetch(entities: plan.resultEntities, Interest.Membership(["title"]))
  }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    var result = Result()
    try reader.snapshot.eachObject(plan) { _, write in
      var row = JSONWriter()
      write(&row)
      let title = try JSONParser.parse(row.bytes.span)["values"]?["title"]?.string
      result.counts[title ?? "", default: 0] += 1
    }
    try Self.write(result.counts, to: &out)
    return result
  }

  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? { nil }

  func update(
    from old: Result,
    to new: Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate {
    var differing = new.counts.filter { old.counts[$0.key] != $0.value }
    for title in old.counts.keys where new.counts[title] == nil { differing[title] = 0 }
    guard !differing.isEmpty else { return .same }
    guard !isLimited || differing.count <= new.counts.count else { return .startsOver(.larger) }
    return .difference(try builder.body { try Self.write(differing, to: &$0) })
  }

  private static func write(_ counts: [String: Int64], to out: inout UpdateWriter) throws {
    out.beginList(.rows)
    for (title, count) in counts.sorted(by: { $0.key < $1.key }) {
      try out.element { $0.value(["title": .string(title), "count": .integer(count)]) }
    }
    out.endList()
  }
}
