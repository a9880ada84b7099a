package import CordialValues
import ObjectModel

/// The changes of a change set with their rows, numbered, for many requests.
package struct ChangeEntries {
  /// The changes, ordered by entity.
  private(set) var changes: [ObjectChange] = []
  /// The row of each change, as far as it was read.
  private(set) var rows: [ChangedRow?] = []
  /// The shape of each change: changes of one shape are of the same kind and the same properties.
  private(set) var shapes: [Int] = []
  private(set) var shapeCount = 0
  /// The numbers of the changes of each entity.
  private(set) var ranges: [Int: Range<Int>] = [:]
  /// Whether the set has a commit, be it one without a change that remains.
  let hasCommit: Bool
  /// The cost of a comparison with one row, as a multiple of that with a row of short texts.
  private(set) var weight = 1

  /// The length of a text whose comparison costs as much as the rest of its row, in bytes.
  private static let textBytesOfWeight = 256

  private struct Shape: Hashable {
    let kind: ObjectChange.Kind
    let properties: Set<String>
  }

  /// Numbers the changes of a set.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects, as far as they were read.
  package init(_ set: ChangeSet, _ rows: [ObjectKey: ChangedRow]) {
    hasCommit = set.through > set.from
    var known: [Shape: Int] = [:]
    changes = Array(set.changes.values)
    if Set(changes.lazy.map(\.key.entity)).count > 1 {
      changes.sort { $0.key.entity < $1.key.entity }
    }
    shapes.reserveCapacity(changes.count)
    self.rows.reserveCapacity(changes.count)
    for (index, change) in changes.enumerated() {
      if index > 0, case let last = changes[index - 1], last.kind == change.kind,
        last.properties == change.properties
      {
        shapes.append(shapes[index - 1])
      } else {
        let shape = Shape(kind: change.kind, properties: change.properties)
        let number = known[shape] ?? known.count
        known[shape] = number
        shapes.append(number)
      }
      let row = rows[change.key]
      self.rows.append(row)
      for table in [row?.before?.table, row?.after?.table] {
        weight = max(weight, 1 + (table?.longestText ?? 0) / Self.textBytesOfWeight)
      }
      let first = ranges[change.key.entity]?.lowerBound ?? index
      ranges[change.key.entity] = first..<index + 1
    }
    shapeCount = known.count
  }

  var indices: Range<Int> { changes.indices }
}
