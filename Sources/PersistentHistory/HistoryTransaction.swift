package import CordialValues
package import JSON
import ObjectModel
import SQLite
package import StoreLayout

/// A property's value in the log's format: JSON with hexadecimal blobs, dates in milliseconds, and
/// to-ones as object numbers.
package struct LoggedValue: Sendable, Equatable {
  package let property: String
  package let value: JSONValue

  package init(property: String, value: JSONValue) {
    self.property = property
    self.value = value
  }
}

/// One row of the log.
package struct HistoryRow: Sendable {
  package let number: Int64
  package let entity: Int
  package let object: Int64
  package let kind: ChangeKind
  /// The former values; for a link row, the relationship's name.
  package let before: String?
  /// The target of a link row, or the list member whose sort position the row logs; otherwise 0.
  package let other: Int64
  /// The object's version; nil for derived values, sort positions and link rows.
  package let version: Int64?

  /// Creates a row as a trigger would log it, for tests without a log.
  package init(
    number: Int64,
    key: ObjectKey,
    kind: ChangeKind,
    before: String? = nil,
    other: Int64 = 0,
    version: Int64? = nil
  ) {
    self.number = number
    entity = key.entity
    object = key.object
    self.kind = kind
    self.before = before
    self.other = other
    self.version = version
  }

  /// The columns of `cordial_change` that `init` reads.
  static let columns = "number, entity, object, kind, before, other, version"

  /// Creates a row from the current result row of a statement.
  ///
  /// - Throws: `SQLiteError` with the code `corrupt` for a row that no trigger can have logged, so
  ///   that the history never silently lacks a change.
  init(_ row: PreparedStatement) throws {
    guard let kind = ChangeKind(rawValue: row.integer(3)) else {
      throw SQLiteError(.corrupt, "The log has a change of the kind \(row.integer(3))")
    }
    self.kind = kind
    number = try LogNumbers.checked(row.integer(0))
    entity = Int(row.integer(1))
    object = row.integer(2)
    before = row.optionalText(4)
    other = row.integer(5)
    version = row.optionalInteger(6)
  }

  package var key: ObjectKey { ObjectKey(entity: entity, object: object) }

  /// The former values, in the order of the columns.
  package var values: [LoggedValue] { Self.values(before: before) }

  static func values(before: String?) -> [LoggedValue] {
    members(before: before).map { member in
      // The JSON object of a to-many has a member's former sort position, not a former value.
      LoggedValue(property: member.name, value: member.value.members == nil ? member.value : .null)
    }
  }

  private static func members(before: String?) -> [JSONMember] {
    guard let before, before.hasPrefix(",") else { return [] }
    do {
      var bytes = Array(before.utf8)
      bytes[0] = UInt8(ascii: "{")
      bytes.append(UInt8(ascii: "}"))
      return try JSONParser.parse(bytes.span).members ?? []
    } catch {
      // Triggers log valid values only; in a damaged file, the row has no values.
      return []
    }
  }

  /// The sort position that a member of an ordered to-many had before the row's change.
  package struct FormerPosition: Sendable {
    /// The name of the to-many; its owner is the row's `object`, and the member is the row's
    /// `other`.
    package let property: String
    package let event: MemberEvent
    package let position: Int64
  }

  /// The former sort position that the row logs; nil for a row of another kind.
  package var formerPosition: FormerPosition? {
    guard kind == .update, version == nil, before?.utf8.last == UInt8(ascii: "}"),
      let member = Self.members(before: before).first, let said = member.value.members?.first,
      let event = MemberEvent(rawValue: said.name), let position = said.value.integer
    else { return nil }
    return FormerPosition(property: member.name, event: event, position: position)
  }

  /// Whether the row logs only the last sort position of a removed member; other rows log the
  /// removal.
  var isMemberRemoval: Bool { formerPosition?.event == .left }

  /// Returns the changes of objects that the row logs.
  ///
  /// - Parameters:
  ///   - model: The model of the log.
  ///   - names: The reader for the names of the written properties.
  /// - Returns: The changes; a link row changes both its ends.
  func changes(in model: Model, _ names: inout LoggedNames) -> [ObjectChange] {
    guard model.hasEntity(entity) else { return [] }
    switch kind {
    case .insert: return [ObjectChange(key: key, kind: .insert)]
    case .delete: return [ObjectChange(key: key, kind: .delete)]
    case .update:
      if isMemberRemoval { return [] }
      // A move is logged under the entity that declares the to-many, which may be an ancestor of
      // the owner's entity.
      let key = model.key(entity, object)
      return [
        ObjectChange(
          key: key,
          kind: .update,
          properties: names.read(self),
          countsVersion: version != nil
        )
      ]
    case .link, .unlink:
      return sides(in: model).map { key, property in
        // A separate row logs each increment of an object's version.
        ObjectChange(key: key, kind: .update, properties: [property], countsVersion: false)
      }
    }
  }

  /// Returns the two ends of a link row, each with its relationship.
  func sides(in model: Model) -> [(ObjectKey, String)] {
    guard let before,
      case .relationship(let relationship)? = model.entity(entity)
        .property(named: before)
    else { return [] }
    var sides = [(model.key(entity, object), relationship.name)]
    if let inverse = relationship.inverse {
      let side = (model.key(relationship.destination, other), inverse)
      // An object may be linked to itself by a relationship that is its own inverse.
      if sides[0] != side { sides.append(side) }
    }
    return sides
  }
}

