/// The sources of time and randomness of a store.
package struct StoreEnvironment: Sendable {
  /// Returns the milliseconds since 1970.
  ///
  /// In an external client's transaction a trigger sets the time, which is that of SQLite's clock.
  package let now: @Sendable () -> Int64
  package let random: @Sendable () -> UInt32

  package init(now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt32) {
    self.now = now
    self.random = random
  }
}
