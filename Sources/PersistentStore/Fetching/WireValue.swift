package import CordialValues
package import JSON
import ObjectModel
import PersistentHistory

/// The conversion of stored values to the form of the protocol, for code where speed does not
/// matter.
package enum WireValue {
  /// Returns an attribute's value as JSON.
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

  /// Returns the form of a column of an entity; a to-one's column has object numbers.
  static func form(of property: String, _ entity: EntityDescription, _ model: Model) -> ColumnForm {
    switch entity.property(named: property) {
    case .attribute(let attribute): ColumnForm(attribute.type)
    case .relationship(let relationship):
      ColumnForm.object(entity: relationship.destination)
    case nil: .string
    }
  }

  /// Returns a logged value in the form of the protocol.
  ///
  /// - Parameters:
  ///   - logged: The value and its property.
  ///   - entity: The entity that has the property.
  ///   - name: Returns the wrapped ID of an object that a to-one referenced.
  /// - Returns: The value; null for a property that the model no longer has.
  static func json(
    _ logged: LoggedValue,
    of entity: EntityDescription,
    _ name: (RelationshipDescription, Int64) throws -> String
  ) rethrows -> JSONValue {
    switch (entity.property(named: logged.property), logged.value) {
    case (nil, _), (_, .null): return .null
    // The destination was an abstract entity that only earlier versions of the model had.
    case (.relationship(let relationship), _) where relationship.destination == 0: return .null
    case (.relationship(let relationship), .integer(let number)):
      // The relationship may have been a to-one in an earlier version of the model.
      return relationship.toMany ? .null : .string(try name(relationship, number))
    case (.attribute(let attribute), let value):
      // In an earlier version of the model, an attribute of a different type may have had this
      // name.
      return attribute.type.codec.value(logged: value).map(json) ?? value
    default: return logged.value
    }
  }
}
