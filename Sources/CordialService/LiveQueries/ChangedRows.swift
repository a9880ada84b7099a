import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore

/// Rows of changed objects, on which conditions are evaluated in memory.
extension StoreSnapshot {
  /// The maximum text length in bytes of a row that is compared in memory.
  private static let textBytesMax = 16 << 10

  private static func isLong(_ value: AttributeValue) -> Bool { value.textBytes > textBytesMax }

  /// Reads the columns that requests need from changed objects, before and after the changes.
  ///
  /// - Parameters:
  ///   - changes: The changes up to this snapshot.
  ///   - from: The position before the changes.
  ///   - table: The requests.
  /// - Returns: The rows of the changed objects whose entities have columns that requests need.
  /// - Throws: `SQLiteError`.
  func rows(
    of changes: ChangeSet,
    from: LogPosition,
    for table: SubscriptionTable
  ) throws -> [ObjectKey: ChangedRow] {
    var columns: [Int: [String]] = [:]
    for entity in Set(changes.changes.keys.map(\.entity)) {
      let read = table.columns(of: entity)
      if !read.isEmpty { columns[entity] = read }
    }
    return try rows(of: changes, from: from, columns)
  }

  /// Reads columns of changed objects, before and after the changes.
  ///
  /// - Parameters:
  ///   - changes: The changes up to this snapshot.
  ///   - from: The position before the changes.
  ///   - columns: The columns by entity number.
  /// - Returns: The rows of the changed objects of these entities, without the rows that have long
  ///   texts. SQL compares the rows with long texts, because an SQL statement can be interrupted.
  /// - Throws: `SQLiteError`.
  func rows(
    of changes: ChangeSet,
    from: LogPosition,
    _ columns: [Int: [String]]
  ) throws -> [ObjectKey: ChangedRow] {
    guard !columns.isEmpty else { return [:] }
    let former = try log.formerValues(
      from: from,
      to: head,
      of: Set(columns.keys),
      columns: columns.mapValues(Set.init)
    )
    let tables = columns.mapValues(RowTable.init(columns:))
    var rows: [ObjectKey: ChangedRow] = [:]
    for key in changes.changes.keys {
      guard let table = tables[key.entity] else { continue }
      let present = try values(of: table.columns, of: key)
      var earlier = present
      switch former[key] {
      case nil: break
      case .some(nil): earlier = nil
      case .some(let logged?):
        let entity = model.entity(key.entity)
        var values = present ?? Array(repeating: .null, count: table.columns.count)
        for value in logged {
          guard let index = table.columns.firstIndex(of: value.property) else { continue }
          values[index] = value.stored(in: entity)
        }
        earlier = values
      }
      guard [present, earlier].allSatisfy({ $0?.contains(where: Self.isLong) != true }) else {
        continue
      }
      let after = present.map(table.append)
      let before = earlier == present ? after : earlier.map(table.append)
      rows[key] = ChangedRow(before: before, after: after)
    }
    return rows
  }
}
