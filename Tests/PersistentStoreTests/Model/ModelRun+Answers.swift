import Foundation
import JSON

/// Comparing answers with what the plain model says.
extension ModelRun {
  /// Prints the model and all operations with a failure: `CORDIAL_VERBOSE=1`.
  static let isVerbose = ProcessInfo.processInfo.environment["CORDIAL_VERBOSE"] != nil

  // MARK: What the store chooses

  /// Takes from the store what the contract leaves to it: numbers of new objects, orders and
  /// versions that are open.
  func adopt(_ result: JSONValue, _ save: inout PlainSave) throws {
    for key in save.inserted where save.state.exists(key) {
      let sent = save.ids.first { $0.value == key }?.key
      let index = save.answered.firstIndex(of: key) ?? 0
      let objects = result["objects"]?.array ?? []
      let listed = objects.indices.contains(index) ? objects[index]["id"]?.string : nil
      guard let id = sent.flatMap({ result["ids"]?[$0]?.string }) ?? listed else {
        return expect(false, "no ID for \(sent ?? "an insert") in \(result.text)")
      }
      save.state.objects[key]?.number = try stores[0].number(of: id)
    }
    let isRestored = save.state.objects.contains { $0.value.version == 0 }
    guard isRestored || !save.openOrders.isEmpty || !save.openVersions.isEmpty else { return }
    let actual = try storedObjects()
    for (key, object) in save.state.objects where object.version == 0 {
      let version = actual[save.state.id(key)]?["version"]?.integer ?? 0
      let last = plain.commits.compactMap { $0.state[key]?.version }.max() ?? 0
      expect(version > last, "\(save.state.id(key)) returns at version \(version), after \(last)")
      save.state.objects[key]?.version = version
    }
    for property in save.openOrders.sorted(by: { ($0.key, $0.name) < ($1.key, $1.name) }) {
      guard let relationship = save.state.entity(property.key).relationship(property.name),
        let list = actual[save.state.id(property.key)]?["values"]?[property.name]?.array
      else { continue }
      let order = list.compactMap { $0.string.flatMap(save.state.key) }
      if Set(order) == Set(save.state.related(relationship, of: property.key)) {
        save.state.objects[property.key]?.orders[property.name] = order
      }
    }
    for key in save.openVersions {
      guard let old = save.before[key], save.state.exists(key) else { continue }
      let version = actual[save.state.id(key)]?["version"]?.integer ?? 0
      if version == old.version || version == old.version + 1 {
        save.state.objects[key]?.version = version
      }
    }
  }

  private func storedObjects() throws -> [String: JSONValue] {
    let objects = try plain.model.concrete.flatMap { entity in
      try stores[0].objects(entity.name, Self.names(entity))
    }
    return Dictionary(objects.map { ($0["id"]?.string ?? "", $0) }) { $1 }
  }

  private static func names(_ entity: PlainModel.Entity) -> [String] {
    entity.attributes.map(\.name) + entity.relationships.map(\.name)
  }

  // MARK: Objects

  func compareObjects() throws {
    let wanted = plain.state.lines
    for (index, store) in stores.enumerated() {
      let lines = try plain.model.concrete.flatMap { entity in
        try store.objects(entity.name, Self.names(entity)).map { object in
          let values = Self.names(entity).map { "\($0)=\(object["values"]?[$0]?.text ?? "absent")" }
          let head = [object["id"]?.string ?? "", "v\(object["version"]?.integer ?? -1)"]
          return (head + values).joined(separator: " ")
        }
      }.sorted()
      expect(
        lines == wanted,
        """
        process \(index) has
        \(lines.filter { !wanted.contains($0) }.joined(separator: "\n"))
        not
        \(wanted.filter { !lines.contains($0) }.joined(separator: "\n"))
        """
      )
    }
  }

  // MARK: Results

