import CSQLite

/// A list of values in one parameter of a statement, for the table-valued function
/// `cordial_values`.
package struct ValueList: Sendable {
  /// The encoded values, one after another, as `cordial_values` reads them.
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func appendNull() {
    bytes.append(Self.mark(VALUE_LIST_NULL))
  }

  package mutating func append(_ value: Int64) {
    appendNumber(VALUE_LIST_INTEGER, UInt64(bitPattern: value))
  }

  package mutating func append(_ value: Double) {
    appendNumber(VALUE_LIST_DOUBLE, value.bitPattern)
  }

  /// Appends a text.
  ///
  /// - Parameter value: At most 2³² - 1 bytes of UTF-8.
  package mutating func append(_ value: String) {
    bytes.append(Self.mark(VALUE_LIST_TEXT))
    appendBytes(of: UInt32(value.utf8.count))
    bytes += value.utf8
  }

  /// Appends a blob.
  ///
  /// - Parameter value: At most 2³² - 1 bytes.
  package mutating func append(_ value: [UInt8]) {
    bytes.append(Self.mark(VALUE_LIST_BLOB))
    appendBytes(of: UInt32(value.count))
    bytes += value
  }

  private mutating func appendNumber(_ kind: VALUE_LIST, _ bits: UInt64) {
    bytes.append(Self.mark(kind))
    appendBytes(of: bits)
  }

  private static func mark(_ kind: VALUE_LIST) -> UInt8 { UInt8(kind.rawValue) }

  /// Appends a number's bytes, the least significant byte first.
  private mutating func appendBytes<Number: FixedWidthInteger>(of number: Number) {
    for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
