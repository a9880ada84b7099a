import CordialProtocol
import CordialValues
import JSON
import PersistentHistory
import PersistentStore

/// A query for the commits that pass filters.
struct HistoryQuery: LiveQuery {
  /// A result without data, because the client has all commits up to its position.
  struct Result: QueryResult {
    var elementCount: Int { 0 }
    var bytes: Int { 0 }
  }

  let call: HistoryCall

  var matching: Matching { .predicate }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest { .commits }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    out.beginList(.transactions)
    out.endList()
    return Result()
  }

  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    RefreshedResult(result: result)
  }

  /// Returns the commits after the earlier position that pass the filters.
  func update(
    from old: Result,
    to new: Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate {
    let (snapshot, limits) = (builder.snapshot, builder.limits)
    var encoder = try HistoryEncoder(call, snapshot, through: snapshot.head.number, limits)
    let isSignal = builder.observation.request.mode == .signal
    var out = UpdateWriter(fragmentBytesMax: limits.fragmentBytesMax)
    var count = 0
    out.beginList(.transactions)
    try snapshot.log.eachCommit(
      after: builder.from.commit,
      through: snapshot.head.number,
      limit: .max,
      changesMax: limits.historyChangesMax
    ) { transaction in
      guard let json = try encoder.json(transaction) else { return true }
      count += 1
      if isSignal { return false }
      try out.element { $0.value(json) }
      return true
    }
    out.endList()
    guard count > 0 else { return .same }
    return .difference(isSignal ? .signal : UpdateBody(fragments: out.fragments))
  }
}