  func compare(_ result: JSONValue, _ request: JSONValue, _ save: PlainSave) {
    let state = save.state
    if request["method"] == "save" {
      for (id, key) in save.ids where state.exists(key) {
        expect(result["ids"]?[id]?.string == state.id(key), "ids of \(result.text)")
      }
      let objects = result["objects"]?.array ?? []
      let kept = save.mergedDeletes.filter { $0.value == "store" }.keys
      let isKept = ModelFeatures.has(.mergedDeletes)
      expect(
        objects.count == save.answered.count + (isKept ? kept.count : 0),
        "objects of \(result.text)"
      )
      if isKept { compareKept(objects, Set(kept), save) }
      for (object, key) in zip(objects, save.answered) where state.exists(key) {
        let id = object["id"]?.string ?? ""
        let isSame = !ModelFeatures.has(.identityInAnswers) && state.key(id) == key
        expect(isSame || id == state.id(key), "\(object.text), not \(state.id(key))")
        let version = object["version"]?.integer
        expect(version == state[key]?.version, "\(object.text), not \(state.line(key))")
      }
      compareKnown(request, objects, save)
      compareMerged(result, save)
    } else {
      expect(result["count"]?.integer == Int64(save.count), "\(result.text), not \(save.count)")
      let keys = save.removed + save.matched
      let ids = Set((result["ids"]?.array ?? []).compactMap(\.string))
      let wanted = Set(keys.map { save.before.id($0) })
      expect(ids == wanted, "\(result.text), not \(wanted)")
    }
  }

  /// Compares what a client knows of the objects that it sent with what is stored: of an insert
  /// all, of an update what was sent.
  private func compareKnown(_ request: JSONValue, _ objects: [JSONValue], _ save: PlainSave) {
    let state = save.state
    let params = request["params"] ?? [:]
    let sent = (params["insert"]?.array ?? []) + (params["update"]?.array ?? [])
    for (index, object) in objects.enumerated()
    where sent.indices.contains(index) && save.answered.indices.contains(index) {
      let key = save.answered[index]
      guard !save.answered[(index + 1)...].contains(key), state.exists(key) else { continue }
      let isNew = save.inserted.contains(key) && save.merged[key] == nil
      let entity = state.entity(key)
      for name in entity.attributes.map(\.name) + entity.toOnes.map(\.name)
      where name != entity.identity {
        let known = object["values"]?[name] ?? sent[index]["values"]?[name]
        if known == nil, !isNew { continue }
        if !ModelFeatures.has(.endStateInAnswers),
          save.writtenFromOtherEnd.contains(PlainProperty(key: key, name: name))
        {
          continue
        }
        let target = known?.string.flatMap { save.ids[$0] ?? state.key($0) }
        let value =
          entity.relationship(name) == nil ? known : target.map { .string(state.id($0)) } ?? known
        let wanted = state.wire(name, of: key)
        expect(value ?? .null == wanted, "\(name) of \(object.text), not \(wanted.text)")
      }
      compareLists(object, sent[index], key, save)
    }
  }

  /// An object that a policy keeps from a delete is returned whole.
  private func compareKept(_ objects: [JSONValue], _ kept: Set<Int>, _ save: PlainSave) {
    for key in kept where save.state.exists(key) {
      guard let object = objects.last(where: { $0["id"]?.string == save.state.id(key) }) else {
        return expect(false, "the answer lacks \(save.state.id(key)), which stays")
      }
      for name in save.state.entity(key).columns {
        let wanted = save.state.wire(name, of: key)
        expect(object["values"]?[name] == wanted, "\(name) of \(object.text), not \(wanted.text)")
      }
    }
  }

  /// Compares the lists that an answer returns; those that a policy decided on have to be there.
  private func compareLists(
    _ object: JSONValue,
    _ sent: JSONValue,
    _ key: Int,
    _ save: PlainSave
  ) {
    let state = save.state
    for relationship in state.entity(key).toManys {
      let wanted = state.related(relationship, of: key)
      guard let list = object["values"]?[relationship.name]?.array else {
        guard let list = sent["values"]?[relationship.name]?.array,
          save.merged[key]?[relationship.name] != nil,
          ModelFeatures.has(.keptLists)
        else { continue }
        let keys = list.compactMap { $0.string.flatMap { save.ids[$0] ?? state.key($0) } }
        expect(
          Set(keys) == Set(wanted),
          "\(object.text) lacks \(relationship.name), which is \(wanted.map(save.state.id))"
        )
        continue
      }
      let keys = list.compactMap { $0.string.flatMap(save.state.key) }
      let isEqual = relationship.ordered ? keys == wanted : Set(keys) == Set(wanted)
      expect(isEqual, "\(relationship.name) of \(object.text), not \(wanted.map(save.state.id))")
    }
  }

