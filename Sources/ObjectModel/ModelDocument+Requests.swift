import JSON

/// The readers of named requests and selections.
extension ModelDocument {
  /// Reads the named selections of the model.
  mutating func values(_ document: JSONValue) -> [ModelValues] {
    var names: Set<String> = []
    return list(document, "values", at: "").enumerated().compactMap { index, element in
      let path = "values[\(index)]"
      checkMembers(element, of: ["name", "entity", "select"], at: path + ".")
      guard let name = storedName(element, &names, at: path),
        let entity = knownEntity(element, at: path)
      else { return nil }
      guard let select = element["select"], select.array != nil || select.members != nil else {
        problem(path + ".select", "Expected a list of paths, or an object of names and paths")
        return nil
      }
      return ModelValues(name: name, entity: entity, select: select)
    }
  }

  /// Reads the named requests of the model.
  mutating func templates(_ document: JSONValue) -> [ModelTemplate] {
    var names: Set<String> = []
    return list(document, "templates", at: "").enumerated().compactMap { index, element in
      let path = "templates[\(index)]"
      guard let name = storedName(element, &names, at: path),
        knownEntity(element, at: path) != nil
      else { return nil }
      for member in element.members ?? []
      where !Self.templateMembers.contains(member.name) && member.name != "name" {
        let known = Self.templateMembers.sorted().joined(separator: ", ")
        problem("\(path).\(member.name)", "Unknown member; known members are: name, \(known)")
      }
      let params = (element.members ?? []).filter { $0.name != "name" && !$0.value.isNull }
      return ModelTemplate(name: name, params: params)
    }
  }

  private static let templateMembers: Set<String> = [
    "entity", "predicate", "arguments", "sort", "limit", "offset", "select", "value", "include",
    "sectionBy", "groupBy", "having", "distinct", "result", "subentities",
  ]

  private mutating func storedName(
    _ element: JSONValue,
    _ names: inout Set<String>,
    at path: String
  ) -> String? {
    guard let name = identifier(element, at: path) else { return nil }
    if names.insert(name).inserted { return name }
    problem(path + ".name", "Two elements of the list are named \(name)")
    return nil
  }

  private mutating func knownEntity(_ element: JSONValue, at path: String) -> String? {
    guard let entity = element["entity"]?.string, raw.contains(where: { $0.name == entity }) else {
      problem(path + ".entity", "Expected the name of an entity of the model")
      return nil
    }
    return entity
  }
}
