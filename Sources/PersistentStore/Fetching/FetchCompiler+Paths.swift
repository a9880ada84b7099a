import JSON
import ObjectModel

/// Key paths over to-ones.
extension FetchCompiler {
  /// Records a read of a to-one's target, which may be deleted or inserted while the to-one stays
  /// unchanged.
  mutating func noteTarget(of end: Resolved) {
    guard context.mayDangle, case .relationship(let relationship) = end.property,
      !relationship.toMany
    else { return }
    reads.note(related: relationship.destination, [], at: end.origin(after: relationship))
  }

  /// The end of a key path.
  struct Resolved {
    /// The alias of the table that has the property.
    let alias: String
    let entity: EntityDescription
    let property: PropertyDescription
    /// The relationships from the fetched object to the object that has the property; nil if no
    /// relationships reach that object.
    let origin: [RelatedReads.Step]?
    /// The path inside a json attribute; empty for the whole attribute.
    var inside: [String] = []

    /// Returns the relationships from the fetched object to the objects of this property.
    func origin(after relationship: RelationshipDescription) -> [RelatedReads.Step]? {
      origin.map {
        $0 + [RelatedReads.Step(entity: entity.number, relationship: relationship.name)]
      }
    }
  }

  /// Returns the property at the end of a path over to-ones.
  ///
  /// - Parameters:
  ///   - path: At least one name.
  ///   - variable: The variable of SUBQUERY at the start of the path, nil for the fetched object.
  /// - Returns: The end of the path.
  /// - Throws: `unknownProperty`, `limitExceeded`.
  mutating func resolve(
    _ path: [String],
    from variable: String? = nil
  ) throws(StoreError) -> Resolved {
    let scope = scope(of: variable)
    guard !path.isEmpty else {
      throw StoreError(.invalidRequest, "A key path has at least one name")
    }
    var alias = scopes[scope].alias
    var origin = scopes[scope].origin
    let steps = model.steps(of: path, from: scopes[scope].entity)
    for (index, step) in steps.enumerated() {
      let (current, property, name) = (step.entity, step.property, step.property.name)
      for read in try columnsRead(by: name, of: current, alias) {
        if index == 0, scope == 0 {
          reads.note(own: read)
        } else {
          reads.note(related: current.number, [read], at: origin)
        }
      }
      if step.end == path.count {
        let end = Resolved(alias: alias, entity: current, property: property, origin: origin)
        noteTarget(of: end)
        return end
      }
      guard case .relationship(let relationship) = property else {
        if case .attribute(let attribute) = property, attribute.type == .json {
          return Resolved(
            alias: alias,
            entity: current,
            property: property,
            origin: origin,
            inside: Array(path[step.end...])
          )
        }
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is an attribute; no path continues after it",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      guard !relationship.toMany else {
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is a to-many; a key path follows to-ones only",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      alias = try join(
        Array(path[..<step.end]),
        tables: tables(of: model.entity(relationship.destination)),
        from: column(alias, name),
        in: scope
      )
      origin?.append(RelatedReads.Step(entity: current.number, relationship: name))
    }
    let reached =
      steps.relationships?.last.map { model.entity($0.destination) } ?? scopes[scope].entity
    let rest = path[(steps.last?.end ?? 0)...]
    let isComposite = rest.first.flatMap(reached.composite(named:)) != nil
    let name = isComposite ? rest.joined(separator: ".") : rest.first ?? ""
    throw .unknownProperty(name, of: reached)
  }

  /// Returns the columns that a property depends on: its own column or, for a computed attribute,
  /// every attribute that its function receives.
  private mutating func columnsRead(
    by name: String,
    of entity: EntityDescription,
    _ alias: String
  ) throws(StoreError) -> [String] {
    guard let computed = entity.computed(named: name) else { return [name] }
    guard context.functions.contains(computed.function) else {
      throw StoreError(
        .unknownProperty,
        "\(entity.name).\(name) is computed by the function \(computed.function), "
          + "which this program does not have",
        hint: "A program that embeds Cordial registers its functions",
        data: [JSONMember("entity", .string(entity.name)), JSONMember("property", .string(name))]
      )
    }
    let owner = model.entity(computed.owner)
    let call = ComputedAttributes.call(computed, of: owner) { column(alias, $0) }
    addComputed("(\(call))", of: alias, named: name)
    return owner.attributes.map(\.name)
  }
}
