import JSON

/// One object of the plain store.
struct PlainObject: Equatable {
  let entity: String
  /// The number of its objectID; the store chooses it, so that it is nil until the store answered.
  var number: Int64?
  var version: Int64 = 1
  /// Every attribute that clients write, null included.
  var values: [String: JSONValue] = [:]
  var toOnes: [String: Int] = [:]
  /// The members of each many-to-many, at both ends.
  var links: [String: Set<Int>] = [:]
  /// The order of each ordered to-many, at its owner.
  var orders: [String: [Int]] = [:]
}

/// All objects at one commit, by a key that only the tests know.
///
/// A to-one may refer to an object that an external client deleted: it reads as null.
struct PlainState {
  let model: PlainModel
  var objects: [Int: PlainObject] = [:]

  init(_ model: PlainModel) {
    self.model = model
  }

  // MARK: Objects

  subscript(_ key: Int) -> PlainObject? { objects[key] }

  func exists(_ key: Int) -> Bool { objects[key] != nil }

  func entity(_ key: Int) -> PlainModel.Entity { model.entity(objects[key]?.entity ?? "") }

  /// The objects of an entity and its descendants, by entity and number as a fetch returns them.
  func keys(_ entity: String) -> [Int] {
    objects.filter { model.isKind($0.value.entity, of: entity) }.keys.sorted(by: isBefore)
  }

  /// The order of the objectIDs: within a family they are unique and ascend.
  func isBefore(_ first: Int, _ second: Int) -> Bool {
    (objects[first]?.number ?? .max, first) < (objects[second]?.number ?? .max, second)
  }

  // MARK: IDs

  /// The ID under which the store returns an object.
  func id(_ key: Int) -> String {
    guard let object = objects[key] else { return "?/p\(key)" }
    if let identity = model.entity(object.entity).identity {
      switch object.values[identity] {
      case .string(let text): return "\(object.entity)/s\(text)"
      case .integer(let number): return "\(object.entity)/i\(number)"
      default: break
      }
    }
    return objectID(key)
  }

  func objectID(_ key: Int) -> String {
    "\(objects[key]?.entity ?? "?")/p\(objects[key]?.number ?? -1)"
  }

  /// The object that an ID names; its entity may be an ancestor.
  func key(_ id: String) -> Int? { key(id, besides: []) }

  func key(_ id: String, besides others: Set<Int>) -> Int? {
    let parts = id.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2, let form = parts[1].first else { return nil }
    let rest = String(parts[1].dropFirst())
    return objects.keys.first { key in
      guard !others.contains(key), let object = objects[key],
        model.isKind(object.entity, of: parts[0])
      else {
        return false
      }
      if form == "p" { return object.number == Int64(rest) }
      guard let identity = model.entity(object.entity).identity else { return false }
      return object.values[identity] == Self.identity(form, rest)
    }
  }

  /// The value that an ID in the identity form holds.
  static func identity(_ form: Character, _ rest: String) -> JSONValue? {
    form == "s" ? .string(rest) : form == "i" ? Int64(rest).map { .integer($0) } : nil
  }

  // MARK: Relationships

  /// The object that a to-one refers to, if it exists.
  func target(_ name: String, of key: Int) -> Int? {
    objects[key]?.toOnes[name].flatMap { exists($0) ? $0 : nil }
  }

  /// The objects that a relationship refers to: in their order where it is ordered, else in the
  /// order of the objectIDs.
  func related(_ relationship: PlainModel.Relationship, of key: Int) -> [Int] {
    guard relationship.toMany else { return target(relationship.name, of: key).map { [$0] } ?? [] }
    var members: Set<Int>
    if model.isManyToMany(relationship) {
      members = (objects[key]?.links[relationship.name] ?? []).filter(exists)
    } else {
      members = Set(objects.filter { $0.value.toOnes[relationship.inverse] == key }.keys)
    }
    guard relationship.ordered else { return members.sorted(by: isBefore) }
    let first = (objects[key]?.orders[relationship.name] ?? []).filter(members.contains)
    members.subtract(first)
    return first + members.sorted(by: isBefore)
  }

  // MARK: Values

  /// An attribute, derived ones included, or a to-one as it is on the wire.
  func wire(_ name: String, of key: Int) -> JSONValue {
    guard let object = objects[key] else { return .null }
    let entity = model.entity(object.entity)
    if let derived = entity.attribute(name)?.derived { return value(derived, entity, of: key) }
    if let relationship = entity.relationship(name) {
      if relationship.toMany {
        return .array(related(relationship, of: key).map { .string(id($0)) })
      }
      return target(name, of: key).map { .string(id($0)) } ?? .null
    }
    return object.values[name] ?? .null
  }

  private func value(
    _ derived: PlainModel.Derived,
    _ entity: PlainModel.Entity,
    of key: Int
  ) -> JSONValue {
    func members(_ name: String) -> [Int] {
      entity.relationship(name).map { related($0, of: key) } ?? []
    }
    switch derived {
    case .count(let name): return .integer(Int64(members(name).count))
    case .sum(let name, let summed):
      let terms = members(name).compactMap { objects[$0]?.values[summed]?.integer }
      return .integer(terms.reduce(0, +))
    case .path(let name, let last):
      return target(name, of: key).flatMap { objects[$0]?.values[last] } ?? .null
    case .lowercase(let name):
      return (objects[key]?.values[name]?.string).map { .string($0.lowercased()) } ?? .null
    case .uppercase(let name):
      return (objects[key]?.values[name]?.string).map { .string($0.uppercased()) } ?? .null
    }
  }

  // MARK: Lines

  /// Each object in the form of `StoreUnderTest.objects(_:)`.
  var lines: [String] {
    model.concrete.flatMap { entity in
      keys(entity.name).filter { objects[$0]?.entity == entity.name }.map(line)
    }.sorted()
  }

  func line(_ key: Int) -> String {
    let entity = entity(key)
    let values = (entity.attributes.map(\.name) + entity.relationships.map(\.name)).map { name in
      "\(name)=\(wire(name, of: key).text)"
    }
    return ([id(key), "v\(objects[key]?.version ?? 0)"] + values).joined(separator: " ")
  }
}
