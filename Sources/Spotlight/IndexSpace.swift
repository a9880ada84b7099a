import Glibc
import SQLite

/// The space that a new index needs beside the one that answers.
enum IndexSpace {
  /// Throws an error where the file of an index could not grow by a new index.
  ///
  /// SQLite's log grows to about three times the size of the index, as words are written, merged
  /// and moved, and the file to twice its size. Without this check, a build would take the last
  /// space of the disk, which the store needs.
  ///
  /// - Parameter path: The path of the index's file.
  /// - Throws: `SQLiteError` with the code `full`.
  static func requireRoom(besides path: String) throws {
    let size = size(path) + size(path + "-wal")
    try require(5 * size, free: freeBytes(path), "are free on the disk")
    try require(3 * size, free: sizeMax, "is the limit of a file's size")
  }

  private static func size(_ path: String) -> Int64 {
    var file = stat()
    return unsafe stat(path, &file) == 0 ? Int64(file.st_size) : 0
  }

  private static func require(_ needed: Int64, free: Int64?, _ what: String) throws {
    guard let free, free < needed + spareBytes else { return }
    let words = "A new index beside the old one needs \(needed + spareBytes) bytes"
    throw SQLiteError(.full, "\(words), and \(free) \(what)")
  }

  /// What is left for others at least.
  private static let spareBytes: Int64 = 1 << 20

  /// The number of bytes that a file beside a path may still take; nil where it is unknown.
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
