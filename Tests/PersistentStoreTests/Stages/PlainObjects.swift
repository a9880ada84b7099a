import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// Stored objects in dictionaries, which count what the stages ask for.
final class PlainObjects: StoredObjects {
  let identifier = "plain"
  private let layout: SaveLayout
  private var versions: [ObjectKey: Int64] = [:]
  private var rows: [ObjectKey: [AttributeValue]] = [:]
  /// The members of to-manys with link rows, seen from each end, in ascending order.
  private var linked: [End: [Int64]] = [:]
  private var places: [End: [Int64: Int64]] = [:]
  private var greatest: [Int: Int64] = [:]
  /// How often each look-up was made, by its name.
  private(set) var lookups: [String: Int] = [:]

  /// A to-many of one object.
  private struct End: Hashable {
    let relationship: Int
    let owner: Int64
  }

  init(_ layout: SaveLayout) { self.layout = layout }

  /// Stores objects as a save would send them, except that each has its number in its ID.
  ///
  /// The version `@version` is 1 where it is not named.
  convenience init(_ layout: SaveLayout, _ json: JSONValue) {
    self.init(layout)
    let objects = json.members ?? []
    for object in objects { add(key(object.name), object.value["@version"]?.integer ?? 1) }
    for object in objects {
      for member in object.value.members ?? [] where member.name != "@version" {
        set(member, of: key(object.name))
      }
    }
  }

  /// The key that an ID with a number names.
  func key(_ text: String) -> ObjectKey {
    guard let id = ObjectID(text), case .object(let number) = id.key,
      let entity = layout.model.entity(named: id.entity)
    else { return ObjectKey(entity: 1, object: 0) }
    return layout.model.key(entity.number, number)
  }

  /// Stores an object with its default values.
  func add(_ key: ObjectKey, _ version: Int64 = 1) {
    versions[key] = version
    rows[key] = layout.entity(key).defaults
    greatest[key.entity] = max(greatest[key.entity] ?? 0, key.object)
  }

  private func set(_ member: JSONMember, of key: ObjectKey) {
    let entity = layout.entity(key)
    if let toMany = entity.relationships.first(where: { $0.name == member.name && $0.isToMany }) {
      let members = (member.value.array ?? []).compactMap(\.string).map(self.key)
      return setMembers(members.map(\.object), of: toMany, key)
    }
    guard let column = entity.columns[member.name] else { return }
    switch entity.entity.property(named: member.name) {
    case .attribute(let attribute):
      if case .value(let value) = attribute.decode(member.value) { rows[key]?[column] = value }
    case .relationship:
      rows[key]?[column] = member.value.string.map { .integer(self.key($0).object) } ?? .null
    case nil: break
    }
  }

  /// Stores the members of a to-many, with positions where it is ordered.
  func setMembers(_ members: [Int64], of toMany: RelationshipLayout, _ owner: ObjectKey) {
    if toMany.description.ordered {
      let places = members.enumerated().map { ($1, Int64($0 + 1) * 65536) }
      self.places[End(relationship: toMany.number, owner: owner.object)] =
        Dictionary(uniqueKeysWithValues: places)
    }
    for member in members {
      if !toMany.isLinked, let inverse = toMany.inverse {
        let key = toMany.target(member)
        guard let column = layout.entity(key).columns[inverse.name] else { continue }
        rows[key]?[column] = .integer(owner.object)
      } else {
        link(member, End(relationship: toMany.number, owner: owner.object))
        guard let inverse = toMany.inverse else { continue }
        link(owner.object, End(relationship: inverse.number, owner: member))
      }
    }
  }

  private func link(_ member: Int64, _ end: End) {
    guard linked[end]?.last.map({ $0 < member }) ?? true else {
      linked[end] = Set(linked[end] ?? []).union([member]).sorted()
      return
    }
    linked[end, default: []].append(member)
  }

  private func count(_ lookup: String = #function) {
    lookups[String(lookup.prefix { $0 != "(" }), default: 0] += 1
  }

