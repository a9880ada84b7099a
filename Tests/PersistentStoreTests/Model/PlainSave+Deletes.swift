import JSON

/// Deletes with their rules.
extension PlainSave {
  /// The object of a delete; nil where a merge policy keeps it.
  mutating func keep(_ delete: JSONValue) -> Int? {
    guard let key = existing((delete["id"] ?? delete).string ?? "") else { return nil }
    guard let version = delete["version"]?.integer, let stored = before[key]?.version else {
      return key
    }
    if version > stored {
      problems.append(PlainProblem(code: 1102, key: key))
      return nil
    }
    guard version < stored else { return key }
    switch policy {
    case "error":
      conflicts.insert(PlainConflict(key: key, name: nil))
      return nil
    case "objectTrump", "overwrite":
      mergedDeletes[key] = "client"
      return key
    default:
      mergedDeletes[key] = "store"
      return nil
    }
  }

  /// Deletes objects and runs their delete rules on the graph as it is now.
  mutating func delete(_ named: [Int]) {
    count += Set(named).count
    var doomed: [Int] = []
    var rest = named.filter(state.exists)
    while !rest.isEmpty {
      let key = rest.removeFirst()
      guard !doomed.contains(key) else { continue }
      doomed.append(key)
      for relationship in state.entity(key).relationships
      where relationship.deleteRule == "cascade" {
        rest += state.related(relationship, of: key)
      }
    }
    var denied: [Int: Set<String>] = [:]
    for key in doomed {
      for relationship in state.entity(key).relationships where relationship.deleteRule == "deny" {
        let holders = Set(state.related(relationship, of: key)).subtracting(doomed)
        guard !holders.isEmpty else { continue }
        denied[key, default: []].insert(relationship.name)
        problems.append(
          PlainProblem(
            code: 1106,
            rule: "deny",
            key: key,
            property: relationship.name,
            others: holders
          )
        )
      }
    }
    // That an object misses a reference to one that stays is no problem of its own.
    for key in doomed {
      for relationship in state.entity(key).relationships
      where denied[key]?.contains(relationship.name) != true {
        leave(relationship, of: key, doomed)
      }
    }
    for key in doomed { state.objects[key] = nil }
    removed = doomed
  }

  /// Ends the references of other objects to one that is deleted, unless the rule is `noAction`.
  private mutating func leave(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    _ doomed: [Int]
  ) {
    for other in state.related(relationship, of: key) where !doomed.contains(other) {
      let inverse = model.inverse(of: relationship)
      if relationship.deleteRule == "noAction" {
        needs.insert(.danglingReferences)
        if !inverse.toMany, !inverse.optional { open.insert("noAction ends a required to-one") }
        if model.isManyToMany(relationship) { open.insert("noAction of a many-to-many") }
      }
      if model.isManyToMany(relationship) {
        state.pair(relationship, key, other, false)
      } else if inverse.toMany {
        state.objects[other]?.orders[inverse.name]?.removeAll { $0 == key }
      } else if relationship.deleteRule != "noAction" {
        state.objects[other]?.toOnes[inverse.name] = nil
      }
    }
  }
}
