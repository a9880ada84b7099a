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
  /// The aliases of the tables of a family, by the alias that stands for all of them.
  private(set) var families: [String: [String]] = [:]
  private(set) var sql = ""
  /// What its aliases begin with: a query inside another has its own.
  private let prefix: String
  /// How many tables are joined.
  private(set) var count = 0

  init(prefix: String = "j") {
    self.prefix = prefix
  }

  /// The alias of the table at the end of a path of to-ones; the empty path is the entity itself.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - tables: Where its objects are, as FROM has them: each object is in one of these.
  ///   - column: The column that leads to them.
  /// - Returns: The alias; of several tables one that stands for all of them.
  mutating func alias(for path: [String], tables: [String], from column: String) -> String {
    if let alias = aliases[path] { return alias }
    let alias = "\(prefix)\(aliases.count + 1)"
    aliases[path] = alias
    let own = tables.count == 1 ? [alias] : tables.indices.map { "\(alias)k\($0)" }
    if own.count > 1 { families[alias] = own }
    for (table, name) in zip(tables, own) {
      sql += " LEFT JOIN \(table) \(name) ON \(name).\"_id\" = \(column)"
    }
    count += tables.count
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
