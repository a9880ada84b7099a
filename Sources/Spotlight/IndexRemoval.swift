import FoundationEssentials

/// The removal of an index's files.
enum IndexRemoval {
  /// Removes the files that exist, so that SQLite creates new ones.
  static func remove(_ path: String) throws {
    for file in [path, path + "-wal", path + "-shm"]
    where FileManager.default.fileExists(atPath: file) {
      try FileManager.default.removeItem(atPath: file)
    }
  }
}
