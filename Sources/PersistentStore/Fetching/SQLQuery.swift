import CordialValues
import ObjectModel
import PersistentHistory

/// A piece of SQL with the values to bind in it, in order.
struct SQLFragment: Sendable {
  var sql: String
  var values: [AttributeValue]
  /// The maximum number of entries that the SQL needs on the stack of SQLite's parser.
  var depth: Int
  /// The same condition in a form that Cordial evaluates in memory, with the columns of one row.
  var condition = RowCondition.unknown

  /// Creates a piece of SQL; the default depth fits a comparison of two columns.
  init(_ sql: String, _ values: [AttributeValue] = [], depth: Int = 10) {
    self.sql = sql
    self.values = values
    self.depth = depth
  }

  /// Returns this condition with an additional limit to the given objects.
  func among(_ objects: ObjectNumbers) -> SQLFragment {
    SQLFragment(
      "(\(sql)) AND t.\"_id\" IN (SELECT value FROM json_each(?))",
      values + [.string(objects.text)],
      depth: depth + 2
    )
  }

  static func joined(_ fragments: [SQLFragment], separator: String) -> SQLFragment {
    SQLFragment(
      fragments.map(\.sql).joined(separator: separator),
      fragments.flatMap(\.values),
      depth: (fragments.map(\.depth).max() ?? 0) + 2
    )
  }
}

/// The joins of the to-ones that a query follows; each to-one is joined only once.
struct SQLJoins {
  private var aliases: [[String]: String] = [:]
  /// The aliases of the tables of a family, by the alias of the family.
  private(set) var families: [String: [String]] = [:]
  private(set) var sql = ""
  /// The start of the joins' aliases, which differs for each nested query.
  private let prefix: String
  /// The number of joined tables.
  private(set) var count = 0

  init(prefix: String = "j") {
    self.prefix = prefix
  }

  /// Returns whether the tables at the end of a path of to-ones are joined.
  func contains(_ path: [String]) -> Bool { aliases[path] != nil }

  /// Returns the alias of the tables at the end of a path of to-ones; the first call for a path
  /// joins the tables.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - tables: The tables of the path's objects, in the form of FROM; each object is in one
  ///     table.
  ///   - column: The column that references the objects.
  /// - Returns: The alias, which names all of the tables.
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

/// The start of key paths: the fetched entity, or the members of a to-many in a subquery.
struct QueryScope {
  let entity: EntityDescription
  /// The alias of the entity's table.
  let alias: String
  /// The variable that names an object of the scope; nil for the fetched entity.
  let variable: String?
  /// The relationships from the fetched object to the scope's objects; nil if no relationships
  /// reach these objects.
  let origin: [RelatedReads.Step]?
  var joins: SQLJoins
}
