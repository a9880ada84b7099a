import CordialValues
import ObjectModel
import SQLite
import StoreLayout

/// References, and the members of to-manys.
extension FetchCompiler {
  func reference(_ relationship: RelationshipDescription) -> ColumnForm {
    ColumnForm(referenceTo: model.entity(relationship.destination))
  }

  func toOne(_ relationship: RelationshipDescription, column: String) -> String {
    let destination = model.entity(relationship.destination)
    guard destination.identity != nil else { return toOneNumber(relationship, column: column) }
    return "(SELECT \(name(of: destination, "d")) FROM \(model.source(destination)) d "
      + "WHERE d.\"_id\" = \(column))"
  }

  /// Returns SQL for the number of the object that a to-one references; the SQL gives null if that
  /// object does not exist.
  func toOneNumber(_ relationship: RelationshipDescription, column: String) -> String {
    guard context.mayDangle else { return column }
    let destination = model.source(model.entity(relationship.destination))
    return "(SELECT d.\"_id\" FROM \(destination) d WHERE d.\"_id\" = \(column))"
  }

  /// Records a read of a to-many, which changes when a member is inserted or deleted, or when a
  /// member's inverse changes.
  ///
  /// - Parameters:
  ///   - relationship: The to-many.
  ///   - origin: The relationships from the fetched object to the members; nil if no relationships
  ///     reach the members.
  mutating func noteMembers(
    _ relationship: RelationshipDescription,
    at origin: [RelatedReads.Step]?
  ) {
    let destination = relationship.destination
    reads.note(related: destination, [relationship.inverse ?? ChangeSet.everyProperty], at: origin)
  }

  /// Returns the members of a to-many, as the `FROM`, `WHERE` and `ORDER BY` clauses of a query.
  ///
  /// In a join, a query in `FROM` cannot read the tables before it. If `isJoined`, the condition is
  /// therefore never inside such a query.
  func members(
    _ relationship: RelationshipDescription,
    of owner: String,
    as alias: String,
    isJoined: Bool = false
  ) -> (from: String, condition: String, order: String) {
    let destination = model.entity(relationship.destination)
    let byNumber = "\(alias).\"_id\""
    let number = column(owner, SQLNames.object)
    guard !destination.hasDescendants || isJoined else {
      return familyMembers(relationship, of: number, as: alias)
    }
    let table = "\(model.source(destination)) \(alias)"
    let links = LinkTable(relationship, in: model)
    guard case .linkTable = relationship.storage else {
      return (
        table,
        "\(alias).\(links.owner) = \(number)",
        links.position.map { "\(alias).\($0), \(byNumber)" } ?? byNumber
      )
    }
    guard !links.isSymmetric else {
      return (table, "\(byNumber) IN (\(links.members(of: "= \(number)")))", byNumber)
    }
    return (
      "\(links.table) \(alias)p JOIN \(table) ON \(byNumber) = \(alias)p.\(links.member)",
      "\(alias)p.\(links.owner) = \(number)",
      links.position.map { "\(alias)p.\($0)" } ?? byNumber
    )
  }

  func listExpression(
    _ relationship: RelationshipDescription,
    _ owner: String
  ) -> (sql: String, form: ColumnForm) {
    let destination = model.entity(relationship.destination)
    let (from, condition, order) = members(relationship, of: owner, as: "d")
    let isJSON = destination.hasDescendants && destination.identity != nil
    let names =
      "SELECT \(name(of: destination, "d")) AS name FROM \(from) "
      + "WHERE \(condition) ORDER BY \(order)"
    return (
      "(SELECT json_group_array(\(isJSON ? "json(name)" : "name")) FROM (\(names)))",
      .objects(entity: destination.number)
    )
  }
}
