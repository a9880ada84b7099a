package import CordialValues
import ObjectModel
import SQLite
import StoreLayout

/// The changes of objects since the versions that clients know.
extension HistoryLog {
  /// The rows of one object that were read so far; a class, so that rows are appended without a
  /// copy.
  private final class Reading {
    let version: Int64
    var rows: [HistoryRow] = []
    /// The number of the last change before the commit that ended `version`; nil until the log row
    /// that ended `version` is read.
    var begin: Int64?

    init(_ version: Int64) {
      self.version = version
    }

    /// Returns whether a row ended the object's version by updating or deleting the object.
    func ends(with row: HistoryRow) -> Bool {
      switch row.kind {
      case .update: row.version == version + 1
      case .delete: row.version == version
      default: false
      }
    }
  }

  /// Returns all changes of the given objects since the given versions.
  ///
  /// - Parameter versions: The objects, each with a former version.
  /// - Returns: The rows of each object and of its link rows, oldest first; objects whose versions
  ///   are older than the log are absent.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged since the oldest of the versions.
  package func rows(since versions: [ObjectKey: Int64]) throws -> [ObjectKey: [HistoryRow]] {
    let readings = versions.mapValues(Reading.init)
    var open = readings.count
    /// The lowest `begin` so far; all rows after that change are still needed.
    var least = Int64.max
    try eachRowBackwards { row, begin in
      guard open > 0 || row.number > least else { return false }
      for key in row.keys(in: self.model) {
        guard let reading = readings[key], reading.begin.map({ row.number > $0 }) ?? true else {
          continue
        }
        reading.rows.append(row)
        if reading.begin == nil, reading.ends(with: row) {
          reading.begin = begin
          least = min(least, begin)
          open -= 1
        }
      }
      return true
    }
    return readings.filter { $0.value.begin != nil }.mapValues { $0.rows.reversed() }
  }

  /// Calls a body with each row of the log, newest first, until the body returns false.
  ///
  /// The body also receives the last change of the commit before the row's commit.
  private func eachRowBackwards(_ body: (HistoryRow, Int64) throws -> Bool) throws {
    let (rows, commits) = try backwards()
    defer {
      rows.reset()
      commits.reset()
    }
    var begin = Int64.max
    while try rows.step() {
      let number = rows.integer(0)
      while begin >= number {
        // Rows up to the oldest retained commit have no preceding commit in the log.
        guard try commits.step() else { return }
        begin = commits.integer(0)
      }
      guard try body(HistoryRow(rows), begin) else { return }
    }
  }
}

extension HistoryRow {
  /// Returns the objects that a row changed: one object, or both ends of a link row.
  fileprivate func keys(in model: Model) -> [ObjectKey] {
    guard model.hasEntity(entity) else { return [] }
    switch kind {
    case .insert, .update, .delete: return [model.key(entity, object)]
    case .link, .unlink:
      let sides = sides(in: model).map(\.0)
      // An object may be linked to itself.
      return sides.count == 2 && sides[0] == sides[1] ? [sides[0]] : sides
    }
  }
}
