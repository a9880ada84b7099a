import CordialValues
import JSON

/// The readers of attributes and relationships.
extension ModelDocument {
  /// Reads an attribute that is not a composite.
  ///
  /// - Parameters:
  ///   - value: The attribute's element of the file.
  ///   - composite: The composite of which the attribute is a member; nil for none.
  ///   - path: The element's path in the file.
  /// - Returns: The attribute; nil for an element with a fault in its name or type.
  mutating func attribute(
    _ value: JSONValue,
    in composite: OuterComposite? = nil,
    at path: String
  ) -> AttributeDescription? {
    let members = composite == nil ? Self.attributeMembers : Self.memberMembers
    checkMembers(value, of: members, at: path + ".")
    checkAnnotations(value, at: path)
    guard let name = identifier(value, at: path) else { return nil }
    guard let type = value["type"]?.string.flatMap(AttributeType.init(rawValue:)) else {
      let types = (AttributeType.allCases.map(\.rawValue) + [Self.composite])
      problem(path + ".type", "The type must be one of \(types.joined(separator: ", "))")
      return nil
    }
    let values = list(value, "enum", at: path + ".").compactMap {
      constant($0, type, at: path + ".enum")
    }
    if value["enum"]?.array?.isEmpty == true {
      problem(path + ".enum", "An empty list allows no value; omit enum to allow all values")
    }
    let allowed = values.isEmpty ? nil : values
    let derived = derived(value, at: path)
    let zero: AttributeValue =
      type == .decimal ? .decimal("0") : type == .double ? .double(0) : .integer(0)
    // A sum of decimals is null if it has too many digits.
    let isNeverNull = derived?.isNumber == true && type != .decimal
    let renamedFrom = optionalText(value, "renamedFrom", at: path)
    let attribute = AttributeDescription(
      name: composite.map { $0.path(of: name) } ?? name,
      renamedFrom: composite.map { $0.formerPath(of: name, renamedFrom) } ?? renamedFrom,
      type: type,
      optional: derived.map { _ in !isNeverNull } ?? flag(value, "optional", at: path),
      defaultValue: derived?.isNumber == true
        ? zero : value["default"].flatMap { constant($0, type, at: path + ".default") } ?? .null,
      minimum: value["minimum"].flatMap { constant($0, type, at: path + ".minimum") },
      maximum: value["maximum"].flatMap { constant($0, type, at: path + ".maximum") },
      minimumLength: count(value, "minimumLength", at: path),
      maximumLength: count(value, "maximumLength", at: path),
      pattern: pattern(value, type, at: path),
      allowed: allowed,
      derived: derived,
      isPreserved: flag(value, "preserveAfterDeletion", at: path)
        || composite?.isPreserved == true,
      sortsLocalized: sortsLocalized(value, type, at: path),
      language: language(value, type, at: path)
    )
    if let objection = attribute.contradiction { problem(path, objection) }
    return attribute
  }

  /// Reads the member `sorted`, whose only valid value is `"localized"`.
  private mutating func sortsLocalized(
    _ value: JSONValue,
    _ type: AttributeType,
    at path: String
  ) -> Bool {
    guard let text = optionalText(value, "sorted", at: path) else { return false }
    guard text == "localized", type == .string else {
      problem(path + ".sorted", "Only a string is sorted, and only as \"localized\"")
      return false
    }
    return true
  }

  /// Reads the member `language`, a name or a code of a language that Snowball has.
  private mutating func language(
    _ value: JSONValue,
    _ type: AttributeType,
    at path: String
  ) -> String? {
    guard let language = optionalText(value, "language", at: path) else { return nil }
    guard type == .string else {
      problem(path + ".language", "Only a string has a language")
      return nil
    }
    guard Stemmer(language: language) != nil else {
      let known = Stemmer.languages.joined(separator: ", ")
      problem(path + ".language", "Expected the name or the ISO 639 code of one of \(known)")
      return nil
    }
    return language
  }

