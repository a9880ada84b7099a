import CordialProtocol
import CordialValues
import ObjectModel
import PersistentStore

/// The difference between two results of an observed request.
package struct ResultDifference {
  /// A change of the object that an observed ID names.
  package struct NamedChange {
    let index: Int
    let kind: ObjectChange.Kind
    let key: ObjectKey
    /// The object that the ID named before; different from `key` if a different object now has the
    /// identity value.
    let former: ObjectKey
  }

  /// For requests by IDs: the changes, in the order of the IDs.
  var named: [NamedChange] = []
  /// For fetches: the removed and inserted objects.
  var sequence = SequenceDifference()
  /// For fetches: the objects in both results whose rows differ, by ascending new offset.
  var updates: [(offset: Int, key: ObjectKey)] = []
  /// The included objects that are new or differ.
  private(set) var included: Set<ObjectKey> = []
  /// The objects that are no longer included, ascending.
  private(set) var excluded: [ObjectKey] = []
  var countDiffers = false
  private(set) var totalDiffers = false
  private(set) var sectionsDiffer = false
  package var rowsDiffer = false

  /// Whether the results are equal for the client.
  var isEmpty: Bool {
    named.isEmpty && sequence.isEmpty && updates.isEmpty && included.isEmpty && excluded.isEmpty
      && !countDiffers && !totalDiffers && !sectionsDiffer && !rowsDiffer
  }

  /// For fetches: the object numbers of the objects that enter, leave, move or differ.
  var objects: Set<Int64> {
    Set(sequence.removals.map(\.element)).union(sequence.insertions.map(\.element))
      .union(updates.map(\.key.object))
  }

  /// The number of removed, inserted and updated elements.
  var elementCount: Int {
    named.count + sequence.removals.count + sequence.insertions.count + updates.count
  }

  /// The data for a comparison, apart from the two results.
  package struct Comparison {
    /// The observation with the query of the later result.
    let observation: Observation
    /// All changes from the earlier position to the later position.
    let changes: ChangeSet
    /// The changed objects that may concern the observation; nil if all changed objects may.
    var candidates: Set<ObjectKey>?
    /// The difference of the sequences; nil if unknown.
    var sequence: SequenceDifference?
  }

  /// Compares two results.
  ///
  /// - Parameters:
  ///   - query: The query of the later result.
  ///   - old: The earlier result.
  ///   - new: The later result.
  ///   - comparison: Data about both results, such as the changes between them.
  /// - Throws: `RepeatedObject`.
  init<Query: LiveQuery>(
    _ query: Query,
    from old: Query.Result,
    to new: Query.Result,
    _ comparison: Comparison
  ) throws {
    try query.compare(old, new, comparison, &self)
    let (old, new) = (old.extras, new.extras)
    totalDiffers = old.total != new.total
    sectionsDiffer = old.sections != new.sections
    guard !comparison.observation.request.include.isEmpty else { return }
    included = Set(new.included.filter { old.included[$0.key] != $0.value }.keys)
    excluded = old.included.keys.filter { new.included[$0] == nil }.sorted()
  }

  /// Returns whether a change alters its object's row in the result of a plan.
  ///
  /// Every row has the object's version. Changes of derived values and sort positions do not
  /// increment the version.
  static func reaches(_ change: ObjectChange?, _ plan: FetchPlan?) -> Bool {
    guard let change, let plan else { return false }
    return change.countsVersion || change.properties.contains { plan.reads.valueNames[$0] != nil }
  }
}
