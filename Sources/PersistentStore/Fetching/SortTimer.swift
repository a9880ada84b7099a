import SQLite

/// A timer that measures the time until the first row of a sorted result.
final class SortTimer {
  fileprivate let request: FetchRequest
  fileprivate let sql: String
  private let reader: StoreReader
  private let statement: PreparedStatement
  private let start = ContinuousClock.now
  private var isRunning = true

  fileprivate init(
    _ reader: StoreReader,
    _ request: FetchRequest,
    _ sql: String,
    _ statement: PreparedStatement
  ) {
    self.reader = reader
    self.request = request
    self.sql = sql
    self.statement = statement
  }

  /// Stops the timer at the first row, and notes the time if SQLite sorted rows.
  func stop() throws {
    guard isRunning else { return }
    isRunning = false
    guard statement.takeSortCount() > 0 else { return }
    try reader.noteSort(self, start.duration(to: .now))
  }
}

/// The detection of sorts that no index supports.
extension StoreReader {
  /// Returns a timer for a statement that is about to run; nil for a request without sort keys.
  func timer(
    of request: FetchRequest,
    _ sql: String,
    _ statement: PreparedStatement
  ) -> SortTimer? {
    guard !request.orderKeys.isEmpty else { return nil }
    return SortTimer(self, request, sql, statement)
  }

  /// Returns whether the statement of an SQL text sorts its whole result.
  private func sortsWholly(_ sql: String) throws -> Bool {
    if let known = wholeSorts[sql] { return known }
    let lines = try QueryPlan.lines(of: sql) { text in
      try queue.use { db in try PreparedStatement(db, text) }
    }
    let sorts = QueryPlan.sortsWholly(lines)
    wholeSorts.insert(sorts, for: sql)
    return sorts
  }

  /// Notes the time until a statement's first row if the statement sorted its whole result.
  fileprivate func noteSort(_ timer: SortTimer, _ time: Duration) throws {
    guard try sortsWholly(timer.sql) else { return }
    unindexed.add(
      UnindexedSorts.Sort(entity: timer.request.entity, keys: timer.request.orderKeys),
      time
    )
  }
}
