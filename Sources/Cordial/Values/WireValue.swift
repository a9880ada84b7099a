public import CordialValues
package import JSON

/// A value of an attribute, or an argument of a predicate, in the form of the protocol.
public enum WireValue: Sendable, Hashable {
  /// No value.
  case null
  /// A flag.
  case bool(Bool)
  /// An integer, exact in 64 bits.
  case integer(Int64)
  /// A number with a fraction.
  case number(Double)
  /// A text, or the text form of a date, a decimal number, a UUID, a URI, binary data or an ID.
  case string(String)
  /// A list of values.
  case list([WireValue])
}

/// A type whose values can be values of attributes and arguments of predicates.
///
/// `CordialFoundation` adds `Date`, `UUID`, `Decimal`, `URL` and `Data`.
public protocol WireConvertible: Sendable {
  /// Reads a value; returns nil for a value that the type cannot represent.
  init?(wireValue: WireValue)

  /// The value in the form of the protocol.
  var wireValue: WireValue { get }
}

extension Bool: WireConvertible {
  /// Reads a flag.
  public init?(wireValue: WireValue) {
    guard case .bool(let flag) = wireValue else { return nil }
    self = flag
  }

  /// The flag.
  public var wireValue: WireValue { .bool(self) }
}

extension WireConvertible where Self: FixedWidthInteger {
  /// Reads an integer in the range of the type.
  public init?(wireValue: WireValue) {
    guard case .integer(let number) = wireValue else { return nil }
    self.init(exactly: number)
  }

  /// The integer.
  public var wireValue: WireValue { .integer(Int64(self)) }
}

extension Int: WireConvertible {}
extension Int64: WireConvertible {}
extension Int32: WireConvertible {}
extension Int16: WireConvertible {}

extension Double: WireConvertible {
  /// Reads a number.
  public init?(wireValue: WireValue) {
    switch wireValue {
    case .number(let number): self = number
    case .integer(let number): self.init(exactly: number)
    default: return nil
    }
  }

  /// The number.
  public var wireValue: WireValue { .number(self) }
}

extension Float: WireConvertible {
  /// Reads a number, rounded to the precision of the type.
  public init?(wireValue: WireValue) {
    guard let number = Double(wireValue: wireValue) else { return nil }
    self.init(number)
  }

  /// The number.
  public var wireValue: WireValue { .number(Double(self)) }
}

extension String: WireConvertible {
  /// Reads a text.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue else { return nil }
    self = text
  }

  /// The text.
  public var wireValue: WireValue { .string(self) }
}

extension WireConvertible where Self: TextCodable {
  /// Reads a value from its text.
  public init?(wireValue: WireValue) {
    guard case .string(let text) = wireValue else { return nil }
    self.init(text)
  }

  /// The text.
  public var wireValue: WireValue { .string(description) }
}

extension WrappedID: WireConvertible {}
extension ObjectID: WireConvertible {}
extension UUIDValue: WireConvertible {}

extension Optional: WireConvertible where Wrapped: WireConvertible {
  /// Reads a value, or null as nil.
  public init?(wireValue: WireValue) {
    if wireValue == .null {
      self = .none
    } else {
      guard let wrapped = Wrapped(wireValue: wireValue) else { return nil }
      self = wrapped
    }
  }

  /// The value; null for nil.
  public var wireValue: WireValue { self?.wireValue ?? .null }
}

extension Array: WireConvertible where Element: WireConvertible {
  /// Reads a list of values.
  public init?(wireValue: WireValue) {
    guard case .list(let values) = wireValue else { return nil }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    for value in values {
      guard let element = Element(wireValue: value) else { return nil }
      elements.append(element)
    }
    self = elements
  }

  /// The list of values.
  public var wireValue: WireValue { .list(map(\.wireValue)) }
}

extension WireConvertible where Self: RawRepresentable, RawValue: WireConvertible {
  /// Reads a raw value; returns nil if the type has no such raw value.
  public init?(wireValue: WireValue) {
    guard let raw = RawValue(wireValue: wireValue) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value.
  public var wireValue: WireValue { rawValue.wireValue }
}

extension WireValue {
  /// Reads a JSON value; returns nil for an object and for a list that contains an object.
  package init?(_ json: JSONValue) {
    switch json {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .number(number)
    case .string(let text): self = .string(text)
    case .array(let elements):
      let values = elements.compactMap { WireValue($0) }
      guard values.count == elements.count else { return nil }
      self = .list(values)
    case .object: return nil
    }
  }

  /// The JSON value.
  package var json: JSONValue {
    switch self {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    // JSON has neither infinity nor NaN, and null would mean a missing value. A service rejects
    // this text where it expects a number.
    case .number(let number): number.isFinite ? .number(number) : .string("\(number)")
    case .string(let text): .string(text)
    case .list(let values): .array(values.map(\.json))
    }
  }
}
