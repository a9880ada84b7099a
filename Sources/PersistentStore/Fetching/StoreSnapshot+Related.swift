package import CordialValues
package import ObjectModel
package import PersistentHistory
import SQLite
import StoreLayout

/// Objects from which relationships reach changed objects.
extension StoreSnapshot {
  /// Returns the objects from which a path reaches changed objects now, or reached changed objects
  /// at `position`.
  ///
  /// The objects along a path may differ between `position` and now. There are two causes at the
  /// first difference: an object references a different object, or a member has left a to-many. In
  /// both cases, this object or member has changed, and is at the end of this path or of a shorter
  /// path. From the wanted object to the changed object, the path has not changed. The log is
  /// therefore needed only for the former owners of changed members.
  ///
  /// - Parameters:
  ///   - objects: The numbers of the changed objects at the end of the path.
  ///   - path: The relationships from the wanted objects to the changed objects.
  ///   - changes: The changes from a position to this snapshot.
  ///   - position: The position before the changes. The log must still contain all changes after
  ///     it.
  ///   - max: The maximum number of objects on each step of the path.
  /// - Returns: The numbers of the objects, possibly with some objects of other entities; nil if
  ///   there are more than `max` objects.
  /// - Throws: `SQLiteError`.
  /// - Complexity: One look-up for each object on the path. If a changed object may have left a
  ///   to-many, also linear in the changes.
  package func origins(
    of objects: Set<Int64>,
    on path: [RelatedReads.Step],
    _ changes: ChangeSet,
    since position: LogPosition,
    max: Int
  ) throws -> Set<Int64>? {
    var reached = objects
    for step in path.reversed() {
      guard reached.count <= max,
        case .relationship(let relationship)? =
          model.entity(step.entity).property(named: step.relationship)
      else { return nil }
      var owners = try self.owners(of: reached, by: relationship, max: max)
      if case .inverseColumn = relationship.storage {
        owners.formUnion(try formerOwners(of: reached, by: relationship, changes, position))
      }
      reached = owners
    }
    return reached.count <= max ? reached : nil
  }

  /// Returns the current owners of members; at most `max + 1` owners, so that the caller detects an
  /// excess.
  private func owners(
    of members: Set<Int64>,
    by relationship: RelationshipDescription,
    max: Int
  ) throws -> Set<Int64> {
    let links = LinkTable(relationship, in: model)
    let rows = try statement(links.owners(of: "IN (SELECT value FROM json_each(?1))"))
    defer { rows.reset() }
    rows.bind("[" + members.sorted().map(String.init).joined(separator: ",") + "]", at: 1)
    var owners: Set<Int64> = []
    while owners.count <= max, try rows.step() {
      if let owner = rows.optionalInteger(0) { owners.insert(owner) }
    }
    return owners
  }

  /// Returns the owners that changed members of a one-to-many had before the changes.
  private func formerOwners(
    of members: Set<Int64>,
    by relationship: RelationshipDescription,
    _ changes: ChangeSet,
    _ position: LogPosition
  ) throws -> Set<Int64> {
    guard let inverse = relationship.inverse else { return [] }
    let kinds = model.entity(relationship.destination).familyPosition.concreteEntities
    let mayHaveMoved = members.contains { member in
      guard let change = changes.changes[model.key(relationship.destination, member)] else {
        return false
      }
      return change.kind == .delete
        || !change.properties.isDisjoint(with: [inverse, ChangeSet.everyProperty])
    }
    guard mayHaveMoved else { return [] }
    let columns = Dictionary(uniqueKeysWithValues: kinds.map { ($0, Set([inverse])) })
    let former = try log.formerValues(from: position, to: head, of: Set(kinds), columns: columns)
    var owners: Set<Int64> = []
    for (key, values) in former where members.contains(key.object) {
      for value in values ?? [] where value.property == inverse {
        if case .integer(let owner) = value.stored(in: model.entity(key.entity)) {
          owners.insert(owner)
        }
      }
    }
    return owners
  }
}
