import CordialProtocol
import CordialValues
import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore

/// What brings results of observed requests, and the clients that have them, from their positions
/// to a snapshot.
///
/// Steps, registrations, flushes, clients that are behind and requests that are read alone all use
/// it. It reads the changes since a position once, for all results of that position.
struct Advance {
  /// The changes between a position and the snapshot.
  final class Span {
    let from: LogPosition
    let changes: ChangeSet
    /// Whether the log has all changes.
    ///
    /// Without them, every result may differ, and every client starts over.
    let isComplete: Bool
    /// The rows of the changed objects, as far as requests read them; nil before they are needed.
    fileprivate var rows: [ObjectKey: ChangedRow]?
    /// The changes with these rows, numbered; nil before they are needed.
    fileprivate var entries: ChangeEntries?
    /// The updated rows that updates over the span share, each encoded once.
    fileprivate var encoded = EncodedRows()

    fileprivate init(from: LogPosition, _ changes: ChangeSet, isComplete: Bool) {
      self.from = from
      self.changes = changes
      self.isComplete = isComplete
    }
  }

  /// An observation at the snapshot, with what is known of the way there.
  struct Refreshed {
    let observation: Observation
    /// The difference of the sequence, where few objects decided it.
    fileprivate(set) var sequence: SequenceDifference?
    /// Whether the whole request, its total or its sections were read again.
    fileprivate(set) var isReread = false
    /// The changed objects that may concern the observation; nil where all may.
    fileprivate(set) var candidates: Set<ObjectKey>?
    /// The rows of the changed objects, as far as they were read.
    fileprivate(set) var rows: [ObjectKey: ChangedRow] = [:]

    /// Creates an observation that has been brought to the snapshot already.
    init(_ observation: Observation) {
      self.observation = observation
    }
  }

  /// The number of spans that are kept, and the number of changes of each but the first.
  private static let (spansMax, keptChangesMax) = (16, 4096)

  let snapshot: StoreSnapshot
  let limits: Limits
  /// The requests, which decide which columns are read of changed objects.
  let table: SubscriptionTable
  private var spans: [LogPosition: Span] = [:]
  /// The span that was read last, however large it is.
  private var last: Span?
  /// The objects that were found of changed objects at the ends of paths, for all fetches.
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
  /// - Returns: The changes; nil when there are more.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged since the position, once for each position.
  mutating func span(since position: LogPosition, changesMax: Int = .max) throws -> Span? {
    if let known = spans[position] { return known }
    if let last, last.from == position { return last }
    let head = snapshot.head
    guard head.lastChange - position.lastChange <= Int64(changesMax) else { return nil }
    let known = try snapshot.changes(since: position)
    let changes = known ?? ChangeSet(from: position.commit, through: head.number)
    let span = Span(from: position, changes, isComplete: known != nil)
    // The first one is that of the step itself.
    let isSmall = spans.count < Self.spansMax && changes.changes.count <= Self.keptChangesMax
    if spans.isEmpty || isSmall { spans[position] = span } else { last = span }
    return span
  }

  /// Returns the rows of the changed objects of a span, as far as requests read them.
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

  /// Returns the effect of a span's changes on the objects of a result alone.
  ///
  /// - Parameters:
  ///   - verdict: The effect on the request.
  ///   - observation: The observation, with its result at the beginning of the span.
  ///   - span: The changes.
  /// - Returns: The effect; undecided where the whole request has to be read again.
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
  ///   - verdict: The effect of the span's changes on it.
  ///   - span: The changes since its position.
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

  /// Returns the update of a client.
  ///
  /// - Parameters:
  ///   - refreshed: The observation at the snapshot.
  ///   - result: The result that the client has, at the beginning of the span.
  ///   - span: The changes since then.
  ///   - sharesRows: Whether other updates over the span may have the same rows.
  ///   - isLimited: Whether the client starts over where the difference has more elements than the
  ///     result.
  /// - Returns: The update; nil where the results are equal for the client.
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

  /// Discards what work that was stopped may have found in part, or read wrongly.
  mutating func discardPartialReads() {
    origins = RelatedOrigins()
    for span in spans.values { span.encoded = EncodedRows() }
    last?.encoded = EncodedRows()
  }

  /// Returns the end of an observation whose fetch failed.
  ///
  /// The other observations continue.
  ///
  /// - Parameter error: The error of `refresh` or `update`.
  /// - Returns: The last update of its subscriptions.
  /// - Throws: An error that concerns the store, or that stops the work.
  func end(for error: any Error) throws -> UpdateBody {
    if error is UnsealedChanges { throw error }
    try snapshot.interruption?.check()
    let failure = StoreError(any: error)
    guard failure.code == .limitExceeded || failure.code == .internalError else { throw error }
    return .end(RPCError(failure))
  }
}
