/// The performance settings of a store, which make some uses faster and others slower.
///
/// The settings never change a result.
package struct StoreTuning: Sendable {
  /// The limits for saves that write many rows.
  package var bulk = BulkLimits()

  /// The maximum number of connections for reads, besides the connection of the event loop.
  ///
  /// A slow read keeps its connection while it pauses for other reads.
  package var readersMax = 32

  package init() {}
}

/// The limits of bulk writes, which make saves of many rows faster and saves of few rows slower.
package struct BulkLimits: Sendable {
  /// The minimum number of objects for which a save turns triggers off.
  ///
  /// SQLite then recompiles all statements, which pays off only for many objects.
  package var rowsMin = 1000
  /// The maximum number of new rows that one statement writes.
  package var rowsAtOnceMax = 16

  package init() {}
}
