import JSON

/// Composites: Xcode defines each composite once, next to the entities; attributes name it.
extension XcodeModelReader {
  /// The maximum nesting depth of composites; a model file has the same limit.
  private static let depthMax = 8
  /// The maximum number of members to which all composites of a model expand.
  private static let membersMax = 20_000

  /// Converts an attribute whose type is a composite.
  ///
  /// - Parameters:
  ///   - element: The attribute.
  ///   - path: The attribute's path, for notes.
  ///   - depth: The number of composites around the attribute.
  /// - Returns: The attribute with its members; nil, with a note, if it names no composite.
  mutating func composite(_ element: XMLElement, _ path: String, depth: Int) -> JSONValue? {
    guard let (definition, key) = definition(of: element) else {
      note("\(path) is left out: the model does not have its composite")
      return nil
    }
    let name = definition["name"] ?? ""
    guard depth < Self.depthMax, !openComposites.contains(name) else {
      note("\(path) is left out: its composite contains itself, or is more than 8 levels deep")
      return nil
    }
    memberCount += definition.children.count
    guard memberCount <= Self.membersMax else {
      note("\(path) is left out: composites have more than \(Self.membersMax) members in all")
      return nil
    }
    if element["derivationExpression"] != nil {
      note("The derivation of \(path) is left out: a composite is not derived")
    }
    openComposites.insert(name)
    defer { openComposites.remove(name) }
    noteUnknown(element, Self.attributeMembers.union([key]), path)
    if key == "name", definition["name"]?.lowercased() != element["name"]?.lowercased() {
      note("\(path) has the model's only composite, \(definition["name"] ?? "")")
    }
    var attributes = definition.all("attribute").compactMap {
      attribute($0, of: path, depth: depth + 1)
    }
    guard !attributes.isEmpty else {
      note("\(path) is left out: its composite has no attributes")
      return nil
    }
    if element["optional"] == "YES" {
      attributes = attributes.map { optional($0, of: path) }
    }
    var members = [
      JSONMember("name", .string(element["name"] ?? "")), JSONMember("type", "composite"),
    ]
    members += renaming(element) + annotations(element) + preservation(element)
    members.append(JSONMember("members", .array(attributes)))
    return .object(members)
  }

  /// Returns the composite that an attribute names, and the XML attribute that names it.
  ///
  /// If no XML attribute names a composite, the composite has the attribute's own name, or is the
  /// only composite of the model.
  private func definition(of element: XMLElement) -> (XMLElement, key: String)? {
    let definitions = root.all("composite") + root.all("compositeAttribute")
    for key in element.attributeNames where key != "name" && !Self.attributeMembers.contains(key) {
      if let found = definitions.first(where: { $0["name"] == element[key] }) {
        return (found, key)
      }
    }
    let name = element["name"]?.lowercased()
    let own = definitions.first { $0["name"]?.lowercased() == name }
    return (own ?? (definitions.count == 1 ? definitions[0] : nil)).map { ($0, "name") }
  }

  /// Returns a member of an optional composite with `optional` set, because the member is null if
  /// the composite is null.
  private mutating func optional(_ attribute: JSONValue, of path: String) -> JSONValue {
    let members = attribute.members ?? []
    let member = "\(path).\(attribute["name"]?.string ?? "")"
    if let inner = attribute["members"]?.array {
      let values = inner.map { optional($0, of: member) }
      return .object(
        members.map { $0.name == "members" ? JSONMember("members", .array(values)) : $0 }
      )
    }
    guard attribute["optional"] == nil else { return attribute }
    note("\(member) is optional, because its composite is")
    return .object(members + [JSONMember("optional", true)])
  }
}
