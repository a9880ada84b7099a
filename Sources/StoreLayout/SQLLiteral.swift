package import CordialValues
package import SQLite

/// Attribute values as SQL constants, for the defaults in a schema.
///
/// Statements for requests bind their values instead.
package enum SQLLiteral {
  /// Returns the SQL constant of a value, or nil for null.
  package static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      SQLNames.literal(text)
    case .integer(let number), .date(let number): String(number)
    case .double(let number): "\(number)"
    case .boolean(let flag): flag ? "1" : "0"
    case .binary(let bytes): "x'\(bytes.map(hex).joined())'"
    }
  }

  private static func hex(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return byte < 16 ? "0" + text : text
  }
}

extension PreparedStatement {
  /// Binds a value in the form in which its column stores it.
  package func bind(_ value: AttributeValue, at index: Int32) {
    switch value {
    case .null: bind(nil as Int64?, at: index)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      bind(text, at: index)
    case .integer(let number), .date(let number): bind(number, at: index)
    case .double(let number): bind(number, at: index)
    case .boolean(let flag): bind(Int64(flag ? 1 : 0), at: index)
    case .binary(let bytes): bind(bytes, at: index)
    }
  }
}
