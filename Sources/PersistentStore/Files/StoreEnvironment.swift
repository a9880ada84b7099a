/// The sources of time and randomness of a store.
package struct StoreEnvironment: Sendable {
  /// The function that returns the current time in milliseconds since 1970.
  ///
  /// In a transaction of an external client, a trigger sets the time from SQLite's clock instead.
  package let now: @Sendable () -> Int64
  package let random: @Sendable () -> UInt32

  package init(now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt32) {
    self.now = now
    self.random = random
  }
}
