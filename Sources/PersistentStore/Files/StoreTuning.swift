/// The numbers that make a store fast for one use and slower for others; no result depends on them.
package struct StoreTuning: Sendable {
  /// The limits for saves that write many rows.
  package var bulk = BulkLimits()

  /// The maximum number of connections for reads, besides the event loop's own: reads that take
  /// long pause for others on connections of their own.
  package var readersMax = 32

  package init() {}
}

/// The limits of bulk writes, which make saves of many rows faster and saves of few rows slower.
package struct BulkLimits: Sendable {
  /// The number of objects from which a save turns triggers off.
  ///
  /// SQLite then recompiles all statements, which pays off only for many objects.
  package var rowsMin = 1000
  /// The maximum number of new rows that one statement writes.
  package var rowsAtOnceMax = 16

  package init() {}
}
