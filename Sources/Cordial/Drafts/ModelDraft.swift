package import CordialValues
package import JSON

/// A draft of a model file, derived from a program's types and from samples of their values.
///
///     var draft = ModelDraft("Todo")
///     try draft.add(TodoGroup.self, samples: TodoGroup.samples)
///     try draft.add(TodoTask.self, samples: TodoTask.samples)
///     print(draft.text)
///     for decision in draft.decisions { print(decision) }
///
/// The types determine the attributes and relationships. The samples determine the entities to
/// which relationships refer, and the types of attributes that are enumerations or structures.
public struct ModelDraft: Sendable {
  private let name: String
  private let version: String
  private var facts: [PropertyFact] = []
  private var projections: [JSONValue] = []
  private var entities: [String] = []
  /// The name of each sample's entity, by the sample's ID.
  private var owners: [WrappedID: String] = [:]
  private var drafted = DraftedModel()

  /// Creates a draft without entities.
  ///
  /// - Parameters:
  ///   - name: The name of the model.
  ///   - version: The version of the model.
  public init(_ name: String, version: String = "1") {
    (self.name, self.version) = (name, version)
  }

  /// Adds the properties of a type to its entity.
  ///
  /// If several types have the same entity, the entity gets the properties of all these types.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - samples: Values of the type; their IDs may be IDs of mocks.
  /// - Throws: `ClientError` with `valueMismatch` for a type that cannot be decoded, and for a
  ///   property that two types of the entity declare with incompatible types. The draft is then
  ///   unchanged.
  public mutating func add<Value: ObjectValue>(
    _ type: Value.Type,
    samples: [Value] = []
  ) throws(ClientError) {
    if case .invalid(let mismatch) = TypeSelection.of(type), Value.projection == nil {
      throw ClientError(code: .valueMismatch, message: "\(type): \(mismatch)")
    }
    let properties: [DecodedProperties.Property]
    do throws(ValueMismatch) {
      properties = try DecodedProperties.of(type).properties
    } catch {
      throw ClientError(code: .valueMismatch, message: "\(type): \(error)")
    }
    var encoded: [[String: JSONValue]] = []
    for sample in samples {
      encoded.append(try ValueEncoder.properties(of: sample, identifiers: .any))
    }
    var draft = self
    draft.note(Value.entity)
    for sample in samples { draft.owners[sample.id] = Value.entity }
    var select: [JSONMember] = []
    for property in properties {
      let path = Value.properties[property.name] ?? property.name
      select.append(JSONMember(property.name, .string(path)))
      draft.facts.append(
        PropertyFact(
          entity: Value.entity,
          path: path,
          kind: property.kind,
          isOptional: property.isOptional,
          samples: encoded.compactMap { $0[property.name] }.filter { !$0.isNull },
          source: "\(type).\(property.name)"
        )
      )
    }
    if let projection = Value.projection {
      draft.projections.append(
        ["name": .string(projection), "entity": .string(Value.entity), "select": .object(select)]
      )
    }
    draft.drafted = try DraftedModel(draft.facts, draft.entities, draft.owners)
    self = draft
  }

  /// Adds the properties of objects in the form of the protocol.
  ///
  /// - Parameter objects: The objects, each with its ID if known. The draft makes every property
  ///   optional.
  /// - Throws: `ClientError` with `valueMismatch` for a property whose values have incompatible
  ///   types.
  package mutating func add(
    objects: [(id: WrappedID?, entity: String, values: [JSONMember])]
  ) throws(ClientError) {
    var draft = self
    for object in objects {
      draft.note(object.entity)
      if let id = object.id { draft.owners[id] = object.entity }
      for member in object.values {
        draft.facts.append(
          PropertyFact(
            entity: object.entity,
            path: member.name,
            kind: .other,
            isOptional: true,
            samples: member.value.isNull ? [] : [member.value],
            source: "\(object.id.map { $0.description } ?? object.entity).\(member.name)"
          )
        )
      }
    }
    draft.drafted = try DraftedModel(draft.facts, draft.entities, draft.owners)
    self = draft
  }

  private mutating func note(_ entity: String) {
    if !entities.contains(entity) { entities.append(entity) }
  }

  /// The model file: JSON with line breaks.
  public var text: String { document.prettyText }

  /// The content of the model file.
  package var document: JSONValue {
    var members: [JSONMember] = [
      JSONMember("name", .string(name)), JSONMember("version", .string(version)),
      JSONMember("entities", .array(drafted.entities.map(\.json))),
    ]
    if !projections.isEmpty { members.append(JSONMember("values", .array(projections))) }
    return .object(members)
  }

  /// The decisions that a person has to make, in the order of the entities.
  ///
  /// The decisions concern guesses to check, delete rules, unique properties and indexes.
  public var decisions: [String] { drafted.decisions }
}

/// A fact about a property, from one type or from one object.
struct PropertyFact: Sendable {
  let entity: String
  /// The name of the property in the model, or the key path to the property.
  let path: String
  let kind: DecodedProperties.Kind
  let isOptional: Bool
  /// Values of the property, without null.
  let samples: [JSONValue]
  /// The name of the property with its type or object, for error messages.
  let source: String
}
