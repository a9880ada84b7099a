package import CordialValues
import ObjectModel
import SQLite
import StoreLayout

/// What became of objects since somebody knew them.
extension HistoryLog {
  /// How far the rows of an object are read; an object itself, so that rows are added in place.
  private final class Reading {
    let version: Int64
    var rows: [HistoryRow] = []
    /// The last change of the commit before the one in which it left that version; nil until that
    /// is read.
    var begin: Int64?

    init(_ version: Int64) {
      self.version = version
    }

    /// Whether the object left its version with a row: it was changed, or removed.
    func ends(with row: HistoryRow) -> Bool {
      switch row.kind {
      case .update: row.version == version + 1
      case .delete: row.version == version
      default: false
      }
    }
  }

  /// Reads back until it has everything that happened to some objects since they had a version.
  ///
  /// - Parameter versions: The objects with the versions, each of which is a former one.
  /// - Returns: The rows of each object and of the pairs that it is in, oldest first; objects to
  ///   whose versions the log does not reach back are absent.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged since the oldest of the versions.
  package func rows(since versions: [ObjectKey: Int64]) throws -> [ObjectKey: [HistoryRow]] {
    let readings = versions.mapValues(Reading.init)
    var open = readings.count
    /// The least number that some object still wants.
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

  /// Goes through the rows that are kept, newest first, each with the last change of the commit
  /// before its own, until the body answers false.
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
        // What lies before the first commit that is kept has no beginning.
        guard try commits.step() else { return }
        begin = commits.integer(0)
      }
      guard let row = HistoryRow(rows) else { continue }
      guard try body(row, begin) else { return }
    }
  }
}

extension HistoryRow {
  /// The objects that it is about: one, or both of a pair.
  fileprivate func keys(in model: Model) -> [ObjectKey] {
    guard model.entities.indices.contains(entity - 1) else { return [] }
    switch kind {
    case .insert, .update, .delete: return [model.key(entity, object)]
    case .link, .unlink:
      let sides = sides(in: model).map(\.0)
      // An object may be paired with itself.
      return sides.count == 2 && sides[0] == sides[1] ? [sides[0]] : sides
    }
  }
}
