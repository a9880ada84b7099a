import CordialProtocol
import CordialValues
import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore

/// The work that brings results of observed requests to a snapshot, and builds the updates for
/// their clients.
///
/// Steps, registrations, flushes, clients that are behind and requests that are read alone all use
/// this type. `Advance` reads the changes since each position once, for all results at that
/// position.
struct Advance {
  /// The changes between a position and the snapshot.
  final class Span {
    let from: LogPosition
    let changes: ChangeSet
    /// Whether the log still has all changes of the span.
    ///
    /// If changes are missing, any result may differ, so that every client starts over.
    let isComplete: Bool
    /// The rows of the changed objects, with the columns that requests read; nil until first used.
    fileprivate var rows: [ObjectKey: ChangedRow]?
    /// The changes with `rows`, numbered; nil until first used.
    fileprivate var entries: ChangeEntries?
    /// The encoded rows that several updates over the span share.
    fileprivate var encoded = EncodedRows()

    fileprivate init(from: LogPosition, _ changes: ChangeSet, isComplete: Bool) {
      self.from = from
      self.changes = changes
      self.isComplete = isComplete
    }
  }

  /// An observation at the snapshot, with the details of its refresh.
  struct Refreshed {
    let observation: Observation
    /// The difference of the sequence; nil if the refresh did not compute the difference.
    fileprivate(set) var sequence: SequenceDifference?
    /// Whether the whole request, its total or its sections were read again.
    fileprivate(set) var isReread = false
    /// The changed objects that may concern the observation; nil if all changed objects may.
    fileprivate(set) var candidates: Set<ObjectKey>?
    /// The rows of the changed objects; rows that were not read are missing.
    fileprivate(set) var rows: [ObjectKey: ChangedRow] = [:]

    /// Wraps an observation whose result is already the result at the snapshot.
    init(_ observation: Observation) {
      self.observation = observation
    }
  }

  /// The maximum number of kept spans, and of the changes in each kept span except the first.
  private static let (spansMax, keptChangesMax) = (16, 4096)

  let snapshot: StoreSnapshot
  let limits: Limits
  /// The observed requests; they determine which columns of changed objects are read.
  let table: SubscriptionTable
  private var spans: [LogPosition: Span] = [:]
  /// The last span that did not fit in `spans`.
  private var last: Span?
  /// The searches for objects from which key paths reach changed objects, shared by all fetches.
  private var origins = RelatedOrigins()

  init(_ snapshot: StoreSnapshot, _ limits: Limits, _ table: SubscriptionTable) {
    self.snapshot = snapshot
    self.limits = limits
    self.table = table
  }

  private var reader: ResultReader { ResultReader(snapshot: snapshot, limits: limits) }

  /// Returns the changes since a position.
  ///
  /// - Parameters:
  ///   - position: A position at or before the snapshot.
  ///   - changesMax: The maximum number of logged changes.
  /// - Returns: The changes; nil if there are more than the maximum.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged since the position, unless the span is known.
  mutating func span(since position: LogPosition, changesMax: Int = .max) throws -> Span? {
    if let known = spans[position] { return known }
    if let last, last.from == position { return last }
    let head = snapshot.head
    guard head.lastChange - position.lastChange <= Int64(changesMax) else { return nil }
    let known = try snapshot.changes(since: position)
    let changes = known ?? ChangeSet(from: position.commit, through: head.number)
    let span = Span(from: position, changes, isComplete: known != nil)
    // The first span is the span of the step itself, so it is kept even if it is large.
    let isSmall = spans.count < Self.spansMax && changes.changes.count <= Self.keptChangesMax
    if spans.isEmpty || isSmall { spans[position] = span } else { last = span }
    return span
  }

  /// Returns the rows of a span's changed objects, with the columns that requests read.
  ///
  /// - Throws: `SQLiteError`.
  func rows(of span: Span) throws -> [ObjectKey: ChangedRow] {
    guard limits.matchesInMemory else { return [:] }
    if let known = span.rows { return known }
    let rows = try snapshot.rows(of: span.changes, from: span.from, for: table)
    span.rows = rows
    return rows
  }

