import Glibc
import SQLite

/// The disk space that a new index needs beside the old one.
enum IndexSpace {
  /// Returns an error if the disk or the limit of a file's size leaves no room for a new index.
  ///
  /// A build writes, merges and moves words: SQLite's write-ahead log grows to about three times
  /// the size of the index, and the file to twice its size. Without this check, a build would use
  /// up the disk space that the store needs.
  ///
  /// - Parameter path: The path of the index's file.
  /// - Returns: An error with the code `full`; nil if there is room, or the free space is unknown.
  static func shortage(besides path: String) -> SQLiteError? {
    let size = size(path) + size(path + "-wal")
    return shortage(of: 5 * size, freeBytes(path), "are free on the disk")
      ?? shortage(of: 3 * size, sizeMax, "is the limit of a file's size")
  }

  /// Returns an error if the disk leaves no room for SQLite's temporary files.
  ///
  /// The temporary files are at most as large as the index.
  ///
  /// - Parameter path: The path of the index's file.
  /// - Returns: An error with the code `full`; nil if there is room, or the free space is unknown.
  static func temporaryShortage(besides path: String) -> SQLiteError? {
    // SQLite tries the directories in this order ("Temporary Files Used By SQLite", 5).
    let named = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { (name: String) -> String? in
      guard let value = unsafe getenv(name) else { return nil }
      return unsafe String(cString: value)
    }
    let folder = (named + ["/var/tmp", "/usr/tmp", "/tmp"]).first { folder in
      unsafe access(folder, W_OK | X_OK) == 0
    }
    let free = freeBytes(folder ?? ".")
    return shortage(of: size(path), free, "are free for temporary files")
  }

  private static func size(_ path: String) -> Int64 {
    var file = stat()
    return unsafe stat(path, &file) == 0 ? Int64(file.st_size) : 0
  }

  private static func shortage(of bytes: Int64, _ free: Int64?, _ what: String) -> SQLiteError? {
    let needed = bytes + spareBytes
    guard let free, free < needed else { return nil }
    let words = "A new index beside the old one needs \(needed) bytes, and \(free) \(what)"
    return SQLiteError(.full, words)
  }

  /// The count of bytes that a build leaves free for other uses.
  private static let spareBytes: Int64 = 1 << 20

  /// Returns the free space of the file system with a path, in bytes; nil if it is unknown.
  private static func freeBytes(_ path: String) -> Int64? {
    var system = statvfs()
    guard unsafe statvfs(path, &system) == 0 else { return nil }
    return Int64(clamping: system.f_bavail.multipliedReportingOverflow(by: system.f_frsize).0)
  }

  /// The greatest size of a file of this process; nil without a limit.
  private static var sizeMax: Int64? {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
      limit.rlim_cur <= rlim_t(Int64.max)
    else { return nil }
    return Int64(limit.rlim_cur)
  }
}
