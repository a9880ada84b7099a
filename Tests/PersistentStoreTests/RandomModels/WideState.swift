import CordialValues
import JSON
import PersistentStore
import TestStores

/// The name of an object that migrations keep: its entity's number in the model, and its own.
struct WideName: Hashable, Comparable, CustomStringConvertible {
  let entity: Int
  let object: Int64

  static func < (first: WideName, second: WideName) -> Bool {
    (first.entity, first.object) < (second.entity, second.object)
  }

  var description: String { "\(entity)/\(object)" }
}

/// The value of a property.
enum WideValue: Equatable {
  case attribute(JSONValue)
  case toOne(WideName?)
  case toMany([WideName])

  /// The objects to which a relationship refers.
  var names: [WideName] {
    switch self {
    case .attribute: []
    case .toOne(let name): name.map { [$0] } ?? []
    case .toMany(let names): names
    }
  }
}

/// An object with all its properties, by the properties' numbers in the model.
struct WideObject: Equatable {
  var id: String
  var version: Int64
  var values: [Int: WideValue]
}

/// All objects of a store.
struct WideState: Equatable {
  var objects: [WideName: WideObject] = [:]

  init() {}

  /// Reads everything that a store with the model has.
  init(_ store: TestStore, _ model: WideModel) throws {
    var fetched: [(name: WideName, entity: Int, object: JSONValue)] = []
    var names: [String: WideName] = [:]
    for entity in model.concrete {
      var attributes: [String] = []
      for attribute in model.attributes(entity.number) {
        // A composite is read as a whole.
        let name = String(attribute.name.prefix { $0 != "." })
        if !attributes.contains(name) { attributes.append(name) }
      }
      let properties = attributes + model.relationships(entity.number).map(\.name)
      let request: JSONValue = [
        "entity": .string(entity.name), "subentities": false,
        "select": .array(properties.map { .string($0) }),
      ]
      let objects = try store.fetch(request.text)
      try store.snapshot { snapshot in
        for object in objects {
          let id = object["id"]?.string ?? ""
          let number = try snapshot.resolve(id)?.object ?? 0
          let name = WideName(entity: entity.number, object: number)
          names[id] = name
          fetched.append((name, entity.number, object))
        }
      }
    }
    func name(_ id: JSONValue) -> WideName {
      id.string.flatMap { names[$0] } ?? WideName(entity: 0, object: 0)
    }
    for (own, entity, object) in fetched {
      var values: [Int: WideValue] = [:]
      for attribute in model.attributes(entity) {
        let value = attribute.name.split(separator: ".").reduce(object["values"]) {
          $0?[String($1)]
        }
        values[attribute.number] = .attribute(value ?? "absent")
      }
      for relationship in model.relationships(entity) {
        let value = object["values"]?[relationship.name] ?? "absent"
        values[relationship.number] =
          relationship.toMany
          ? .toMany((value.array ?? []).map(name)) : .toOne(value.isNull ? nil : name(value))
      }
      objects[own] = WideObject(
        id: object["id"]?.string ?? "",
        version: object["version"]?.integer ?? 0,
        values: values
      )
    }
  }

  /// The objects of an entity and its descendants.
  func names(_ entity: Int, _ model: WideModel) -> [WideName] {
    let kinds = Set(model.kinds(entity).map(\.number))
    return objects.keys.filter { kinds.contains($0.entity) }.sorted()
  }

  /// The state with every to-many without an order as a set.
  func normalized(_ model: WideModel, open: Set<Int> = []) -> WideState {
    let ordered = Set(model.relationships.filter(\.ordered).map(\.number)).subtracting(open)
    var state = self
    for (name, object) in objects {
      for (property, value) in object.values where !ordered.contains(property) {
        guard case .toMany(let names) = value else { continue }
        state.objects[name]?.values[property] = .toMany(names.sorted())
      }
    }
    return state
  }

  /// What differs from another state, for a failure.
  func differences(from other: WideState, _ model: WideModel) -> [String] {
    let names = Set(objects.keys).union(other.objects.keys).sorted()
    return names.flatMap { name -> [String] in
      guard let one = objects[name] else { return ["\(name) is missing"] }
      guard let two = other.objects[name] else { return ["\(name) is too much"] }
      var lines: [String] = []
      if one.version != two.version { lines.append("\(name) v\(one.version), not \(two.version)") }
      for property in Set(one.values.keys).union(two.values.keys).sorted()
      where one.values[property] != two.values[property] {
        let found = one.values[property].map { "\($0)" } ?? "nothing"
        let wanted = two.values[property].map { "\($0)" } ?? "nothing"
        lines.append("\(name).\(model.name(property)) is \(found), not \(wanted)")
      }
      return lines
    }
  }
}
