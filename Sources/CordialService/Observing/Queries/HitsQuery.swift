import CordialProtocol
import CordialValues
import ObjectModel
import PersistentStore
import Subscriptions

/// The hits of a search, which the index finds: a snapshot of the store reads none of them.
struct HitsQuery: LiveQuery {
  var matching: Matching { .sql }
  var followsIndex: Bool { true }

  func interest(_ observation: Observation) -> Interest { .objects([]) }

  func verdictLimits(_ observation: Observation) -> VerdictLimits { VerdictLimits() }

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> ObservedResult { ObservedResult(at: reader.snapshot) }

  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow],
    _ reader: ResultReader
  ) throws -> RefreshedResult? { RefreshedResult(result: observation.result) }

  func update(
    from old: ObservedResult,
    to new: ObservedResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> UpdateBody? {
    try builder.search(from: old.search, to: new.search, isLimited: isLimited)
  }
}
