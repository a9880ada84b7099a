import JSON
import TestSeeds

/// Makes random models: small families with every kind of relationship.
struct ModelGenerator {
  private struct Draft {
    let name: String
    var parent: String?
    var isAbstract = false
    var identity: JSONValue = .null
    var attributes: [JSONValue] = []
    var relationships: [JSONValue] = []
    var unique: [JSONValue] = []

    var prefix: String { name.lowercased() }

    var json: JSONValue {
      [
        "name": .string(name), "parent": parent.map { .string($0) } ?? .null,
        "abstract": .bool(isAbstract), "identity": identity, "attributes": .array(attributes),
        "relationships": .array(relationships), "unique": .array(unique),
      ]
    }
  }

  private static let roots = ["Ant", "Bee", "Cat", "Dog"]

  private var random: SplitMix64
  private var drafts: [Draft] = []

  init(seed: UInt64) {
    random = SplitMix64(seed: seed &* 31)
  }

  /// The text of a model file.
  mutating func model() -> String {
    for name in Self.roots.prefix(2 + random.below(3)) { addFamily(name) }
    for index in drafts.indices { addAttributes(index) }
    for number in 0..<(2 + random.below(4)) { addRelationship(number) }
    for index in drafts.indices { addUniqueOverToOne(index) }
    for index in drafts.indices where random.oneIn(2) { addDerived(index) }
    let value: JSONValue = ["name": "Random", "entities": .array(drafts.map(\.json))]
    return value.text
  }

  // MARK: Entities

  private mutating func addFamily(_ root: String) {
    drafts.append(Draft(name: root))
    guard random.oneIn(3) else { return }
    drafts[drafts.count - 1].isAbstract = random.oneIn(3)
    drafts.append(Draft(name: root + "A", parent: root))
    if random.oneIn(2) { drafts.append(Draft(name: root + "B", parent: root)) }
    if random.oneIn(3) { drafts.append(Draft(name: root + "AA", parent: root + "A")) }
  }

  private func isRoot(_ index: Int) -> Bool { drafts[index].parent == nil }

  /// The drafts of an entity's ancestors and itself.
  private func lineage(_ index: Int) -> [Draft] {
    var lineage = [drafts[index]]
    while let parent = lineage[0].parent, let draft = drafts.first(where: { $0.name == parent }) {
      lineage.insert(draft, at: 0)
    }
    return lineage
  }

  // MARK: Attributes

  private mutating func addAttributes(_ index: Int) {
    let prefix = drafts[index].prefix
    if isRoot(index), random.oneIn(3) {
      let isText = random.oneIn(2)
      drafts[index].identity = .string(prefix + "Code")
      drafts[index].attributes.append(
        ["name": .string(prefix + "Code"), "type": isText ? "string" : "int64"]
      )
    }
    if isRoot(index) || random.oneIn(2) {
      var name: [JSONMember] = [
        JSONMember("name", .string(prefix + "Name")), JSONMember("type", "string"),
        JSONMember("optional", true),
      ]
      if random.oneIn(4) { name.append(JSONMember("default", "d")) }
      drafts[index].attributes.append(.object(name))
      if random.oneIn(2) { drafts[index].unique.append([.string(prefix + "Name")]) }
    }
    var size: [JSONMember] = [
      JSONMember("name", .string(prefix + "Size")),
      JSONMember("type", random.oneIn(2) ? "int16" : "int64"),
    ]
    if random.oneIn(2) {
      size += [JSONMember("default", 1), JSONMember("minimum", 0), JSONMember("maximum", 9)]
    } else {
      size.append(JSONMember("optional", true))
    }
    drafts[index].attributes.append(.object(size))
    if drafts[index].attributes.count > 1, random.oneIn(3) {
      let names = drafts[index].attributes.compactMap { $0["name"] }.suffix(2)
      drafts[index].unique.append(.array(Array(names)))
    }
    if random.oneIn(3) {
      drafts[index].attributes.append(
        [
          "name": .string(prefix + "Kind"), "type": "string", "enum": ["x", "y", "z"],
          "default": "x",
        ]
      )
    }
    if random.oneIn(4) {
      drafts[index].attributes.append(
        ["name": .string(prefix + "Flag"), "type": "boolean", "optional": true]
      )
    }
    if random.oneIn(4) {
      drafts[index].attributes.append(
        ["name": .string(prefix + "Text"), "type": "string", "maximumLength": 2, "default": "t"]
      )
    }
  }

  // MARK: Relationships

