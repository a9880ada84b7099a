package import JSON

/// Configurations: named parts of a model.
extension ModelDocument {
  /// Returns the part of a model that a configuration names, as a document.
  ///
  /// - Parameters:
  ///   - document: A model file's content, without faults.
  ///   - name: The name of the configuration. The part also includes the ancestors of the
  ///     configuration's entities.
  /// - Returns: The document with the configuration's entities and their stored requests.
  /// - Throws: `ModelError` if the configuration does not exist, or if a relationship references an
  ///   entity outside of the configuration.
  package static func document(
    _ document: JSONValue,
    ofConfiguration name: String
  ) throws(ModelError) -> JSONValue {
    let configurations = document["configurations"]
    guard let listed = configurations?[name]?.array else {
      let names = configurations?.members?.map(\.name).joined(separator: ", ") ?? ""
      throw ModelError(problems: [
        ModelProblem(
          path: "configurations",
          message: "There is no configuration \(name)"
            + (names.isEmpty ? "; the model has none" : "; the model has \(names)")
        )
      ])
    }
    let entities = document["entities"]?.array ?? []
    var kept = Set(listed.compactMap(\.string))
    var reached = kept
    while !reached.isEmpty {
      let parents = entities.filter { reached.contains($0["name"]?.string ?? "") }
        .compactMap { $0["parent"]?.string }
      reached = Set(parents).subtracting(kept)
      kept.formUnion(reached)
    }
    let parts = entities.filter { kept.contains($0["name"]?.string ?? "") }
    let problems = parts.flatMap { entity in
      (entity["relationships"]?.array ?? []).filter {
        !kept.contains($0["destination"]?.string ?? "")
      }
      .map { relationship in
        ModelProblem(
          path: "configurations.\(name)",
          message: "\(entity["name"]?.string ?? "").\(relationship["name"]?.string ?? "")"
            + " references \(relationship["destination"]?.string ?? "") outside the configuration"
        )
      }
    }
    guard problems.isEmpty else { throw ModelError(problems: problems) }
    let members = (document.members ?? []).compactMap { member -> JSONMember? in
      switch member.name {
      case "entities": return JSONMember(member.name, .array(parts))
      case "configurations": return nil
      case "values", "templates":
        let own = (member.value.array ?? []).filter { kept.contains($0["entity"]?.string ?? "") }
        return JSONMember(member.name, .array(own))
      case "map":
        let own = (member.value.members ?? []).filter {
          $0.name == "@from" || kept.contains($0.name)
        }
        return member.value.members == nil ? member : JSONMember(member.name, .object(own))
      default: return member
      }
    }
    return .object(members)
  }

  /// Returns the content of a model file in the order of a second file of the same model version.
  ///
  /// Files with the same hash can differ in their order and in members such as stored requests. Of
  /// these differences, only the order of the entities affects stored data.
  ///
  /// - Parameters:
  ///   - other: The content of the file to reorder.
  ///   - document: The content of the file that defines the order of entities and properties. Both
  ///     files have the same hash.
  /// - Returns: The content of `other` in the order of `document`.
  package static func document(_ other: JSONValue, ordered document: JSONValue) -> JSONValue {
    guard case .object(let members) = other else { return other }
    return .object(
      members.map { member in
        let isOrdered = member.name == "entities"
        let value = isOrdered ? arranged(member.value, document[member.name]) : member.value
        return JSONMember(member.name, value)
      }
    )
  }

  /// Returns a list of named elements in the order of another list with the same names.
  private static func arranged(_ value: JSONValue, _ order: JSONValue?) -> JSONValue {
    switch (value, order) {
    case (.array(let elements), .array(let order)?):
      let named = elements.compactMap { element in element["name"]?.string.map { ($0, element) } }
      guard named.count == elements.count, elements.count == order.count else { return value }
      let byName = Dictionary(named) { first, _ in first }
      return .array(
        order.compactMap { former in
          former["name"]?.string.flatMap { byName[$0] }.map { arranged($0, former) }
        }
      )
    case (.object(let members), .object?):
      return .object(
        members.map { JSONMember($0.name, arranged($0.value, order?[$0.name])) }
      )
    default: return value
    }
  }

  /// Checks that configurations are lists of entity names.
  mutating func checkConfigurations(_ document: JSONValue) {
    guard let value = document["configurations"], !value.isNull else { return }
    guard let members = value.members else {
      return problem("configurations", "Expected an object, found \(value.kind)")
    }
    for member in members {
      guard let names = member.value.array else {
        problem("configurations.\(member.name)", "Expected a list of entity names")
        continue
      }
      for (index, name) in names.enumerated()
      where !raw.contains(where: { $0.name == name.string }) {
        problem(
          "configurations.\(member.name)[\(index)]",
          "Expected the name of an entity of the model"
        )
      }
    }
  }
}
