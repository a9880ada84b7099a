import CordialValues
package import JSON

/// Reads a model out of a Cordial model file.
package struct ModelDocument {
  private var problems: [ModelProblem] = []
  /// Names of entities in the order of the file, with their raw form.
  private(set) var raw: [(name: String, path: String, value: JSONValue)] = []

  /// Reads a model file.
  ///
  /// - Parameter text: The file's content, JSON as `Protocol/model.schema.json` describes it.
  /// - Returns: The model.
  /// - Throws: `ModelError` with every fault of the file.
  package static func parse(_ text: Span<UInt8>) throws(ModelError) -> Model {
    let document: JSONValue
    do {
      document = try JSONParser.parse(text)
    } catch {
      throw ModelError(problems: [ModelProblem(path: "", message: error.message)])
    }
    return try model(from: document)
  }

  /// Reads a model from its JSON value.
  ///
  /// - Parameter document: The content of a model file.
  /// - Returns: The model.
  /// - Throws: `ModelError` with every fault of the file.
  package static func model(from document: JSONValue) throws(ModelError) -> Model {
    var reader = ModelDocument()
    let model = reader.read(document)
    guard let model, reader.problems.isEmpty else {
      throw ModelError(problems: reader.problems)
    }
    return model
  }

  mutating func problem(_ path: String, _ message: String) {
    problems.append(ModelProblem(path: path, message: message))
  }

  // MARK: Levels of the file

  private static let modelMembers: Set<String> = [
    "$schema", "name", "version", "entities", "values", "templates", "configurations",
  ]
  private static let entityMembers: Set<String> = [
    "name", "identity", "attributes", "relationships", "unique", "indexes", "spotlight",
  ]
  private static let attributeMembers: Set<String> = [
    "name", "type", "optional", "default", "minimum", "maximum", "minimumLength",
    "maximumLength", "enum",
  ]
  private static let relationshipMembers: Set<String> = [
    "name", "destination", "toMany", "inverse", "deleteRule", "optional", "minimumCount",
    "maximumCount",
  ]
  private static let spotlightMembers: Set<String> = ["displayName", "attributes"]
  /// Members of the format that this version does not honour; refusing them beats ignoring them.
  private static let notBuiltYet: Set<String> = [
    "configurations", "parent", "abstract", "renamedFrom", "pattern",
    "derived", "transient", "ordered", "keywords", "domain", "exclude",
  ]

  /// SQLite reads the whole schema at each opening, a dozen statements for each entity.
  private static let entitiesMax = 1000
  /// The log's triggers name every column in one expression, whose depth SQLite limits.
  private static let columnsMax = 400

  private mutating func read(_ document: JSONValue) -> Model? {
    guard document.members != nil else {
      problem("", "A model is an object, this is \(document.kind)")
      return nil
    }
    checkMembers(document, of: Self.modelMembers, at: "")
    let name = text(document, "name", at: "") ?? ""
    let version = text(document, "version", at: "", default: "1") ?? "1"
    for (index, entity) in list(document, "entities", at: "", required: true).enumerated() {
      let path = "entities[\(index)]"
      let name = identifier(entity, at: path) ?? "?\(index)"
      if raw.contains(where: { $0.name.lowercased() == name.lowercased() }) {
        problem(path + ".name", "Two entities are named \(name)")
      }
      raw.append((name, path, entity))
    }
    if raw.count > Self.entitiesMax {
      problem("entities", "A model has at most \(Self.entitiesMax) entities, not \(raw.count)")
    }
    let entities = raw.indices.map { entity($0) }
    checkPairs(entities)
    let values = values(document)
    let templates = templates(document)
    guard problems.isEmpty else { return nil }
    return Model(
      name: name,
      version: version,
      entities: entities,
      document: document,
      values: values,
      templates: templates
    )
  }

  /// The table of a many-to-many is named by its entity and itself with a `_` between, which two of
  /// them could share.
  private mutating func checkPairs(_ entities: [EntityDescription]) {
    var names: Set<String> = []
    for entity in entities {
      for relationship in entity.relationships {
        guard case .pairs(_, _, owns: true) = relationship.storage,
          !names.insert("\(entity.name)_\(relationship.name)".lowercased()).inserted
        else { continue }
        problem(
          raw[entity.number - 1].path + ".relationships",
          "The pairs of \(entity.name).\(relationship.name) would share a table with those of "
            + "another relationship whose names are put together the same; name one otherwise"
        )
      }
    }
  }

  private mutating func entity(_ index: Int) -> EntityDescription {
    let (name, path, value) = raw[index]
    checkMembers(value, of: Self.entityMembers, at: path + ".")
    var names: Set<String> = []
    var attributes: [AttributeDescription] = []
    for (index, element) in list(value, "attributes", at: path + ".").enumerated() {
      let place = "\(path).attributes[\(index)]"
      if let attribute = attribute(element, at: place), claim(attribute.name, &names, place) {
        attributes.append(attribute)
      }
    }
    var relationships: [RelationshipDescription] = []
    for (position, element) in list(value, "relationships", at: path + ".").enumerated() {
      let place = "\(path).relationships[\(position)]"
      if let relationship = relationship(element, of: index, at: place),
        claim(relationship.name, &names, place)
      {
        relationships.append(relationship)
      }
    }
    let columns = attributes.count + relationships.count { !$0.toMany }
    if columns > Self.columnsMax {
      problem(
        path,
        "An entity has at most \(Self.columnsMax) attributes and to-ones, not \(columns)"
      )
    }
    let identity = identity(value, attributes, at: path)
    return EntityDescription(
      number: index + 1,
      name: name,
      identity: identity,
      attributes: attributes,
      relationships: relationships,
      unique: propertySets(value, "unique", attributes, relationships, at: path),
      indexes: propertySets(value, "indexes", attributes, relationships, at: path),
      spotlight: spotlight(value["spotlight"], attributes, at: path + ".spotlight")
    )
  }

  private mutating func claim(_ name: String, _ names: inout Set<String>, _ path: String) -> Bool {
    guard names.insert(name.lowercased()).inserted else {
      // SQLite's column names do not differ by case.
      problem(path + ".name", "Two properties are named \(name), case apart")
      return false
    }
    return true
  }

  private mutating func identity(
    _ entity: JSONValue,
    _ attributes: [AttributeDescription],
    at path: String
  ) -> String? {
    guard let value = entity["identity"], !value.isNull else { return nil }
    guard let name = value.string, let attribute = attributes.first(where: { $0.name == name })
    else {
      problem(path + ".identity", "The identity is the name of one of the entity's attributes")
      return nil
    }
    guard [.string, .int16, .int32, .int64, .uuid].contains(attribute.type) else {
      problem(path + ".identity", "An identity is a string, an integer or a uuid")
      return nil
    }
    if attribute.optional { problem(path + ".identity", "An identity cannot be optional") }
    return name
  }

  private mutating func attribute(_ value: JSONValue, at path: String) -> AttributeDescription? {
    checkMembers(value, of: Self.attributeMembers, at: path + ".")
    guard let name = identifier(value, at: path) else { return nil }
    let types = AttributeType.allCases.map(\.rawValue).joined(separator: ", ")
    guard let type = value["type"]?.string.flatMap(AttributeType.init(rawValue:)) else {
      problem(path + ".type", "The type is one of \(types)")
      return nil
    }
    let values = list(value, "enum", at: path + ".").compactMap {
      constant($0, type, at: path + ".enum")
    }
    if value["enum"]?.array?.isEmpty == true {
      problem(path + ".enum", "An empty list leaves no value; leave it out to allow all")
    }
    let allowed = values.isEmpty ? nil : values
    return AttributeDescription(
      name: name,
      type: type,
      optional: flag(value, "optional", at: path),
      defaultValue: value["default"].flatMap { constant($0, type, at: path + ".default") } ?? .null,
      minimum: value["minimum"].flatMap { constant($0, type, at: path + ".minimum") },
      maximum: value["maximum"].flatMap { constant($0, type, at: path + ".maximum") },
      minimumLength: count(value, "minimumLength", at: path),
      maximumLength: count(value, "maximumLength", at: path),
      allowed: allowed
    )
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

  private mutating func relationship(
    _ value: JSONValue,
    of entity: Int,
    at path: String
  ) -> RelationshipDescription? {
    checkMembers(value, of: Self.relationshipMembers, at: path + ".")
    guard let name = identifier(value, at: path) else { return nil }
    guard let destination = raw.firstIndex(where: { $0.name == value["destination"]?.string })
    else {
      problem(path + ".destination", "The destination is the name of an entity of this model")
      return nil
    }
    let toMany = flag(value, "toMany", at: path)
    let rule = value["deleteRule"] ?? "nullify"
    guard let deleteRule = rule.string.flatMap(DeleteRule.init(rawValue:)) else {
      problem(path + ".deleteRule", "A delete rule is nullify, cascade, deny or noAction")
      return nil
    }
    let inverse = optionalText(value, "inverse", at: path)
    guard let storage = storage(name, toMany, entity, destination, inverse, at: path) else {
      return nil
    }
    return RelationshipDescription(
      name: name,
      destination: destination + 1,
      toMany: toMany,
      inverse: inverse,
      deleteRule: deleteRule,
      optional: flag(value, "optional", at: path),
      minimumCount: count(value, "minimumCount", at: path) ?? 0,
      maximumCount: count(value, "maximumCount", at: path),
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
      return toMany ? .pairs(entity: entity + 1, relationship: name, owns: true) : .column
    }
    guard
      let other = raw[destination].value["relationships"]?.array?
        .first(where: { $0["name"]?.string == inverse })
    else {
      problem(path + ".inverse", "\(raw[destination].name) has no relationship \(inverse)")
      return nil
    }
    guard other["inverse"]?.string == name, other["destination"]?.string == raw[entity].name else {
      problem(
        path + ".inverse",
        "\(raw[destination].name).\(inverse) does not lead back to \(raw[entity].name).\(name)"
      )
      return nil
    }
    guard toMany else { return .column }
    guard other["toMany"]?.bool == true else { return .inverseColumn }
    // The side whose entity comes first, then the smaller name, keeps the pairs.
    let owns = (entity, name) <= (destination, inverse)
    return .pairs(
      entity: owns ? entity + 1 : destination + 1,
      relationship: owns ? name : inverse,
      owns: owns
    )
  }

  private mutating func propertySets(
    _ entity: JSONValue,
    _ member: String,
    _ attributes: [AttributeDescription],
    _ relationships: [RelationshipDescription],
    at path: String
  ) -> [[String]] {
    let columns = Set(attributes.map(\.name) + relationships.filter { !$0.toMany }.map(\.name))
    return list(entity, member, at: path + ".").enumerated().compactMap { index, element in
      let names = element.array?.compactMap(\.string) ?? []
      guard let elements = element.array, !elements.isEmpty, names.count == elements.count,
        names.allSatisfy(columns.contains)
      else {
        problem(
          "\(path).\(member)[\(index)]",
          "Expected a list of names of attributes and to-ones"
        )
        return nil
      }
      return names
    }
  }

  private mutating func spotlight(
    _ value: JSONValue?,
    _ attributes: [AttributeDescription],
    at path: String
  ) -> SpotlightDescription? {
    guard let value, !value.isNull else { return nil }
    checkMembers(value, of: Self.spotlightMembers, at: path + ".")
    let texts = Set(attributes.filter { [.string, .uri].contains($0.type) }.map(\.name))
    var weights: [String: Double] = [:]
    if let attributes = value["attributes"], !attributes.isNull, attributes.members == nil {
      problem(path + ".attributes", "Expected an object of names and weights")
    }
    for member in value["attributes"]?.members ?? [] {
      let weight: Double? =
        switch member.value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
      guard texts.contains(member.name), let weight, weight > 0 else {
        problem(
          "\(path).attributes.\(member.name)",
          "Expected a string or uri attribute of the entity with a weight above zero"
        )
        continue
      }
      weights[member.name] = weight
    }
    let displayName = optionalText(value, "displayName", at: path)
    if let displayName {
      guard texts.contains(displayName) else {
        problem(path + ".displayName", "The entity has no string attribute \(displayName)")
        return nil
      }
      weights[displayName, default: 0] += weights[displayName] == nil ? 1 : 0
    }
    return SpotlightDescription(
      displayName: displayName,
      weights: weights.sorted { $0.key < $1.key }.map { (name: $0.key, weight: $0.value) }
    )
  }
}

// MARK: Members of any level

extension ModelDocument {
  mutating func checkMembers(_ value: JSONValue, of known: Set<String>, at path: String) {
    guard let members = value.members else {
      problem(String(path.dropLast()), "Expected an object, found \(value.kind)")
      return
    }
    for member in members where !Self.isAbsent(member) {
      if Self.notBuiltYet.contains(member.name) {
        problem(path + member.name, "This version of Cordial does not support \(member.name) yet")
      } else if !known.contains(member.name) {
        let names = known.sorted().joined(separator: ", ")
        problem(path + member.name, "Unknown; known here: \(names)")
      }
    }
  }

  /// Whether a member says what its absence says.
  private static func isAbsent(_ member: JSONMember) -> Bool {
    switch member.value {
    case .null, .bool(false), .array([]), .object([]): true
    default: false
    }
  }

  private mutating func text(
    _ value: JSONValue,
    _ member: String,
    at path: String,
    default fallback: String? = nil
  ) -> String? {
    if let text = value[member]?.string { return text }
    if value[member] == nil, let fallback { return fallback }
    problem(path + member, "Expected a string")
    return nil
  }

  private mutating func optionalText(
    _ value: JSONValue,
    _ member: String,
    at path: String
  ) -> String? {
    guard let found = value[member], !found.isNull else { return nil }
    if let text = found.string { return text }
    problem("\(path).\(member)", "Expected a string, found \(found.kind)")
    return nil
  }

  /// A name that is a word in every language we speak: it stands in paths, SQL and identifiers.
  mutating func identifier(_ value: JSONValue, at path: String) -> String? {
    guard let name = text(value, "name", at: path + ".") else { return nil }
    let bytes = Array(name.utf8)
    let first = bytes.first ?? 0
    guard PercentText.isAlphanumeric(first), !(0x30...0x39 ~= first), bytes.count <= 64,
      bytes.allSatisfy({ PercentText.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }),
      !name.lowercased().hasPrefix("cordial_"), !name.lowercased().hasPrefix("sqlite_")
    else {
      problem(
        path + ".name",
        "\"\(name)\" is no name: a letter, then letters, digits and _, 64 at most; cordial_ and "
          + "sqlite_ are taken"
      )
      return nil
    }
    return name
  }

  mutating func list(
    _ value: JSONValue,
    _ member: String,
    at path: String,
    required: Bool = false
  ) -> [JSONValue] {
    if let elements = value[member]?.array { return elements }
    if required || value[member].map({ !$0.isNull }) == true {
      problem(path + member, "Expected a list")
    }
    return []
  }

  private mutating func flag(_ value: JSONValue, _ member: String, at path: String) -> Bool {
    guard let found = value[member], !found.isNull else { return false }
    if let flag = found.bool { return flag }
    problem("\(path).\(member)", "Expected true or false, found \(found.kind)")
    return false
  }

  private mutating func count(_ value: JSONValue, _ member: String, at path: String) -> Int? {
    guard let found = value[member], !found.isNull else { return nil }
    if let count = found.integer, 0...Int64(Int32.max) ~= count { return Int(count) }
    problem("\(path).\(member)", "Expected a count, found \(found.kind)")
    return nil
  }
}
