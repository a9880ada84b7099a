import CordialProtocol
import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// One kind of observed request, compiled for the model of a store: what its result depends on, and
/// how the result is read, brought to a later snapshot, compared and written.
///
/// A new kind is a type, and a line of `ResultReader.compile`, which decodes its request. All other
/// code asks the query what it needs to know, and never which kind it is.
protocol LiveQuery: Sendable {
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
  /// - Parameter observation: The observation with the result.
  /// - Returns: The data.
  func interest(_ observation: Observation) -> Interest

  /// Returns how many objects a verdict names, before the whole request is read again.
  ///
  /// - Parameter observation: The observation with its result.
  /// - Returns: The limits.
  func verdictLimits(_ observation: Observation) -> VerdictLimits

  /// Returns whether few look-ups by key show what objects that may enter, leave or move do to a
  /// result.
  ///
  /// - Parameters:
  ///   - members: The objects.
  ///   - result: The result before.
  /// - Returns: Whether that is so.
  func isShort(_ members: [ObjectKey: Verdict.Match], _ result: ObservedResult) -> Bool

  /// Returns the effect of changed objects at the ends of paths on the objects of a result.
  ///
  /// - Parameters:
  ///   - reached: The changed objects by path.
  ///   - own: The effect of changes of the result's own objects.
  ///   - observation: The observation.
  ///   - origins: Finds the objects from which the paths reach the changed ones.
  /// - Returns: The effect; undecided where the whole request has to be read again.
  /// - Throws: `SQLiteError`.
  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    _ observation: Observation,
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
  ) throws -> ObservedResult

  /// Writes the members of a result that is known.
  ///
  /// - Parameters:
  ///   - observation: The observation with its result at the reader's snapshot.
  ///   - reader: The reader.
  ///   - out: The writer of the members.
  /// - Returns: The result.
  /// - Throws: `limitExceeded` when the writer's limit is exceeded; `SQLiteError`.
  func write(
    _ observation: Observation,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> ObservedResult

  /// Returns the result of an observation after changes.
  ///
  /// - Parameters:
  ///   - observation: The observation, with its earlier result.
  ///   - verdict: The effect of the changes on it.
  ///   - changes: The changes from the position of the earlier result to the reader's snapshot.
  ///   - rows: The rows of the changed objects, as far as they were read.
  ///   - reader: The reader.
  /// - Returns: The result; nil where the whole request has to be read again.
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow],
    _ reader: ResultReader
  ) throws -> RefreshedResult?

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
    _ result: ObservedResult,
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
  /// - Returns: The update; nil when the results are equal for the client.
  /// - Throws: `SQLiteError`.
  func update(
    from old: ObservedResult,
    to new: ObservedResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> UpdateBody?

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
    _ old: ObservedResult,
    _ new: ObservedResult,
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
    _ new: ObservedResult,
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
  /// Calls a body with the included objects, as `ResultReader.eachIncluded`.
  func eachIncluded(
    _ request: ObservedRequest,
    _ result: ObservedResult,
    _ reader: ResultReader,
    _ body: (ObjectKey, ArraySlice<UInt8>) throws -> Void
  ) throws {
    try reader.eachIncluded(request, self, result, body)
  }

  var usesCollation: Bool { false }
  var mayRunOnLoop: Bool { true }
  var isKept: Bool { false }
  var followsIndex: Bool { false }

  func isShort(_ members: [ObjectKey: Verdict.Match], _ result: ObservedResult) -> Bool { false }

  func resolved(
    _ reached: [RelatedReads.Path: Set<ObjectKey>],
    own: Verdict,
    _ observation: Observation,
    _ origins: (RelatedReads.Path, Set<ObjectKey>) throws -> Set<Int64>?
  ) throws -> Verdict { .undecided }

  func write(
    _ observation: Observation,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> ObservedResult {
    try read(observation.request, reader, to: &out)
  }

  func inclusionStart(in model: Model) -> EntityDescription? { nil }

  func including(
    _ result: ObservedResult,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])? { nil }

  func update(
    from old: ObservedResult,
    to new: ObservedResult,
    _ sequence: SequenceDifference?,
    isLimited: Bool,
    _ builder: UpdateBuilder
  ) throws -> UpdateBody? {
    try builder.difference(from: old, to: new, sequence, isLimited: isLimited)
  }

  func compare(
    _ old: ObservedResult,
    _ new: ObservedResult,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {}

  func write(
    _ difference: ResultDifference,
    _ new: ObservedResult,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {}

  var explainedFetch: FetchRequest? { nil }
  var explainedCondition: RowCondition? { nil }
  var windowEntities: [Int]? { nil }
  var sortsByRelated: Bool { false }

  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool { false }

  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? { nil }
}
