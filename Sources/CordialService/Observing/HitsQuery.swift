import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// A query for the hits of a search, which come from the search index instead of a store snapshot.
struct HitsQuery: LiveQuery {
  typealias Result = ObservedSearch

  /// The result that the search index returned.
  let found: ObservedSearch

  /// Returns a function that makes the query of a search.
  static func kind(_ found: ObservedSearch) -> AddedKind { { _, _ in HitsQuery(found: found) } }

  var matching: Matching { .sql }
  var followsIndex: Bool { true }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest { .objects([]) }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    try found.write(request.mode, to: &out)
    return found
  }

  func writeAnew(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    try out.object(.result) { try result.write(request.mode, to: &$0) }
    try out.member(.index) { $0.string(result.token.description) }
  }

  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    RefreshedResult(result: result)
  }

  func update(
    from old: Result,
    to new: Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate {
    try builder.search(from: old, to: new, isLimited: isLimited)
  }
}

extension ObservedSearch: QueryResult {
  var elementCount: Int { hits.count }
  var bytes: Int { hits.reduce(0) { $0 + 64 + $1.bytes.count } }

  /// The search as the result of a live query.
  var live: any LiveResult { Live(own: HitsQuery(found: self), result: self) }

  /// Returns whether this result differs for a client from an earlier result.
  func differs(from other: any LiveResult, _ mode: ObserveCall.Mode) throws -> Bool {
    guard let other = other as? Live<HitsQuery> else { return true }
    return try differs(from: other.result, mode)
  }
}
