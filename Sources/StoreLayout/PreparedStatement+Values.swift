package import CordialValues
package import SQLite

extension PreparedStatement {
  /// The value of a column of the current row, as SQLite has it.
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