  // MARK: Look-ups

  func version(of key: ObjectKey) -> Int64? {
    count()
    return versions[key]
  }

  func value(_ column: Int, of key: ObjectKey) -> AttributeValue? {
    count()
    return rows[key]?[column]
  }

  func row(of key: ObjectKey) -> [AttributeValue]? {
    count()
    return rows[key]
  }

  func object(of entity: EntityLayout, identity: AttributeValue) -> ObjectKey? {
    count()
    guard let name = entity.entity.identity?.name else { return nil }
    return objects(of: entity.entity).first { value(named: name, of: $0) == identity }
  }

  func holders(of set: UniqueSet, _ values: [AttributeValue]) -> [ObjectKey] {
    count()
    return objects(of: set.scope).filter { key in
      set.names.map { value(named: $0, of: key) } == values
    }
  }

  func holders(of toOne: RelationshipLayout, to object: Int64) -> [ObjectKey] {
    count()
    return references(of: toOne, to: object)
  }

  func members(of toMany: RelationshipLayout, _ owner: ObjectKey) -> [Int64] {
    count()
    let end = End(relationship: toMany.number, owner: owner.object)
    let members = numbers(of: toMany, owner)
    guard toMany.description.ordered, let places = places[end] else { return members }
    return members.sorted { (places[$0] ?? .max, $0) < (places[$1] ?? .max, $1) }
  }

  func memberCount(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey,
    upTo limit: Int
  ) -> Int {
    count()
    return numbers(of: toMany, owner).count
  }

  func isLinked(_ relationship: RelationshipLayout, _ owner: ObjectKey, _ member: Int64) -> Bool {
    count()
    return numbers(of: relationship, owner).contains(member)
  }

  func linkSources(of relationship: RelationshipLayout, to object: Int64) -> [Int64] {
    count()
    return linked.filter { $0.key.relationship == relationship.number && $0.value.contains(object) }
      .map(\.key.owner).sorted()
  }

  func positions(of toMany: RelationshipLayout, _ owner: ObjectKey) -> [Int64: Int64?] {
    count()
    let known = places[End(relationship: toMany.number, owner: owner.object)] ?? [:]
    let members = numbers(of: toMany, owner)
    return Dictionary(uniqueKeysWithValues: members.map { ($0, known[$0]) })
  }

  func lastPosition(of toMany: RelationshipLayout, _ owner: ObjectKey) -> Int64 {
    count()
    return places[End(relationship: toMany.number, owner: owner.object)]?.values.max() ?? 0
  }

  func nextNumber(of entity: EntityLayout) -> Int64 {
    count()
    let number = max(greatest[entity.entity.number] ?? 0, entity.entity.numbers.lowerBound - 1) + 1
    greatest[entity.entity.number] = number
    return number
  }

  func name(of key: ObjectKey) -> String {
    count()
    let entity = layout.model.entity(key.entity)
    if let identity = entity.identity, case .string(let text) = value(named: identity.name, of: key)
    {
      return "\(entity.name)/s\(text)"
    }
    return "\(entity.name)/p\(key.object)"
  }

  // MARK: Without counting

  private func objects(of entity: EntityDescription) -> [ObjectKey] {
    versions.keys.filter { layout.model.isKind($0.entity, of: entity.number) }.sorted()
  }

  private func value(named name: String, of key: ObjectKey) -> AttributeValue {
    guard let column = layout.entity(key).columns[name] else { return .null }
    return rows[key]?[column] ?? .null
  }

  private func references(of toOne: RelationshipLayout, to object: Int64) -> [ObjectKey] {
    objects(of: toOne.owner).filter { value(named: toOne.name, of: $0) == .integer(object) }
  }

  private func numbers(of toMany: RelationshipLayout, _ owner: ObjectKey) -> [Int64] {
    guard !toMany.isLinked, let inverse = toMany.inverse else {
      return linked[End(relationship: toMany.number, owner: owner.object)] ?? []
    }
    return references(of: inverse, to: owner.object).map(\.object)
  }
}
