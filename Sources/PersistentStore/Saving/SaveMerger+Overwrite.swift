import CordialValues
import ObjectModel
import PersistentHistory

/// The policy `overwrite`: an object gets the values that the client read, with the client's
/// changes.
extension SaveMerger {
  /// Resets a property that another save changed.
  ///
  /// The update sets the value that the client read, unless the client sent a value.
  mutating func overwrite(_ update: inout ResolvedUpdate, _ change: ChangedProperty) throws {
    let entity = layout.entity(update.key)
    switch change.base {
    case .column(let column, let value):
      guard update.columns[column: column] == nil else { return }
      if let toOne = entity.toOnes.first(where: { $0.column == column })?.relationship {
        guard !update.links.contains(where: { $0.relationship === toOne }) else { return }
        var target: ObjectKey?
        if case .integer(let number) = value {
          let key = toOne.target(number)
          // A reference becomes null if its object was deleted after the client read it.
          target = try stored.version(of: key) == nil ? nil : key
        }
        update.links.append(RelationshipChange(relationship: toOne, link: .toOne(target)))
      } else {
        update.columns.set(column, to: value)
        entity.addDerivedTexts(to: &update.columns)
      }
    case .members(let base):
      guard let toMany = entity.relationship(named: change.name) else { return }
      let existing = try base.filter { try stored.version(of: $0) != nil }
      let index = update.links.firstIndex { $0.relationship === toMany }
      guard let index else {
        return update.links.append(
          RelationshipChange(relationship: toMany, link: .members(existing))
        )
      }
      // The client's additions, removals and positions refer to the list that it had read.
      guard case .edit(let add, let remove, let position) = update.links[index].link else { return }
      let removedKeys = Set(remove).union(position == nil ? [] : add)
      var members = base.filter { !removedKeys.contains($0) }
      guard 0...members.count ~= position ?? members.count else {
        problems.add(
          .invalidPosition(position ?? 0, of: members.count, in: toMany.name, of: update.label)
        )
        update.links.remove(at: index)
        return
      }
      let known = Set(members)
      members.insert(
        contentsOf: add.filter { !known.contains($0) },
        at: position ?? members.count
      )
      let deleted = Set(base).subtracting(existing)
      update.links[index].link = .members(members.filter { !deleted.contains($0) })
    case .unknown: return
    }
  }
}
