import CordialProtocol
package import CordialValues
import ObjectModel
package import PersistentStore

/// The data of a result that a kind of live query keeps for updates.
///
/// A result never changes. A client that is behind keeps a former result, which shares the storage
/// of equal parts with later results.
package protocol QueryResult: Sendable {
  /// The number of elements of the whole result.
  var elementCount: Int { get }
  /// The approximate memory of the result, in bytes.
  var bytes: Int { get }
  /// The parts that several kinds have in common.
  var extras: ResultExtras { get }
}

extension QueryResult {
  package var extras: ResultExtras { ResultExtras() }
}

/// The optional parts of a result in addition to its elements: total, sections and included
/// objects.
package struct ResultExtras: Sendable {
  /// The number of objects of the fetch, regardless of the window's offset and limit; nil if the
  /// request does not want a total.
  package var total: Int64?
  /// The sections of the whole result; nil for a fetch without sections.
  package var sections: [FetchSection]?
  /// The digests of the included objects.
  package var included: [ObjectKey: UInt64] = [:]

  /// The approximate memory, in bytes.
  package var bytes: Int { 8 * (3 * included.count + 8 * (sections?.count ?? 0)) }
}

/// A result after changes, with the difference of its sequence if the refresh computed it.
package struct RefreshedResult<Result: Sendable>: Sendable {
  package var result: Result
  package var sequence: SequenceDifference?
  /// Whether the whole request, its total or its sections were read again.
  package var isReread = false

  package init(result: Result, sequence: SequenceDifference? = nil, isReread: Bool = false) {
    self.result = result
    self.sequence = sequence
    self.isReread = isReread
  }
}

/// The changes since a result, with the data for refreshing the result.
package struct ResultChange {
  /// The observation with the earlier result.
  package let observation: Observation
  /// The effect of the changes on the result.
  package let verdict: Verdict
  /// The changes from the position of the earlier result to the reader's snapshot.
  package let changes: ChangeSet
  /// The rows of the changed objects; rows that were not read are missing.
  package let rows: [ObjectKey: ChangedRow]
  package let reader: ResultReader

  package var request: ObservedRequest { observation.request }
  /// The data on which the earlier result depends.
  package var interest: Interest { observation.interest }
}

/// A live query of any kind, with its result at one position.
///
/// Code outside the kinds uses results only in this form.
protocol LiveResult: Sendable {
  var query: any LiveQuery { get }
  var elementCount: Int { get }
  /// The approximate memory of the result, in bytes.
  var bytes: Int { get }

  /// Returns this query with an earlier result of the same request.
  ///
  /// The earlier result's query may have been compiled for a store without dangling references.
  func with(_ earlier: any LiveResult) -> any LiveResult

  /// Returns the data on which the result depends.
  func interest(_ request: ObservedRequest, _ inclusion: Observation.Inclusion) -> Interest

  /// Returns whether the result depends on different data than an earlier result of the same
  /// request.
  func hasOtherInterest(than old: any LiveResult) -> Bool

  /// Returns the limits of a verdict, beyond which the whole request is read again.
  func verdictLimits(_ request: ObservedRequest) -> VerdictLimits

  /// Returns whether a few look-ups by key are sufficient to refresh the result, if these objects
  /// may enter, leave or move.
  func isShort(_ members: [ObjectKey: Verdict.Match]) -> Bool

  /// Returns how changed objects at the ends of key paths affect the objects of the result, like
  /// `LiveQuery.resolved`.
  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    _ request: ObservedRequest,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict

  /// Writes the members of the result.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - reader: The reader of the snapshot of the result.
  ///   - out: The writer of the members.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func write(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws

  /// Writes an update for a client that starts over: the member `result`, followed by the members
  /// that the kind adds.
  ///
  /// The parameters and the errors are those of `write`.
  func writeAnew(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws

  /// Returns the result after changes, and reads the whole request again if necessary.
  ///
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refreshed(_ change: ResultChange) throws -> RefreshedResult<any LiveResult>

  /// Returns the update that turns an earlier result of the same request into this result.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - sequence: The difference of the sequences; nil if unknown.
  ///   - isLimited: Whether the client starts over if the difference has more elements than the
  ///     result.
  ///   - builder: The encoder.
  /// - Returns: The update.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  func update(
    from old: any LiveResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate
}

/// The update that turns an earlier result into a later result.
package enum ResultUpdate: Sendable {
  /// The results are equal for the client.
  case same
  case difference(UpdateBody)
  case startsOver(FreshReason)
}

/// A live query of one kind with its result.
struct Live<Query: LiveQuery>: LiveResult {
  let own: Query
  var result: Query.Result

  var query: any LiveQuery { own }
  var elementCount: Int { result.elementCount }
  var bytes: Int { result.bytes }

  func with(_ earlier: any LiveResult) -> any LiveResult {
    // The cast succeeds, because the kind of a request never changes.
    (earlier as? Self).map { Live(own: own, result: $0.result) } ?? earlier
  }

  func interest(_ request: ObservedRequest, _ inclusion: Observation.Inclusion) -> Interest {
    own.interest(of: result, request, inclusion)
  }

  func hasOtherInterest(than old: any LiveResult) -> Bool {
    guard let old = old as? Self else { return true }
    return own.hasOtherInterest(result, than: old.result)
  }

  func verdictLimits(_ request: ObservedRequest) -> VerdictLimits {
    own.verdictLimits(for: result, request)
  }

  func isShort(_ members: [ObjectKey: Verdict.Match]) -> Bool {
    own.isShort(members, for: result)
  }

  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own verdict: Verdict,
    _ request: ObservedRequest,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict {
    try own.resolved(reached, own: verdict, for: result, request, origins)
  }

  func write(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    try own.write(result, request, reader, to: &out)
  }

  func writeAnew(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    try own.writeAnew(result, request, reader, to: &out)
  }

  func refreshed(_ change: ResultChange) throws -> RefreshedResult<any LiveResult> {
    guard change.verdict != .unaffected else { return RefreshedResult(result: self) }
    if let refreshed = try own.refresh(result, change) {
      return RefreshedResult(
        result: Live(own: own, result: refreshed.result),
        sequence: refreshed.sequence,
        isReread: refreshed.isReread
      )
    }
    var out = UpdateWriter.discarding
    let read = try own.read(change.request, change.reader, to: &out)
    let new = Live(own: own, result: own.keepingSequence(of: result, in: read))
    return RefreshedResult(result: new, isReread: true)
  }

  func update(
    from old: any LiveResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate {
    // The cast succeeds, because both results are of the same request and therefore of one kind.
    guard let old = old as? Self else { return .startsOver(.larger) }
    return try own.update(
      from: old.result,
      to: result,
      sequence,
      isLimited: isLimited,
      builder
    )
  }
}

extension LiveQuery {
  /// Reads a whole result and writes its members, like `read(_:_:to:)`.
  func reading(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> any LiveResult {
    Live(own: self, result: try read(request, reader, to: &out))
  }
}