  private func compareMerged(_ result: JSONValue, _ save: PlainSave) {
    var properties: [Int: JSONValue] = [:]
    var deletes: [Int: String] = [:]
    for entry in result["merged"]?.array ?? [] {
      let id = entry["id"]?.string ?? ""
      if let decision = entry["delete"]?.string, let key = save.before.key(id) {
        deletes[key] = decision
        continue
      }
      // Of an object that the same save inserts and deletes only the answer has this ID.
      let sent = result["ids"]?.members?.first { $0.value.string == id }?.name
      guard
        let key = save.state.key(id) ?? save.ids[id] ?? save.before.key(id)
          ?? sent.flatMap({ save.ids[$0] })
      else {
        return expect(false, "merged of \(result.text)")
      }
      if let values = entry["properties"]?.members {
        properties[key] = .object((properties[key]?.members ?? []) + values)
      }
    }
    for (key, decisions) in save.merged where save.state.exists(key) {
      for (name, decision) in decisions {
        let isList = save.state.entity(key).relationship(name)?.toMany == true
        if isList, save.policy == "rollback", !ModelFeatures.has(.keptLists) { continue }
        let actual = properties[key]?[name]?.string
        expect(
          actual != nil && (decision == nil || actual == decision),
          "merged of \(result.text): \(name) is \(decision ?? "any")"
        )
      }
    }
    for (key, values) in properties {
      for member in values.members ?? []
      where save.merged[key]?[member.name] == nil && member.name != save.before.entity(key).identity
      {
        if save.mayBeKept.contains(PlainProperty(key: key, name: member.name)) { continue }
        let isLenient = member.value != "policy" && !ModelFeatures.has(.netVersions)
        expect(member.value == "client" || isLenient, "merged of \(result.text): \(member.name)")
      }
    }
    if ModelFeatures.has(.mergedDeletes) {
      expect(deletes == save.mergedDeletes, "merged of \(result.text): \(save.mergedDeletes)")
    }
  }

  func compare(dryRun: JSONValue, _ save: PlainSave) {
    expect(dryRun["error"]?.isNull ?? true, "the dry run says \(dryRun.text)")
    func ids(_ name: String) -> Set<String> {
      Set((dryRun[name]?.array ?? []).compactMap(\.string))
    }
    let existing = Set(save.before.objects.keys.map(save.before.id))
    let removed = Set(save.removed.filter(save.before.exists).map(save.before.id))
    expect(ids("delete").intersection(existing) == removed, "dry run \(dryRun.text), \(removed)")
    let wanted = save.state.objects.filter { key, object in
      guard let old = save.before[key] else { return object.version == 0 }
      return old.version != object.version
    }.keys
    // Derived attributes change without a version.
    let mayChange = Set(
      save.state.objects.keys.filter { key in
        save.openVersions.contains(key)
          // What several reverted groups changed and changed back.
          || save.reverted.contains(key)
          || save.state.entity(key).attributes.contains {
            $0.derived != nil
              && save.state.wire($0.name, of: key) != save.before.wire($0.name, of: key)
          }
      }.map(save.state.id)
    )
    let updates = ids("update").subtracting(mayChange)
    let changed = Set(wanted.map(save.state.id)).subtracting(mayChange)
    expect(
      ModelFeatures.has(.netVersions) ? updates == changed : updates.isSuperset(of: changed),
      "dry run \(dryRun.text), not \(wanted.map(save.state.id))"
    )
  }

  func compare(undone result: JSONValue, _ undo: PlainUndo) {
    let (before, state) = (plain.state, undo.save.state)
    for object in result["objects"]?.array ?? [] {
      let id = object["id"]?.string ?? ""
      if object["deleted"] == true {
        // The ID of an object that no longer exists may be another's now.
        let isTaken = before.key(id).map(state.exists) == true && state.key(id) == nil
        expect(!isTaken, "\(object.text) exists")
      } else if let key = state.key(id) {
        expect(
          object["version"]?.integer == state[key]?.version,
          "\(object.text), not \(state.line(key))"
        )
      } else {
        expect(false, "\(object.text) does not exist")
      }
    }
    let reported = Set((result["objects"]?.array ?? []).compactMap { $0["id"]?.string })
    for key in Set(before.objects.keys).union(state.objects.keys) {
      guard before[key]?.version != state[key]?.version else { continue }
      let id = state.exists(key) ? state.id(key) : before.id(key)
      expect(reported.contains(id), "\(result.text) lacks \(id)")
    }
  }
}
