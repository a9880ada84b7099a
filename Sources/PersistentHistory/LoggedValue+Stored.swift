package import CordialValues
import JSON
package import ObjectModel
import StoreLayout

extension LoggedValue {
  /// Returns the value in the storage format of its property's column.
  package func stored(in entity: EntityDescription) -> AttributeValue {
    guard case .attribute(let attribute)? = entity.property(named: property) else {
      return value.integer.map { .integer($0) } ?? .null
    }
    return stored(as: attribute)
  }

  /// Returns the value in the storage format of an attribute's column; nil means a to-one.
  package func stored(as attribute: AttributeDescription?) -> AttributeValue {
    guard let attribute else { return value.integer.map { .integer($0) } ?? .null }
    return value.isNull ? .null : attribute.type.codec.value(logged: value) ?? .null
  }
}
