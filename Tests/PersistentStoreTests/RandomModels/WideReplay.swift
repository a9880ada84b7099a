import JSON

/// The objects of a store by their IDs on the wire, to which commits of `history` are applied
/// backwards.
struct WideReplay {
  private struct Object {
    let entity: Int
    var values: [String: JSONValue]
  }

  private let model: WideModel
  private var objects: [String: Object] = [:]
  /// The properties whose former value the contract leaves out, as `id.name`.
  private var open: Set<String> = []

  init(_ state: WideState, _ model: WideModel) {
    self.model = model
    func id(_ name: WideName) -> JSONValue { .string(state.objects[name]?.id ?? "") }
    for (name, object) in state.objects {
      let values = object.values.map { property, value -> (String, JSONValue) in
        let text = model.name(property)
        return switch value {
        case .attribute(let json): (text, json)
        case .toOne(let target): (text, target.map(id) ?? .null)
        case .toMany(let members): (text, .array(members.map(id)))
        }
      }
      objects[object.id] = Object(
        entity: name.entity,
        values: Dictionary(uniqueKeysWithValues: values)
      )
    }
  }

  // MARK: Going back

  /// Takes back what a commit changed.
  mutating func undo(_ commit: JSONValue) {
    var restored: [String] = []
    let changes = commit["changes"]?.array ?? []
    for change in changes where change["change"] == "insert" {
      objects[change["id"]?.string ?? ""] = nil
    }
    for change in changes where change["change"] == "delete" {
      let id = change["id"]?.string ?? ""
      let entity = model.entities.first { $0.name == id.prefix { $0 != "/" } }?.number ?? 0
      objects[id] = Object(entity: entity, values: [:])
      restored.append(id)
    }
    for change in changes where change["change"] != "insert" { apply(change) }
    for id in restored { restoreMembers(of: id) }
    for id in objects.keys { settleMembers(of: id) }
  }

  private mutating func apply(_ change: JSONValue) {
    let id = change["id"]?.string ?? ""
    guard let object = objects[id] else { return }
    let names = Dictionary(
      uniqueKeysWithValues: model.relationships(object.entity).map { ($0.name, $0) }
    )
    for member in change["before"]?.members ?? [] {
      guard let relationship = names[member.name], relationship.toMany,
        case .object = member.value
      else {
        objects[id]?.values[member.name] = member.value
        open.remove("\(id).\(member.name)")
        continue
      }
      let former = object.values[member.name]?.array ?? []
      let removed = member.value["@remove"]?.array ?? []
      let added = member.value["@add"]?.array ?? []
      objects[id]?.values[member.name] = .array(
        former.filter { !removed.contains($0) } + added.filter { !former.contains($0) }
      )
      // A change of the members does not tell their former order (P-071c, P-071d).
      if relationship.ordered { open.insert("\(id).\(member.name)") }
    }
  }

  /// A one-to-many is the inverse of to-ones, and no change of its owner.
  private mutating func settleMembers(of id: String) {
    guard let object = objects[id] else { return }
    for relationship in model.relationships(object.entity) where relationship.toMany {
      guard let inverse = relationship.inverse.flatMap(model.relationship), !inverse.toMany else {
        continue
      }
      let members = objects.filter { $1.values[inverse.name]?.string == id }.keys
      let former = (object.values[relationship.name]?.array ?? []).compactMap(\.string)
      guard Set(former) != Set(members) else { continue }
      objects[id]?.values[relationship.name] = .array(members.map { .string($0) })
      open.insert("\(id).\(relationship.name)")
    }
  }

  /// A delete holds attributes and to-ones only (P-071b); the other ends have the members.
  private mutating func restoreMembers(of id: String) {
    guard let object = objects[id] else { return }
    for relationship in model.relationships(object.entity) where relationship.toMany {
      open.insert("\(id).\(relationship.name)")
      guard let inverse = relationship.inverse.flatMap(model.relationship) else { continue }
      let members = objects.filter { _, other in
        let value = other.values[inverse.name]
        return value?.string == id || value?.array?.contains(.string(id)) == true
      }
      objects[id]?.values[relationship.name] = .array(members.keys.sorted().map { .string($0) })
    }
  }

  // MARK: Comparing

  func differences(from wanted: WideReplay) -> [String] {
    let ids = Set(objects.keys).union(wanted.objects.keys).sorted()
    return ids.flatMap { id -> [String] in
      guard let found = objects[id] else { return ["\(id) is missing"] }
      guard let wanted = wanted.objects[id] else { return ["\(id) is too much"] }
      return Set(found.values.keys).union(wanted.values.keys).sorted().compactMap { name in
        let values = [found, wanted].map { compared($0, name, id) }
        return values[0] == values[1] ? nil : "\(id).\(name) is \(values[0]), not \(values[1])"
      }
    }
  }

  private func compared(_ object: Object, _ name: String, _ id: String) -> String {
    guard let value = object.values[name] else {
      return isOneWay(name, object) ? "[]" : "absent"
    }
    guard let relationship = model.relationships(object.entity).first(where: { $0.name == name }),
      let members = value.array
    else { return value.text }
    // The contract does not say where the members of a deleted object's one-way to-many are.
    if relationship.inverse == nil, open.contains("\(id).\(name)") { return "[]" }
    let texts = members.map(\.text)
    let isOrdered = relationship.ordered && !open.contains("\(id).\(name)")
    return "\(isOrdered ? texts : texts.sorted())"
  }

  private func isOneWay(_ name: String, _ object: Object) -> Bool {
    model.relationships(object.entity).contains {
      $0.name == name && $0.inverse == nil && $0.toMany
    }
  }
}