  private mutating func addRelationship(_ number: Int) {
    // A required to-one leads from a later entity to an earlier one, so that both can be inserted.
    let (first, second) = (random.below(drafts.count), random.below(drafts.count))
    let (near, far) = (min(first, second), max(first, second))
    let (one, two) = ("r\(number)", "s\(number)")
    switch random.below(8) {
    case 0, 1, 2:
      link(near, far, many(one, near, far, two), toOne(two, far, near, one, near < far))
    case 3, 4:
      link(near, far, toOne(one, near, far, two, false), toOne(two, far, near, one, near < far))
    case 5 where near == far: addSymmetric(near, one)
    default:
      link(near, far, many(one, near, far, two), many(two, far, near, one))
    }
  }

  private mutating func link(_ near: Int, _ far: Int, _ one: JSONValue, _ two: JSONValue) {
    drafts[near].relationships.append(one)
    drafts[far].relationships.append(two)
  }

  /// A relationship that is its own inverse.
  private mutating func addSymmetric(_ index: Int, _ name: String) {
    drafts[index].relationships.append(
      [
        "name": .string(name), "destination": .string(drafts[index].name),
        "inverse": .string(name), "toMany": .bool(random.oneIn(2)), "optional": true,
      ]
    )
  }

  private mutating func toOne(
    _ name: String,
    _ owner: Int,
    _ destination: Int,
    _ inverse: String,
    _ mayBeRequired: Bool
  ) -> JSONValue {
    let isRequired = mayBeRequired && random.oneIn(3)
    return [
      "name": .string(name), "destination": .string(drafts[destination].name),
      "inverse": .string(inverse), "optional": .bool(!isRequired), "deleteRule": rule(),
    ]
  }

  private mutating func many(
    _ name: String,
    _ owner: Int,
    _ destination: Int,
    _ inverse: String
  ) -> JSONValue {
    var members: [JSONMember] = [
      JSONMember("name", .string(name)), JSONMember("toMany", true),
      JSONMember("destination", .string(drafts[destination].name)),
      JSONMember("inverse", .string(inverse)), JSONMember("deleteRule", rule()),
    ]
    if random.oneIn(3) { members.append(JSONMember("ordered", true)) }
    if random.oneIn(4) { members.append(JSONMember("maximumCount", .integer(2 + random.int(2)))) }
    if random.oneIn(10) { members.append(JSONMember("minimumCount", 1)) }
    return .object(members)
  }

  private mutating func rule() -> JSONValue {
    switch random.below(12) {
    case 0, 1: "cascade"
    case 2: "deny"
    case 3 where ModelFeatures.has(.danglingReferences): "noAction"
    default: "nullify"
    }
  }

  private mutating func addUniqueOverToOne(_ index: Int) {
    let toOnes = drafts[index].relationships.filter { $0["toMany"]?.bool != true }
    guard let toOne = toOnes.first?["name"], random.oneIn(5) else { return }
    let name = drafts[index].attributes.last?["name"] ?? nil
    drafts[index].unique.append(random.oneIn(3) ? [toOne] : [toOne, name])
  }

  // MARK: Derived attributes

  private mutating func addDerived(_ index: Int) {
    let prefix = drafts[index].prefix
    let all = lineage(index)
    let relationships = all.flatMap(\.relationships)
    if let text = all.flatMap(\.attributes).first(where: { $0["type"] == "string" })?["name"]?
      .string
    {
      let form = random.pick(["lowercase", "uppercase"])
      derive(index, prefix + "Folded", "string", "\(form):(\(text))")
    }
    if let many = relationships.first(where: { $0["toMany"] == true })?["name"]?.string {
      derive(index, prefix + "Count", "int64", "\(many).@count")
    }
    if let many = relationships.last(where: { $0["toMany"] == true }),
      let name = many["name"]?.string, let summed = size(many)
    {
      derive(index, prefix + "Sum", "int64", "\(name).@sum.\(summed.name)")
    }
    if let one = relationships.last(where: { $0["toMany"] != true }),
      let name = one["name"]?.string,
      let last = size(one)
    {
      derive(index, prefix + "Path", last.type, "\(name).\(last.name)")
    }
  }

  /// The number attribute of a relationship's destination.
  private func size(_ relationship: JSONValue) -> (name: String, type: JSONValue)? {
    let destination = drafts.first { $0.name == relationship["destination"]?.string }
    let name = (destination?.prefix ?? "") + "Size"
    let size = destination?.attributes.first { $0["name"]?.string == name }
    return size?["type"].map { (name, $0) }
  }

  private mutating func derive(_ index: Int, _ name: String, _ type: JSONValue, _ text: String) {
    guard random.oneIn(2) else { return }
    drafts[index].attributes.append(
      ["name": .string(name), "type": type, "optional": true, "derived": .string(text)]
    )
  }
}

extension SplitMix64 {
  mutating func int(_ bound: Int) -> Int64 { Int64(below(bound)) }
}
