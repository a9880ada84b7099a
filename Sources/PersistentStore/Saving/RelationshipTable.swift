import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The writer's statements for one relationship: its members, holders, link rows and positions.
///
/// Each is prepared once, when it is first needed.
final class RelationshipTable {
  let layout: RelationshipLayout
  private let db: SQLiteConnection
  private let triggers: TriggerControl
  private let model: Model
  private var statements: [Purpose: PreparedStatement] = [:]

  private enum Purpose: Hashable {
    case members, count, holders, isLinked, sources, positions, lastPosition
    case link, unlink, place, logLink
    /// Of the table of one entity.
    case placeOf(Int)
  }

  init(
    _ db: SQLiteConnection,
    _ triggers: TriggerControl,
    _ layout: RelationshipLayout,
    in model: Model
  ) {
    self.db = db
    self.triggers = triggers
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

  private var description: RelationshipDescription { layout.description }

  /// Where the relationship is stored; statements are compiled once, so it is rarely asked for.
  private var links: LinkTable { LinkTable(description, in: model) }

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
    return try numbers(try statement(.members, links.orderedMembers), owner)
  }

  /// The number of members, counted no further than a limit.
  func memberCount(of owner: Int64, upTo limit: Int) throws -> Int {
    let row = try statement(.count, "SELECT count(*) FROM (\(links.memberRows) LIMIT ?2)")
    defer { row.reset() }
    row.bind(owner, at: 1)
    row.bind(Int64(limit), at: 2)
    return try row.step() ? Int(row.integer(0)) : 0
  }

  /// The objects whose to-one references an object.
  func holders(to object: Int64) throws -> [ObjectKey] {
    let rows = try statement(.holders, links.owners(of: "= ?"))
    return try numbers(rows, object).map(layout.holder)
  }

  func isLinked(_ owner: Int64, _ member: Int64) throws -> Bool {
    let row = try statement(.isLinked, links.linkRow)
    defer { row.reset() }
    row.bind(owner, at: 1)
    row.bind(member, at: 2)
    return try row.step()
  }

  /// The sources of the link rows that lead to an object.
  func sources(of target: Int64) throws -> [Int64] {
    try numbers(
      try statement(.sources, "SELECT source FROM \(links.table) WHERE target = ?"),
      target
    )
  }

  func positions(of owner: Int64) throws -> [Int64: Int64?] {
    try links.positions(of: owner, try statement(.positions, links.positionsQuery))
  }

  func lastPosition(of owner: Int64) throws -> Int64 {
    let row = try statement(.lastPosition, links.lastPosition)
    return try numbers(row, owner).first ?? 0
  }

  // MARK: Writing

  /// Inserts or deletes a link row of the relationship that keeps it.
  func setLink(
    _ isLinked: Bool,
    source: Int64,
    target: Int64,
    triggers mode: TriggerControl.Mode = .on
  ) throws {
    let statement = try statement(
      isLinked ? .link : .unlink,
      isLinked
        ? "INSERT OR IGNORE INTO \(links.table)(source, target) VALUES (?, ?)"
        : "DELETE FROM \(links.table) WHERE source = ? AND target = ?"
    )
    statement.bind(source, at: 1)
    statement.bind(target, at: 2)
    try triggers.run(statement, triggers: mode)
    // A symmetric link may be stored either way round.
    guard description.isSymmetric, !isLinked else { return }
    statement.bind(target, at: 1)
    statement.bind(source, at: 2)
    try triggers.run(statement, triggers: mode)
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
      statement = try self.statement(.place, links.settingPosition)
      statement.bind(owner, at: 3)
    } else {
      let key = layout.target(member)
      statement = try self.statement(
        .placeOf(key.entity),
        links.settingPosition(in: model.entity(key.entity))
      )
    }
    statement.bind(position, at: 1)
    statement.bind(member, at: 2)
    try triggers.run(statement, triggers: .on)
  }
}
