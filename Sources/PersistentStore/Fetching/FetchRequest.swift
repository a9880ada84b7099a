package import JSON
package import ObjectModel

/// The objects that a fetch returns, and their form.
package struct FetchRequest: Sendable, Equatable {
  /// One value of a result: its name, and its source.
  package struct Selection: Sendable, Equatable {
    package let name: String
    /// A key path, or an aggregate such as `tasks.@count`.
    package let path: String
    /// The replacement for a missing value, nil for null.
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
  /// The sort keys: key paths over to-ones or aggregates, such as `"title"`, `"-priority"`,
  /// `"title:localized"` or `"tasks.@count"`.
  package var sort: [String]
  package var limit: Int?
  package var offset: Int
  /// The selected values, nil for every attribute and to-one.
  package var select: [Selection]?
  /// The cursor after which the page begins, nil for the first page.
  package var after: String?
  /// The key whose values divide the result into sections, which precedes the other sort keys.
  package var sectionBy: String?
  /// The paths by whose values objects are grouped, for rows of values.
  package var groupBy: [String]
  /// The condition on groups, for rows of values.
  package var having: String?
  /// Whether equal rows of values are returned only once.
  package var distinct: Bool
  /// Whether to include objects of the entity's descendants.
  package var subentities: Bool
  /// The objects to which the fetch is limited; nil for all objects of the entity.
  package var objects: ObjectNumbers?

  /// Whether each row of values represents a group of objects.
  var isGrouped: Bool {
    !groupBy.isEmpty || having != nil || select?.contains { $0.path.hasPrefix("@") } == true
  }

  /// The keys of the order: the key of the sections, then the keys of `sort`.
  var orderKeys: [String] { (sectionBy.map { [$0] } ?? []) + sort }

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
    subentities: Bool = true,
    objects: ObjectNumbers? = nil
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
    self.objects = objects
  }
}

/// The numbers of objects of one entity, as a list that SQL can read.
package struct ObjectNumbers: Sendable, Equatable {
  /// A JSON array.
  let text: String

  package init(_ numbers: some Sequence<Int64>) {
    var text = "["
    for number in numbers {
      if text.utf8.count > 1 { text += "," }
      text += String(number)
    }
    self.text = text + "]"
  }
}
