import CordialValues

/// The changes of a change set with their rows, numbered, for many requests.
struct ChangeEntries {
  /// The changes, in the order of a dictionary.
  private(set) var changes: [ObjectChange] = []
  /// The row of each change, as far as it was read.
  private(set) var rows: [ChangedRow?] = []
  /// The shape of each change: changes of one shape are of the same kind and the same properties.
  private(set) var shapes: [Int] = []
  private(set) var shapeCount = 0

  private struct Shape: Hashable {
    let kind: ObjectChange.Kind
    let properties: Set<String>
  }

  init(_ set: ChangeSet, _ rows: [ObjectKey: ChangedRow]) {
    var known: [Shape: Int] = [:]
    changes.reserveCapacity(set.changes.count)
    for change in set.changes.values {
      if let last = changes.last, last.kind == change.kind, last.properties == change.properties {
        shapes.append(shapes[shapes.count - 1])
      } else {
        let shape = Shape(kind: change.kind, properties: change.properties)
        let number = known[shape] ?? known.count
        known[shape] = number
        shapes.append(number)
      }
      changes.append(change)
      self.rows.append(rows[change.key])
    }
    shapeCount = known.count
  }

  var indices: Range<Int> { changes.indices }
}
