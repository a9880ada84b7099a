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
