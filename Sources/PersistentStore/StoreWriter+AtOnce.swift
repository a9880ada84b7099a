import JSON
import SQLite

/// Small saves that the caller's thread performs while the writer's queue is idle, with the same
/// code as the queue.
extension StoreWriter {
  /// The maximum number of changes of such a save.
  static let changesAtOnceMax = 8
  /// The maximum number of bytes of their values.
  static let bytesAtOnceMax = 4096
  /// The maximum number of SQLite's instructions: about a millisecond.
  private static let instructionsMax = 65_536

  /// Performs a save unless it may take long.
  ///
  /// It waits for no other process, seals no changes, and copies no pages of the write-ahead log
  /// into the file. After a number of such saves, or after one that would have taken long, the
  /// queue performs the next ones, and copies the pages when they are due.
  ///
  /// - Parameter request: The save, for which `SaveRequest.isSmall` is true.
  /// - Returns: The outcome; nil for a save that the queue has to perform, of which nothing is
  ///   stored.
  func saveAtOnce(_ request: SaveRequest) -> Result<SaveOutcome, StoreError>? {
    guard atOnce.isAllowed else { return nil }
    do {
      let outcomes = try queue.use { db in
        try setDurability(false, db)
        return try db.briefly(
          instructionsMax: Self.instructionsMax,
          busySecondsMax: StoreConnection.busySecondsMax
        ) { try commit([request], failsTogether: true, seals: false, db) }
      }
      atOnce.countSave()
      return outcomes.first
    } catch is UnsealedChanges {
      return nil
    } catch let error as SQLiteError where [.busy, .interrupted].contains(error.code) {
      if error.code == .interrupted { atOnce.exhaust() }
      return nil
    } catch {
      return .failure(StoreError(any: error))
    }
  }
}

extension SaveRequest {
  /// Whether the save consists of a few small changes of objects that it names, and needs no fsync.
  var isSmall: Bool {
    guard durability == .normal, !isDryRun, revert == nil, deleteMatching == nil,
      updateMatching == nil,
      inserts.count + updates.count + deletes.count <= StoreWriter.changesAtOnceMax
    else { return false }
    var bytes = 0
    for values in inserts.lazy.map(\.values) + updates.lazy.map(\.values) {
      for member in values {
        guard let size = Self.size(of: member.value) else { return false }
        bytes += member.name.utf8.count + size
        guard bytes <= StoreWriter.bytesAtOnceMax else { return false }
      }
    }
    return true
  }

  /// Returns the size of a value in bytes, about; nil for a list or an object.
  private static func size(of value: JSONValue) -> Int? {
    switch value {
    case .string(let text): text.utf8.count
    case .array, .object: nil
    default: 8
    }
  }
}

/// How many saves may still be performed at once, before the queue performs two: the first copies
/// the pages of the write-ahead log, and the second may begin the log anew, which needs an fsync.
struct SavesAtOnce {
  static let savesMax = 64
  private static let queuedMin = 2
  private var left = savesMax
  private var queued = 0

  var isAllowed: Bool { left > 0 }

  mutating func countSave() { left -= 1 }

  mutating func exhaust() { left = 0 }

  /// Counts a group of saves that the queue performed.
  mutating func countGroup() {
    guard left == 0 else { return }
    queued += 1
    guard queued >= Self.queuedMin else { return }
    self = SavesAtOnce()
  }
}
