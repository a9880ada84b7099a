import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// The updates of the rows of a fetch.
extension RowsQuery {
  // MARK: Differences

  func isComparable(_ old: Result, with new: Result) -> Bool {
    new.digests.isEmpty || old.digests.count == old.objects.count
  }

  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {
    if let sequence = comparison.sequence {
      difference.sequence = sequence
    } else if old.revision != new.revision {
      difference.sequence = try sequence(old, new, comparison)
    }
    if comparison.observation.request.mode != .ids {
      compareRows(old, new, comparison, &difference)
    }
  }

  /// Returns the difference of two sequences.
  ///
  /// For a fetch without a window, the difference equals the difference of a `SequenceEdit`, if the
  /// objects that may have moved are known.
  private func sequence(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison
  ) throws -> SequenceDifference {
    if !plan.isWindow,
      let moving = comparison.observation.interest.moving(in: comparison.changes),
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

  private func compareRows(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) {
    let changes = comparison.changes.changes
    var touched: Set<Int64> = []
    Self.addDifferingRows(old, new, to: &touched)
    let inserted = Set(difference.sequence.insertions.map(\.element))
    func isTouched(_ change: ObjectChange?) -> Bool {
      change?.kind == .update && ResultDifference.reaches(change, plan)
    }
    if new.objects.count <= comparison.candidates?.count ?? changes.count {
      for (offset, object) in new.objects.enumerated() where !inserted.contains(object) {
        let key = plan.key(object)
        if touched.contains(object) || isTouched(changes[key]) {
          difference.updates.append((offset, key))
        }
      }
      return
    }
    if let candidates = comparison.candidates {
      for key in candidates where isTouched(changes[key]) { touched.insert(key.object) }
    } else {
      let entities = Set(plan.resultEntities)
      for (key, change) in changes where entities.contains(key.entity) && isTouched(change) {
        touched.insert(key.object)
      }
    }
    touched.subtract(inserted)
    guard !touched.isEmpty else { return }
    for (offset, object) in new.objects.enumerated() where touched.contains(object) {
      difference.updates.append((offset, plan.key(object)))
    }
  }

  /// Adds the objects whose digests show that their rows differ.
  private static func addDifferingRows(
    _ old: Result,
    _ new: Result,
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

  // MARK: Bytes

  func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    let request = builder.observation.request
    try writeRemovals(difference.sequence, builder, &out)
    out.beginList(.insert)
    for insertion in difference.sequence.insertions {
      try out.element { writer in
        try builder.beginRow(insertion.offset, plan.key(insertion.element), &writer)
        if let offset = insertion.movedFrom {
          writer.key(.movedFrom, after: ",")
          writer.integer(Int64(offset))
        }
        if request.mode != .ids {
          writer.key(.object, after: ",")
          try builder.writeObject(insertion.element, plan, &writer)
        }
        writer.raw("}")
      }
    }
    out.endList()
    if request.mode != .ids { try writeUpdated(difference, builder, &out) }
    try out.member(.count) { $0.integer(Int64(new.objects.count)) }
  }

  private func writeRemovals(
    _ sequence: SequenceDifference,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    let changes = builder.changes.changes
    let deleted = sequence.removals.filter { $0.movedTo == nil }
      .map { plan.key($0.element) }
      .filter { changes[$0]?.kind == .delete }
    let last = try builder.tombstones(Set(deleted))
    out.beginList(.remove)
    for removal in sequence.removals {
      let key = plan.key(removal.element)
      try out.element { writer in
        try builder.beginRow(removal.offset, key, &writer)
        if let offset = removal.movedTo {
          writer.key(.movedTo, after: ",")
          writer.integer(Int64(offset))
        } else if changes[key]?.kind == .delete {
          writer.key(.deleted, after: ",")
          writer.key(.last, after: "true,")
          writer.value(last[key] ?? [:])
        }
        writer.raw("}")
      }
    }
    out.endList()
  }

  private func writeUpdated(
    _ difference: ResultDifference,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    let before = try builder.formerValues(difference.updates.map(\.key)) { _ in plan }
    if let shared = builder.shared, !builder.observation.request.includesBefore {
      let form = shared.form(of: plan)
      let rows = try difference.updates.map { update in
        UpdateFragment.Row(
          offset: Int32(clamping: update.offset),
          rest: try form.row(update.key.object) { writer in
            try writeUpdated(update.key, nil, builder, &writer)
          }
        )
      }
      out.sharedList(.update, rows)
    } else {
      out.beginList(.update)
      for update in difference.updates {
        try out.element { writer in
          writer.key(.offset, after: "{")
          writer.integer(Int64(update.offset))
          try writeUpdated(update.key, before[update.key], builder, &writer)
        }
      }
      out.endList()
    }
  }

  /// Writes the end of an updated row, after its offset.
  private func writeUpdated(
    _ key: ObjectKey,
    _ before: JSONValue?,
    _ builder: UpdateBuilder,
    _ writer: inout JSONWriter
  ) throws {
    try builder.writeID(key, &writer)
    builder.writeProperties(builder.names(key, plan), before, &writer)
    writer.key(.object, after: ",")
    try builder.writeObject(key.object, plan, &writer)
    writer.raw("}")
  }
}
