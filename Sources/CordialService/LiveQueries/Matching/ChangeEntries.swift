package import CordialValues
import ObjectModel

/// The numbered changes of a change set with their rows, for matching many requests.
package struct ChangeEntries {
  /// The changes, ordered by entity.
  private(set) var changes: [ObjectChange] = []
  /// The row of each change; nil if the row was not read.
  private(set) var rows: [ChangedRow?] = []
  /// The shape of each change; changes of the same kind and properties have the same shape.
  private(set) var shapes: [Int] = []
  private(set) var shapeCount = 0
  /// The index range of each entity's changes, by entity number.
  private(set) var ranges: [Int: Range<Int>] = [:]
  /// Whether the set has a commit, even if no change of the commit remains.
  let hasCommit: Bool
  /// The highest cost of comparing a row, as a multiple of the cost for a row of short texts.
  private(set) var weight = 1

  /// The text length in bytes that costs as much to compare as a row of short texts.
  private static let textBytesOfWeight = 256

  private struct Shape: Hashable {
    let kind: ObjectChange.Kind
    let properties: Set<String>
  }

  /// Numbers the changes of a set.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects; rows that were not read are missing.
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
