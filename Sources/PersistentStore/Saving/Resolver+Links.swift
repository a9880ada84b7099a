import CordialValues
import JSON
import ObjectModel

/// The decoding of relationship values.
extension Resolver {
  /// Decodes the value of a relationship; returns nil for an invalid value, which is reported.
  mutating func link(
    _ value: JSONValue,
    _ relationship: RelationshipLayout,
    _ label: String
  ) throws -> SentLink? {
    guard relationship.isToMany else {
      if value.isNull { return .toOne(nil) }
      guard case .object(let key)? = try reference(value, relationship, label) else { return nil }
      return .toOne(key)
    }
    if let list = value.array {
      return try objects(list, relationship, label).map { .members($0) }
    }
    return try edit(value, relationship, label)
  }

  private mutating func edit(
    _ value: JSONValue,
    _ relationship: RelationshipLayout,
    _ label: String
  ) throws -> SentLink? {
    let isOrdered = relationship.description.ordered
    let known = isOrdered ? ["@add", "@remove", "@at"] : ["@add", "@remove"]
    guard let members = value.members, !members.isEmpty,
      members.allSatisfy({ known.contains($0.name) }),
      let add = (value["@add"] ?? []).array, let remove = (value["@remove"] ?? []).array,
      value["@at"] == nil || value["@at"]?.integer != nil
    else {
      self.add(
        .invalid(
          label,
          relationship.name,
          "type",
          "\(relationship.name) must be a list of wrapped IDs, or {\"@add\": […], \"@remove\": […]"
            + (isOrdered ? ", \"@at\": index}" : "}")
        )
      )
      return nil
    }
    let (adding, removing) = (
      try objects(add, relationship, label), try objects(remove, relationship, label)
    )
    guard let added = adding, let removed = removing else { return nil }
    let removedKeys = Set(removed)
    return .edit(
      add: added.filter { !removedKeys.contains($0) },
      remove: removed,
      at: value["@at"]?.integer.map { Int(clamping: $0) }
    )
  }

  /// Returns the objects of a list, each once; nil if an element is invalid.
  private mutating func objects(
    _ list: [JSONValue],
    _ relationship: RelationshipLayout,
    _ label: String
  ) throws -> [ObjectKey]? {
    var keys: [ObjectKey] = []
    keys.reserveCapacity(list.count)
    var seen: Set<ObjectKey> = []
    var isWhole = true
    for element in list {
      if element.isNull {
        add(
          .invalid(
            label,
            relationship.name,
            "type",
            "The list of \(relationship.name) must not contain null"
          )
        )
        isWhole = false
      } else if case .object(let key)? = try reference(element, relationship, label) {
        // Most lists are short, and a linear search in a short list is faster.
        if keys.count < 8 ? !keys.contains(key) : seen.insert(key).inserted { keys.append(key) }
        if keys.count == 8 { seen.formUnion(keys) }
      } else {
        isWhole = false
      }
    }
    return isWhole ? keys : nil
  }

  /// Returns the existing object that a reference names; nil for an invalid reference.
  private mutating func reference(
    _ value: JSONValue,
    _ relationship: RelationshipLayout,
    _ label: String
  ) throws -> Target? {
    guard let text = value.string else {
      let wanted = relationship.isToMany ? "a wrapped ID" : "a wrapped ID or null"
      add(
        .invalid(
          label,
          relationship.name,
          "type",
          "\(relationship.name) must be \(wanted)"
        )
      )
      return nil
    }
    guard case .object(let key)? = try target(text) else { return nil }
    guard model.isKind(key.entity, of: relationship.destination.number) else {
      add(
        .invalid(
          label,
          relationship.name,
          "type",
          "\(relationship.name) references \(relationship.destination.name) only"
        )
      )
      return nil
    }
    guard try isInserted(key) || stored.version(of: key) != nil else {
      named[text] = .failed
      add(SaveProblem(.objectNotFound(text), rule: "exists", id: text))
      return nil
    }
    return .object(key)
  }
}
