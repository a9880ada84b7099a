import CordialProtocol
import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import Subscriptions

/// The commits that pass filters.
struct HistoryQuery: LiveQuery {
  let call: HistoryCall

  var matching: Matching { .predicate }

  func interest(_ observation: Observation) -> Interest { .commits }

  func verdictLimits(_ observation: Observation) -> VerdictLimits { VerdictLimits() }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> ObservedResult {
    out.beginList("transactions")
    out.endList()
    return ObservedResult(at: reader.snapshot)
  }

  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow],
    _ reader: ResultReader
  ) throws -> RefreshedResult? { RefreshedResult(result: observation.result) }

  /// Returns the commits after the earlier position that pass the filters.
  func update(
    from old: ObservedResult,
    to new: ObservedResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> UpdateBody? {
    let (snapshot, limits) = (builder.snapshot, builder.limits)
    var encoder = try HistoryEncoder(call, snapshot, through: snapshot.head.number, limits)
    let isSignal = builder.observation.request.mode == .signal
    var out = UpdateWriter(fragmentBytesMax: limits.fragmentBytesMax)
    var count = 0
    out.beginList("transactions")
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
    guard count > 0 else { return nil }
    return isSignal ? .signal : UpdateBody(fragments: out.fragments)
  }
}
