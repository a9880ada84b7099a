package import CordialValues
package import JSON

/// The types that an attribute may have, by their names in a model file.
package enum AttributeType: String, Sendable, CaseIterable {
  case string, int16, int32, int64, double, float, decimal, boolean, date, uuid, uri, binary, json

  /// The codec of this type's values.
  package var codec: any AttributeCodec.Type {
    switch self {
    case .string: StringCodec.self
    case .int16: IntegerCodec<Int16>.self
    case .int32: IntegerCodec<Int32>.self
    case .int64: IntegerCodec<Int64>.self
    case .double: DoubleCodec.self
    case .float: FloatCodec.self
    case .decimal: DecimalCodec.self
    case .boolean: BooleanCodec.self
    case .date: DateCodec.self
    case .uuid: UUIDCodec.self
    case .uri: URICodec.self
    case .binary: BinaryCodec.self
    case .json: JSONCodec.self
    }
  }
}

/// The forms of an attribute type's values: on the wire, in a column, in the log, in an ID.
///
/// A new type needs one conforming type and one line in `AttributeType.codec`. All other code uses
/// the codec instead of distinguishing types. Null is not a value of any type, so no codec handles
/// it.
package protocol AttributeCodec: Sendable {
  // MARK: On the wire

  /// The valid values in words, for messages: "an integer from -32768 to 32767".
  static var expectation: String { get }
  /// The form in which a value of the column is written as JSON.
  static var wireForm: AttributeWireForm { get }
  /// Whether the stored value may differ from the sent value in its form, or by rounding.
  static var isNormalized: Bool { get }
  /// Returns the value that a client sent, or nil if the type does not have this value.
  static func decode(_ value: JSONValue) -> AttributeValue?
  /// Returns the value of a constant with which a predicate compares the attribute; predicates may
  /// accept more than `decode(_:)`.
  static func decode(comparand value: JSONValue) -> AttributeValue?

  // MARK: In a column

  /// The storage class of the column.
  static var storage: ColumnStorage { get }
  /// The values that SQLite can recognize as valid, or nil if only Cordial can check them.
  static var validColumn: ValidColumn? { get }
  /// Returns the typed value of a column, given the value that SQLite returns.
  ///
  /// An external client may store a value that the type does not have. The method returns such a
  /// value unchanged.
  static func value(column: AttributeValue) -> AttributeValue
  /// Returns the typed value of a value that SQLite computed, or nil if the type does not have this
  /// value.
  static func value(computed: AttributeValue) -> AttributeValue?
  /// Returns the conversion of a column of another type to this type, or nil if there is none.
  static func conversion(from other: AttributeType) -> ColumnConversion?

  /// Converts a value of another type to this type, or returns nil if the value would be lost.
  ///
  /// A value is lost if converting it back gives a different value, or if the text as a whole is
  /// not a value of this type.
  static func value(converted: AttributeValue) -> AttributeValue?

  // MARK: In the log

  /// Returns the value that a trigger logged, or nil if the type does not have this value.
  ///
  /// After a migration widens a type, the log still has earlier values in the form of the former
  /// type.
  static func value(logged: JSONValue) -> AttributeValue?

  // MARK: In expressions and IDs

  /// The range of an integer type, or nil for any other type.
  static var integerRange: ClosedRange<Int64>? { get }
  /// Whether values are texts for people: they have patterns, and the index can contain them.
  static var isText: Bool { get }
  /// The type of the values in a Swift program, or nil if they have no fixed form.
  static var swiftType: SwiftType? { get }
  /// The form of an ID whose identity attribute has this type, or nil if an identity attribute
  /// cannot have this type.
  static var identityForm: IdentityForm? { get }
}

/// A type of Swift's standard library, or of Foundation.
package struct SwiftType: Sendable, Equatable {
  package let name: String
  package let isFoundation: Bool

  static func standard(_ name: String) -> SwiftType {
    SwiftType(name: name, isFoundation: false)
  }

  static func foundation(_ name: String) -> SwiftType {
    SwiftType(name: name, isFoundation: true)
  }
}

