import CordialValues
import JSON
import ObjectModel

/// The check of the planned end state for objects with equal unique values.
package struct UniquenessCheck {
  let layout: SaveLayout
  let graph: PlannedGraph
  let labels: SaveLabels
  private var planned: [UniqueValues: ObjectKey] = [:]
  private var found: [SaveProblem] = []

  /// Prepares the check of a plan.
  package init(_ layout: SaveLayout, _ graph: PlannedGraph, _ labels: SaveLabels) {
    self.layout = layout
    self.graph = graph
    self.labels = labels
  }

  /// Finds the violations.
  ///
  /// - Parameter includesIndexed: Whether to check also the sets that a database index covers;
  ///   SQLite reports their violations only when rows are written.
  /// - Returns: One problem for each object that has the values of another object.
  /// - Throws: `SQLiteError`.
  package mutating func violations(includesIndexed: Bool) throws -> [SaveProblem] {
    for insert in graph.inserts where !graph.deletes.contains(insert.key) {
      for set in layout.entity(insert.key).uniqueSets
      where includesIndexed || set.isOfFamily {
        try check(set, of: insert.key, set.columns.map { insert.row[$0] })
      }
    }
    for update in graph.updates where !graph.deletes.contains(update.key) {
      for set in layout.entity(update.key).uniqueSets
      where (includesIndexed || set.isOfFamily)
        && set.columns.contains(where: { update.columns[column: $0] != nil })
      {
        try check(set, of: update.key, set.columns.map { try graph.value($0, of: update.key) })
      }
    }
    return found
  }

  private mutating func check(
    _ set: UniqueSet,
    of key: ObjectKey,
    _ values: [AttributeValue]
  ) throws {
    guard !values.contains(where: { $0 == .null || $0 == .refused })
    else { return }
    let name = UniqueValues(set, values)
    // An identity may be a unique set too, so the same object may be found twice.
    if let other = planned.updateValue(key, forKey: name), other != key {
      found.append(try violation(set, key, other))
      return
    }
    for holder in try graph.stored.holders(of: set, values)
    where try holder != key && !graph.deletes.contains(holder) && !isChecked(holder, set) {
      found.append(try violation(set, key, holder))
      return
    }
  }

  /// Returns whether the save changes an object's values in a unique set; the object's new values
  /// are then compared instead of its stored values.
  private func isChecked(_ key: ObjectKey, _ set: UniqueSet) throws -> Bool {
    if graph.isInserted(key) { return true }
    guard let update = graph.update(of: key) else { return false }
    let columns = layout.entity(key).uniqueSets.first { $0.names == set.names }?.columns ?? []
    return columns.contains { update.columns[column: $0] != nil }
  }

  private func violation(
    _ set: UniqueSet,
    _ key: ObjectKey,
    _ other: ObjectKey
  ) throws -> SaveProblem {
    .violation(
      of: set,
      by: try label(of: key),
      existing: try label(of: other),
      isStored: !graph.isInserted(other)
    )
  }

  private func label(of key: ObjectKey) throws -> String {
    if let index = graph.insertIndex(of: key) { return graph.inserts[index].label }
    return try labels[key] ?? graph.stored.name(of: key)
  }
}

extension SaveProblem {
  /// Returns the problem that another object has the same unique values.
  ///
  /// - Parameters:
  ///   - set: The properties.
  ///   - id: The ID of the object that would have the same values.
  ///   - existing: The ID of the other object.
  ///   - isStored: Whether the other object is stored, and not new in the save.
  /// - Returns: The problem, with the rule `unique`.
  static func violation(
    of set: UniqueSet,
    by id: String,
    existing: String,
    isStored: Bool
  ) -> SaveProblem {
    SaveProblem(
      .uniquenessViolation,
      "unique",
      id,
      nil,
      existing == id
        ? "There is an object \(existing) already"
        : "\(existing) has the same \(set.names.joined(separator: ", ")) as \(id)",
      hint: isStored
        ? "Update \(existing), or choose other values" : "Choose other values for one of the two",
      details: [
        JSONMember("properties", .array(set.names.map { .string($0) })),
        JSONMember("existing", .string(existing)),
      ]
    )
  }
}
