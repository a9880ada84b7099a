// CordialFoundation: Foundation's types as values of attributes. A program that uses `Cordial`
// alone does not link Foundation.
//
// Must not know: connections, results, storage.
//
// What always holds:
// 1. A stored value is read without loss or is rejected. Dates have a precision of milliseconds.

public import Cordial
public import CordialValues
public import Foundation

extension Date: WireConvertible {
  /// Reads a date: RFC 3339 in UTC, with milliseconds.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue, let milliseconds = DateText.milliseconds(text) else {
      return nil
    }
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// The date in UTC, rounded to milliseconds.
  ///
  /// A date outside the years 0 to 9999 becomes a text that every store rejects with a reason.
  public var wireValue: WireValue {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    guard let exact = Int64(exactly: milliseconds), let text = DateText.text(exact) else {
      return .string("\(timeIntervalSince1970) seconds since 1970")
    }
    return .string(text)
  }
}

extension UUID: WireConvertible {
  /// Reads a UUID.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue else { return nil }
    self.init(uuidString: text)
  }

  /// The text, in lower case.
  public var wireValue: WireValue { .string(uuidString.lowercased()) }
}

extension Decimal: WireConvertible {
  /// Reads a decimal number: digits with an optional sign and point.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue, let number = Decimal(string: text) else {
      return nil
    }
    self = number
  }

  /// The digits; `NaN` for a value that is not a number, which every store rejects.
  public var wireValue: WireValue { .string("\(self)") }
}

extension URL: WireConvertible {
  /// Reads a URI.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue else { return nil }
    self.init(string: text)
  }

  /// The URI as a text.
  public var wireValue: WireValue { .string(absoluteString) }
}

extension Data: WireConvertible {
  /// Reads binary data in Base64.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue else { return nil }
    self.init(base64Encoded: text)
  }

  /// The bytes in Base64.
  public var wireValue: WireValue { .string(base64EncodedString()) }
}

extension WrappedID {
  /// Returns an ID for a value of a mock, from Foundation's `UUID`.
  public static func uuid(_ uuid: UUID) -> WrappedID { .uuid(UUIDValue(uuid)) }
}

extension UUIDValue {
  /// Creates a value from Foundation's `UUID`.
  public init(_ uuid: UUID) {
    var (high, low): (UInt64, UInt64) = (0, 0)
    let bytes = uuid.uuid
    for byte in [bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7] {
      high = high << 8 | UInt64(byte)
    }
    for byte in [bytes.8, bytes.9, bytes.10, bytes.11, bytes.12, bytes.13, bytes.14, bytes.15] {
      low = low << 8 | UInt64(byte)
    }
    self.init(high: high, low: low)
  }
}
