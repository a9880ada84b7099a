package import JSON

/// A composite attribute: several attributes that clients write and read as one object.
///
/// Each member is an attribute or a composite of the entity. The name of a member is its path, such
/// as `address.city`.
package struct CompositeDescription: Sendable, Equatable {
  /// The path of the composite from its entity: `address`, or `address.place` inside `address`.
  package let name: String
  /// The names of the members, without the path, in the order of the file.
  package let members: [String]

  /// Creates the description of a composite.
  package init(name: String, members: [String]) {
    self.name = name
    self.members = members
  }

  /// The words for the values that a composite accepts, for messages.
  package var expectation: String { "an object with \(members.joined(separator: ", ")), or null" }

  /// Returns the path of a member from the entity.
  package func path(of member: String) -> String { "\(name).\(member)" }
}

/// The composites of an entity.
extension EntityDescription {
  /// Returns the attributes of a composite, including those of inner composites.
  package func attributes(of composite: CompositeDescription) -> [AttributeDescription] {
    composite.members.flatMap { member in
      let path = composite.path(of: member)
      if let inner = self.composite(named: path) { return attributes(of: inner) }
      if case .attribute(let attribute)? = property(named: path) { return [attribute] }
      return []
    }
  }

  /// Returns the paths of all attributes of each outermost composite that contains one of the named
  /// attributes.
  package func compositeMembers(with names: Set<String>) -> Set<String> {
    guard !composites.isEmpty else { return [] }
    let outer = Set(names.compactMap { $0.split(separator: ".").first.map(String.init) })
    return Set(
      composites.filter { outer.contains($0.name) }.flatMap { attributes(of: $0).map(\.name) }
    )
  }

  /// Returns the values with each composite replaced by its members.
  ///
  /// The members of a null composite are null. A composite that is neither an object nor null stays
  /// unchanged, so that the caller can report it. If a client sends a member twice, in the
  /// composite and by its path, the last value wins.
  package func expanded(_ values: [JSONMember]) -> [JSONMember] {
    guard !composites.isEmpty, values.contains(where: { composite(named: $0.name) != nil }) else {
      return values
    }
    let last = JSONValue.object(values).deduplicated.members ?? []
    var seen: Set<String> = []
    return last.flatMap { expanded($0) }.reversed().filter { seen.insert($0.name).inserted }
      .reversed()
  }

  private func expanded(_ value: JSONMember) -> [JSONMember] {
    guard let composite = composite(named: value.name) else { return [value] }
    switch value.value {
    case .object(let members):
      return members.flatMap { expanded(JSONMember(composite.path(of: $0.name), $0.value)) }
    case .null:
      return composite.members.flatMap { expanded(JSONMember(composite.path(of: $0), .null)) }
    default: return [value]
    }
  }

  /// Returns the property or computed attribute at the start of a path.
  ///
  /// - Parameter names: The names of a key path that begins at an object of the entity.
  /// - Returns: The property, and the count of names in the property's path; nil if the names do
  ///   not begin with a property.
  func property<Names: Collection<String>>(
    at names: Names
  ) -> (property: PropertyDescription, count: Int)? {
    guard var name = names.first else { return nil }
    var count = 1
    for next in names.dropFirst() {
      guard composite(named: name) != nil else { break }
      name += "." + next
      count += 1
    }
    let property = property(named: name) ?? computed(named: name).map { .attribute($0.attribute) }
    return property.map { ($0, count) }
  }
}
