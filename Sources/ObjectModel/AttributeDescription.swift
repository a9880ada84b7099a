package import CordialValues

/// One attribute of an entity.
///
/// The type is a class, because an object that never changes is cheap to pass.
package final class AttributeDescription: Sendable, Equatable {
  package let name: String
  /// The name of the attribute in an earlier version of the model, if it was renamed.
  package let renamedFrom: String?
  package let type: AttributeType
  /// Whether the value may be null.
  package let optional: Bool
  /// The value that an insert stores if the client sends none; null if there is no default.
  package let defaultValue: AttributeValue
  package let minimum: AttributeValue?
  package let maximum: AttributeValue?
  /// The minimum length in Unicode scalars, for binary values in bytes.
  package let minimumLength: Int?
  /// The maximum length in Unicode scalars, for binary values in bytes.
  package let maximumLength: Int?
  /// The pattern that the whole text must match, or nil if any text is allowed.
  package let pattern: TextPattern?
  /// The only allowed values, or nil if any value is allowed.
  package let allowed: [AttributeValue]?
  /// The expression from which the store computes the value, or nil if clients write it.
  package let derived: DerivedExpression?
  /// Whether `history` reports the attribute's value after an object is deleted.
  ///
  /// If no attribute of an entity has this flag, `history` reports all values.
  package let isPreserved: Bool
  /// Whether the store keeps the sort key of the text, with an index for `:localized`.
  package let sortsLocalized: Bool
  /// The language whose inflections a search finds, as Snowball names it; nil for none.
  package let language: String?

  package init(
    name: String,
    renamedFrom: String?,
    type: AttributeType,
    optional: Bool,
    defaultValue: AttributeValue,
    minimum: AttributeValue?,
    maximum: AttributeValue?,
    minimumLength: Int?,
    maximumLength: Int?,
    pattern: TextPattern?,
    allowed: [AttributeValue]?,
    derived: DerivedExpression?,
    isPreserved: Bool = false,
    sortsLocalized: Bool = false,
    language: String? = nil
  ) {
    self.isPreserved = isPreserved
    self.sortsLocalized = sortsLocalized
    self.language = language
    self.name = name
    self.renamedFrom = renamedFrom
    self.type = type
    self.optional = optional
    self.defaultValue = defaultValue
    self.minimum = minimum
    self.maximum = maximum
    self.minimumLength = minimumLength
    self.maximumLength = maximumLength
    self.pattern = pattern
    self.allowed = allowed
    self.derived = derived
  }

  package static func == (first: AttributeDescription, second: AttributeDescription) -> Bool {
    first === second
      || first.name == second.name
        && first.renamedFrom == second.renamedFrom
        && first.type == second.type
        && first.optional == second.optional
        && first.defaultValue == second.defaultValue
        && first.minimum == second.minimum
        && first.maximum == second.maximum
        && first.language == second.language
        && first.minimumLength == second.minimumLength
        && first.maximumLength == second.maximumLength
        && first.pattern == second.pattern
        && first.allowed == second.allowed
        && first.derived == second.derived
        && first.isPreserved == second.isPreserved
        && first.sortsLocalized == second.sortsLocalized
  }
}

/// A transient attribute whose values a function of the program computes.
package struct ComputedAttribute: Sendable {
  package let attribute: AttributeDescription
  /// The number of the entity that declares the attribute.
  ///
  /// The function receives the stored attributes of this entity, even for an object of a
  /// descendant.
  package let owner: Int
  /// The name under which the program registers the function.
  package let function: String
}
