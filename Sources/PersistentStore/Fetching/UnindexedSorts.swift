import PersistentHistory
import SQLite
import Synchronization

/// The sorts that no index supports and that requests needed since the store was opened.
///
/// All read connections of a store share one instance.
package final class UnindexedSorts: Sendable {
  /// A sort of an entity's objects.
  package struct Sort: Sendable, Hashable {
    package let entity: String
    /// The sort keys, as clients write them.
    package let keys: [String]
  }

  /// The requests that needed a sort.
  package struct Requests: Sendable {
    package internal(set) var count: Int64 = 0
    /// The longest time until the first object of a request, in microseconds.
    package internal(set) var microsecondsMax: Int64 = 0
  }

  /// The maximum number of recorded sorts.
  ///
  /// At this number, a new sort replaces the fastest recorded sort if the new sort is slower, and
  /// is otherwise not recorded.
  private static let sortsMax = 100

  private let requests = Mutex<[Sort: Requests]>([:])

  init() {}

  /// Adds a request.
  ///
  /// - Parameters:
  ///   - sort: The sort.
  ///   - time: The time until the first object.
  func add(_ sort: Sort, _ time: Duration) {
    let microseconds =
      time.components.seconds * 1_000_000
      + time.components.attoseconds / 1_000_000_000_000
    requests.withLock { requests in
      if requests[sort] == nil, requests.count >= Self.sortsMax,
        let fastest = requests.min(by: { $0.value.microsecondsMax < $1.value.microsecondsMax })
      {
        guard fastest.value.microsecondsMax < microseconds else { return }
        requests[fastest.key] = nil
      }
      var known = requests[sort] ?? Requests()
      known.count += 1
      known.microsecondsMax = max(known.microsecondsMax, microseconds)
      requests[sort] = known
    }
  }

  /// The sorts with their requests, the slowest first.
  package var slowest: [(sort: Sort, requests: Requests)] {
    requests.withLock { $0 }.sorted {
      ($1.value.microsecondsMax, $0.key.entity, $0.key.keys.joined())
        < ($0.value.microsecondsMax, $1.key.entity, $1.key.keys.joined())
    }.map { ($0.key, $0.value) }
  }
}

/// The plan of a statement, as SQLite reports it.
enum QueryPlan {
  /// Returns the steps of a statement's plan, one line for each step, indented by the step's depth.
  static func lines(
    of sql: String,
    _ compile: (String) throws -> PreparedStatement
  ) throws
    -> [String]
  {
    let rows = try compile("EXPLAIN QUERY PLAN " + sql)
    defer { rows.reset() }
    var depths: [Int64: Int] = [:]
    var lines: [String] = []
    while try rows.step() {
      let depth = depths[rows.integer(1)].map { $0 + 1 } ?? 0
      depths[rows.integer(0)] = depth
      lines.append(String(repeating: "  ", count: depth) + rows.text(3))
    }
    return lines
  }

  /// Returns whether a statement sorts its whole result before its first row.
  static func sortsWholly(_ lines: [String]) -> Bool {
    // Only the end of a line is compared, because SQLite sorts the tables of a family separately,
    // in indented lines.
    lines.contains { $0.hasSuffix("USE TEMP B-TREE FOR ORDER BY") }
  }
}
