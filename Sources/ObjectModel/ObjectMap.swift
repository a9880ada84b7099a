/// The rules by which objects of the previous model version become objects of this version: the
/// member `map` of a model.
package struct ObjectMap: Sendable {
  /// The rule that creates the objects of one entity.
  package struct Rule: Sendable {
    /// The name of the entity in this model.
    package let entity: String
    /// The names of the source entities in the previous version; empty if the only source is the
    /// former version of the rule's entity.
    package let sources: [String]
    /// A predicate that selects among the old objects; nil for all objects.
    package let condition: String?
    /// The expressions over an old object, by the name of each property that is not inferred.
    package let values: [String: String]

    package init(
      entity: String,
      sources: [String],
      condition: String?,
      values: [String: String]
    ) {
      self.entity = entity
      self.sources = sources
      self.condition = condition
      self.values = values
    }
  }

  /// The version or the hash of the previous model.
  package let from: String
  /// The rules, in the order of the file.
  package let rules: [Rule]

  package init(from: String, rules: [Rule]) {
    self.from = from
    self.rules = rules
  }
}
