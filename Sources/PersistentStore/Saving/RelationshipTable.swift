import CordialValues
import GRDB
import ObjectModel
import PersistentHistory

/// The writer's statements for one relationship: its members, holders, link rows and positions.
///
/// Each is prepared once, when it is first needed.
final class RelationshipTable {
  let layout: RelationshipLayout
  private let db: Database
  private let model: Model
  private var statements: [Purpose: PreparedStatement] = [:]

  private enum Purpose: Hashable {
    case members, count, holders, isLinked, sources, positions, lastPosition
    case link, unlink, place, logLink
    /// Of the table of one entity.
    case placeOf(Int)
  }

  init(_ db: Database, _ layout: RelationshipLayout, in model: Model) {
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

  /// The name of the link table.
  private var links: String {
    guard case .pairs(let owner, let name, _) = description.storage else { return "" }
    return SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
  }

  /// The table in which a to-many's members are found, with the column of the owner and that of
  /// the member.
  private var membership: (source: String, own: String, other: String) {
    guard layout.isLinked else {
      let source = model.source(layout.destination)
      return (source, SQLNames.quoted(description.inverse ?? ""), "\"_id\"")
    }
    return layout.ownsLinks ? (links, "source", "target") : (links, "target", "source")
  }

  private var positionColumn: String {
    guard layout.isLinked else {
      return SQLNames.quoted(SQLNames.place(description.inverse ?? ""))
    }
    return SQLNames.quoted(
      layout.ownsLinks ? SQLNames.pairPlaces.ofTarget : SQLNames.pairPlaces.ofSource
    )
  }

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
    let (source, own, other) = membership
    if description.isSymmetric {
      return "SELECT target FROM \(links) WHERE source = ?1 "
        + "UNION SELECT source FROM \(links) WHERE target = ?1"
    }
    let order = description.ordered ? " ORDER BY \(positionColumn)" : ""
    return "SELECT \(other) FROM \(source) WHERE \(own) = ?\(order)"
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
    let (source, own, _) = membership
    return description.isSymmetric ? membersQuery : "SELECT 1 FROM \(source) WHERE \(own) = ?1"
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
    let (_, own, other) = membership
    let either = description.isSymmetric ? " OR source = ?2 AND target = ?1" : ""
    let row = try statement(
      .isLinked,
      "SELECT 1 FROM \(links) WHERE \(own) = ?1 AND \(other) = ?2\(either)"
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
    let (source, own, other) = membership
    let rows = try statement(
      .positions,
      "SELECT \(other), \(positionColumn) FROM \(source) WHERE \(own) = ?"
    )
    defer { rows.reset() }
    rows.bind(owner, at: 1)
    var positions: [Int64: Int64?] = [:]
    while try rows.step() { positions[rows.integer(0)] = .some(rows.optionalInteger(1)) }
    return positions
  }

  func lastPosition(of owner: Int64) throws -> Int64 {
    let (source, own, _) = membership
    let row = try statement(
      .lastPosition,
      "SELECT max(\(positionColumn)) FROM \(source) WHERE \(own) = ?"
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
      let (links, own, other) = membership
      statement = try self.statement(
        .place,
        "UPDATE \(links) SET \(positionColumn) = ?1 WHERE \(other) = ?2 AND \(own) = ?3 "
          + "AND \(positionColumn) IS NOT ?1"
      )
      statement.bind(owner, at: 3)
    } else {
      let key = layout.target(member)
      let table = SQLNames.quoted(model.entity(key.entity).name)
      statement = try self.statement(
        .placeOf(key.entity),
        "UPDATE \(table) SET \(positionColumn) = ?1 WHERE \"_id\" = ?2 "
          + "AND \(positionColumn) IS NOT ?1"
      )
    }
    statement.bind(position, at: 1)
    statement.bind(member, at: 2)
    try statement.run()
  }
}
