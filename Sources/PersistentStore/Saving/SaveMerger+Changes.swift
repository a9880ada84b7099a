import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import StoreLayout

/// A property that other saves changed since a client read it.
struct ChangedProperty {
  /// The value of the property when the client read it.
  enum Base {
    case column(Int, AttributeValue)
    case members([ObjectKey])
    /// A value that the log no longer has.
    case unknown
  }

  let name: String
  let base: Base
  /// Whether the members store the property, so that its changes do not increment the owner's
  /// version.
  var isOneToMany = false

  /// Whether the property is a to-many whose former members are known.
  var isMembership: Bool {
    if case .members = base { true } else { false }
  }
}

/// The changes of other saves since the versions that a save is based on, from the log.
extension SaveMerger {
  /// Returns the properties that changed since the version that an update is based on.
  ///
  /// If the log does not reach back to that version, every property that was sent counts as
  /// changed.
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
    guard case .update = update.origin else { return [] }
    return update.sent.map(\.name)
  }

  /// Returns the columns written since a version, each with the value before its first write.
  private func writtenColumns(
    _ key: ObjectKey,
    since version: Int64,
    _ rows: [HistoryRow]
  ) throws -> [ChangedProperty] {
    let entity = layout.entity(key)
    var changes: [ChangedProperty] = []
    var returned: Set<String> = []
    for row in rows {
      // An object that was deleted and inserted again may differ in every property.
      let isDelete = row.kind == .delete
      guard let reached = row.version, isDelete ? reached >= version : reached > version else {
        continue
      }
      for logged in row.values where !entity.entity.isDerived(logged.property) {
        if !isDelete { returned.remove(logged.property) }
        guard !changes.contains(where: { $0.name == logged.property }) else { continue }
        guard let column = entity.columns[logged.property] else {
          // An earlier version of the model had the property.
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
    // A property of a restored object did not change if it has its former value again.
    return try changes.filter { change in
      guard returned.contains(change.name), case .column(let column, let base) = change.base else {
        return true
      }
      return try stored.value(column, of: key) != base
    }
  }

  /// Returns the to-manys with link rows whose members have changed, each with its former members.
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

  /// Returns the members of a to-many before some rows of the log: in order if the to-many is
  /// ordered, otherwise by number.
  private func members(
    of toMany: RelationshipLayout,
    _ key: ObjectKey,
    before rows: [HistoryRow]
  ) throws -> [Int64] {
    var former = FormerLists(layout.model)
    former.begin(toMany.description, of: key, with: try positions(of: toMany, key))
    for row in rows.reversed() { former.rewind(row) }
    return former.members(of: toMany.description, key)
  }

  /// Returns the sort position of each member of a to-many; 0 for every member of an unordered
  /// to-many.
  private func positions(
    of toMany: RelationshipLayout,
    _ key: ObjectKey
  ) throws -> [Int64: Int64?] {
    if toMany.description.ordered { return try stored.positions(of: toMany, key) }
    return Dictionary(
      try stored.members(of: toMany, key).map { ($0, 0) },
      uniquingKeysWith: { first, _ in first }
    )
  }

  // MARK: One-to-manys

  /// The whole list of a one-to-many that a client sent together with a version of the list's
  /// owner.
  private struct VersionedList {
    /// The index of the update.
    let update: Int
    let toMany: RelationshipLayout
    let owner: ObjectKey
    let sent: [ObjectKey]
    /// The number of the last logged change when the client read the list.
    let position: Int64
  }

  /// Returns the one-to-manys with conflicts, by the index of the update.
  ///
  /// The sent list of such a one-to-many contradicts changes of other saves since the client read
  /// the list. The members store a one-to-many, so the owner's version does not show its changes.
  func changedMembers() throws -> [Int: [ChangedProperty]] {
    let lists = try versionedLists()
    guard let oldest = lists.last?.position else { return [:] }
    var former = FormerLists(layout.model)
    for list in lists {
      former.begin(
        list.toMany.description,
        of: list.owner,
        with: try positions(of: list.toMany, list.owner)
      )
    }
    var changes: [Int: [ChangedProperty]] = [:]
    var rest = lists[...]
    /// Compares the lists that clients read at or after a position of the log.
    func compare(_ position: Int64) throws {
      while let list = rest.first, list.position >= position {
        rest.removeFirst()
        let before = former.members(of: list.toMany.description, list.owner)
          .map(list.toMany.target)
        guard let change = try contradiction(list, before) else { continue }
        changes[list.update, default: []].append(change)
      }
    }
    try history.eachRowBackwards(after: oldest) { row in
      try compare(row.number)
      former.rewind(row)
    }
    try compare(oldest)
    return changes
  }

  /// Returns the whole lists that were sent with versions, in descending order of their positions.
  private func versionedLists() throws -> [VersionedList] {
    var lists: [VersionedList] = []
    for (index, update) in save.updates.enumerated() {
      guard let known = update.known else { continue }
      // An unknown token is refused even if the update changes no list.
      let asOf = try update.asOf.map(history.position(of:))
      for change in update.links {
        guard case .members(let sent) = change.link, !change.relationship.isLinked,
          change.relationship.inverse != nil
        else { continue }
        lists.append(
          VersionedList(
            update: index,
            toMany: change.relationship,
            owner: update.key,
            sent: sent,
            position: try asOf ?? history.position(of: update.key, reaching: known)
          )
        )
      }
    }
    return lists.sorted { $0.position > $1.position }
  }

  /// Returns the change that other saves made to a list; nil if the sent list does not contradict
  /// that change.
  private func contradiction(
    _ list: VersionedList,
    _ before: [ObjectKey]
  ) throws -> ChangedProperty? {
    let now = try stored.members(of: list.toMany, list.owner).map(list.toMany.target)
    let present = Set(now)
    let former = Set(before)
    let sent = Set(list.sent)
    let isContradicted =
      now.contains { !former.contains($0) && !sent.contains($0) }
      || before.contains { !present.contains($0) && sent.contains($0) }
    guard isContradicted else { return nil }
    return ChangedProperty(
      name: list.toMany.name,
      base: .members(before.sorted()),
      isOneToMany: true
    )
  }
}
