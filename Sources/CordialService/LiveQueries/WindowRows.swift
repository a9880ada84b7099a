import PersistentStore

/// The rows of a window with spare rows on both sides, which replace rows that leave the window.
struct WindowRows: Sendable {
  /// The object numbers, in the order of the fetch.
  var rows: ObjectSequence = []
  /// The number of objects of the fetch before `rows`.
  var start: Int
  /// Whether no object of the fetch follows `rows`; false if unknown.
  var isComplete = false
  private let offset: Int
  private let limit: Int?
  /// The number of spare rows that a new result has on each side of the window.
  let spare: Int

  /// The number of spare rows on each side of a small window.
  private static let spareMin = 32

  /// Creates a window without rows.
  ///
  /// - Parameters:
  ///   - request: The fetch.
  ///   - spareMax: The maximum number of spare rows on each side of the window.
  init(of request: FetchRequest, spareMax: Int) {
    offset = request.offset
    limit = request.limit
    spare = min(max(request.limit ?? 0, Self.spareMin), spareMax)
    start = max(0, offset - spare)
  }

  /// The offsets of the window's rows in `rows`.
  var range: Range<Int> {
    let first = min(max(0, offset - start), rows.count)
    return first..<min(limit.map { first + $0 } ?? rows.count, rows.count)
  }

  /// The number of spare rows before the window; negative if rows of the window are missing.
  var spareBefore: Int { offset - start }

  /// The number of spare rows after the window; negative if rows of the window are missing, and nil
  /// if no further rows are needed.
  var spareAfter: Int? {
    guard let limit, !isComplete else { return nil }
    return start + rows.count - offset - limit
  }

  /// Returns whether the window keeps all its rows when at most this many objects enter or leave.
  func hasSpare(for changes: Int) -> Bool {
    (start == 0 || spareBefore >= changes) && spareAfter.map { $0 >= changes } ?? true
  }

  /// Adds the rows that come before `rows`.
  mutating func prepend(_ objects: [Int64]) {
    rows = ObjectSequence(objects + rows)
    start -= objects.count
  }

  /// Removes surplus spare rows from each side that has more than twice the spare rows of a new
  /// result.
  mutating func trim() {
    if spareBefore > 2 * spare {
      // At least one row stays, because further reads start from it.
      let surplus = min(spareBefore - spare, max(rows.count - 1, 0))
      rows = ObjectSequence(rows.dropFirst(surplus))
      start += surplus
    }
    if let limit, start + rows.count - offset - limit > 2 * spare {
      rows = ObjectSequence(rows.prefix(offset - start + limit + spare))
      isComplete = false
    }
  }
}
