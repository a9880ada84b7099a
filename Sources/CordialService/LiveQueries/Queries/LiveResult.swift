import CordialProtocol
package import CordialValues
import ObjectModel
package import PersistentStore

/// What a kind of live query keeps of its result, as far as updates need it.
///
/// It never changes. A client that is behind keeps a former one, which shares its storage with the
/// next ones as far as they are equal.
package protocol QueryResult: Sendable {
  /// The number of elements of the whole result.
  var elementCount: Int { get }
  /// The approximate memory of the result, in bytes.
  var bytes: Int { get }
  /// The parts that several kinds have.
  var extras: ResultExtras { get }
}

extension QueryResult {
  package var extras: ResultExtras { ResultExtras() }
}

/// The parts of a result beside its elements, for the requests that want them.
package struct ResultExtras: Sendable {
  /// The number of objects without the window.
  package var total: Int64?
  /// The sections of the whole result; nil for a fetch without sections.
  package var sections: [FetchSection]?
  /// The digests of the included objects.
  package var included: [ObjectKey: UInt64] = [:]

  /// The approximate memory, in bytes.
  package var bytes: Int { 8 * (3 * included.count + 8 * (sections?.count ?? 0)) }
}

/// A result after changes, with the difference of its sequence where few objects decided it.
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

/// Changes that a result has to follow.
package struct ResultChange {
  /// The observation with the earlier result.
  package let observation: Observation
  /// The effect of the changes on the result.
  package let verdict: Verdict
  /// The changes from the position of the earlier result to the reader's snapshot.
  package let changes: ChangeSet
  /// The rows of the changed objects, as far as they were read.
  package let rows: [ObjectKey: ChangedRow]
  package let reader: ResultReader

  package var request: ObservedRequest { observation.request }
  /// What the request depends on, with the earlier result.
  package var interest: Interest { observation.interest }
}

/// A live query with its result at one position, whatever its kind.
///
/// Code outside the kinds has results in this form only.
protocol LiveResult: Sendable {
  var query: any LiveQuery { get }
  var elementCount: Int { get }
  /// The approximate memory of the result, in bytes.
  var bytes: Int { get }

  /// Returns this query with an earlier result of the same request, whose own query may be compiled
  /// for a store without dangling references.
  func with(_ earlier: any LiveResult) -> any LiveResult

  /// Returns the data on which the result depends.
  func interest(_ request: ObservedRequest, _ inclusion: Observation.Inclusion) -> Interest

  /// Returns whether a result depends on other data than an earlier one of the same request.
  func hasOtherInterest(than old: any LiveResult) -> Bool

  /// Returns how many objects a verdict names, before the whole request is read again.
  func verdictLimits(_ request: ObservedRequest) -> VerdictLimits

  /// Returns whether few look-ups by key show what objects that may enter, leave or move do to the
  /// result.
  func isShort(_ members: [ObjectKey: Verdict.Match]) -> Bool

  /// Returns the effect of changed objects at the ends of paths on the objects of the result, as
  /// the query does.
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

  /// Writes an update with which a client starts over: the member `result`, and the members that
  /// the kind adds after that member.
  ///
  /// The parameters and the errors are those of `write`.
  func writeAnew(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws

  /// Returns the result after changes; the whole request is read again where it has to be.
  ///
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refreshed(_ change: ResultChange) throws -> RefreshedResult<any LiveResult>

  /// Returns what turns an earlier result of the same request into this one.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - sequence: The difference of the sequences, where it is known.
  ///   - isLimited: Whether the client starts over where the difference has more elements than the
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

/// What turns an earlier result into a later one.
package enum ResultUpdate: Sendable {
  /// The results are equal for the client.
  case same
  case difference(UpdateBody)
  /// The difference has more elements than the result, so that the client starts over.
  case larger
}

/// A live query of one kind with its result.
struct Live<Query: LiveQuery>: LiveResult {
  let own: Query
  var result: Query.Result

  var query: any LiveQuery { own }
  var elementCount: Int { result.elementCount }
  var bytes: Int { result.bytes }

  func with(_ earlier: any LiveResult) -> any LiveResult {
    // A request has one kind.
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
    // A request has one kind, whose results alone are compared.
    guard let old = old as? Self else { return .larger }
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
  /// Reads a whole result and writes its members, as `read(_:_:to:)`.
  func reading(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> any LiveResult {
    Live(own: self, result: try read(request, reader, to: &out))
  }
}
