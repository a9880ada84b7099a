import CordialValues
import ObjectModel
import SQLite

/// A conversion of an attribute to a type that cannot represent every value of the former type.
///
/// A migration applies such a conversion only if every stored value survives.
enum ValueConversion {
  /// The name of the SQL function that converts a value, or returns null if the value does not
  /// survive.
  private static let function = "cordial_convert"

  /// Returns SQL that converts a value.
  static func sql(_ column: String, to type: AttributeType) -> String {
    "\(function)(\(column), '\(type.rawValue)')"
  }

  /// Adds the SQL function to the connection of a migration.
  static func addFunction(to db: SQLiteConnection) throws {
    try SQLFunction.add(function, argumentCount: 2, to: db) { call in
      let value: AttributeValue? =
        call.text(0).map { .string($0) } ?? call.integer(0).map { .integer($0) }
        ?? call.double(0).map { .double($0) }
      let type = call.text(1).flatMap(AttributeType.init(rawValue:))
      switch value.flatMap({ type?.codec.value(converted: $0) }) {
      case .integer(let number)?, .date(let number)?: call.answer(number)
      case .double(let number)?: call.answer(number)
      case .string(let text)?, .decimal(let text)?, .uuid(let text)?, .uri(let text)?:
        call.answer(text)
      default: call.answer(nil as String?)
      }
    }
  }
}
