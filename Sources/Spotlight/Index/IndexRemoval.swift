import Glibc
import SQLite

/// The removal of an index's files.
enum IndexRemoval {
  /// Removes the files and symbolic links that exist, so that SQLite creates new ones.
  static func remove(_ path: String) throws {
    for file in [path, path + "-wal", path + "-shm"] {
      guard unsafe unlink(file) != 0, errno != ENOENT else { continue }
      let reason = unsafe String(cString: strerror(errno))
      throw SQLiteError(.cannotOpen, "\(file) cannot be removed: \(reason)")
    }
  }
}
