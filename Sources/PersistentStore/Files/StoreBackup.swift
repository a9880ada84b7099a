package import CordialValues
import FoundationEssentials
import Glibc
package import Interruptions
import ObjectModel
import PersistentHistory
import SQLite

/// Copies of whole stores.
///
/// A copy is an independent store that can be opened in its folder. The copy has its own
/// generation, so positions of the original's history are not valid in the copy.
package enum StoreBackup {
  /// The result of a copy.
  package struct Outcome: Sendable {
    /// The position of the original's history at which the copy was made.
    package let token: StoreToken
    /// The size of the copy.
    package let bytes: Int
  }

  /// Copies a store while its clients continue to read and write it.
  ///
  /// - Parameters:
  ///   - source: The store.
  ///   - target: The folder to create, which must not exist.
  ///   - environment: The source of the new generation.
  ///   - check: Called before and after the pages are copied; it throws if other programs have
  ///     changed the files of a store that is open.
  ///   - work: The interruption that can stop the copy, and the receiver of its progress.
  /// - Returns: The outcome.
  /// - Throws: `StoreError`; the target then does not exist.
  package static func copy(
    _ source: StoreContainer,
    to target: StoreContainer,
    environment: StoreEnvironment,
    check: () throws -> Void = {},
    work: LongWork = LongWork()
  ) throws(StoreError) -> Outcome {
    guard !FileManager.default.fileExists(atPath: target.path) else {
      throw StoreError(
        .invalidRequest,
        "\(target.path) already exists",
        hint: "Name a folder that does not exist, or move this one away"
      )
    }
    let parent = target.path.split(separator: "/").dropLast().joined(separator: "/")
    var isFolder = false
    guard FileManager.default.fileExists(atPath: "/" + parent, isDirectory: &isFolder), isFolder
    else {
      throw StoreError(
        .invalidRequest,
        "/\(parent) is not a folder, so \(target.path) cannot be created",
        hint: "Create it, or name another folder"
      )
    }
    guard !isInside("/" + parent, source.path) else {
      throw StoreError(
        .invalidRequest,
        "\(target.path) is inside the store's own folder, with which a copy would be lost",
        hint: "Name a folder elsewhere"
      )
    }
    let partial = StoreContainer(
      path: target.path + ".partial-" + String(environment.random(), radix: 16)
    )
    do {
      try partial.prepare()
      let outcome = try write(source, check, partial, environment, work)
      guard unsafe rename(partial.path, target.path) == 0 else {
        throw StoreError(.cannotOpen, "\(target.path) cannot be created: \(reason())")
      }
      WholeFile.syncFolder(target.path)
      WholeFile.syncFolder("/" + parent)
      return outcome
    } catch {
      partial.remove()
      throw StoreError(any: error)
    }
  }

  /// Returns whether a folder is the folder `other` or is inside `other`, even if a path contains
  /// symbolic links.
  private static func isInside(_ folder: String, _ other: String) -> Bool {
    var (facts, outer) = (stat(), stat())
    guard unsafe stat(other, &outer) == 0 else { return false }
    var path = folder
    // Each step moves to the parent folder. The loop ends at the root, which is its own parent.
    while true {
      guard unsafe stat(path, &facts) == 0 else { return false }
      if facts.st_dev == outer.st_dev, facts.st_ino == outer.st_ino { return true }
      let inner = facts
      path += "/.."
      guard unsafe stat(path, &facts) == 0,
        facts.st_ino != inner.st_ino || facts.st_dev != inner.st_dev
      else { return false }
    }
  }

  private static func reason() -> String { unsafe String(cString: strerror(errno)) }

  private static func write(
    _ source: StoreContainer,
    _ check: () throws -> Void,
    _ copy: StoreContainer,
    _ environment: StoreEnvironment,
    _ work: LongWork
  ) throws -> Outcome {
    // If the file was replaced, opening it would reset the shared index of the write-ahead log,
    // which open connections use.
    try check()
    let reader = try StoreConnection.open(source.storePath, StoreConnection.readerRole(of: source))
    let writer = try StoreConnection.open(copy.storePath, .writer)
    try reader.backup(to: writer) { done, count in try work.report(done, of: count) }
    try reader.close()
    try check()
    let token = try writer.write { db -> StoreToken in
      let generation = try StoreMetadata.generation.value(db)
      let head = try db.row(HistoryLog.headQuery) { ($0.integer(0), $0.integer(1)) }
      guard let generation = UInt32(generation ?? "", radix: 16), let head else {
        throw StoreError(.cannotOpen, "\(source.storePath) is not a Cordial store")
      }
      try StoreMetadata.generation.set(String(environment.random(), radix: 16), db)
      let text = try StoreMetadata.model.value(db)
      try copy.writeModelCopy(try ModelDocument.parse(Array((text ?? "").utf8).span))
      return StoreToken(
        generation: generation,
        number: head.0,
        mark: UInt32(truncatingIfNeeded: head.1)
      )
    }
    try writer.use { db in
      try db.checkpoint()
    }
    try writer.close()
    return Outcome(token: token, bytes: FileSize.of([copy.storePath]))
  }

  /// Replaces a store by a copy; processes must open the store again.
  ///
  /// - Parameters:
  ///   - backup: The copy, which remains unchanged.
  ///   - target: The store, whose whole content is replaced.
  ///   - environment: The source of the new generation.
  /// - Returns: The outcome.
  /// - Throws: `StoreError`; the store is then unchanged.
  package static func restore(
    _ backup: StoreContainer,
    to target: StoreContainer,
    environment: StoreEnvironment
  ) throws(StoreError) -> Outcome {
    do {
      try StoreFile.read(
        at: backup.storePath,
        role: StoreConnection.readerRole(of: backup),
        requested: nil
      )
    } catch {
      throw StoreError(any: error)
    }
    guard target.hasStore else { return try copy(backup, to: target, environment: environment) }
    let fresh = StoreContainer(
      path: target.path + ".restored-" + String(environment.random(), radix: 16)
    )
    let outcome = try copy(backup, to: fresh, environment: environment)
    defer { fresh.remove() }
    try check(fresh, of: backup)
    let indexFiles = try target.indexFiles()
    do {
      try overwrite(target, with: fresh)
    } catch {
      let error = StoreError(any: error)
      guard error.code == .storeCorrupt else { throw error }
      // A store that is too damaged to be opened has no content to lose.
      try replaceFiles(of: target, with: fresh)
    }
    for file in indexFiles { unsafe unlink(file) }
    WholeFile.syncFolder(target.path)
    return outcome
  }

  /// Checks that the copy that replaces a store is not damaged.
  private static func check(
    _ copy: StoreContainer,
    of backup: StoreContainer
  ) throws(StoreError) {
    let found: String?
    do {
      let reader = try StoreConnection.open(copy.storePath, .reader)
      found = try reader.use { db in
        try db.text("PRAGMA quick_check(1)")
      }
      try reader.close()
    } catch {
      throw StoreError(any: error)
    }
    guard found != "ok" else { return }
    throw StoreError(
      .storeCorrupt,
      "The backup \(backup.path) is damaged: \(found ?? "it cannot be read")",
      hint: "Nothing was replaced; restore another backup"
    )
  }

  /// Writes a copy over a store in one transaction; no other process may have the store open.
  private static func overwrite(_ target: StoreContainer, with copy: StoreContainer) throws {
    let reader = try StoreConnection.open(copy.storePath, .reader)
    let writer = try StoreConnection.open(target.storePath, .writer)
    do {
      try writer.use { db in
        try db.lockExclusively()
      }
      try reader.backup(to: writer)
      try writer.use { db in
        try db.checkpoint()
      }
      try reader.close()
      try writer.close()
    } catch let error as SQLiteError where error.code == .busy {
      throw isOpenElsewhere(target)
    }
    guard unsafe rename(copy.modelPath, target.modelPath) == 0 else {
      throw StoreError(.cannotOpen, "\(target.modelPath) cannot be replaced: \(reason())")
    }
  }

  /// Takes SQLite's exclusive lock on the file of a store that SQLite cannot open.
  ///
  /// - Returns: A descriptor that holds the lock; a negative number if there is no file.
  /// - Throws: `StoreError` if another process has the store open, or the lock is not available.
  private static func lockedAlone(_ target: StoreContainer) throws(StoreError) -> CInt {
    let file = unsafe open(target.storePath, O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      guard errno == ENOENT else {
        throw StoreError(.cannotOpen, "\(target.storePath) cannot be opened: \(reason())")
      }
      return file
    }
    // Each connection has a shared lock on some of these bytes ("Database File Format", 1.6).
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    (lock.l_start, lock.l_len) = (1 << 30, 512)
    guard unsafe fcntl(file, F_SETLK, &lock) != 0 else { return file }
    let (isHeld, words) = (errno == EAGAIN || errno == EACCES, reason())
    _ = close(file)
    guard isHeld else {
      throw StoreError(.cannotOpen, "\(target.storePath) cannot be locked: \(words)")
    }
    throw isOpenElsewhere(target)
  }

  private static func isOpenElsewhere(_ target: StoreContainer) -> StoreError {
    StoreError(
      .storeBusy,
      "Another process has \(target.path) open",
      hint: "Stop it, then restore again"
    )
  }

  private static func replaceFiles(
    of target: StoreContainer,
    with copy: StoreContainer
  ) throws(StoreError) {
    let lock = try lockedAlone(target)
    defer { if lock >= 0 { _ = close(lock) } }
    // The write-ahead log of the old file is removed first, because it must not apply to the new
    // file.
    for file in [target.storePath + "-wal", target.storePath + "-shm"] { unsafe unlink(file) }
    for (from, to) in [(copy.storePath, target.storePath), (copy.modelPath, target.modelPath)] {
      guard unsafe rename(from, to) == 0 else {
        throw StoreError(.cannotOpen, "\(to) cannot be replaced: \(reason())")
      }
    }
  }
}
