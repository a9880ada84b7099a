import CordialValues
import PersistentHistory
import PersistentStore
import StoreLayout

/// A log in an array, whose rows all follow what clients knew; each row is a commit.
final class PlainHistory: SaveHistory {
  private let log: [HistoryRow]
  /// Whether the log does not reach back to what clients knew.
  private let isPurged: Bool

  init(_ log: [HistoryRow] = [], isPurged: Bool = false) {
    self.log = log
    self.isPurged = isPurged
  }

  func rows(since versions: [ObjectKey: Int64]) -> [ObjectKey: [HistoryRow]] {
    guard !isPurged else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: versions.keys.map { key in
        // The merger reads of a link row whether the object is one of its ends.
        let rows = log.filter {
          $0.kind == .link || $0.kind == .unlink
            || ObjectKey(entity: $0.entity, object: $0.object) == key
        }
        return (key, rows)
      }
    )
  }

  func position(of key: ObjectKey, reaching version: Int64) -> Int64 {
    log.last {
      ObjectKey(entity: $0.entity, object: $0.object) == key && $0.version == version
    }?.number ?? 0
  }

  /// The token of a row is its number.
  func position(of token: String) throws -> Int64 {
    guard let number = Int64(token), log.contains(where: { $0.number == number }) else {
      throw StoreError(.historyExpired, "The history does not have the commit \(token)")
    }
    return number
  }

  func eachRowBackwards(after change: Int64, _ body: (HistoryRow) throws -> Void) rethrows {
    for row in log.reversed() where row.number > change { try body(row) }
  }

  func oldestToken() -> StoreToken { StoreToken(generation: 1, number: 0, mark: 0) }
}
