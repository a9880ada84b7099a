import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// One key of a fetch's order.
struct SortKey {
  /// The expression, with the collation by which it compares.
  let sql: String
  let descends: Bool
  let type: AttributeType
  /// Whether a value may be missing: first ascending, last descending.
  let mayMiss: Bool

  var order: String { descends ? sql + " DESC" : sql }
}

/// Order, and where a page begins in it.
extension FetchCompiler {
  /// How many sort keys a fetch may have.
  private static let sortKeysMax = 64

  /// The keys of a request, that of its sections first.
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
    let end = try resolve(names)
    let owner = end.entity
    guard case .attribute(let attribute) = end.property else {
      throw StoreError(
        .invalidRequest,
        "\(owner.name).\(end.property.name) is a relationship; sort by an attribute"
      )
    }
    guard end.inside.isEmpty else {
      throw StoreError(.invalidRequest, "\(key) leads into a json attribute; it has no order")
    }
    var term = column(end.alias, attribute.name)
    if localized {
      guard attribute.type == .string else {
        throw StoreError(.invalidRequest, "\(owner.name).\(attribute.name) is no string")
      }
      term += " COLLATE cordial_localized"
    } else if attribute.type == .decimal {
      term += " COLLATE cordial_decimal"
    }
    return SortKey(
      sql: term,
      descends: descends,
      type: attribute.type,
      mayMiss: attribute.optional || names.count > 1
    )
  }

  /// What stands behind a cursor in the order of its keys: a range of the first key, which an index
  /// over it enters where the page begins, and behind that, where the key descends, the objects
  /// that lack it, for which there is no one range with the others.
  func position(
    _ cursor: FetchCursor,
    _ keys: [SortKey]
  ) throws(StoreError) -> (range: SQLFragment, missing: SQLFragment?) {
    guard cursor.keys.count == keys.count else { throw FetchCursor.foreign }
    let hasMissing =
      keys.first.map { $0.descends && $0.mayMiss } == true
      && cursor.keys.first != .null
    var behind = SQLFragment("t.\"_id\" > ?", [.integer(cursor.object)])
    for (index, (key, value)) in zip(keys, cursor.keys).enumerated().reversed() {
      let later = Self.later(key, value, orMissing: index > 0)
      let same = SQLFragment("\(key.sql) IS ? AND (\(behind.sql))", [value] + behind.values)
      behind =
        later.map {
          SQLFragment("\($0.sql) OR (\(same.sql))", $0.values + same.values)
        } ?? same
    }
    guard let key = keys.first, let value = cursor.keys.first, value != .null else {
      return (behind, nil)
    }
    let sign = key.descends ? "<=" : ">="
    return (
      SQLFragment(
        "\(key.sql) \(sign) ? AND (\(behind.sql))",
        [value] + behind.values
      ),
      hasMissing ? SQLFragment("\(key.sql) IS NULL") : nil
    )
  }

  /// The condition that a key's value comes behind another; nil when none does.
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
      key.mayMiss && orMissing
        ? SQLFragment("(\(key.sql) < ? OR \(key.sql) IS NULL)", [value])
        : SQLFragment("\(key.sql) < ?", [value])
    }
  }
}
