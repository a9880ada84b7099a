package import CordialValues
import ObjectModel
import StoreLayout

/// The identity of a link row.
package struct LinkRowIdentity: Hashable, Sendable {
  /// The entity and the relationship that own the link table.
  package let entity: Int
  package let relationship: String
  package let source: Int64
  package let target: Int64

  /// Creates the identity of the link row that a log row describes.
  package init(_ row: HistoryRow) {
    self.init(
      entity: row.entity,
      relationship: row.before ?? "",
      source: row.object,
      target: row.other
    )
  }

  package init(entity: Int, relationship: String, source: Int64, target: Int64) {
    self.entity = entity
    self.relationship = relationship
    self.source = source
    self.target = target
  }
}

/// The changes to objects after given groups of commits, as far as the changes are still in effect.
///
/// These changes are ignored:
/// - a change that was undone
/// - an undo of the group itself or of a newer commit
/// - a redo, by the group's author, of the group itself or of an older commit
package struct LaterChanges: Sendable {
  /// The kind of commit that made a change.
  enum CommitKind {
    case ordinary
    /// A commit that undid a group; `of` is the ordinary commit with which that group began.
    case undo(of: Int64)
    case redo(of: Int64, isOwn: Bool)
  }

  private struct Entry<Value: Sendable>: Sendable {
    let row: Int64
    let commitKind: CommitKind
    let value: Value
  }

  private let model: Model
  /// The ordinary commit from which each group's chain of undos and redos started, by the group's
  /// first commit.
  var origins: [Int64: Int64] = [:]
  /// The value before each write, by object and property.
  private var written: [ObjectKey: [String: [Entry<LoggedValue>]]] = [:]
  private var deleted: [ObjectKey: [Entry<Void>]] = [:]
  private var inserted: [ObjectKey: [Entry<Void>]] = [:]
  private var linkRows: [LinkRowIdentity: [Entry<Void>]] = [:]

  init(model: Model) {
    self.model = model
  }

  mutating func add(_ row: HistoryRow, _ commitKind: CommitKind, _ keys: Set<ObjectKey>) {
    guard model.hasEntity(row.entity) else { return }
    let key = model.key(row.entity, row.object)
    func entry<Value>(_ value: Value) -> Entry<Value> {
      Entry(row: row.number, commitKind: commitKind, value: value)
    }
    switch row.kind {
    case .insert:
      if keys.contains(key) { inserted[key, default: []].append(entry(())) }
    case .update, .delete:
      guard keys.contains(key), !row.isMemberRemoval else { return }
      if row.kind == .delete { deleted[key, default: []].append(entry(())) }
      // An object that was deleted and inserted again may differ in every property.
      for value in row.values {
        written[key, default: [:]][value.property, default: []]
          .append(entry(value))
      }
    case .link, .unlink:
      linkRows[LinkRowIdentity(row), default: []].append(entry(()))
    }
  }

  private func first<Value>(
    _ entries: [Entry<Value>]?,
    since group: RevertGroup,
    after row: Int64 = 0
  ) -> Value? {
    let start = max(group.changes.map(\.after).min() ?? 0, row)
    let origin = origins[group.first] ?? group.first
    return entries?.first { entry in
      guard entry.row > start else { return false }
      return switch entry.commitKind {
      case .ordinary: true
      case .undo(let commit): commit < origin
      case .redo(let commit, let isOwn): !isOwn || commit > origin
      }
    }?.value
  }

  /// Returns a property's value before its first write since a group.
  ///
  /// - Parameters:
  ///   - key: The object.
  ///   - property: The property.
  ///   - group: The group.
  ///   - row: The number of a log row; writes up to this row are ignored.
  /// - Returns: The value; nil if the property was not written.
  package func value(
    before key: ObjectKey,
    _ property: String,
    since group: RevertGroup,
    after row: Int64 = 0
  ) -> LoggedValue? {
    first(written[key]?[property], since: group, after: row)
  }

  /// Returns the properties of an object that were written since a group.
  package func properties(of key: ObjectKey, since group: RevertGroup) -> Set<String> {
    Set((written[key] ?? [:]).filter { first($0.value, since: group) != nil }.keys)
  }

  /// Returns whether an object was deleted since a group, even if it was inserted again.
  package func deletes(_ key: ObjectKey, since group: RevertGroup) -> Bool {
    first(deleted[key], since: group) != nil
  }

  /// Returns whether an object was inserted since a group.
  package func inserts(_ key: ObjectKey, since group: RevertGroup) -> Bool {
    first(inserted[key], since: group) != nil
  }

  /// Returns whether a link row was inserted or deleted since a group.
  ///
  /// - Parameters:
  ///   - link: The link row.
  ///   - group: The group.
  ///   - row: The number of a log row; changes up to this row are ignored.
  /// - Returns: Whether the link row was changed.
  package func changesLink(
    _ link: LinkRowIdentity,
    since group: RevertGroup,
    after row: Int64 = 0
  ) -> Bool {
    first(linkRows[link], since: group, after: row) != nil
  }
}
