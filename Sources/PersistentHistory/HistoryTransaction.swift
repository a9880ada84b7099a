package import CordialValues
package import JSON
import ObjectModel
import SQLite
package import StoreLayout

/// A property's value as the log keeps it: JSON, blobs in hexadecimal, dates in milliseconds,
/// to-ones as numbers.
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
  /// The values before; of a pair the name of its relationship.
  package let before: String?
  /// Of a pair: its target.
  package let other: Int64
  /// nil for what the store itself changed, and for pairs.
  package let version: Int64?

  /// Creates a row as a trigger would log it, for tests that have no log.
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

  /// What `init` reads, as columns of `cordial_change`.
  static let columns = "number, entity, object, kind, before, other, version"

  /// Reads the row of a statement; nil for one of a kind that nobody knows.
  init?(_ row: PreparedStatement) {
    guard let kind = ChangeKind(rawValue: row.integer(3)) else { return nil }
    self.kind = kind
    number = row.integer(0)
    entity = Int(row.integer(1))
    object = row.integer(2)
    before = row.optionalText(4)
    other = row.integer(5)
    version = row.optionalInteger(6)
  }

  package var key: ObjectKey { ObjectKey(entity: entity, object: object) }

  /// The values before, in the order of the columns.
  package var values: [LoggedValue] { Self.values(before: before) }

  static func values(before: String?) -> [LoggedValue] {
    members(before: before).map { member in
      // Of a to-many it says something else: where a member stood.
      LoggedValue(property: member.name, value: member.value.members == nil ? member.value : .null)
    }
  }

  private static func members(before: String?) -> [JSONMember] {
    guard let before, before.hasPrefix(",") else { return [] }
    do {
      return try JSONParser.parse("{" + before.dropFirst() + "}").members ?? []
    } catch {
      // Triggers write it, of valid values only; a file that was damaged tells nothing here.
      return []
    }
  }

  /// Where a member of an ordered to-many stood before the row's change.
  package struct FormerPlace: Sendable {
    /// The to-many of the row's object; the member is the row's `other`.
    package let property: String
    package let event: MemberEvent
    package let place: Int64
  }

  /// What it says of the order of a to-many; nil for any other row.
  package var formerPlace: FormerPlace? {
    guard kind == .update, version == nil, before?.utf8.last == UInt8(ascii: "}"),
      let member = Self.members(before: before).first, let said = member.value.members?.first,
      let event = MemberEvent(rawValue: said.name), let place = said.value.integer
    else { return nil }
    return FormerPlace(property: member.name, event: event, place: place)
  }

  /// Whether it only tells where a member stood, whose leaving other rows tell.
  var isDeparture: Bool { formerPlace?.event == .left }

  /// What it says of objects: a pair is a change of both sides.
  func changes(in model: Model) -> [ObjectChange] {
    guard model.entities.indices.contains(entity - 1) else { return [] }
    switch kind {
    case .insert: return [ObjectChange(key: key, kind: .insert)]
    case .delete: return [ObjectChange(key: key, kind: .delete)]
    case .update:
      if isDeparture { return [] }
      // An order is logged under the entity that says it, of which the object may be a descendant.
      let key = model.key(entity, object)
      return [ObjectChange(key: key, kind: .update, properties: Set(values.map(\.property)))]
    case .link, .unlink:
      return sides(in: model).map { key, property in
        ObjectChange(key: key, kind: .update, properties: [property])
      }
    }
  }

  /// The two objects of a pair with the relationship as each has it.
  func sides(in model: Model) -> [(ObjectKey, String)] {
    guard let before,
      case .relationship(let relationship)? = model.entity(entity)
        .property(named: before)
    else { return [] }
    var sides = [(model.key(entity, object), relationship.name)]
    if let inverse = relationship.inverse {
      let side = (model.key(relationship.destination, other), inverse)
      // An object may be paired with itself by a relationship that is its own inverse.
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
  /// One for each object, in order of its first change; none where there are too many to read.
  package var changes: [HistoryChange] = []
  /// How many it logged.
  package var changeCount = 0
}

/// What a commit did to one object.
package struct HistoryChange: Sendable {
  package let key: ObjectKey
  package var kind: ObjectChange.Kind
  /// The names of the properties that were written, in order of name.
  package var properties: Set<String>
  /// The values before of attributes and to-ones; of a delete, all of them.
  package var before: [LoggedValue]
  /// The version with which the object was deleted last; nil where it was not.
  package var deletedVersion: Int64?
  /// The pairs that came and went, by relationship; what would undo them is the reverse.
  package var linked: [String: Set<ObjectKey>] = [:]
  package var unlinked: [String: Set<ObjectKey>] = [:]
}

extension HistoryChange {
  /// Notes a pair that came or went, or forgets that it did the other before.
  fileprivate mutating func note(
    _ other: ObjectKey,
    _ way: WritableKeyPath<HistoryChange, [String: Set<ObjectKey>]>,
    _ property: String
  ) {
    let opposite = way == \.linked ? \HistoryChange.unlinked : \.linked
    if self[keyPath: opposite][property]?.remove(other) == nil {
      self[keyPath: way][property, default: []].insert(other)
    }
  }
}

/// Takes the rows of one commit together, object by object.
struct HistoryChanges {
  let model: Model
  private var all: [HistoryChange] = []
  /// Objects that came and went again.
  private var passed: Set<ObjectKey> = []
  private var places: [ObjectKey: Int] = [:]

  /// - Parameters:
  ///   - model: The store's model.
  ///   - rows: How many rows may come.
  init(model: Model, rows: Int = 0) {
    self.model = model
    all.reserveCapacity(rows)
    places.reserveCapacity(rows)
  }

  /// One for each object that is not as it was, in order of its first change.
  var list: [HistoryChange] {
    all.compactMap { change in
      guard !passed.contains(change.key) else { return nil }
      guard !change.linked.isEmpty || !change.unlinked.isEmpty else { return change }
      var change = change
      let paired = Set(change.linked.keys).union(change.unlinked.keys)
      change.linked = change.linked.filter { !$0.value.isEmpty }
      change.unlinked = change.unlinked.filter { !$0.value.isEmpty }
      // A pair that came and went again changed nothing.
      let left = Set(change.linked.keys).union(change.unlinked.keys)
      change.properties.subtract(paired.subtracting(left))
      let isEmpty = change.kind == .update && change.properties.isEmpty
      return isEmpty ? nil : change
    }
  }

  mutating func add(_ row: HistoryRow) {
    guard model.entities.indices.contains(row.entity - 1) else { return }
    switch row.kind {
    case .update where row.isDeparture: break
    case .insert, .delete, .update: addObject(row)
    case .link, .unlink: addPair(row)
    }
  }

  private mutating func addObject(_ row: HistoryRow) {
    let values = row.values
    let key = model.key(row.entity, row.object)
    let kind: ObjectChange.Kind =
      row.kind == .insert ? .insert : row.kind == .delete ? .delete : .update
    guard let place = places[key] else {
      places[key] = all.count
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
      all[place].deletedVersion = max(all[place].deletedVersion ?? 0, row.version ?? 0)
    }
    // The first value before is the one from before the commit.
    let known = Set(all[place].before.map(\.property))
    all[place].before += values.filter { !known.contains($0.property) }
    switch (all[place].kind, kind) {
    case (.update, .delete): all[place].kind = .delete
    case (.insert, .delete): passed.insert(key)
    case (.insert, .insert): passed.remove(key)
    // Before the insert, a dangling link row of a former object with that number was removed.
    case (.update, .insert): all[place].kind = .insert
    case (.delete, .insert):
      all[place].kind = .update
      all[place].properties.formUnion(all[place].before.map(\.property))
    case (.update, .update): all[place].properties.formUnion(values.map(\.property))
    default: break
    }
  }

  private mutating func addPair(_ row: HistoryRow) {
    let sides = row.sides(in: model)
    for (index, (key, property)) in sides.enumerated() {
      let other =
        index == 1
        ? model.key(row.entity, row.object)
        : model.key(destination(of: property, key.entity), row.other)
      if places[key] == nil {
        places[key] = all.count
        all.append(HistoryChange(key: key, kind: .update, properties: [], before: []))
      }
      guard let place = places[key] else { continue }
      if all[place].kind == .update { all[place].properties.insert(property) }
      all[place].note(other, row.kind == .link ? \.linked : \.unlinked, property)
    }
  }

  private func destination(of property: String, _ entity: Int) -> Int {
    guard case .relationship(let relationship)? = model.entity(entity).property(named: property)
    else { return entity }
    return relationship.destination
  }
}
