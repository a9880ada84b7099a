/// How objects of the previous version of a model become objects of this one: its member `map`.
package struct ObjectMap: Sendable {
  /// How the objects of one entity are made.
  package struct Rule: Sendable {
    /// The name of the entity of this model.
    package let entity: String
    /// The names of the old entities; empty for the entity that this one was.
    package let sources: [String]
    /// A predicate that selects among the old objects, nil for all of them.
    package let condition: String?
    /// An expression over an old object for each property that is not inferred.
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
