package import CordialValues

/// The order in which SQLite sorts and compares stored values without a collation: null, numbers,
/// texts by their bytes, blobs.
package enum StorageOrder {
  /// Compares two values as columns store them.
  ///
  /// - Parameters:
  ///   - first: A value.
  ///   - second: Another value.
  /// - Returns: A negative number, zero or a positive number.
  package static func compare(_ first: AttributeValue, _ second: AttributeValue) -> Int {
    // Most values are numbers, and creating two keys takes longer than the comparison.
    if case (.integer(let a), .integer(let b)) = (first, second) { return compare(a, b) }
    return switch (StorageKey(first), StorageKey(second)) {
    case (.null, .null): 0
    case (.integer(let a), .integer(let b)): compare(a, b)
    case (.double(let a), .double(let b)): compare(a, b)
    case (.integer(let a), .double(let b)): compare(a, b)
    case (.double(let a), .integer(let b)): -compare(b, a)
    case (.text(let a), .text(let b)): compare(bytes: a.text.utf8, b.text.utf8)
    case (.blob(let a), .blob(let b)): compare(bytes: a, b)
    case (let a, let b): compare(a.rank, b.rank)
    }
  }

  private static func compare<Number: Comparable>(_ first: Number, _ second: Number) -> Int {
    first < second ? -1 : first > second ? 1 : 0
  }

  /// Compares exactly, although a double cannot represent every long integer.
  private static func compare(_ first: Int64, _ second: Double) -> Int {
    let rounded = compare(Double(first), second)
    guard rounded == 0, let exact = Int64(exactly: second) else { return rounded }
    return compare(first, exact)
  }

  private static func compare(
    bytes first: some Sequence<UInt8>,
    _ second: some Sequence<UInt8>
  ) -> Int {
    first.lexicographicallyPrecedes(second)
      ? -1 : second.lexicographicallyPrecedes(first) ? 1 : 0
  }
}

/// A stored value as a key: two keys are equal if SQLite's `IS` finds the values equal.
package enum StorageKey: Hashable, Sendable {
  case null
  case integer(Int64)
  case double(Double)
  case text(ExactText)
  case blob([UInt8])

  /// Creates the key of a value as a column stores it.
  package init(_ value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .integer(let number), .date(let number): self = .integer(number)
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .double(let number): self = Int64(exactly: number).map { .integer($0) } ?? .double(number)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      self = .text(ExactText(text))
    case .binary(let bytes): self = .blob(bytes)
    }
  }

  fileprivate var rank: Int {
    switch self {
    case .null: 0
    case .integer, .double: 1
    case .text: 2
    case .blob: 3
    }
  }
}
