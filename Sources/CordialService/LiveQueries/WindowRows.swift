import PersistentStore

/// The rows of a window with spare rows on both sides, which replace rows that leave the window.
struct WindowRows: Sendable {
  /// The numbers of the objects, in the order of the fetch.
  var rows: ObjectSequence = []
  /// The number of objects of the fetch before `rows`.
  var start: Int
  /// Whether no object of the fetch follows `rows`; false where that is unknown.
  var isComplete = false
  private let offset: Int
  private let limit: Int?
  /// The number of rows that a new result has on each side of the window.
  let spare: Int

  /// The number of rows that even a small window has on each side.
  private static let spareMin = 32

  /// Creates the rows of a window without any.
  ///
  /// - Parameters:
  ///   - request: The fetch.
  ///   - spareMax: The maximum number of rows on each side of the window.
  init(of request: FetchRequest, spareMax: Int) {
    offset = request.offset
    limit = request.limit
    spare = min(max(request.limit ?? 0, Self.spareMin), spareMax)
    start = max(0, offset - spare)
  }

  /// The offsets in `rows` of the window.
  var range: Range<Int> {
    let first = min(max(0, offset - start), rows.count)
    return first..<min(limit.map { first + $0 } ?? rows.count, rows.count)
  }

  /// The number of rows between the beginning of `rows` and that of the window, negative where rows
  /// are missing.
  var spareBefore: Int { offset - start }

  /// The number of rows after the window, negative where rows are missing; nil where none follow.
  var spareAfter: Int? {
    guard let limit, !isComplete else { return nil }
    return start + rows.count - offset - limit
  }

  /// Whether the window has all its rows as long as at most so many objects enter or leave.
  func hasSpare(for changes: Int) -> Bool {
    (start == 0 || spareBefore >= changes) && spareAfter.map { $0 >= changes } ?? true
  }

  /// Adds the rows that come before `rows`.
  mutating func prepend(_ objects: [Int64]) {
    rows = ObjectSequence(objects + rows)
    start -= objects.count
  }

  /// Removes spare rows of which there are more than twice as many as in a new result.
  mutating func trim() {
    if spareBefore > 2 * spare {
      // One row stays, from which others can be read.
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
