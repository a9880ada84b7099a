import PersistentStore

extension StoreDump {
  /// Creates a store from the lines of an archive.
  static func read(
    _ bytes: [UInt8],
    to target: StoreContainer,
    environment: StoreEnvironment
  ) throws(StoreError) {
    var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)[...]
    do {
      try read({ lines.popFirst().map { Array($0) } }, to: target, environment: environment)
    } catch {
      throw StoreError(any: error)
    }
  }
}
