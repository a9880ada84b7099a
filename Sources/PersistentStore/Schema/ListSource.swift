import ObjectModel
import PersistentHistory
import SQLite

/// Where the members of a to-many are stored: a link table, or a column of the members.
struct ListSource {
  /// The table, or a query over the tables of an entity family, in the form of a `FROM` clause.
  let table: String
  /// The column of the object that has the to-many.
  let owner: String
  /// The column of the member.
  let member: String
  /// The column of the member's sort position; it exists where the to-many is ordered.
  let position: String

  init(_ toMany: RelationshipDescription, in model: Model) {
    guard case .pairs(let keeper, let name, let owns) = toMany.storage else {
      table = model.source(model.entity(toMany.destination))
      owner = SQLNames.quoted(toMany.inverse ?? "")
      member = SQLNames.quoted(SQLNames.object)
      position = SQLNames.quoted(SQLNames.place(toMany.inverse ?? ""))
      return
    }
    table = SQLNames.quoted(SQLNames.pairs(model.entity(keeper), name))
    (owner, member) = owns ? ("source", "target") : ("target", "source")
    position = SQLNames.quoted(
      owns ? SQLNames.pairPlaces.ofTarget : SQLNames.pairPlaces.ofSource
    )
  }

  /// The members of an ordered to-many with their sort positions; the argument is the owner.
  var positionsQuery: String {
    "SELECT \(member), \(position) FROM \(table) WHERE \(owner) = ?"
  }

  /// Runs `positionsQuery`.
  ///
  /// - Returns: The sort position of each member; nil for a member without one.
  func positions(
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