/// The form in which the value of an attribute is written as JSON.
package enum AttributeWireForm: Sendable {
  case integer, double, boolean, date, string, binary, json
}

/// The storage class of a column in SQLite.
package enum ColumnStorage: String, Sendable {
  case integer = "INTEGER"
  case real = "REAL"
  case text = "TEXT"
  case blob = "BLOB"
}

/// The values of a column that SQLite can recognize as valid.
package enum ValidColumn: Sendable {
  case integers(ClosedRange<Int64>)
  /// All finite reals.
  case reals
  case texts
}

/// The conversion of a column to another type.
package enum ColumnConversion: Sendable {
  /// Both types store the values in the same form.
  case unchanged
  case cast(ColumnStorage)
  /// Only some values can be converted; `AttributeCodec.value(converted:)` returns nil for all
  /// other values.
  case checked
}

/// The form of the key in a wrapped ID that an identity attribute determines.
package enum IdentityForm: Sendable {
  case string, integer, uuid

  /// Returns the key of an ID, from the identity value in the form of JSON or of the log; nil if
  /// the value has another form.
  package func key(_ value: JSONValue) -> ObjectID.Key? {
    switch (value, self) {
    // A migration may have converted an integer to a text, while the log still has the integer.
    case (.integer(let number), _): .integer(number)
    case (.string(let text), .uuid): .uuid(text)
    case (.string(let text), .string), (.string(let text), .integer): .string(text)
    default: nil
    }
  }

  /// Returns the identity value of an ID, or nil if the key has another form.
  package func value(_ key: ObjectID.Key) -> AttributeValue? {
    switch (key, self) {
    case (.integer(let number), .integer): .integer(number)
    case (.uuid(let uuid), .uuid): .uuid(uuid)
    case (.string(let text), .string): .string(text)
    default: nil
    }
  }
}

extension AttributeCodec {
  package static var isNormalized: Bool { false }
  package static var integerRange: ClosedRange<Int64>? { nil }
  package static var isText: Bool { false }
  package static var identityForm: IdentityForm? { nil }
  package static var validColumn: ValidColumn? { nil }

  package static func decode(comparand value: JSONValue) -> AttributeValue? { decode(value) }
  package static func value(column: AttributeValue) -> AttributeValue { column }
  package static func conversion(from other: AttributeType) -> ColumnConversion? { nil }
  package static func value(converted: AttributeValue) -> AttributeValue? { nil }
}

extension AttributeType {
  /// Whether the type is an integer type.
  package var isInteger: Bool { codec.integerRange != nil }
  /// Whether SQLite computes with values of the type.
  package var isNumber: Bool { isInteger || codec.storage == .real }

  /// Returns the typed value of a JSON value, decoded as this type.
  ///
  /// This method checks the type only. It accepts null for every type.
  ///
  /// - Parameter value: The JSON value that a client sent.
  /// - Returns: The value, or a description of the expected values for a value of another type.
  package func decode(_ value: JSONValue) -> AttributeDecoding {
    if value.isNull { return .value(.null) }
    let codec = codec
    return codec.decode(value).map { .value($0) } ?? .expected(codec.expectation)
  }
}

extension AttributeDescription {
  /// Returns the typed value of a JSON value; see `AttributeType.decode(_:)`.
  package func decode(_ value: JSONValue) -> AttributeDecoding {
    type.decode(value)
  }
}

/// The outcome of reading a JSON value as an attribute's type.
package enum AttributeDecoding: Sendable, Equatable {
  case value(AttributeValue)
  /// A description of the accepted values, such as "an integer from -32768 to 32767".
  case expected(String)
}

extension AttributeValue {
  /// A type whose codec decodes the value's JSON form to the same value.
  package var type: AttributeType {
    switch self {
    case .null, .json: .json
    case .string: .string
    case .integer: .int64
    case .double: .double
    case .decimal: .decimal
    case .boolean: .boolean
    case .date: .date
    case .uuid: .uuid
    case .uri: .uri
    case .binary: .binary
    }
  }
}
