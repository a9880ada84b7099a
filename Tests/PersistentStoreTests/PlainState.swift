import JSON

/// What a model file says, as far as the plain store has it.
struct PlainModel {
  struct Relationship {
    let name: String
    let destination: String
    let toMany: Bool
    let inverse: String
    let optional: Bool
    let deleteRule: String
  }

  struct Entity {
    let name: String
    let identity: String?
    let unique: [[String]]
    let attributes: [String]
    let required: Set<String>
    let defaults: [String: JSONValue]
    let relationships: [Relationship]
  }

  let entities: [Entity]

  /// Reads a model file that is known to be right.
  init(_ text: String) throws {
    entities =
      try JSONParser.parse(text)["entities"]?.array?.map { entity in
        let attributes = entity["attributes"]?.array ?? []
        let identity = entity["identity"]?.string
        return Entity(
          name: entity["name"]?.string ?? "",
          identity: identity,
          unique: (identity.map { [[$0]] } ?? [])
            + (entity["unique"]?.array ?? []).map { ($0.array ?? []).compactMap(\.string) },
          attributes: attributes.compactMap { $0["name"]?.string },
          required: Set(
            attributes.filter { $0["optional"]?.bool != true }.compactMap { $0["name"]?.string }
          ),
          defaults: Dictionary(
            uniqueKeysWithValues: attributes.map {
              ($0["name"]?.string ?? "", $0["default"] ?? .null)
            }
          ),
          relationships: (entity["relationships"]?.array ?? []).map {
            Relationship(
              name: $0["name"]?.string ?? "",
              destination: $0["destination"]?.string ?? "",
              toMany: $0["toMany"]?.bool ?? false,
              inverse: $0["inverse"]?.string ?? "",
              optional: $0["optional"]?.bool ?? false,
              deleteRule: $0["deleteRule"]?.string ?? "nullify"
            )
          }
        )
      } ?? []
  }

  func entity(_ name: String) -> Entity {
    entities.first { $0.name == name } ?? entities[0]
  }

  func relationship(_ name: String, of entity: String) -> Relationship? {
    self.entity(entity).relationships.first { $0.name == name }
  }

  func inverse(of relationship: Relationship) -> Relationship? {
    self.relationship(relationship.inverse, of: relationship.destination)
  }

  /// Whether a to-many is one of pairs; otherwise the other end has a to-one.
  func isPairs(_ relationship: Relationship) -> Bool {
    relationship.toMany && inverse(of: relationship)?.toMany == true
  }
}

/// Which object.
struct PlainKey: Hashable, Comparable {
  let entity: String
  let number: Int

  static func < (first: PlainKey, second: PlainKey) -> Bool {
    (first.entity, first.number) < (second.entity, second.number)
  }
}

/// One object, with all that is its own.
struct PlainObject: Equatable {
  var version: Int64 = 1
  var values: [String: JSONValue] = [:]
  var toOnes: [String: PlainKey] = [:]
  var pairs: [String: Set<PlainKey>] = [:]
}

/// Objects that are there, and the numbers that were given.
struct PlainState {
  let model: PlainModel
  var objects: [PlainKey: PlainObject] = [:]
  var lastNumbers: [String: Int] = [:]

  init(_ model: PlainModel) {
    self.model = model
  }

  func keys(_ entity: String) -> [PlainKey] {
    objects.keys.filter { $0.entity == entity }.sorted()
  }

  /// The ID under which an object is answered.
  func id(_ key: PlainKey) -> String {
    if let identity = model.entity(key.entity).identity,
      let text = objects[key]?.values[identity]?.string
    {
      return "\(key.entity)/s\(text)"
    }
    return "\(key.entity)/p\(key.number)"
  }

  /// The object that an ID names, whether it is there or not; nil for an identity that nobody has.
  func key(_ id: String) -> PlainKey? {
    let parts = id.split(separator: "/").map(String.init)
    let rest = String(parts[1].dropFirst())
    if parts[1].hasPrefix("p") { return PlainKey(entity: parts[0], number: Int(rest) ?? 0) }
    let identity = model.entity(parts[0]).identity ?? ""
    return keys(parts[0]).first { objects[$0]?.values[identity] == .string(rest) }
  }

  /// What a to-many leads to.
  func members(_ relationship: PlainModel.Relationship, of key: PlainKey) -> Set<PlainKey> {
    if model.isPairs(relationship) { return objects[key]?.pairs[relationship.name] ?? [] }
    return Set(
      keys(relationship.destination).filter { objects[$0]?.toOnes[relationship.inverse] == key }
    )
  }

  /// What a relationship leads to, of whatever kind it is.
  func related(_ relationship: PlainModel.Relationship, of key: PlainKey) -> Set<PlainKey> {
    if relationship.toMany { return members(relationship, of: key) }
    return Set([objects[key]?.toOnes[relationship.name]].compactMap { $0 })
  }

  /// An attribute or to-one as it stands on the wire.
  func wire(_ property: String, of key: PlainKey) -> JSONValue {
    guard let object = objects[key] else { return .null }
    return object.values[property] ?? object.toOnes[property].map { .string(id($0)) } ?? .null
  }

  /// An attribute or to-one as the log keeps it.
  func logged(_ property: String, of key: PlainKey) -> JSONValue {
    guard let object = objects[key] else { return .null }
    return object.values[property]
      ?? object.toOnes[property].map { .integer(Int64($0.number)) } ?? .null
  }

  /// The attributes and to-ones of an entity.
  func columns(_ entity: String) -> [String] {
    let entity = model.entity(entity)
    return entity.attributes + entity.relationships.filter { !$0.toMany }.map(\.name)
  }

  /// Every object in the form of `TestStore.world`.
  var lines: [String] {
    model.entities.flatMap { entity in
      keys(entity.name).map { key in
        let columns = entity.attributes.map { name in
          "\(name)=\(wire(name, of: key).string ?? wire(name, of: key).text)"
        }
        let relationships = entity.relationships.map { relationship in
          let related = related(relationship, of: key).sorted().map(id)
          let list =
            relationship.toMany ? "[" + related.joined(separator: ",") + "]" : related.first
          return "\(relationship.name)=\(list ?? "null")"
        }
        return (["\(id(key)) v\(objects[key]?.version ?? 0)"] + columns + relationships)
          .joined(separator: " ")
      }
    }
  }

  /// What `TestStore.world` is asked for.
  var everything: String {
    model.entities.map {
      ([$0.name] + $0.attributes + $0.relationships.map(\.name)).joined(separator: " ")
    }.joined(separator: ";")
  }
}
