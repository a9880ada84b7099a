import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// One sort key of a fetch.
struct SortKey {
  /// The expression, with the collation that compares it.
  let sql: String
  let descends: Bool
  let type: AttributeType
  /// Whether a value may be missing; missing values are first ascending, and last descending.
  let mayBeMissing: Bool

  var order: String { descends ? sql + " DESC" : sql }
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
    let keys = (request.sectionBy.map { [$0] } ?? []) + request.sort
    return try keys.map { key throws(StoreError) in try sortKey(key) }
  }

  private mutating func sortKey(_ key: String) throws(StoreError) -> SortKey {
    var path = Substring(key)
    let descends = path.hasPrefix("-")
    if descends { path = path.dropFirst() }
    let localized = path.hasSuffix(":localized")
    if localized { path = path.dropLast(":localized".count) }
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
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
    var term = column(end.alias, attribute.name)
    if localized {
      guard attribute.type == .string else {
        throw StoreError(.invalidRequest, "\(owner.name).\(attribute.name) is not a string")
      }
      term += " COLLATE cordial_localized"
    } else if attribute.type == .decimal {
      term += " COLLATE cordial_decimal"
    }
    return SortKey(
      sql: term,
      descends: descends,
      type: attribute.type,
      mayBeMissing: attribute.optional || names.count > 1
    )
  }

  /// Compiles a sort key that is an aggregate over a to-many, as `tasks.@count`.
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
      sql: value.fragment.sql,
      descends: descends,
      type: value.side.type ?? .double,
      // The sum of decimals is missing where it has too many digits.
      mayBeMissing: aggregate != .count && (aggregate != .sum || value.side.type == .decimal)
    )
  }

  /// Returns the conditions for the objects after a cursor in the order of the keys.
  ///
  /// `range` limits the first key, so that an index over that key starts where the page begins.
  /// Where the first key descends, the objects without a value come last. One range cannot have
  /// both, so `missing` is the condition for these objects.
  func position(
    _ cursor: FetchCursor,
    _ keys: [SortKey]
  ) throws(StoreError) -> (range: SQLFragment, missing: SQLFragment?) {
    guard cursor.keys.count == keys.count else { throw FetchCursor.foreign }
    let hasMissing =
      keys.first.map { $0.descends && $0.mayBeMissing } == true
      && cursor.keys.first != .null
    var after = SQLFragment("t.\"_id\" > ?", [.integer(cursor.object)])
    for (index, (key, value)) in zip(keys, cursor.keys).enumerated().reversed() {
      let later = Self.later(key, value, orMissing: index > 0)
      let same = SQLFragment("\(key.sql) IS ? AND (\(after.sql))", [value] + after.values)
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
        "\(key.sql) \(sign) ? AND (\(after.sql))",
        [value] + after.values
      ),
      hasMissing ? SQLFragment("\(key.sql) IS NULL") : nil
    )
  }

  /// Returns the condition that a key's value comes after another value; nil when no value does.
  private static func later(
    _ key: SortKey,
    _ value: AttributeValue,
    orMissing: Bool
  ) -> SQLFragment? {
    switch (value == .null, key.descends) {
    case (true, false): SQLFragment("\(key.sql) IS NOT NULL")
    case (true, true): nil
    case (false, false): SQLFragment("\(key.sql) > ?", [value])
    case (false, true):
      key.mayBeMissing && orMissing
        ? SQLFragment("(\(key.sql) < ? OR \(key.sql) IS NULL)", [value])
        : SQLFragment("\(key.sql) < ?", [value])
    }
  }
}
