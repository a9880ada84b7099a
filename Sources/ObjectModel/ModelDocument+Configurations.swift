package import JSON

/// Configurations: parts of a model under a name.
extension ModelDocument {
  /// The part of a model that a configuration names, as a document of its own.
  ///
  /// - Parameters:
  ///   - document: A model file's content, without faults.
  ///   - name: The configuration. Ancestors of its entities belong to it.
  /// - Returns: The document with the entities, and what of the stored requests is theirs.
  /// - Throws: `ModelError` when there is no such configuration, or a relationship leads out of it.
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
            + (names.isEmpty ? "; the model has none" : ", but \(names)")
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
          message: "\(entity["name"]?.string ?? "").\(relationship["name"]?.string ?? "") leads to "
            + "\(relationship["destination"]?.string ?? ""), which is not in it"
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
      default: return member
      }
    }
    return .object(members)
  }

  /// A document with the stored requests and configurations of another, which say nothing of what
  /// is stored.
  ///
  /// - Parameters:
  ///   - document: A model file's content.
  ///   - other: The content of another model file of the same hash.
  /// - Returns: The document, its entities in their order.
  package static func document(
    _ document: JSONValue,
    withRequestsOf other: JSONValue
  ) -> JSONValue {
    let members = (document.members ?? []).filter { !ModelHash.requests.contains($0.name) }
    let requests = (other.members ?? []).filter { ModelHash.requests.contains($0.name) }
    return .object(members + requests)
  }

  /// Checks that configurations are lists of names of entities.
  mutating func checkConfigurations(_ document: JSONValue) {
    guard let value = document["configurations"], !value.isNull else { return }
    guard let members = value.members else {
      return problem("configurations", "Expected an object, found \(value.kind)")
    }
    for member in members {
      guard let names = member.value.array else {
        problem("configurations.\(member.name)", "Expected a list of names of entities")
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
