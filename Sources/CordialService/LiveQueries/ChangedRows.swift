import CordialValues
import ObjectModel
import PersistentHistory
import PersistentStore

/// Rows of changed objects, on which conditions are evaluated in memory.
extension StoreSnapshot {
  /// The length of a text from which its row is compared by SQL alone, in bytes.
  private static let textBytesMax = 16 << 10

  private static func isLong(_ value: AttributeValue) -> Bool { value.textBytes > textBytesMax }

  /// Reads the columns that requests read of changed objects, before and after the changes.
  ///
  /// - Parameters:
  ///   - changes: The changes, which this snapshot ends.
  ///   - from: The position at their beginning.
  ///   - table: The requests.
  /// - Returns: The rows of the objects whose entities have such requests.
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
  ///   - changes: The changes, which this snapshot ends.
  ///   - from: The position at their beginning.
  ///   - columns: The columns by entity number.
  /// - Returns: The rows of the objects of these entities. Rows with long texts are left out: SQL
  ///   decides which requests they match, because SQL can be stopped.
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