/// One commit.
package struct HistoryTransaction: Sendable {
  package let number: Int64
  package let lastChange: Int64
  package let mark: UInt32
  /// Milliseconds since 1970.
  package let time: Int64
  package let author: String?
  package let context: String?
  package let process: String?
  /// One change for each object, in the order of the first changes; empty if the commit has too
  /// many changes.
  package var changes: [HistoryChange] = []
  /// The count of changes that the commit logged.
  package var changeCount = 0
}

/// The changes of one object in one commit.
package struct HistoryChange: Sendable {
  package let key: ObjectKey
  package var kind: ObjectChange.Kind
  /// The names of the properties that were written.
  package var properties: Set<String>
  /// The former values of the written attributes and to-ones; for a delete, of all attributes and
  /// to-ones.
  package var before: [LoggedValue]
  /// The object's version at its last deletion; nil if the commit did not delete the object.
  package var deletedVersion: Int64?
  /// The objects that the commit linked, by relationship; `unlinked` has the unlinked objects.
  package var linked: [String: Set<ObjectKey>] = [:]
  package var unlinked: [String: Set<ObjectKey>] = [:]
}

extension HistoryChange {
  /// Records that an object was linked or unlinked; opposite records cancel each other.
  fileprivate mutating func note(
    _ other: ObjectKey,
    _ direction: WritableKeyPath<HistoryChange, [String: Set<ObjectKey>]>,
    _ property: String
  ) {
    let opposite = direction == \.linked ? \HistoryChange.unlinked : \.linked
    if self[keyPath: opposite][property]?.remove(other) == nil {
      self[keyPath: direction][property, default: []].insert(other)
    }
  }
}

/// The log rows of one commit, combined into one change for each object.
struct HistoryChanges {
  let model: Model
  private var all: [HistoryChange] = []
  /// The objects that the commit inserted and then deleted.
  private var transients: Set<ObjectKey> = []
  private var changeIndices: [ObjectKey: Int] = [:]

  /// Creates an empty list.
  ///
  /// - Parameters:
  ///   - model: The store's model.
  ///   - rows: The expected number of rows.
  init(model: Model, rows: Int = 0) {
    self.model = model
    all.reserveCapacity(rows)
    changeIndices.reserveCapacity(rows)
  }

  /// One change for each object that the commit changed in effect, in the order of the first
  /// changes.
  var list: [HistoryChange] {
    all.compactMap { change in
      guard !transients.contains(change.key) else { return nil }
      guard !change.linked.isEmpty || !change.unlinked.isEmpty else { return change }
      var change = change
      let changedLinks = Set(change.linked.keys).union(change.unlinked.keys)
      change.linked = change.linked.filter { !$0.value.isEmpty }
      change.unlinked = change.unlinked.filter { !$0.value.isEmpty }
      // A relationship is unchanged if its link and unlink records have cancelled each other.
      let remainingLinks = Set(change.linked.keys).union(change.unlinked.keys)
      change.properties.subtract(changedLinks.subtracting(remainingLinks))
      let isEmpty = change.kind == .update && change.properties.isEmpty
      return isEmpty ? nil : change
    }
  }

  mutating func add(_ row: HistoryRow) {
    guard model.hasEntity(row.entity) || model.isRetired(row.entity) else { return }
    switch row.kind {
    case .update where row.isMemberRemoval: break
    case .insert, .delete, .update: addObject(row)
    case .link, .unlink: addLink(row)
    }
  }

  private mutating func addObject(_ row: HistoryRow) {
    let values = row.values
    let key = model.key(row.entity, row.object)
    let kind: ObjectChange.Kind =
      row.kind == .insert ? .insert : row.kind == .delete ? .delete : .update
    guard let changeIndex = changeIndices[key] else {
      changeIndices[key] = all.count
      all.append(
        HistoryChange(
          key: key,
          kind: kind,
          properties: Set(kind == .update ? values.map(\.property) : []),
          before: values,
          deletedVersion: kind == .delete ? row.version : nil
        )
      )
      return
    }
    if kind == .delete {
      all[changeIndex].deletedVersion = max(all[changeIndex].deletedVersion ?? 0, row.version ?? 0)
    }
    // The earliest former value is the value before the commit.
    let known = Set(all[changeIndex].before.map(\.property))
    all[changeIndex].before += values.filter { !known.contains($0.property) }
    switch (all[changeIndex].kind, kind) {
    case (.update, .delete): all[changeIndex].kind = .delete
    case (.insert, .delete): transients.insert(key)
    case (.insert, .insert): transients.remove(key)
    // The recorded update is the removal of a dangling link row. That link row referenced an
    // earlier object with the same number.
    case (.update, .insert): all[changeIndex].kind = .insert
    case (.delete, .insert):
      all[changeIndex].kind = .update
      all[changeIndex].properties.formUnion(all[changeIndex].before.map(\.property))
    case (.update, .update): all[changeIndex].properties.formUnion(values.map(\.property))
    default: break
    }
  }

  private mutating func addLink(_ row: HistoryRow) {
    let sides = row.sides(in: model)
    for (index, (key, property)) in sides.enumerated() {
      let other =
        index == 1
        ? model.key(row.entity, row.object)
        : model.key(destination(of: property, key.entity), row.other)
      if changeIndices[key] == nil {
        changeIndices[key] = all.count
        all.append(HistoryChange(key: key, kind: .update, properties: [], before: []))
      }
      guard let changeIndex = changeIndices[key] else { continue }
      if all[changeIndex].kind == .update { all[changeIndex].properties.insert(property) }
      all[changeIndex].note(other, row.kind == .link ? \.linked : \.unlinked, property)
    }
  }

  private func destination(of property: String, _ entity: Int) -> Int {
    guard case .relationship(let relationship)? = model.entity(entity).property(named: property)
    else { return entity }
    return relationship.destination
  }
}
