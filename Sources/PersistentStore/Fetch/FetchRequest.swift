package import JSON
package import ObjectModel

/// Which objects a fetch wants and in which form.
package struct FetchRequest: Sendable, Equatable {
  /// One value of an answer: its name there and where it comes from.
  package struct Selection: Sendable, Equatable {
    package let name: String
    /// A property, a key path over to-ones, or `tasks.@count`.
    package let path: String
    /// What stands for a missing value, nil for null.
    package let fallback: JSONValue?

    package init(name: String, path: String, fallback: JSONValue? = nil) {
      self.name = name
      self.path = path
      self.fallback = fallback
    }
  }

  package var entity: String
  package var predicate: String?
  package var arguments: PredicateArguments
  /// `"title"`, `"-priority"`, `"title:localized"`, key paths over to-ones.
  package var sort: [String]
  package var limit: Int?
  package var offset: Int
  /// nil for every attribute and to-one.
  package var select: [Selection]?
  /// The cursor behind which to begin, nil for the beginning.
  package var after: String?
  /// The key by whose values the result falls into sections: it comes before the others.
  package var sectionBy: String?
  /// Of rows of values: the paths whose values make a group.
  package var groupBy: [String]
  /// Of rows of values: a condition on groups.
  package var having: String?
  /// Of rows of values: whether equal rows are answered once.
  package var distinct: Bool
  /// Whether objects of the entity's descendants count.
  package var subentities: Bool

  package init(
    entity: String,
    predicate: String? = nil,
    arguments: PredicateArguments = .none,
    sort: [String] = [],
    limit: Int? = nil,
    offset: Int = 0,
    select: [Selection]? = nil,
    after: String? = nil,
    sectionBy: String? = nil,
    groupBy: [String] = [],
    having: String? = nil,
    distinct: Bool = false,
    subentities: Bool = true
  ) {
    self.entity = entity
    self.predicate = predicate
    self.arguments = arguments
    self.sort = sort
    self.limit = limit
    self.offset = offset
    self.select = select
    self.after = after
    self.sectionBy = sectionBy
    self.groupBy = groupBy
    self.having = having
    self.distinct = distinct
    self.subentities = subentities
  }
}
