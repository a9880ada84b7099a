import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// One sort key of a fetch.
struct SortKey: Sendable {
  /// The sort expression, with its collation.
  let sql: String
  /// The expression whose value a cursor stores.
  let kept: String
  /// SQL that contains `?` for a cursor's value, and that is comparable with `sql`.
  let bound: String
  private(set) var descends: Bool
  let type: AttributeType
  /// Whether a value may be missing; missing values come first in ascending order, and last in
  /// descending order.
  let mayBeMissing: Bool
  /// The column of the fetched object if the key is this column without a collation; nil for any
  /// other key.
  var column: String?

  /// The same key in the opposite order.
  var reversed: SortKey {
    var key = self
    key.descends.toggle()
    return key
  }

  /// Whether the expression is a stored sort key.
  var isStored: Bool { bound != "?" }

  var order: String { descends ? sql + " DESC" : sql }

  init(_ sql: String, type: AttributeType, descends: Bool, mayBeMissing: Bool) {
    self.sql = sql
    self.type = type
    self.descends = descends
    self.mayBeMissing = mayBeMissing
    kept = sql
    bound = "?"
  }

  /// Creates the key of a text whose sort key is stored.
  ///
  /// A cursor keeps the text, because sort keys change with the version of ICU.
  init(_ sortKey: String, of text: String, descends: Bool, mayBeMissing: Bool) {
    sql = sortKey
    type = .string
    self.descends = descends
    self.mayBeMissing = mayBeMissing
    kept = text
    bound = SQLNames.sortKey(of: "?")
  }
}

/// The order of a fetch, and the start of a page in it.
extension FetchCompiler {
  /// The maximum number of sort keys of a fetch.
  private static let sortKeysMax = 64

  /// Returns the sort keys of a request; the key of its sections is the first.
  mutating func sortKeys(_ request: FetchRequest) throws(StoreError) -> [SortKey] {
    guard request.sort.count <= Self.sortKeysMax else {
      throw Self.tooMany("sortKeys", Self.sortKeysMax, "sort keys")
    }
    // A section's name is the value itself. Its key therefore uses the text, not a stored sort key.
    let section = try request.sectionBy.map { key throws(StoreError) in
      [try sortKey(key, usesStored: false)]
    }
    return try (section ?? [])
      + request.sort.map { key throws(StoreError) in
        try sortKey(key, usesStored: !request.distinct && request.groupBy.isEmpty)
      }
  }

  /// Compiles a sort key.
  ///
  /// - Parameters:
  ///   - key: The key, as clients write it.
  ///   - usesStored: Whether the stored sort keys of texts may replace the texts.
  /// - Returns: The sort key.
  /// - Throws: `unknownProperty` or `invalidRequest`.
  private mutating func sortKey(
    _ key: String,
    usesStored: Bool
  ) throws(StoreError) -> SortKey {
    let parts = IndexKey(key)
    let (descends, localized) = (parts.descends, parts.isLocalized)
    let names = parts.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if let index = names.firstIndex(where: { $0.hasPrefix("@") }), index > 0, !localized {
      return try aggregateKey(names, index, descends: descends)
    }
    let end = try resolve(names)
    let owner = end.entity
    guard case .attribute(let attribute) = end.property else {
      throw StoreError(
        .invalidRequest,
        "\(owner.name).\(end.property.name) is a relationship; sort by an attribute"
      )
    }
    guard end.inside.isEmpty else {
      throw StoreError(.invalidRequest, "\(key) is inside a json attribute, which has no order")
    }
    let mayBeMissing =
      attribute.optional || names.count > 1 || owner.computed(named: attribute.name) != nil
    var term = column(end.alias, attribute.name)
    if localized {
      guard attribute.type == .string else {
        throw StoreError(.invalidRequest, "\(owner.name).\(attribute.name) is not a string")
      }
      if usesStored, context.hasSortKeys, owner.localizedAttributes.contains(attribute.name) {
        return SortKey(
          column(end.alias, SQLNames.sortKeyColumn(attribute.name)),
          of: term,
          descends: descends,
          mayBeMissing: mayBeMissing
        )
      }
      term += " COLLATE cordial_localized"
    } else if attribute.type == .decimal {
      term += " COLLATE cordial_decimal"
    }
    var compiled = SortKey(
      term,
      type: attribute.type,
      descends: descends,
      mayBeMissing: mayBeMissing
    )
    let isOwn = names.count == 1 && owner.computed(named: attribute.name) == nil
    if isOwn, term == column(scopes[0].alias, attribute.name) { compiled.column = attribute.name }
    return compiled
  }

