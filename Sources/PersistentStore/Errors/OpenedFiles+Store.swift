import SQLite

extension OpenedFiles {
  /// Fails where a file was removed or replaced, because the changes of the open one would be lost.
  ///
  /// - Throws: `StoreError` with the code `storeCorrupt`.
  func check() throws(StoreError) {
    guard let path = changedPath else { return }
    throw StoreError.storeGone(path)
  }
}
