import CordialValues
package import JSON

/// A reader of Cordial model files.
package struct ModelDocument {
  private var problems: [ModelProblem] = []
  /// The entities in the order of the file, in their JSON form.
  private(set) var raw: [(name: String, path: String, value: JSONValue)] = []
  /// For each entity, the path from its root ancestor to the entity itself, as indices into `raw`.
  var lineages: [[Int]] = []

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
  /// - Parameters:
  ///   - document: The content of a model file.
  ///   - slots: The slots that a store has assigned, by entity name, including retired slots. Other
  ///     entities get free slots.
  ///   - retired: The entities that only earlier versions of the store's model had.
  ///   - excludedEntities: The names of the model file's entities that the configuration leaves
  ///     out.
  /// - Returns: The model.
  /// - Throws: `ModelError` with every fault of the file.
  package static func model(
    from document: JSONValue,
    slots: [String: Int] = [:],
    retired: [RetiredEntity] = [],
    excludedEntities: Set<String> = []
  ) throws(ModelError) -> Model {
    var reader = ModelDocument()
    let model = reader.read(document, slots, retired, excludedEntities)
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
    "$schema", "name", "version", "entities", "values", "templates", "configurations", "removed",
    "map",
  ]
  static let entityMembers: Set<String> = [
    "name", "identity", "attributes", "relationships", "unique", "indexes", "spotlight", "parent",
    "abstract", "renamedFrom", "userInfo", "versionHashModifier",
  ]
  static let attributeMembers: Set<String> = [
    "name", "type", "optional", "default", "minimum", "maximum", "minimumLength",
    "maximumLength", "enum", "pattern", "transient", "derived", "renamedFrom", "userInfo",
    "versionHashModifier", "preserveAfterDeletion", "sorted", "computed", "language",
  ]
  static let relationshipMembers: Set<String> = [
    "name", "destination", "toMany", "inverse", "deleteRule", "optional", "minimumCount",
    "maximumCount", "ordered", "renamedFrom", "userInfo", "versionHashModifier",
  ]

  /// The maximum number of entities.
  ///
  /// SQLite reads the whole schema whenever it opens the store, a dozen statements for each entity.
  private static let entitiesMax = 1000
  /// The maximum number of columns of an entity.
  ///
  /// The log's triggers name every column in one expression, whose depth SQLite limits.
  static let columnsMax = 400

  private mutating func read(
    _ document: JSONValue,
    _ slots: [String: Int],
    _ retired: [RetiredEntity],
    _ excludedEntities: Set<String>
  ) -> Model? {
    guard document.members != nil else {
      problem("", "A model must be an object, found \(document.kind)")
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
    readParents()
    let entities = entities(slots)
    checkLinkTables(entities)
    checkDerived(entities)
    checkSpotlight(entities)
    let values = values(document)
    let templates = templates(document)
    checkConfigurations(document)
    let removed = removed(document, entities)
    // The map needs the destinations of relationships, which only a model without problems has.
    let map = problems.isEmpty ? map(document, entities, excluded: excludedEntities) : nil
    guard problems.isEmpty else { return nil }
    return Model(
      name: name,
      version: version,
      entities: entities,
      document: document,
      values: values,
      templates: templates,
      removed: removed,
      map: map,
      retiredSlots: Set(slots.filter { $0.key == Model.retiredName($0.value) }.values),
      retired: retired,
      excludedEntities: excludedEntities
    )
  }

  /// Reads the names of the deleted entities and properties, which the model must no longer have.
  private mutating func removed(
    _ document: JSONValue,
    _ entities: [EntityDescription]
  ) -> Set<String> {
    var names: Set<String> = []
    for (index, element) in list(document, "removed", at: "").enumerated() {
      let path = "removed[\(index)]"
      guard let name = element.string, !name.isEmpty else {
        problem(path, "Expected an entity's name or Entity.property, found \(element.kind)")
        continue
      }
      let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
      let entity = entities.first { $0.name == parts[0] }
      let property = parts.count == 1 ? nil : entity?.property(named: String(parts[1]))
      // Clients may have written values of an attribute that is now derived; the model may delete
      // such values.
      var isDerived = false
      if case .attribute(let attribute)? = property { isDerived = attribute.derived != nil }
      let isPresent = parts.count == 1 ? entity != nil : property != nil && !isDerived
      if isPresent {
        problem(path, "The model still has \(name)")
      }
      names.insert(name)
    }
    return names
  }

  /// Checks that no two relationships share a link table, which is named by the entity, a `_` and
  /// the relationship.
  private mutating func checkLinkTables(_ entities: [EntityDescription]) {
    var names: Set<String> = []
    for entity in entities {
      for relationship in entity.relationships {
        guard relationship.owner == entity.number,
          case .linkTable(_, _, owns: true) = relationship.storage,
          !names.insert("\(entity.name)_\(relationship.name)".lowercased()).inserted
        else { continue }
        problem(
          raw[entity.number - 1].path + ".relationships",
          "The link table of \(entity.name).\(relationship.name) would have the name of another "
            + "relationship's link table; rename one of the relationships"
        )
      }
    }
  }
}
