import CordialValues
import ObjectModel

/// An index of the ranges that requests select in one column.
///
/// The index finds the ranges that contain a value.
struct RangeIndex: Sendable {
  private struct Entry: Sendable {
    let low: AttributeValue?
    let high: AttributeValue?
    let number: Int
    /// The number of ranges that were inserted before this range.
    let serial: Int
  }

  /// The ranges by ascending low bound, as an implicit balanced tree: the middle range of each part
  /// of the array is the root of that part.
  private var entries: [Entry] = []
  /// The greatest high bound in the part of each root; nil if a range of the part has no high
  /// bound.
  private var highest: [AttributeValue?] = []
  /// The ranges that are not in the tree yet.
  private var fresh: [Entry] = []
  /// The serials of ranges that are still stored, but no longer belong to a request.
  private var removed: Set<Int> = []
  /// The serials of the ranges of each request.
  private var serials: [Int: [Int]] = [:]
  private var nextSerial = 0

  /// The number of fresh or removed ranges that never cause a rebuild, whatever the size of the
  /// tree.
  private static let freshMin = 64
  /// The divisor of the number of ranges in a larger tree.
  ///
  /// The tree is rebuilt when the number of fresh or removed ranges exceeds the quotient.
  private static let freshRatio = 16

  var isEmpty: Bool { serials.isEmpty }

  /// Adds a range of a request.
  mutating func insert(_ range: ColumnRange, for number: Int) {
    fresh.append(
      Entry(low: range.low, high: range.high, number: number, serial: nextSerial)
    )
    serials[number, default: []].append(nextSerial)
    nextSerial += 1
  }

  /// Removes all ranges of a request.
  mutating func remove(_ number: Int) {
    removed.formUnion(serials.removeValue(forKey: number) ?? [])
  }

  /// Calls a body for each range that contains a value, with the number of the range's request.
  ///
  /// - Complexity: Logarithmic in the number of ranges; linear in the found ranges and in the
  ///   ranges that are not in the tree yet.
  func each(with value: AttributeValue, _ body: (Int) -> Void) {
    // A missing value is in no range, because every comparison with it is false.
    guard value != .null else { return }
    for entry in fresh where Self.contains(entry, value) && !removed.contains(entry.serial) {
      body(entry.number)
    }
    search(0..<entries.count, value, body)
  }

  /// Rebuilds the tree after many insertions or removals.
  mutating func prepare() {
    let limit = max(Self.freshMin, entries.count / Self.freshRatio)
    if fresh.count > limit || removed.count > limit { rebuild() }
  }

  private func search(_ part: Range<Int>, _ value: AttributeValue, _ body: (Int) -> Void) {
    guard !part.isEmpty else { return }
    let root = (part.lowerBound + part.upperBound) / 2
    if let highest = highest[root], StorageOrder.compare(highest, value) < 0 { return }
    search(part.lowerBound..<root, value, body)
    guard entries[root].low.map({ StorageOrder.compare($0, value) <= 0 }) ?? true else { return }
    if Self.contains(entries[root], value), !removed.contains(entries[root].serial) {
      body(entries[root].number)
    }
    search(root + 1..<part.upperBound, value, body)
  }

  private static func contains(_ entry: Entry, _ value: AttributeValue) -> Bool {
    (entry.low.map { StorageOrder.compare($0, value) <= 0 } ?? true)
      && (entry.high.map { StorageOrder.compare($0, value) >= 0 } ?? true)
  }

  private mutating func rebuild() {
    let live = (entries + fresh).filter { !removed.contains($0.serial) }
    entries = live.sorted { first, second in
      guard let low = second.low else { return false }
      return first.low.map { StorageOrder.compare($0, low) < 0 } ?? true
    }
    fresh = []
    removed = []
    highest = entries.map(\.high)
    if !entries.isEmpty { _ = raise(0..<entries.count) }
  }

  /// Sets `highest` for all roots in a nonempty part of the tree, and returns the greatest high
  /// bound of the part.
  private mutating func raise(_ part: Range<Int>) -> AttributeValue? {
    let root = (part.lowerBound + part.upperBound) / 2
    for half in [part.lowerBound..<root, root + 1..<part.upperBound] where !half.isEmpty {
      let bound = raise(half)
      guard let known = highest[root] else { continue }
      guard let bound else {
        highest[root] = nil
        continue
      }
      if StorageOrder.compare(known, bound) < 0 { highest[root] = bound }
    }
    return highest[root]
  }
}
