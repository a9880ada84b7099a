import CordialValues
import ObjectModel
import PersistentHistory

/// A piece of SQL with the values to bind in it, in order.
struct SQLFragment {
  var sql: String
  var values: [AttributeValue]
  /// How many entries of its stack SQLite's parser needs for it at the most.
  var depth: Int

  /// A piece of SQL; its depth is that of a comparison of two columns where none is named.
  init(_ sql: String, _ values: [AttributeValue] = [], depth: Int = 10) {
    self.sql = sql
    self.values = values
    self.depth = depth
  }

  static func joined(_ fragments: [SQLFragment], separator: String) -> SQLFragment {
    SQLFragment(
      fragments.map(\.sql).joined(separator: separator),
      fragments.flatMap(\.values),
      depth: (fragments.map(\.depth).max() ?? 0) + 2
    )
  }
}

/// The to-ones that a query follows, each joined once.
struct SQLJoins {
  private var aliases: [[String]: String] = [:]
  private(set) var sql = ""
  /// What its aliases begin with: a query inside another has its own.
  private let prefix: String
  var count: Int { aliases.count }

  init(prefix: String = "j") {
    self.prefix = prefix
  }

  /// The alias of the table at the end of a path of to-ones; the empty path is the entity itself.
  mutating func alias(
    for path: [String],
    table: String,
    from parent: String
  ) -> String {
    if let alias = aliases[path] { return alias }
    let alias = "\(prefix)\(aliases.count + 1)"
    aliases[path] = alias
    sql +=
      " LEFT JOIN \(table) \(alias) ON \(alias).\"_id\" = "
      + "\(parent).\(SQLNames.quoted(path.last ?? ""))"
    return alias
  }
}

/// Where key paths begin: the fetched entity, or the members of a to-many inside a condition.
struct QueryScope {
  let entity: EntityDescription
  /// The alias of its table.
  let alias: String
  /// The variable that stands for one of its objects; nil for the fetched entity.
  let variable: String?
  var joins: SQLJoins
}
