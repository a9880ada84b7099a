import CordialValues
import ObjectModel
import PersistentHistory
import SQLite

/// The writer's statements for one relationship: its members, holders, link rows and positions.
///
/// Each is prepared once, when it is first needed.
final class RelationshipTable {
  let layout: RelationshipLayout
  private let db: SQLiteConnection
  private let model: Model
  private var statements: [Purpose: PreparedStatement] = [:]

  private enum Purpose: Hashable {
    case members, count, holders, isLinked, sources, positions, lastPosition
    case link, unlink, place, logLink
    /// Of the table of one entity.
    case placeOf(Int)
  }

  init(_ db: SQLiteConnection, _ layout: RelationshipLayout, in model: Model) {
    self.db = db
    self.layout = layout
    self.model = model
  }

  private func statement(
    _ purpose: Purpose,
    _ sql: @autoclosure () -> String
  ) throws -> PreparedStatement {
    if let known = statements[purpose] { return known }
    let made = try PreparedStatement(db, sql())
    statements[purpose] = made
    return made
  }

  // MARK: Where it is stored

  private var description: RelationshipDescription { layout.description }

  /// Where the members of a to-many are stored.
  private var list: ListSource { ListSource(description, in: model) }

  /// The name of the link table.
  private var links: String { list.table }

  // MARK: Reading

  /// The numbers that a query with one argument returns.
  private func numbers(_ rows: PreparedStatement, _ argument: Int64) throws -> [Int64] {
    defer { rows.reset() }
    rows.bind(argument, at: 1)
    var numbers: [Int64] = []
    while try rows.step() {
      if let number = rows.optionalInteger(0) { numbers.append(number) }
    }
    return numbers
  }

  /// The members of a to-many, in its order where it has one.
  func members(of owner: Int64) throws -> [Int64] {
    guard description.toMany else { return [] }
    let rows = try statement(.members, membersQuery)
    return try numbers(rows, owner)
  }

  private var membersQuery: String {
    let list = list
    if description.isSymmetric {
      return "SELECT target FROM \(links) WHERE source = ?1 "
        + "UNION SELECT source FROM \(links) WHERE target = ?1"
    }
    let order = description.ordered ? " ORDER BY \(list.position)" : ""
    return "SELECT \(list.member) FROM \(list.table) WHERE \(list.owner) = ?\(order)"
  }

  /// The number of members, counted no further than a limit.
  func memberCount(of owner: Int64, upTo limit: Int) throws -> Int {
    let row = try statement(.count, "SELECT count(*) FROM (\(countedQuery) LIMIT ?2)")
    defer { row.reset() }
    row.bind(owner, at: 1)
    row.bind(Int64(limit), at: 2)
    return try row.step() ? Int(row.integer(0)) : 0
  }

  private var countedQuery: String {
    description.isSymmetric
      ? membersQuery : "SELECT 1 FROM \(list.table) WHERE \(list.owner) = ?1"
  }

  /// The objects whose to-one references an object.
  func holders(to object: Int64) throws -> [ObjectKey] {
    let rows = try statement(
      .holders,
      "SELECT \"_id\" FROM \(model.source(layout.owner)) "
        + "WHERE \(SQLNames.quoted(description.name)) = ?"
    )
    return try numbers(rows, object).map(layout.holder)
  }

  func isLinked(_ owner: Int64, _ member: Int64) throws -> Bool {
    let list = list
    let either = description.isSymmetric ? " OR source = ?2 AND target = ?1" : ""
    let row = try statement(
      .isLinked,
      "SELECT 1 FROM \(list.table) WHERE \(list.owner) = ?1 AND \(list.member) = ?2\(either)"
    )
    defer { row.reset() }
    row.bind(owner, at: 1)
    row.bind(member, at: 2)
    return try row.step()
  }

  /// The sources of the link rows that lead to an object.
  func sources(of target: Int64) throws -> [Int64] {
    try numbers(try statement(.sources, "SELECT source FROM \(links) WHERE target = ?"), target)
  }

  func positions(of owner: Int64) throws -> [Int64: Int64?] {
    try list.positions(of: owner, try statement(.positions, list.positionsQuery))
  }

  func lastPosition(of owner: Int64) throws -> Int64 {
    let row = try statement(
      .lastPosition,
      "SELECT max(\(list.position)) FROM \(list.table) WHERE \(list.owner) = ?"
    )
    return try numbers(row, owner).first ?? 0
  }

  // MARK: Writing

  /// Inserts or deletes a link row of the relationship that keeps it.
  func setLink(_ isLinked: Bool, source: Int64, target: Int64) throws {
    let statement = try statement(
      isLinked ? .link : .unlink,
      isLinked
        ? "INSERT OR IGNORE INTO \(links)(source, target) VALUES (?, ?)"
        : "DELETE FROM \(links) WHERE source = ? AND target = ?"
    )
    statement.bind(source, at: 1)
    statement.bind(target, at: 2)
    try statement.run()
    // A symmetric link may be stored either way round.
    guard description.isSymmetric, !isLinked else { return }
    statement.bind(target, at: 1)
    statement.bind(source, at: 2)
    try statement.run()
  }

  /// Logs a link row that was inserted with triggers off.
  func logLink(source: Int64, target: Int64) throws {
    let log = try statement(.logLink, BulkLog.link(of: description))
    log.bind(source, at: 1)
    log.bind(target, at: 2)
    try log.run()
  }

  /// Sets the sort position of a member.
  ///
  /// Of a member that joins, the position that the trigger gave it is removed first: the log has no
  /// move of it.
  func setPosition(
    _ position: Int64,
    of member: Int64,
    _ owner: Int64,
    joins: Bool
  ) throws {
    if joins, !layout.isLinked { try setPosition(nil, of: member, owner) }
    try setPosition(position, of: member, owner)
  }

  private func setPosition(_ position: Int64?, of member: Int64, _ owner: Int64) throws {
    let statement: PreparedStatement
    if layout.isLinked {
      let list = list
      statement = try self.statement(
        .place,
        "UPDATE \(list.table) SET \(list.position) = ?1 WHERE \(list.member) = ?2 "
          + "AND \(list.owner) = ?3 AND \(list.position) IS NOT ?1"
      )
      statement.bind(owner, at: 3)
    } else {
      let key = layout.target(member)
      let table = SQLNames.quoted(model.entity(key.entity).name)
      statement = try self.statement(
        .placeOf(key.entity),
        "UPDATE \(table) SET \(list.position) = ?1 WHERE \"_id\" = ?2 "
          + "AND \(list.position) IS NOT ?1"
      )
    }
    statement.bind(position, at: 1)
    statement.bind(member, at: 2)
    try statement.run()
  }
}