  /// Returns the changes of a span with their rows, numbered for all requests.
  ///
  /// - Throws: `SQLiteError`.
  func entries(of span: Span) throws -> ChangeEntries {
    if let known = span.entries { return known }
    let entries = ChangeEntries(span.changes, try rows(of: span))
    span.entries = entries
    return entries
  }

  /// Translates the effect of a span's changes into an effect on the result's own objects.
  ///
  /// - Parameters:
  ///   - verdict: The effect on the request.
  ///   - observation: The observation, with its result at the beginning of the span.
  ///   - span: The changes.
  /// - Returns: The effect; undecided if the whole request must be read again.
  /// - Throws: `Interrupted`; `SQLiteError`.
  mutating func resolve(
    _ verdict: Verdict,
    on observation: Observation,
    over span: Span
  ) throws -> Verdict {
    guard span.isComplete else { return .undecided }
    return try origins.resolved(verdict, observation, span.changes, since: span.from, snapshot)
  }

  /// Brings an observation to the snapshot.
  ///
  /// - Parameters:
  ///   - observation: The observation, with its result at the beginning of the span.
  ///   - verdict: The effect of the span's changes on the observation.
  ///   - span: The changes since the observation's position.
  /// - Returns: The observation with its result at the snapshot.
  /// - Throws: `Interrupted`; `limitExceeded`; `SQLiteError`.
  mutating func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    over span: Span
  ) throws -> Refreshed {
    var observation = observation
    let resolved = try resolve(verdict, on: observation, over: span)
    let rows = try rows(of: span)
    let result =
      try reader.recompiled(&observation)
      ?? observation.result.refreshed(
        ResultChange(
          observation: observation,
          verdict: resolved,
          changes: span.changes,
          rows: rows,
          reader: reader
        )
      )
    observation.result = result.result
    observation.position = snapshot.head.position
    var refreshed = Refreshed(observation)
    refreshed.sequence = result.sequence
    refreshed.isReread = result.isReread
    refreshed.candidates = resolved.objects
    refreshed.rows = rows
    return refreshed
  }

  /// Returns the update that a client needs.
  ///
  /// - Parameters:
  ///   - refreshed: The observation at the snapshot.
  ///   - result: The result that the client has, at the beginning of the span.
  ///   - span: The changes since that result.
  ///   - sharesRows: Whether other updates over the span may have the same rows.
  ///   - isLimited: Whether the client starts over if the difference has more elements than the
  ///     result.
  /// - Returns: The update; nil if the results are equal for the client.
  /// - Throws: `Interrupted`; `limitExceeded`; `SQLiteError`.
  func update(
    _ refreshed: Refreshed,
    from result: any LiveResult,
    over span: Span,
    sharesRows: Bool = false,
    isLimited: Bool = false
  ) throws -> UpdateBody? {
    let builder = UpdateBuilder(
      observation: refreshed.observation,
      snapshot: snapshot,
      limits: limits,
      from: span.from,
      changes: span.changes,
      shared: sharesRows ? span.encoded : nil,
      rows: refreshed.rows,
      candidates: refreshed.candidates
    )
    guard span.isComplete else { return try builder.fresh(.log) }
    return try builder.update(from: result, refreshed.sequence, isLimited: isLimited)
  }

  /// Discards data that interrupted work may have read incompletely or wrongly.
  mutating func discardPartialReads() {
    origins = RelatedOrigins()
    for span in spans.values { span.encoded = EncodedRows() }
    last?.encoded = EncodedRows()
  }

  /// Returns the update that ends an observation whose fetch failed.
  ///
  /// The other observations continue.
  ///
  /// - Parameter error: The error of `refresh` or `update`.
  /// - Returns: The last update of its subscriptions.
  /// - Throws: An error that concerns the store, or an interruption of the work.
  func end(for error: any Error) throws -> UpdateBody {
    if error is UnsealedChanges { throw error }
    try snapshot.interruption?.check()
    let failure = StoreError(any: error)
    guard failure.code == .limitExceeded || failure.code == .internalError else { throw error }
    return .end(RPCError(failure))
  }
}
