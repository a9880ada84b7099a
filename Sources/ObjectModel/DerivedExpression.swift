import JSON

/// The expression from which the store computes a derived attribute.
package enum DerivedExpression: Sendable, Equatable {
  /// `tasks.@count`: the number of members of a to-many.
  case count(String)
  /// `tasks.@sum.priority`: the sum of an attribute of the members of a to-many.
  case sum(String, String)
  /// `group.title`: an attribute of the object that a to-one references.
  case path(String, String)
  /// `canonical:(title)`: another form of a string attribute of the same object.
  case text(TextForm, String)
  /// `now()`: the time of the object's last write.
  case now

  /// A form of a text.
  package enum TextForm: String, Sendable, CaseIterable {
    /// The form in which `[cd]` compares: without case and accents.
    case canonical
    case lowercase, uppercase
  }

  /// Parses an expression of a model file, or returns nil if the text is not an expression.
  package init?(_ text: String) {
    if text == "now()" {
      self = .now
      return
    }
    for form in TextForm.allCases where text.hasPrefix(form.rawValue + ":(") && text.hasSuffix(")")
    {
      self = .text(form, String(text.dropFirst(form.rawValue.count + 2).dropLast()))
      return
    }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    // The path of a composite's member has several names.
    let last = names.dropFirst(2).joined(separator: ".")
    switch (names.count, names.dropFirst().first) {
    case (2, "@count"): self = .count(names[0])
    case (3..., "@sum"): self = .sum(names[0], last)
    case (2..., let name?) where !name.hasPrefix("@"):
      self = .path(names[0], names.count == 2 ? name : "\(name).\(last)")
    default: return nil
    }
  }

  /// Whether the expression is zero rather than null for an object without related objects.
  var isNumber: Bool {
    switch self {
    case .count, .sum: true
    case .path, .text, .now: false
    }
  }
}

/// The readers of derived attributes.
extension ModelDocument {
  /// Reads an attribute's expression.
  mutating func derived(
    _ value: JSONValue,
    at path: String
  ) -> DerivedExpression? {
    guard let text = optionalText(value, "derived", at: path) else { return nil }
    guard let expression = DerivedExpression(text) else {
      problem(
        path + ".derived",
        "Expected tasks.@count, tasks.@sum.priority, group.title, canonical:(title), "
          + "lowercase:(title), uppercase:(title) or now()"
      )
      return nil
    }
    for member in ["default", "minimum", "maximum", "minimumLength", "maximumLength", "enum"]
    where value[member].map({ !$0.isNull }) == true {
      problem("\(path).\(member)", "A derived attribute cannot have this member")
    }
    return expression
  }

  /// Checks that expressions refer to existing properties and have the attribute's type.
  mutating func checkDerived(_ entities: [EntityDescription]) {
    for entity in entities {
      let own = raw[entity.number - 1].value["attributes"]?.array ?? []
      for (index, element) in own.enumerated() {
        guard
          let attribute = entity.attributes.first(where: { $0.name == element["name"]?.string }),
          let derived = attribute.derived,
          let message = objection(to: derived, of: attribute, entity, entities)
        else { continue }
        problem("\(raw[entity.number - 1].path).attributes[\(index)].derived", message)
      }
    }
  }

  /// Returns why the store cannot compute an expression, or nil if it can.
  private func objection(
    to derived: DerivedExpression,
    of attribute: AttributeDescription,
    _ entity: EntityDescription,
    _ entities: [EntityDescription]
  ) -> String? {
    func relationship(_ name: String, toMany: Bool) -> RelationshipDescription? {
      guard case .relationship(let found)? = entity.property(named: name), found.toMany == toMany
      else { return nil }
      return found
    }
    func plain(_ name: String, of entity: EntityDescription) -> AttributeDescription? {
      guard case .attribute(let found)? = entity.property(named: name), found.derived == nil else {
        return nil
      }
      return found
    }
    func wants(_ types: [AttributeType]) -> String? {
      types.contains(attribute.type)
        ? nil : "The expression has type \(types.map(\.rawValue).joined(separator: " or "))"
    }
    switch derived {
    case .now: return wants([.date])
    case .count(let name):
      guard relationship(name, toMany: true) != nil else {
        return "\(entity.name) has no to-many \(name)"
      }
      return wants(AttributeType.allCases.filter(\.isInteger))
    case .sum(let name, let summed):
      guard let members = relationship(name, toMany: true) else {
        return "\(entity.name) has no to-many \(name)"
      }
      let destination = entities[members.destination - 1]
      guard let type = plain(summed, of: destination)?.type, type.isNumber || type == .decimal
      else {
        return "\(destination.name) has no numeric attribute \(summed) that clients write"
      }
      return wants([type == .decimal ? .decimal : type.isInteger ? .int64 : .double])
    case .path(let name, let last):
      guard let toOne = relationship(name, toMany: false) else {
        return "\(entity.name) has no to-one \(name)"
      }
      let destination = entities[toOne.destination - 1]
      guard let source = plain(last, of: destination) else {
        return "\(destination.name) has no attribute \(last) that clients write"
      }
      return wants([source.type])
    case .text(_, let name):
      guard plain(name, of: entity)?.type == .string else {
        return "\(entity.name) has no string attribute \(name) that clients write"
      }
      return wants([.string])
    }
  }
}
