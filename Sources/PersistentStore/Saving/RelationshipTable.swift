import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The writer's statements for one relationship: its members, holders, link rows and positions.
///
/// Each statement is prepared at its first use.
final class RelationshipTable {
  let layout: RelationshipLayout
  private let db: SQLiteConnection
  private let triggers: TriggerControl
  private let model: Model
  private var statements: [Purpose: PreparedStatement] = [:]

  private enum Purpose: Hashable {
    case members, count, holders, isLinked, sources, positions, lastPosition
    case link, unlink, setPosition, logLink
    /// The statement that sets sort positions in the table of one entity, by the entity's number.
    case setPositionInTable(Int)
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
    let prepared = try PreparedStatement(db, sql())
    statements[purpose] = prepared
    return prepared
  }

  private var description: RelationshipDescription { layout.description }

  /// The storage of the relationship, created only when a statement is compiled.
  private var links: LinkTable { LinkTable(description, in: model) }

  // MARK: Reading

  /// Returns the numbers that a query with one argument finds.
  private func numbers(_ rows: PreparedStatement, _ argument: Int64) throws -> [Int64] {
    defer { rows.reset() }
    rows.bind(argument, at: 1)
    var numbers: [Int64] = []
    while try rows.step() {
      if let number = rows.optionalInteger(0) { numbers.append(number) }
    }
    return numbers
  }

  /// Returns the members of a to-many, in order if the to-many is ordered.
  func members(of owner: Int64) throws -> [Int64] {
    guard description.toMany else { return [] }
    return try numbers(try statement(.members, links.orderedMembers), owner)
  }

  /// Returns the number of members, counted up to a limit.
  func memberCount(of owner: Int64, upTo limit: Int) throws -> Int {
    let row = try statement(.count, "SELECT count(*) FROM (\(links.memberRows) LIMIT ?2)")
    defer { row.reset() }
    row.bind(owner, at: 1)
    row.bind(Int64(limit), at: 2)
    return try row.step() ? Int(row.integer(0)) : 0
  }

  /// Returns the objects whose to-one references an object.
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

  /// Returns the sources of the link rows whose target is an object.
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

  /// Inserts or deletes a link row of the relationship that owns the link table.
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
    // A symmetric link may be stored in either direction.
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
  /// A trigger has already given a joining member a sort position. This position is removed first,
  /// so that the log has no move of the member.
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
      statement = try self.statement(.setPosition, links.settingPosition)
      statement.bind(owner, at: 3)
    } else {
      let key = layout.target(member)
      statement = try self.statement(
        .setPositionInTable(key.entity),
        links.settingPosition(in: model.entity(key.entity))
      )
    }
    statement.bind(position, at: 1)
    statement.bind(member, at: 2)
    try triggers.run(statement, triggers: .on)
  }
}
