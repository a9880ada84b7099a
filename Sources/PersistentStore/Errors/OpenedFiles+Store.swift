import SQLite

extension OpenedFiles {
  /// Checks that no file was removed or replaced, because changes to the open file would be lost.
  ///
  /// - Throws: `StoreError` with the code `storeCorrupt`.
  func check() throws(StoreError) {
    guard let path = changedPath else { return }
    throw StoreError.storeGone(path)
  }
}
