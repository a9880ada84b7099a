import CordialProtocol
package import CordialValues
package import ObjectModel
import PersistentHistory
package import PersistentStore

/// One kind of observed request, compiled for the model of a store: what its result depends on, and
/// how the result is read, brought to a later snapshot, compared and written.
///
/// A new kind is a type, and a line of `ResultReader.compile`, which decodes its request. All other
/// code asks the query what it needs to know, and never which kind it is.
package protocol LiveQuery: Sendable {
  /// What the kind keeps of a result.
  associatedtype Result: QueryResult

  /// Whether the result depends on ICU's folding or collation.
  var usesCollation: Bool { get }
  /// Whether the event loop may read the rows of a few objects: they have no values of other
  /// objects, and none that functions of the program compute, which may take long.
  var mayRunOnLoop: Bool { get }
  /// How changes are matched with the request.
  var matching: Matching { get }
  /// Whether a result is kept for a while after its last subscription.
  var isKept: Bool { get }
  /// Whether the search index decides when the result differs, and no commit.
  var followsIndex: Bool { get }

  /// Returns the data on which a result depends.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - request: The request.
  ///   - inclusion: What decides which objects are included.
  /// - Returns: The data.
  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest

  /// Returns whether a result depends on other data than an earlier one.
  func hasOtherInterest(_ result: Result, than old: Result) -> Bool

  /// Returns how many objects a verdict names, before the whole request is read again.
  ///
  /// - Parameters:
  ///   - result: The result before the changes.
  ///   - request: The request.
  /// - Returns: The limits.
  func verdictLimits(for result: Result, _ request: ObservedRequest) -> VerdictLimits

  /// Returns whether few look-ups by key show what objects that may enter, leave or move do to a
  /// result.
  ///
  /// - Parameters:
  ///   - members: The objects.
  ///   - result: The result before.
  /// - Returns: Whether that is so.
  func isShort(_ members: [ObjectKey: Verdict.Match], for result: Result) -> Bool

  /// Returns the effect of changed objects at the ends of paths on the objects of a result.
  ///
  /// - Parameters:
  ///   - reached: The changed objects by path.
  ///   - own: The effect of changes of the result's own objects.
  ///   - result: The result before the changes.
  ///   - request: The request.
  ///   - origins: Finds the objects from which the paths reach the changed ones.
  /// - Returns: The effect; undecided where the whole request has to be read again.
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

  /// Writes the members of a result that is known.
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

  /// Writes an update with which a client starts over: the member `result`, and the members that
  /// the kind adds after that member.
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
  /// - Returns: The result; nil where the whole request has to be read again.
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>?

  /// Returns a result that was read again, with the sequence of the earlier one where both are
  /// equal, so that a comparison finds that at once.
  func keepingSequence(of old: Result, in new: Result) -> Result

  /// Returns the entity from whose objects included relationships begin; nil where none are.
  func inclusionStart(in model: Model) -> EntityDescription?

  /// Returns the objects of a result from which included relationships begin.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - model: The model.
  /// - Returns: The numbers of the objects, and their entity; nil where there are none.
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
  ///   - sequence: The difference of the sequences, where it is known.
  ///   - isLimited: Whether the client starts over where the difference has more elements than the
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

  /// Returns whether an earlier result has what a later one is compared with.
  ///
  /// A plan that was compiled before the store could have dangling references may read no other
  /// objects, so that its result has no digests.
  func isComparable(_ old: Result, with new: Result) -> Bool

  /// Compares two results, as far as the query's own elements differ.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - new: The later result.
  ///   - comparison: What is known beside them.
  ///   - difference: Gets the difference.
  /// - Throws: `RepeatedObject`.
  /// - Complexity: Linear in the changes and in the results where they differ; a result that is the
  ///   same sequence is searched only for changed objects.
  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws

  /// Writes the members of an update that are the query's own.
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
  /// The condition that inserted and deleted objects fulfil which explain an update; nil where the
  /// difference names such objects only.
  var explainedCondition: RowCondition? { get }
  /// The entities of the objects outside a window, which may explain that its rows shift; nil
  /// without a window.
  var windowEntities: [Int]? { get }
  /// Whether the values of related objects decide the order.
  var sortsByRelated: Bool { get }

  /// Returns whether a changed object is one of those that the difference is about.
  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool

  /// Returns the part of the request that reads a property of the result's own objects; nil for
  /// none.
  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String?
}

/// What most kinds have in common.
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
  package var sortsByRelated: Bool { false }

  package func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool { false }

  package func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? { nil }
}
