import JSON
import TestSeeds
import TestStores

/// An object of a random graph.
struct GraphObject {
  let entity: String
  /// The wrapped ID; a temporary one before the save.
  var id: String
  /// The values as they are sent, without those that are missing.
  var values: [String: JSONValue] = [:]
  var references: [String: Int] = [:]
  var members: [String: [Int]] = [:]

  /// The number in the object's ID.
  var number: Int {
    id.split(separator: "/").last.flatMap { Int($0.dropFirst()) } ?? 0
  }

  /// The entity whose properties the object has.
  var family: String { entity == "Special" ? "Thing" : entity }
}

/// A graph of objects, as arrays.
struct GraphWorld {
  var objects: [GraphObject] = []

  /// The objects of an entity and its descendants, by number.
  func all(_ entity: String) -> [Int] {
    objects.indices
      .filter { objects[$0].entity == entity || objects[$0].family == entity }
      .sorted { objects[$0].number < objects[$1].number }
  }

  // MARK: Reading

  /// An attribute of an object, as it was sent; null where there is no object.
  func wire(_ object: Int?, _ attribute: String) -> JSONValue {
    object.flatMap { objects[$0].values[attribute] } ?? .null
  }

  /// An attribute of an object that may be none.
  func value(_ object: Int?, _ attribute: String) -> GraphValue {
    guard let object, let wire = objects[object].values[attribute] else { return .missing }
    let kind = GraphSchema.attributes[objects[object].family]?.first { $0.name == attribute }?.kind
    switch (kind, wire) {
    case (.integer, .integer(let number)): return .integer(number)
    case (.double, .number(let number)): return .double(number)
    case (.decimal, .string(let text)): return GraphDecimal(text).map { .decimal($0) } ?? .open
    case (.text, .string(let text)): return .text(text)
    case (.flag, .bool(let flag)): return .flag(flag)
    case (.date, .string(let text)): return GraphDates.milliseconds[text].map { .date($0) } ?? .open
    case (.token, .string(let text)): return .token(text)
    default: return .open
    }
  }

  func reference(_ object: Int?, _ name: String) -> Int? {
    object.flatMap { objects[$0].references[name] }
  }

  /// The members of a to-many, in its order or in that of their numbers.
  func members(_ object: Int?, _ name: String) -> [Int] {
    guard let object else { return [] }
    switch name {
    case "followers": return owners(of: object, "leader")
    case "owned": return owners(of: object, "owner")
    case "befriended": return holders(of: object, "friends")
    case "things": return holders(of: object, "tags")
    case "ranking": return holders(of: object, "ranked")
    case "ranked": return objects[object].members[name] ?? []
    default: return byNumber(objects[object].members[name] ?? [])
    }
  }

  private func owners(of object: Int, _ name: String) -> [Int] {
    byNumber(objects.indices.filter { objects[$0].references[name] == object })
  }

  private func holders(of object: Int, _ name: String) -> [Int] {
    byNumber(objects.indices.filter { objects[$0].members[name]?.contains(object) == true })
  }

  func byNumber(_ members: [Int]) -> [Int] {
    members.sorted { objects[$0].number < objects[$1].number }
  }

  // MARK: Making

  /// Makes a graph with values of every type and references in cycles.
  static func random(_ random: inout SplitMix64, things: Int, tags: Int) -> GraphWorld {
    var world = GraphWorld()
    for index in 0..<things + tags {
      let entity = index >= things ? "Tag" : random.oneIn(4) ? "Special" : "Thing"
      var object = GraphObject(entity: entity, id: "\(entity)/t\(index)")
      for attribute in GraphSchema.attributes[object.family] ?? [] where !random.oneIn(4) {
        object.values[attribute.name] = GraphSamples.value(attribute, &random)
      }
      if entity == "Tag" {
        if !random.oneIn(3) { object.references["owner"] = random.below(things) }
      } else {
        if !random.oneIn(3) { object.references["leader"] = random.below(things) }
        object.members["friends"] = some(&random, 0..<things)
        object.members["tags"] = some(&random, things..<things + tags)
        object.members["ranked"] = some(&random, things..<things + tags)
      }
      world.objects.append(object)
    }
    return world
  }

  /// Up to three different numbers of a range, in random order.
  private static func some(_ random: inout SplitMix64, _ range: Range<Int>) -> [Int] {
    var chosen: [Int] = []
    for _ in 0..<random.below(4) {
      let number = range.lowerBound + random.below(range.count)
      if !chosen.contains(number) { chosen.append(number) }
    }
    return chosen
  }

  /// The save of the whole graph.
  var insertion: JSONValue {
    let inserts = objects.map { object in
      var values = object.values.map { JSONMember($0.key, $0.value) }
      values += object.references.map { JSONMember($0.key, .string(objects[$0.value].id)) }
      values += object.members.map { member in
        JSONMember(member.key, .array(member.value.map { .string(objects[$0].id) }))
      }
      let sorted = values.sorted { $0.name < $1.name }
      return JSONValue.object([
        JSONMember("id", .string(object.id)), .init("values", .object(sorted)),
      ])
    }
    return JSONValue.object([.init("insert", .array(inserts))])
  }

  /// Saves the graph and learns the IDs of its objects.
  mutating func save(in store: TestStore) async throws {
    let answer = try await store.save(insertion.text)
    for index in objects.indices {
      if let id = answer["ids"]?[objects[index].id]?.string { objects[index].id = id }
    }
  }
}
