package import CordialValues
import JSON
package import ObjectModel
import StoreLayout

extension LoggedValue {
  /// Returns the value in the form in which its property's column stores it.
  package func stored(in entity: EntityDescription) -> AttributeValue {
    guard case .attribute(let attribute)? = entity.property(named: property) else {
      return value.integer.map { .integer($0) } ?? .null
    }
    return stored(as: attribute)
  }

  /// Returns the value in the form in which an attribute's column stores it; nil stands for a
  /// to-one.
  package func stored(as attribute: AttributeDescription?) -> AttributeValue {
    guard let attribute else { return value.integer.map { .integer($0) } ?? .null }
    return value.isNull ? .null : attribute.type.codec.value(logged: value) ?? .null
  }
}
