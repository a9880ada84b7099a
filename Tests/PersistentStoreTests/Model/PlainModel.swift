import JSON

/// A model file as the plain store reads it (contract, section 12).
struct PlainModel {
  struct Attribute {
    let name: String
    let type: String
    let optional: Bool
    let defaultValue: JSONValue
    let minimum: Int64?
    let maximum: Int64?
    let maximumLength: Int?
    let allowed: [JSONValue]?
    let derived: Derived?
  }

  /// What a derived attribute is computed from.
  enum Derived {
    case count(String)
    case sum(String, String)
    case path(String, String)
    case lowercase(String)
    case uppercase(String)
  }

  struct Relationship {
    let name: String
    /// The entity that declares it.
    let owner: String
    let destination: String
    let toMany: Bool
    let inverse: String
    let optional: Bool
    let ordered: Bool
    let deleteRule: String
    let minimumCount: Int
    let maximumCount: Int?
  }

  struct UniqueSet {
    /// The entity that declares it: its descendants are covered too.
    let entity: String
    let names: [String]
  }

  struct Entity {
    let name: String
    /// Its ancestors and itself, the root first.
    let lineage: [String]
    let isAbstract: Bool
    let identity: String?
    let attributes: [Attribute]
    let relationships: [Relationship]
    let unique: [UniqueSet]

    func attribute(_ name: String) -> Attribute? { attributes.first { $0.name == name } }
    func relationship(_ name: String) -> Relationship? { relationships.first { $0.name == name } }

    /// The attributes that clients write.
    var stored: [Attribute] { attributes.filter { $0.derived == nil } }
    var toOnes: [Relationship] { relationships.filter { !$0.toMany } }
    var toManys: [Relationship] { relationships.filter(\.toMany) }
    /// The attributes that clients write and the to-ones.
    var columns: [String] { stored.map(\.name) + toOnes.map(\.name) }
  }

  let text: String
  let entities: [Entity]
  private let byName: [String: Entity]

  /// Reads a model file that is known to be valid.
  init(_ text: String) throws {
    self.text = text
    let raw = try JSONParser.parse(text)["entities"]?.array ?? []
    let named = Dictionary(uniqueKeysWithValues: raw.map { ($0["name"]?.string ?? "", $0) })
    entities = raw.map { entity in
      var lineage = [entity["name"]?.string ?? ""]
      while let parent = named[lineage[0]]?["parent"]?.string { lineage.insert(parent, at: 0) }
      return Self.entity(lineage, lineage.compactMap { named[$0] })
    }
    byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
  }

  private static func entity(_ lineage: [String], _ levels: [JSONValue]) -> Entity {
    let identity = levels.compactMap { $0["identity"]?.string }.first
    let identityOwner = levels.first { $0["identity"]?.string != nil }?["name"]?.string ?? ""
    let sets = levels.flatMap { level in
      (level["unique"]?.array ?? []).map {
        UniqueSet(
          entity: level["name"]?.string ?? "",
          names: ($0.array ?? []).compactMap(\.string)
        )
      }
    }
    return Entity(
      name: lineage.last ?? "",
      lineage: lineage,
      isAbstract: levels.last?["abstract"]?.bool ?? false,
      identity: identity,
      attributes: levels.flatMap { $0["attributes"]?.array ?? [] }.map(attribute),
      relationships: levels.flatMap { level in
        (level["relationships"]?.array ?? []).map {
          relationship($0, owner: level["name"]?.string ?? "")
        }
      },
      unique: (identity.map { [UniqueSet(entity: identityOwner, names: [$0])] } ?? []) + sets
    )
  }

  private static func attribute(_ value: JSONValue) -> Attribute {
    Attribute(
      name: value["name"]?.string ?? "",
      type: value["type"]?.string ?? "",
      optional: value["optional"]?.bool ?? false,
      defaultValue: value["default"] ?? .null,
      minimum: value["minimum"]?.integer,
      maximum: value["maximum"]?.integer,
      maximumLength: value["maximumLength"]?.integer.map { Int($0) },
      allowed: value["enum"]?.array,
      derived: value["derived"]?.string.flatMap(derived)
    )
  }

  private static func derived(_ text: String) -> Derived? {
    for (name, make) in [("lowercase", Derived.lowercase), ("uppercase", Derived.uppercase)]
    where text.hasPrefix(name + ":(") {
      return make(String(text.dropFirst(name.count + 2).dropLast()))
    }
    let names = text.split(separator: ".").map(String.init)
    switch (names.count, names.last) {
    case (2, "@count"): return .count(names[0])
    case (3, let last?): return .sum(names[0], last)
    case (2, let last?): return .path(names[0], last)
    default: return nil
    }
  }

  private static func relationship(_ value: JSONValue, owner: String) -> Relationship {
    Relationship(
      name: value["name"]?.string ?? "",
      owner: owner,
      destination: value["destination"]?.string ?? "",
      toMany: value["toMany"]?.bool ?? false,
      inverse: value["inverse"]?.string ?? "",
      optional: value["optional"]?.bool ?? false,
      ordered: value["ordered"]?.bool ?? false,
      deleteRule: value["deleteRule"]?.string ?? "nullify",
      minimumCount: Int(value["minimumCount"]?.integer ?? 0),
      maximumCount: value["maximumCount"]?.integer.map { Int($0) }
    )
  }

  // MARK: Questions

  /// The entities that have objects.
  var concrete: [Entity] { entities.filter { !$0.isAbstract } }

  func entity(_ name: String) -> Entity { byName[name] ?? entities[0] }

  func isKnown(_ name: String) -> Bool { byName[name] != nil }

  /// Whether objects of an entity are objects of an ancestor, or of the entity itself.
  func isKind(_ entity: String, of ancestor: String) -> Bool {
    byName[entity]?.lineage.contains(ancestor) == true
  }

  /// The entities whose objects are objects of one.
  func kinds(of entity: String) -> [Entity] { concrete.filter { $0.lineage.contains(entity) } }

  func inverse(of relationship: Relationship) -> Relationship {
    entity(relationship.destination).relationship(relationship.inverse) ?? relationship
  }

  /// Whether both ends are to-many.
  func isManyToMany(_ relationship: Relationship) -> Bool {
    relationship.toMany && inverse(of: relationship).toMany
  }

  func isOneToMany(_ relationship: Relationship) -> Bool {
    relationship.toMany && !inverse(of: relationship).toMany
  }

  func isOneToOne(_ relationship: Relationship) -> Bool {
    !relationship.toMany && !inverse(of: relationship).toMany
  }
}
