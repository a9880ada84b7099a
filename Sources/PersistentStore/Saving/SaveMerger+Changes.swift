import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// A property that other saves changed since a client read it.
struct ChangedProperty {
  /// What it was when the client read it.
  enum Base {
    case column(Int, AttributeValue)
    case members([ObjectKey])
    /// The log does not have it any more.
    case unknown
  }

  let name: String
  let base: Base
  /// Whether its members are stored at the members, and do not count in the owner's version.
  var isOneToMany = false

  /// Whether it is a to-many whose former members are known.
  var isMembership: Bool {
    if case .members = base { true } else { false }
  }
}

/// What other saves changed since the versions that a save is based on, from the log.
extension SaveMerger {
  /// The properties that changed since the version that an update is based on.
  ///
  /// Where the log does not reach back to it, everything that was sent counts as changed.
  func changes(
    of update: ResolvedUpdate,
    _ rows: [HistoryRow]?
  ) throws -> [ChangedProperty] {
    let known = update.known ?? 0
    guard let rows else {
      guard policy != .overwrite else {
        throw StoreError(
          .historyExpired,
          "The history does not reach back to version \(known) of \(update.label)",
          hint: "Fetch the object again, or save with another merge policy",
          data: [JSONMember("oldest", .string(try history.oldestToken().description))]
        )
      }
      return sentNames(of: update).map { ChangedProperty(name: $0, base: .unknown) }
    }
    return try writtenColumns(update.key, since: known, rows) + changedLinks(update.key, rows)
  }

  private func sentNames(of update: ResolvedUpdate) -> [String] {
    guard case .update(let index) = update.origin else { return [] }
    return request.updates[index].values.map(\.name)
  }

  /// The columns written since a version, each with the value before the first of those writes.
  private func writtenColumns(
    _ key: ObjectKey,
    since version: Int64,
    _ rows: [HistoryRow]
  ) throws -> [ChangedProperty] {
    let entity = layout.entity(key)
    var changes: [ChangedProperty] = []
    var returned: Set<String> = []
    for row in rows {
      // An object that was deleted and exists again may differ in all it has.
      let isDelete = row.kind == .delete
      guard let reached = row.version, isDelete ? reached >= version : reached > version else {
        continue
      }
      for logged in row.values where !entity.entity.isDerived(logged.property) {
        if !isDelete { returned.remove(logged.property) }
        guard !changes.contains(where: { $0.name == logged.property }) else { continue }
        guard let column = entity.columns[logged.property] else {
          // It is a property that an earlier version of the model had.
          changes.append(ChangedProperty(name: logged.property, base: .unknown))
          continue
        }
        if isDelete { returned.insert(logged.property) }
        changes.append(
          ChangedProperty(
            name: logged.property,
            base: .column(column, logged.stored(in: entity.entity))
          )
        )
      }
    }
    // A property that came back as it was did not change.
    return try changes.filter { change in
      guard returned.contains(change.name), case .column(let column, let base) = change.base else {
        return true
      }
      return try stored.value(column, of: key) != base
    }
  }

  /// The to-manys with link rows that differ since a version, each with its members before.
  private func changedLinks(_ key: ObjectKey, _ rows: [HistoryRow]) throws -> [ChangedProperty] {
    var changes: [ChangedProperty] = []
    for toMany in layout.entity(key).relationships where toMany.isLinked {
      let now = try stored.members(of: toMany, key)
      let base = try members(of: toMany, key, before: rows)
      if base != (toMany.description.ordered ? now : now.sorted()) {
        changes.append(
          ChangedProperty(name: toMany.name, base: .members(base.map(toMany.target)))
        )
      }
    }
    return changes
  }

  /// The members of a to-many before some rows of the log: in its order, or by number where it has
  /// none.
  private func members(
    of toMany: RelationshipLayout,
    _ key: ObjectKey,
    before rows: [HistoryRow]
  ) throws -> [Int64] {
    guard case .pairs(let owner, let name, let owns) = toMany.description.storage else { return [] }
    var members: [Int64: Int64] = [:]
    if toMany.description.ordered {
      members = try stored.positions(of: toMany, key).mapValues { $0 ?? 0 }
    } else {
      for member in try stored.members(of: toMany, key) { members[member] = 0 }
    }
    // Backwards: a member that joined leaves, one that left joins, one that moved returns.
    for row in rows.reversed() {
      if let former = row.formerPlace {
        guard former.property == toMany.name, layout.model.key(row.entity, row.object) == key,
          members[row.other] != nil
        else { continue }
        members[row.other] = former.place
        continue
      }
      guard row.kind == .link || row.kind == .unlink, row.entity == owner, row.before == name
      else { continue }
      let isSource = toMany.description.isSymmetric ? row.object == key.object : owns
      guard (isSource ? row.object : row.other) == key.object else { continue }
      members[isSource ? row.other : row.object] = row.kind == .link ? nil : 0
    }
    return members.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
  }

  // MARK: One-to-manys

  /// The one-to-manys whose sent list contradicts what other saves made of the members since the
  /// client read them: the membership is stored at the members and no version counts it.
  func changedMembers(of update: ResolvedUpdate) throws -> [ChangedProperty] {
    var changes: [ChangedProperty] = []
    for change in update.links {
      guard case .members(let sent) = change.link, !change.relationship.isLinked,
        let inverse = change.relationship.inverse
      else { continue }
      let toMany = change.relationship
      let position =
        try update.asOf.map(history.position(of:))
        ?? history.position(of: update.key, reaching: update.known ?? 0)
      let now = try stored.members(of: toMany, update.key).map(toMany.target)
      let before = try members(of: inverse, update.key, now, at: position)
      let present = Set(now)
      let list = Set(sent)
      let isContradicted =
        now.contains { !before.contains($0) && !list.contains($0) }
        || before.contains { !present.contains($0) && list.contains($0) }
      guard isContradicted else { continue }
      changes.append(
        ChangedProperty(
          name: toMany.name,
          base: .members(before.sorted()),
          isOneToMany: true
        )
      )
    }
    return changes
  }

  /// The objects whose to-one referenced an object at a position of the log.
  private func members(
    of toOne: RelationshipLayout,
    _ owner: ObjectKey,
    _ now: [ObjectKey],
    at position: Int64
  ) throws -> Set<ObjectKey> {
    var members = Set(now)
    // The first row of each object after the position tells what it was there.
    var known: Set<ObjectKey> = []
    try history.eachRow(after: position) { row in
      guard layout.model.entities.indices.contains(row.entity - 1),
        row.kind != .link, row.kind != .unlink, row.formerPlace == nil,
        case let key = layout.model.key(row.entity, row.object),
        layout.model.isKind(key.entity, of: toOne.owner.number), !known.contains(key)
      else { return }
      guard row.kind != .insert else {
        known.insert(key)
        members.remove(key)
        return
      }
      guard let value = row.values.first(where: { $0.property == toOne.name }) else { return }
      known.insert(key)
      if value.value.integer == owner.object {
        members.insert(key)
      } else {
        members.remove(key)
      }
    }
    return members
  }
}
