import CordialProtocol
package import CordialValues
package import ObjectModel
import PersistentHistory
package import PersistentStore

/// One kind of observed request, compiled for the model of a store.
///
/// The query states the data on which its result depends. It reads the result, refreshes the result
/// at later snapshots, compares results and writes them.
///
/// A new kind needs a type, and a line of `ResultReader.compile` for its request. All other code
/// uses the members of this protocol, and never checks the kind.
package protocol LiveQuery: Sendable {
  /// The data of a result that the kind keeps for updates.
  associatedtype Result: QueryResult

  /// Whether the result depends on ICU's folding or collation.
  var usesCollation: Bool { get }
  /// Whether the event loop may read the rows of a few objects.
  ///
  /// The loop may not read values of related objects, or values that functions of the program
  /// compute, because these may take long.
  var mayRunOnLoop: Bool { get }
  /// How changes are matched with the request.
  var matching: Matching { get }
  /// Whether a result is kept for a while after its last subscription has ended.
  var isKept: Bool { get }
  /// Whether the search index, instead of the commits, decides when the result differs.
  var followsIndex: Bool { get }

  /// Returns the data on which a result depends.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - request: The request.
  ///   - inclusion: The data that decides which objects are included.
  /// - Returns: The data.
  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest

  /// Returns whether a result depends on different data than an earlier result.
  func hasOtherInterest(_ result: Result, than old: Result) -> Bool

  /// Returns the limits of a verdict, beyond which the whole request is read again.
  ///
  /// - Parameters:
  ///   - result: The result before the changes.
  ///   - request: The request.
  /// - Returns: The limits.
  func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits

  /// Returns whether a few look-ups by key are sufficient to refresh a result.
  ///
  /// - Parameters:
  ///   - members: The objects that may enter, leave or move.
  ///   - result: The result before.
  /// - Returns: Whether a few look-ups are sufficient.
  func isShort(_ members: [ObjectKey: Verdict.Match], for result: Result) -> Bool

  /// Returns how changed objects at the ends of key paths affect the objects of a result.
  ///
  /// - Parameters:
  ///   - reached: The changed objects by path.
  ///   - own: The effect of changes of the result's own objects.
  ///   - result: The result before the changes.
  ///   - request: The request.
  ///   - origins: Returns the objects from which a path reaches the changed objects; nil if there
  ///     are too many.
  /// - Returns: The effect; undecided if the whole request must be read again.
  /// - Throws: `SQLiteError`.
  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    for result: Result,
    _ request: ObservedRequest,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict

  // MARK: Results

  /// Reads a whole result and writes its members.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - reader: The reader of a snapshot of the query's model.
  ///   - out: The writer of the members.
  /// - Returns: The result.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result

  /// Writes the members of a result that was read before.
  ///
  /// - Parameters:
  ///   - result: The result at the reader's snapshot.
  ///   - request: The request.
  ///   - reader: The reader.
  ///   - out: The writer of the members.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func write(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws

  /// Writes an update for a client that starts over: the member `result`, followed by the members
  /// that the kind adds.
  ///
  /// The parameters and the errors are those of `write`.
  func writeAnew(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws

  /// Returns the result after changes.
  ///
  /// - Parameters:
  ///   - result: The result before.
  ///   - change: The changes.
  /// - Returns: The result; nil if the whole request must be read again.
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>?

  /// Returns a result that was read again, with the sequence of the earlier result if both
  /// sequences are equal.
  ///
  /// A comparison then recognizes at once that the sequences are equal.
  func keepingSequence(of old: Result, in new: Result) -> Result

  /// Returns the entity of the objects at which included relationships begin; nil if there are
  /// none.
  func inclusionStart(in model: Model) -> EntityDescription?

  /// Returns the objects of a result at which included relationships begin.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - model: The model.
  /// - Returns: The object numbers with their entity; nil if there are none.
  /// - Throws: `invalidRequest` for objects of several entities.
  func including(
    _ result: Result,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])?

  // MARK: Updates

  /// Returns the update from one result to another.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - new: The result of the snapshot.
  ///   - sequence: The difference of the sequences; nil if unknown.
  ///   - isLimited: Whether the client starts over if the difference has more elements than the
  ///     result.
  ///   - builder: The encoder.
  /// - Returns: The update.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  func update(
    from old: Result,
    to new: Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate

  /// Returns whether an earlier result has all data that a comparison with a later result needs.
  ///
  /// The earlier plan may have been compiled while the store had no dangling references. If that
  /// plan read no related objects, the earlier result has no digests.
  func isComparable(_ old: Result, with new: Result) -> Bool

  /// Compares the query's own elements in two results.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - new: The later result.
  ///   - comparison: Data about both results, such as the changes between them.
  ///   - difference: Receives the difference.
  /// - Throws: `RepeatedObject`.
  /// - Complexity: Linear in the changes, and in the part of the results that differs. In equal
  ///   sequences, only the changed objects are searched for.
  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws

  /// Writes the members of an update that only this kind of query has.
  ///
  /// - Parameters:
  ///   - difference: The difference of the results.
  ///   - new: The later result.
  ///   - builder: The encoder.
  ///   - out: The writer of the members.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws

  // MARK: Explanations

  /// The fetch whose terms explain an update; nil for none.
  var explainedFetch: FetchRequest? { get }
  /// The condition that an inserted or deleted object must match to explain an update; nil if the
  /// difference itself names the inserted and deleted objects.
  var explainedCondition: RowCondition? { get }
  /// The entities of the objects outside a window that may explain a shift of its rows; nil without
  /// a window.
  var windowEntities: [Int]? { get }
  /// Returns the properties of related objects that the order reads.
  ///
  /// - Parameter entity: The entity number of the related objects.
  /// - Returns: The names; nil if the order reads no object of the entity.
  func orderReads(of entity: Int) -> Set<String>?

  /// Returns whether a change of the result's own objects explains the difference.
  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool

  /// Returns the part of the request that reads a property of the result's own objects; nil for
  /// none.
  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String?
}

/// The default implementations, which fit most kinds.
extension LiveQuery {
  package var usesCollation: Bool { false }
  package var mayRunOnLoop: Bool { true }
  package var isKept: Bool { false }
  package var followsIndex: Bool { false }

  package func hasOtherInterest(_ result: Result, than old: Result) -> Bool { false }

  package func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits {
    VerdictLimits()
  }

  package func isShort(_ members: [ObjectKey: Verdict.Match], for result: Result) -> Bool { false }

  package func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    for result: Result,
    _ request: ObservedRequest,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict { .undecided }

  package func write(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    _ = try read(request, reader, to: &out)
  }

  package func writeAnew(
    _ result: Result,
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws {
    try out.object(.result) { _ = try read(request, reader, to: &$0) }
  }

  package func keepingSequence(of old: Result, in new: Result) -> Result { new }

  package func inclusionStart(in model: Model) -> EntityDescription? { nil }

  package func including(
    _ result: Result,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])? { nil }

  package func update(
    from old: Result,
    to new: Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> ResultUpdate {
    try builder.difference(self, from: old, to: new, sequence, isLimited: isLimited)
  }

  package func isComparable(_ old: Result, with new: Result) -> Bool { true }

  package func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {}

  package func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {}

  package var explainedFetch: FetchRequest? { nil }
  package var explainedCondition: RowCondition? { nil }
  package var windowEntities: [Int]? { nil }
  package func orderReads(of entity: Int) -> Set<String>? { nil }

  package func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool { false }

  package func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? { nil }
}
