import CordialProtocol
import CordialValues
import ObjectModel
import PersistentStore
import Subscriptions

/// The difference between two results of an observed request.
struct ResultDifference {
  /// A change of the object that an observed ID names.
  struct NamedChange {
    let index: Int
    let kind: ObjectChange.Kind
    let key: ObjectKey
    /// The object that the ID named before: another one where it took over an identity.
    let former: ObjectKey
  }

  /// By IDs: the changes, in the order of the IDs.
  private(set) var named: [NamedChange] = []
  /// By fetch: the removed and inserted objects.
  private(set) var sequence = SequenceDifference()
  /// By fetch: the objects at both positions that differ, by ascending new offset.
  private(set) var updates: [(offset: Int, key: ObjectKey)] = []
  /// The included objects that are new or differ.
  private(set) var included: Set<ObjectKey> = []
  /// The objects that are no longer included, ascending.
  private(set) var excluded: [ObjectKey] = []
  private(set) var countDiffers = false
  private(set) var totalDiffers = false
  private(set) var sectionsDiffer = false
  private(set) var rowsDiffer = false

  /// Whether the results are equal for the client.
  var isEmpty: Bool {
    named.isEmpty && sequence.isEmpty && updates.isEmpty && included.isEmpty && excluded.isEmpty
      && !countDiffers && !totalDiffers && !sectionsDiffer && !rowsDiffer
  }

  /// The number of removed, inserted and updated elements.
  var elementCount: Int {
    named.count + sequence.removals.count + sequence.insertions.count + updates.count
  }

  /// Compares two results.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - new: The later result.
  ///   - observation: The observation with the plan of the later result.
  ///   - changes: All changes from the earlier position to the later one.
  ///   - candidates: The changed objects that may concern the observation; nil where all may.
  ///   - sequence: The difference of the sequences, where it is known.
  /// - Throws: `RepeatedObject`.
  /// - Complexity: Linear in the changes and in the results where they differ; a result that is the
  ///   same sequence is searched only for changed objects.
  init(
    from old: ObservedResult,
    to new: ObservedResult,
    _ observation: Observation,
    _ changes: ChangeSet,
    candidates: Set<ObjectKey>? = nil,
    sequence: SequenceDifference? = nil
  ) throws {
    switch observation.plan {
    case .objects(_, let plans):
      compareNamed(old, new, plans, changes)
      if observation.request.mode == .ids { named.removeAll { $0.kind == .update } }
    case .rows(let plan):
      if let sequence {
        self.sequence = sequence
      } else if old.revision != new.revision {
        self.sequence = try Self.sequence(old, new, observation, plan, changes)
      }
      if observation.request.mode != .ids { compareRows(old, new, plan, changes, candidates) }
    case .count: countDiffers = old.count != new.count
    case .values: rowsDiffer = old.rows != new.rows
    case .history, .search: break
    }
    totalDiffers = old.total != new.total
    sectionsDiffer = old.sections != new.sections
    guard !observation.request.include.isEmpty else { return }
    included = Set(new.included.filter { old.included[$0.key] != $0.value }.keys)
    excluded = old.included.keys.filter { new.included[$0] == nil }.sorted()
  }

  /// Returns the difference of two sequences, the same as that of an edit of the earlier one.
  private static func sequence(
    _ old: ObservedResult,
    _ new: ObservedResult,
    _ observation: Observation,
    _ plan: FetchPlan,
    _ changes: ChangeSet
  ) throws -> SequenceDifference {
    if !plan.isWindow,
      let moving = observation.interest.moving(in: changes),
      let difference = try SequenceDifference(
        from: old.objects,
        to: new.objects,
        moving: Set(moving.map(\.object))
      )
    {
      return difference
    }
    return try SequenceDifference(from: old.objects, to: new.objects)
  }

  private mutating func compareNamed(
    _ old: ObservedResult,
    _ new: ObservedResult,
    _ plans: [Int: FetchPlan],
    _ changes: ChangeSet
  ) {
    for (index, (before, after)) in zip(old.named, new.named).enumerated() {
      guard let key = after.key ?? before.key else { continue }
      let kind: ObjectChange.Kind
      switch (before.exists, after.exists) {
      case (false, false): continue
      case (false, true): kind = .insert
      case (true, false): kind = .delete
      case (true, true):
        let differs =
          before.key != after.key
          || Self.reaches(changes.changes[key], plans[key.entity])
          || !new.digests.isEmpty && old.digests[index] != new.digests[index]
        guard differs else { continue }
        kind = .update
      }
      // The tombstone of a deleted object is under the key that it had.
      let changed = kind == .delete ? before.key ?? key : key
      named.append(
        NamedChange(index: index, kind: kind, key: changed, former: before.key ?? key)
      )
    }
  }

  private mutating func compareRows(
    _ old: ObservedResult,
    _ new: ObservedResult,
    _ plan: FetchPlan,
    _ changes: ChangeSet,
    _ candidates: Set<ObjectKey>?
  ) {
    var touched: Set<Int64> = []
    addDifferingRows(old, new, to: &touched)
    let inserted = Set(sequence.insertions.map(\.element))
    func isTouched(_ change: ObjectChange?) -> Bool {
      change?.kind == .update && Self.reaches(change, plan)
    }
    if new.objects.count <= candidates?.count ?? changes.changes.count {
      for (offset, object) in new.objects.enumerated() where !inserted.contains(object) {
        let key = plan.key(object)
        if touched.contains(object) || isTouched(changes.changes[key]) {
          updates.append((offset, key))
        }
      }
      return
    }
    if let candidates {
      for key in candidates where isTouched(changes.changes[key]) { touched.insert(key.object) }
    } else {
      let entities = Set(plan.resultEntities)
      for (key, change) in changes.changes
      where entities.contains(key.entity) && isTouched(change) {
        touched.insert(key.object)
      }
    }
    touched.subtract(inserted)
    guard !touched.isEmpty else { return }
    for (offset, object) in new.objects.enumerated() where touched.contains(object) {
      updates.append((offset, plan.key(object)))
    }
  }

  /// Returns whether a change alters the row that a plan returns of its object.
  ///
  /// Every row has the version, which derived values and sort positions do not increment.
  private static func reaches(_ change: ObjectChange?, _ plan: FetchPlan?) -> Bool {
    guard let change, let plan else { return false }
    return change.countsVersion || change.properties.contains { plan.valueNames[$0] != nil }
  }

  /// Adds the objects whose rows differ.
  private func addDifferingRows(
    _ old: ObservedResult,
    _ new: ObservedResult,
    to touched: inout Set<Int64>
  ) {
    guard !new.digests.isEmpty else { return }
    if old.revision == new.revision {
      guard old.digests != new.digests else { return }
      for offset in new.digests.indices where old.digests[offset] != new.digests[offset] {
        touched.insert(new.objects[offset])
      }
      return
    }
    let known = Dictionary(
      zip(old.objects, old.digests),
      uniquingKeysWith: { first, _ in first }
    )
    for (object, digest) in zip(new.objects, new.digests) {
      if let before = known[object], before != digest { touched.insert(object) }
    }
  }
}
