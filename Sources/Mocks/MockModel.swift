import Cordial
import CordialProtocol
import CordialValues
import Engine
import JSON
import ObjectModel
import PersistentStore

/// The model of a mock's store, and the names of values that the script sets directly.
struct MockModel {
  let model: Model
  /// The names of the model's `values` that the script sets directly, by entity.
  let computedNames: [String: Set<String>]

  /// Creates the model of a script.
  ///
  /// If the script has no model, the model is drafted from the script's objects. If the script has
  /// a model, its objects may also set values that the model's `values` select at a key path.
  ///
  /// - Parameter script: The script.
  /// - Throws: `ScriptError` with the place in the file.
  init(_ script: MockScript) throws(ScriptError) {
    let document = try script.model.map(Self.document)
    var draft = ModelDraft("Mock")
    do throws(ClientError) {
      try draft.add(objects: script.valueLists)
    } catch {
      throw ScriptError("objects", error.message)
    }
    guard let document else {
      model = try Self.model(draft.document, "objects")
      computedNames = [:]
      return
    }
    let given = try Self.model(document, "model")
    var names: [String: Set<String>] = [:]
    for list in script.valueLists {
      guard let entity = given.entity(named: list.entity) else { continue }
      for member in list.values where entity.property(named: member.name) == nil {
        let isValue = given.values.contains {
          $0.entity == list.entity && $0.select[member.name] != nil
        }
        if isValue { names[list.entity, default: []].insert(member.name) }
      }
    }
    computedNames = names
    model =
      names.isEmpty
      ? given : try Self.model(Self.document(document, adding: names, of: draft), "model")
  }

  private static func document(_ place: MockScript.ModelPlace) throws(ScriptError) -> JSONValue {
    switch place {
    case .document(let document): return document
    case .file(let path):
      do throws(StoreError) {
        return try ModelDocument.read(at: path)
      } catch {
        throw ScriptError("model", error.message)
      }
    }
  }

  private static func model(_ document: JSONValue, _ place: String) throws(ScriptError) -> Model {
    do throws(ModelError) {
      return try ModelDocument.model(from: document)
    } catch {
      throw ScriptError(place, error.message)
    }
  }

  /// Returns a model with an attribute for each scripted value; the model's `values` select these
  /// attributes.
  private static func document(
    _ document: JSONValue,
    adding names: [String: Set<String>],
    of draft: ModelDraft
  ) -> JSONValue {
    let drafted = draft.document["entities"]?.array ?? []
    let entities = (document["entities"]?.array ?? []).map { entity -> JSONValue in
      guard let name = entity["name"]?.string, let added = names[name] else { return entity }
      let attributes = drafted.first { $0["name"]?.string == name }?["attributes"]?.array ?? []
      let new = attributes.filter { $0["name"]?.string.map(added.contains) ?? false }
      return entity.replacing("attributes", .array((entity["attributes"]?.array ?? []) + new))
    }
    let values = (document["values"]?.array ?? []).map { value -> JSONValue in
      guard let entity = value["entity"]?.string, let added = names[entity],
        let select = value["select"]?.members
      else { return value }
      let scripted = select.map { member in
        added.contains(member.name) ? JSONMember(member.name, .string(member.name)) : member
      }
      return value.replacing("select", .object(scripted))
    }
    return document.replacing("entities", .array(entities)).replacing("values", .array(values))
  }
}

extension MockScript {
  /// The lists of values that the script's objects and saves set, each list with its entity.
  fileprivate var valueLists: [(id: WrappedID?, entity: String, values: [JSONMember])] {
    let known = objects.map { (WrappedID?.some(.objectID($0.id)), $0.id.entity, $0.values) }
    var lists = known.map { (id: $0.0, entity: $0.1, values: $0.2) }
    for step in timeline {
      guard case .save(let save) = step.action else { continue }
      for element in (save[.insert]?.array ?? []) + (save[.update]?.array ?? []) {
        let id = element[.id]?.string.flatMap { ObjectID($0) }
        guard let entity = element[.entity]?.string ?? id?.entity else { continue }
        // A value that is an object describes set operations on a to-many, so no attribute is
        // drafted.
        let values = (element[.values]?.members ?? []).filter { $0.value.members == nil }
        lists.append((id: nil, entity: entity, values: values))
      }
    }
    return lists
  }
}

extension JSONValue {
  /// Returns the object with a new value of a member, which is added if it is absent.
  func replacing(_ name: String, _ value: JSONValue) -> JSONValue {
    var members = self.members ?? []
    if let index = members.firstIndex(where: { $0.name == name }) {
      members[index].value = value
    } else {
      members.append(JSONMember(name, value))
    }
    return .object(members)
  }
}
