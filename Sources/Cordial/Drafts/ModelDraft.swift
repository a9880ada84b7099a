package import CordialValues
package import JSON

/// A model file that would serve the values of a program, drafted from the program's types and
/// from samples of their values.
///
///     var draft = ModelDraft("Todo")
///     try draft.add(TodoGroup.self, samples: TodoGroup.samples)
///     try draft.add(TodoTask.self, samples: TodoTask.samples)
///     print(draft.text)
///     for decision in draft.decisions { print(decision) }
///
/// The types tell which attributes and relationships there are. The samples tell which objects a
/// relationship refers to, and the type of an attribute that is an enumeration or a structure.
public struct ModelDraft: Sendable {
  private let name: String
  private let version: String
  private var facts: [PropertyFact] = []
  private var projections: [JSONValue] = []
  private var entities: [String] = []
  /// The entities of the samples, by their IDs.
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
  /// Several types of one entity share its properties.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - samples: Values of the type, also with the IDs of mocks.
  /// - Throws: `ClientError` with `valueMismatch`: for a type that cannot be decoded, and for a
  ///   property that another type of the entity reads in another form. The draft is then unchanged.
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

  /// Adds the properties that objects of the protocol have.
  ///
  /// - Parameter objects: The IDs and the values of the objects; every property is optional.
  /// - Throws: `ClientError` with `valueMismatch` for a property with values of several forms.
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

  /// What only a person can decide: guesses to be checked, delete rules, what is unique and what
  /// is indexed; in the order of the entities.
  public var decisions: [String] { drafted.decisions }
}

/// What is known of a property from one type, or from one object.
struct PropertyFact: Sendable {
  let entity: String
  /// The name in the model, or the key path to it.
  let path: String
  let kind: DecodedProperties.Kind
  let isOptional: Bool
  /// Values of the property, without null.
  let samples: [JSONValue]
  /// The property of the type, for a sentence.
  let source: String
}
