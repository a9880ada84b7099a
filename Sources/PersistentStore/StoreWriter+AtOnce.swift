import CordialValues
import JSON
import SQLite

/// Small saves that the caller's thread performs while the writer's queue is idle, with the same
/// code as the queue.
extension StoreWriter {
  /// The maximum number of changes in such a save.
  static let changesAtOnceMax = 8
  /// The maximum size of the names and values in such a save, in bytes.
  static let bytesAtOnceMax = 4096
  /// The maximum number of bytes of a value that the save reads or writes.
  private static let valueBytesMax = StoreReader.loopValueBytesMax

  /// Performs a save unless it may take long.
  ///
  /// This method waits for no other process, seals no changes, and leaves checkpoints to the queue.
  /// SQLite waits for an fsync only after a checkpoint of another process.
  ///
  /// - Parameters:
  ///   - request: The save, for which `SaveRequest.isSmall` is true.
  ///   - instructionsMax: The maximum number of SQLite's instructions.
  /// - Returns: The outcome; nil if nothing was stored and the queue has to perform the save.
  func saveAtOnce(
    _ request: SaveRequest,
    instructionsMax: Int
  ) -> Result<SaveOutcome, StoreError>? {
    // Matching a value with a pattern may take long.
    guard !writeAheadLog.isSlowNext,
      patterned.isEmpty || !request.entities.contains(where: patterned.contains)
    else { return nil }
    do {
      return try queue.use { db in
        try setDurability(false, db)
        writeAheadLog.postponesCheckpoints = true
        db.setBusyMax(seconds: 0)
        let valueBytesMax = db.limitValues(bytesMax: Self.valueBytesMax)
        defer {
          db.limitValues(bytesMax: valueBytesMax)
          db.setBusyMax(seconds: StoreConnection.busySecondsMax)
          writeAheadLog.postponesCheckpoints = false
        }
        return try commit(
          [request],
          failsTogether: true,
          instructionsMax: instructionsMax,
          db
        ).first
      }
    } catch is UnsealedChanges {
      return nil
    } catch let error as SQLiteError where [.busy, .interrupted, .tooBig].contains(error.code) {
      return nil
    } catch {
      return .failure(StoreError(any: error))
    }
  }
}

extension SaveRequest {
  /// The names of the entities of the objects that the save inserts and updates.
  fileprivate var entities: [String] {
    (inserts.map { $0.entity ?? $0.id ?? "" } + updates.map(\.id))
      .map { name in String(name.prefix { $0 != "/" }) }
  }

  /// Whether the save consists of a few small changes of objects that it names, needs no fsync, and
  /// calls no function of the program.
  var isSmall: Bool {
    guard durability == .normal, !isDryRun, revert == nil, deleteMatching == nil,
      updateMatching == nil,
      inserts.count + updates.count + deletes.count <= StoreWriter.changesAtOnceMax
    else { return false }
    if case .named = mergePolicy { return false }
    let names =
      inserts.lazy.flatMap { [$0.id, $0.entity] } + (updates.map(\.id) + deletes.map(\.id))
    var bytes = names.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    guard bytes <= StoreWriter.bytesAtOnceMax else { return false }
    for values in inserts.lazy.map(\.values) + updates.lazy.map(\.values) {
      for member in values {
        guard let size = Self.size(of: member.value) else { return false }
        bytes += member.name.utf8.count + size
        guard bytes <= StoreWriter.bytesAtOnceMax else { return false }
      }
    }
    return true
  }

  /// Returns the approximate size of a value, in bytes; nil for a list or an object.
  private static func size(of value: JSONValue) -> Int? {
    switch value {
    case .string(let text): text.utf8.count
    case .array, .object: nil
    default: 8
    }
  }
}