  /// Compiles a sort key that is an aggregate over a to-many, such as `tasks.@count`.
  private mutating func aggregateKey(
    _ names: [String],
    _ index: Int,
    descends: Bool
  ) throws(StoreError) -> SortKey {
    let path = Array(names[(index + 1)...])
    guard let aggregate = PredicateAggregate(rawValue: String(names[index].dropFirst())),
      (aggregate == .count) == path.isEmpty
    else {
      throw StoreError(
        .invalidRequest,
        "\(names.joined(separator: ".")) is not one of relationship.@count, "
          + "relationship.@sum.property, @min, @max and @avg"
      )
    }
    let value = try aggregateValue(aggregate, of: Array(names[..<index]), from: nil, path)
    return SortKey(
      value.fragment.sql,
      type: value.side.type ?? .double,
      descends: descends,
      // The sum of decimals is missing if it has too many digits.
      mayBeMissing: aggregate != .count && (aggregate != .sum || value.side.type == .decimal)
    )
  }

  /// Returns the conditions for the objects after a cursor in the order of the keys.
  ///
  /// `range` limits the first key, so that SQLite can start at the page's first object in an index
  /// over that key. If the first key descends, the objects without a value come last, and one range
  /// cannot include them. `missing` is then the condition for the objects without a value.
  static func position(
    _ cursor: FetchCursor,
    _ keys: [SortKey]
  ) throws(StoreError) -> (range: SQLFragment, missing: SQLFragment?) {
    guard cursor.keys.count == keys.count else { throw FetchCursor.foreign }
    return position(cursor, keys, isReversed: false)
  }

  /// Returns the conditions for the objects after a cursor in the order of the keys; the cursor
  /// must have one value for each key.
  ///
  /// If `isReversed`, objects with equal keys are in the descending order of their numbers.
  static func position(
    _ cursor: FetchCursor,
    _ keys: [SortKey],
    isReversed: Bool
  ) -> (range: SQLFragment, missing: SQLFragment?) {
    let hasMissing =
      keys.first.map { $0.descends && $0.mayBeMissing } == true
      && cursor.keys.first != .null
    var after = SQLFragment(
      "t.\"_id\" \(isReversed ? "<" : ">") ?",
      [.integer(cursor.object)]
    )
    for (index, (key, value)) in zip(keys, cursor.keys).enumerated().reversed() {
      let later = later(key, value, orMissing: index > 0)
      let same = SQLFragment(
        "\(key.sql) IS \(key.bound) AND (\(after.sql))",
        [value] + after.values
      )
      after =
        later.map {
          SQLFragment("\($0.sql) OR (\(same.sql))", $0.values + same.values)
        } ?? same
    }
    guard let key = keys.first, let value = cursor.keys.first, value != .null else {
      return (after, nil)
    }
    let sign = key.descends ? "<=" : ">="
    return (
      SQLFragment(
        "\(key.sql) \(sign) \(key.bound) AND (\(after.sql))",
        [value] + after.values
      ),
      hasMissing ? SQLFragment("\(key.sql) IS NULL") : nil
    )
  }

  /// Returns the condition that a key's value comes after a given value; nil if no value can come
  /// later.
  private static func later(
    _ key: SortKey,
    _ value: AttributeValue,
    orMissing: Bool
  ) -> SQLFragment? {
    switch (value == .null, key.descends) {
    case (true, false): SQLFragment("\(key.sql) IS NOT NULL")
    case (true, true): nil
    case (false, false): SQLFragment("\(key.sql) > \(key.bound)", [value])
    case (false, true):
      key.mayBeMissing && orMissing
        ? SQLFragment("(\(key.sql) < \(key.bound) OR \(key.sql) IS NULL)", [value])
        : SQLFragment("\(key.sql) < \(key.bound)", [value])
    }
  }
}
