package import ObjectModel
package import SQLite

/// The storage of a relationship's links and the SQL that reads them: a link table, or the column
/// of a to-one.
///
/// A `LinkTable` has a direction: the *owner* has the relationship, the *members* are the objects
/// that it references. Its SQL identifies an object by its number.
package struct LinkTable {
  /// The table, or a query over the tables of an entity family, in the form of a `FROM` clause.
  package let table: String
  /// The column of the owner.
  package let owner: String
  /// The column of the member.
  package let member: String
  /// The column of the member's sort position, nil if the relationship is not ordered.
  package let position: String?
  /// Whether a link of two objects may be stored in either direction.
  package let isSymmetric: Bool

  /// Creates the description of a relationship's storage.
  ///
  /// - Parameters:
  ///   - relationship: The relationship, seen from its owner.
  ///   - model: The store's model.
  package init(_ relationship: RelationshipDescription, in model: Model) {
    isSymmetric = relationship.isSymmetric
    switch relationship.storage {
    case .linkTable(let owningEntity, let name, let owns):
      table = SQLNames.quoted(SQLNames.linkTable(model.entity(owningEntity), name))
      (owner, member) = owns ? ("source", "target") : ("target", "source")
      position =
        relationship.ordered
        ? owns ? SQLNames.linkPositionColumns.ofTarget : SQLNames.linkPositionColumns.ofSource : nil
    case .inverseColumn:
      let inverse = relationship.inverse ?? ""
      table = model.source(model.entity(relationship.destination))
      owner = SQLNames.quoted(inverse)
      member = SQLNames.quoted(SQLNames.object)
      position = relationship.ordered ? SQLNames.quoted(SQLNames.positionColumn(inverse)) : nil
    case .column:
      table = model.source(model.entity(relationship.owner))
      owner = SQLNames.quoted(SQLNames.object)
      member = SQLNames.quoted(relationship.name)
      position = nil
    }
  }

  // MARK: SQL

  /// Returns a query for the members of owners.
  ///
  /// - Parameter owners: The condition on the owner's number, as `= ?1` or `IN (…)`.
  /// - Returns: The query, of one column, without an order.
  package func members(of owners: String) -> String {
    numbers(member, where: owner, owners)
  }

  /// Returns a query for the owners of members.
  ///
  /// - Parameter members: The condition on the member's number, as `= ?1` or `IN (…)`.
  /// - Returns: The query, of one column, without an order.
  package func owners(of members: String) -> String {
    numbers(owner, where: member, members)
  }

  private func numbers(_ wanted: String, where known: String, _ condition: String) -> String {
    let query = "SELECT \(wanted) FROM \(table) WHERE \(known) \(condition)"
    guard isSymmetric else { return query }
    return query + " UNION SELECT \(known) FROM \(table) WHERE \(wanted) \(condition)"
  }

  /// A query for the members of the owner `?1`, in the order of the relationship.
  package var orderedMembers: String {
    members(of: "= ?1") + (position.map { " ORDER BY \($0)" } ?? "")
  }

  /// A query with one row for each member of the owner `?1`, for counting.
  package var memberRows: String {
    isSymmetric ? members(of: "= ?1") : "SELECT 1 FROM \(table) WHERE \(owner) = ?1"
  }

  /// A query with a row when the member `?2` is linked to the owner `?1`.
  package var linkRow: String {
    let either = isSymmetric ? " OR \(owner) = ?2 AND \(member) = ?1" : ""
    return "SELECT 1 FROM \(table) WHERE \(owner) = ?1 AND \(member) = ?2\(either)"
  }

  /// A query for the members of the owner `?` of an ordered relationship, with their sort
  /// positions.
  package var positionsQuery: String {
    "SELECT \(member), \(position ?? "NULL") FROM \(table) WHERE \(owner) = ?"
  }

  /// A query for the greatest sort position among the members of the owner `?`.
  package var lastPosition: String {
    "SELECT max(\(position ?? "NULL")) FROM \(table) WHERE \(owner) = ?"
  }

  /// A statement that sets the sort position of the member `?2` of the owner `?3` to `?1`, in a
  /// link table.
  package var settingPosition: String {
    let position = position ?? "NULL"
    return "UPDATE \(table) SET \(position) = ?1 WHERE \(member) = ?2 AND \(owner) = ?3 "
      + "AND \(position) IS NOT ?1"
  }

  /// Returns a statement that sets the sort position of the member `?2` to `?1` in the member's
  /// table.
  ///
  /// - Parameter entity: The entity of the member.
  /// - Returns: The statement.
  package func settingPosition(in entity: EntityDescription) -> String {
    let position = position ?? "NULL"
    return "UPDATE \(SQLNames.quoted(entity.name)) SET \(position) = ?1 WHERE \"_id\" = ?2 "
      + "AND \(position) IS NOT ?1"
  }

  // MARK: Reading

  /// Returns the sort positions of an owner's members, from `positionsQuery`.
  ///
  /// - Parameters:
  ///   - owner: The number of the owner.
  ///   - rows: The statement of `positionsQuery`.
  /// - Returns: The sort position of each member; nil for a member without one.
  /// - Throws: `SQLiteError`.
  package func positions(
    of owner: Int64,
    _ rows: PreparedStatement
  ) throws -> [Int64: Int64?] {
    defer { rows.reset() }
    rows.bind(owner, at: 1)
    var positions: [Int64: Int64?] = [:]
    while try rows.step() { positions[rows.integer(0)] = .some(rows.optionalInteger(1)) }
    return positions
  }
}
