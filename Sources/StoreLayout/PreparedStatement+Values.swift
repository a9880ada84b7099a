package import CordialValues
package import SQLite

extension PreparedStatement {
  /// Returns the value of a column of the current row, by its storage class in SQLite.
  package func value(_ column: Int32) -> AttributeValue {
    switch storage(column) {
    case .integer: .integer(integer(column))
    case .real: .double(double(column))
    case .text: .string(text(column))
    case .blob: .binary(blob(column))
    case .null: .null
    }
  }
}

extension ValueList {
  /// Appends a value, in the form in which it is stored.
  package mutating func append(_ value: AttributeValue) {
    switch value {
    case .null: appendNull()
    case .integer(let number), .date(let number): append(number)
    case .double(let number): append(number)
    case .boolean(let flag): append(flag ? 1 : 0 as Int64)
    case .binary(let bytes): append(bytes)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      append(text)
    }
  }
}