  private mutating func pattern(
    _ value: JSONValue,
    _ type: AttributeType,
    at path: String
  ) -> TextPattern? {
    guard let text = optionalText(value, "pattern", at: path) else { return nil }
    guard type.codec.isText else {
      problem(path + ".pattern", "A pattern is for a string or a uri")
      return nil
    }
    do {
      return try TextPattern(text)
    } catch {
      problem(
        path + ".pattern",
        "Expected a regular expression; ICU reports an error at character \(error.offset)"
      )
      return nil
    }
  }

  private mutating func constant(
    _ value: JSONValue,
    _ type: AttributeType,
    at path: String
  ) -> AttributeValue? {
    switch type.decode(value) {
    case .value(.null): return nil
    case .value(let typed): return typed
    case .expected(let what):
      problem(path, "Expected \(what), found \(value.kind)")
      return nil
    }
  }

  mutating func relationship(
    _ value: JSONValue,
    of entity: Int,
    at path: String
  ) -> RelationshipDescription? {
    checkMembers(value, of: Self.relationshipMembers, at: path + ".")
    checkAnnotations(value, at: path)
    guard let name = identifier(value, at: path) else { return nil }
    guard let destination = raw.firstIndex(where: { $0.name == value["destination"]?.string })
    else {
      problem(path + ".destination", "The destination must be the name of an entity of this model")
      return nil
    }
    let toMany = flag(value, "toMany", at: path)
    let rule = value["deleteRule"] ?? "nullify"
    guard let deleteRule = rule.string.flatMap(DeleteRule.init(rawValue:)) else {
      problem(path + ".deleteRule", "The delete rule must be nullify, cascade, deny or noAction")
      return nil
    }
    let inverse = optionalText(value, "inverse", at: path)
    let ordered = flag(value, "ordered", at: path)
    if ordered, !toMany { problem(path + ".ordered", "A to-one has no order") }
    if ordered, inverse == name, destination == entity {
      problem(path + ".ordered", "A relationship that is its own inverse cannot be ordered")
    }
    guard let storage = storage(name, toMany, entity, destination, inverse, at: path) else {
      return nil
    }
    let minimumCount = count(value, "minimumCount", at: path) ?? 0
    let maximumCount = count(value, "maximumCount", at: path)
    if let maximumCount, minimumCount > maximumCount {
      problem(path + ".minimumCount", "The minimumCount is above the maximumCount")
    }
    return RelationshipDescription(
      name: name,
      renamedFrom: optionalText(value, "renamedFrom", at: path),
      owner: entity + 1,
      destination: destination + 1,
      toMany: toMany,
      ordered: ordered,
      inverse: inverse,
      deleteRule: deleteRule,
      optional: flag(value, "optional", at: path),
      minimumCount: minimumCount,
      maximumCount: maximumCount,
      storage: storage
    )
  }

  private mutating func storage(
    _ name: String,
    _ toMany: Bool,
    _ entity: Int,
    _ destination: Int,
    _ inverse: String?,
    at path: String
  ) -> RelationshipStorage? {
    guard let inverse else {
      return toMany ? .linkTable(entity: entity + 1, relationship: name, owns: true) : .column
    }
    let relationships = lineages[destination].flatMap {
      raw[$0].value["relationships"]?.array ?? []
    }
    guard let other = relationships.first(where: { $0["name"]?.string == inverse }) else {
      problem(path + ".inverse", "\(raw[destination].name) has no relationship \(inverse)")
      return nil
    }
    guard other["inverse"]?.string == name, other["destination"]?.string == raw[entity].name else {
      problem(
        path + ".inverse",
        "\(raw[destination].name).\(inverse) does not have \(raw[entity].name).\(name) as inverse"
      )
      return nil
    }
    guard toMany else { return .column }
    guard other["toMany"]?.bool == true else { return .inverseColumn }
    // The side whose entity comes first in the file owns the link table. If both sides have the
    // same entity, the side with the smaller name owns the table.
    let owns = (entity, name) <= (destination, inverse)
    return .linkTable(
      entity: owns ? entity + 1 : destination + 1,
      relationship: owns ? name : inverse,
      owns: owns
    )
  }
}
