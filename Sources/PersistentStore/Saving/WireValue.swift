package import CordialValues
package import JSON
import ObjectModel
import PersistentHistory

/// Stored values in the form of the wire, where speed does not matter.
package enum WireValue {
  /// An attribute's value as JSON.
  package static func json(_ value: AttributeValue) -> JSONValue {
    switch value {
    case .null: .null
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text): .string(text)
    case .integer(let number): .integer(number)
    case .double(let number): .number(number)
    case .boolean(let flag): .bool(flag)
    case .date(let milliseconds): DateText.text(milliseconds).map { .string($0) } ?? .null
    case .binary(let bytes): .string(Base64Text.encode(bytes))
    case .json(let text): parsed(text)
    }
  }

  private static func parsed(_ text: String) -> JSONValue {
    do {
      return try JSONParser.parse(text)
    } catch {
      return .string(text)
    }
  }

  /// The form of a column of an entity; a to-one here is a column of numbers.
  static func form(of property: String, _ entity: EntityDescription, _ model: Model) -> ColumnForm {
    switch entity.property(named: property) {
    case .attribute(let attribute): ColumnForm(attribute.type)
    case .relationship(let relationship):
      ColumnForm.object(entity: relationship.destination)
    case nil: .string
    }
  }

  /// A value that the log kept, in the form of the wire.
  ///
  /// - Parameters:
  ///   - logged: The value and its property.
  ///   - entity: The entity that it is of.
  ///   - name: The wrapped ID of the object to which a to-one led.
  /// - Returns: The value; null for a property that the model does not have any more.
  static func json(
    _ logged: LoggedValue,
    of entity: EntityDescription,
    _ name: (RelationshipDescription, Int64) throws -> String
  ) rethrows -> JSONValue {
    switch (entity.property(named: logged.property), logged.value) {
    case (nil, _), (_, .null): return .null
    case (.relationship(let relationship), .integer(let number)):
      // It may have been a to-one in an earlier version.
      return relationship.toMany ? .null : .string(try name(relationship, number))
    case (.attribute(let attribute), let value):
      switch (attribute.type, value) {
      case (.boolean, .integer(let flag)): return .bool(flag != 0)
      case (.date, .integer(let milliseconds)): return json(.date(milliseconds))
      case (.binary, .string(let hex)): return json(.binary(LoggedValue.bytes(hex: hex)))
      case (.json, .string(let text)): return parsed(text)
      case (.double, .integer(let number)): return .number(Double(number))
      // Types widen in migrations, and the log keeps what was.
      case (.string, .integer), (.string, .number), (.decimal, .integer):
        return .string(value.text)
      default: return value
      }
    default: return logged.value
    }
  }
}
