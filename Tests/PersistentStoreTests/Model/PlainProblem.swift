import JSON

/// A problem of a refused save, as section 6 lists them in `data.problems`.
struct PlainProblem: Hashable {
  let code: Int
  /// Nil where the contract does not name the rule.
  var rule: String?
  /// The object, where the save has one: problems are compared by object, whatever its ID.
  var key: Int?
  /// The ID that was sent, for problems of IDs.
  var id: String?
  var property: String?
  /// The property whose value names an ID that is a problem; the store may report the one or the
  /// other.
  var holder: PlainProperty?
  /// The other objects: of a uniqueness violation all that have the values, of a denied delete the
  /// holders.
  var others: Set<Int> = []

  static let names = [
    1002: "unknownEntity", 1003: "unknownProperty", 1101: "objectNotFound",
    1102: "validationFailed", 1103: "saveConflict", 1104: "invalidIdentifier",
    1105: "uniquenessViolation", 1106: "deleteDenied",
  ]

  /// Whether it prevents the end state from being known: reported beside conflicts.
  var isOfResolution: Bool { [1002, 1003, 1101, 1104].contains(code) }
}

extension PlainProblem: CustomStringConvertible {
  var description: String {
    let object = id ?? key.map { "#\($0)" } ?? "-"
    let others = others.sorted().map { "#\($0)" }.joined(separator: ",")
    return "\(code) \(rule ?? "*") \(object) \(property ?? "-") \(others)"
  }

  /// Whether a violation of uniqueness that the store reports is about two of these objects.
  func covers(_ reported: PlainProblem) -> Bool {
    guard code == 1105, reported.code == 1105 else { return false }
    guard let property else { return true }
    let shared = others.union(key.map { [$0] } ?? [])
    let named = reported.others.union(reported.key.map { [$0] } ?? [])
    return reported.property == property && named.isSubset(of: shared)
  }

  /// Equal for a problem that is expected and the one that the store reports for it.
  var comparable: String {
    switch code {
    case 1101, 1104: "\(code) \(id ?? "")"
    case 1105: "1105 \(property ?? "") \(others.union(key.map { [$0] } ?? []).sorted())"
    case 1106: "1106 \(key ?? -1) \(property ?? "") \(others.sorted())"
    default: "\(code) \(key.map { "#\($0)" } ?? id ?? "") \(property ?? "")"
    }
  }
}

extension PlainProblem {
  /// The problem with each object named as its twin: their ID does not tell them apart.
  func naming(_ twins: [Int: Int]) -> PlainProblem {
    var problem = self
    problem.key = key.map { twins[$0] ?? $0 }
    problem.others = Set(others.map { twins[$0] ?? $0 })
    if let holder {
      problem.holder = PlainProperty(key: twins[holder.key] ?? holder.key, name: holder.name)
    }
    return problem
  }
}

extension PlainSave {
  /// The stored objects whose identity new objects have too, by the keys of the new ones.
  var twins: [Int: Int] {
    var twins: [Int: Int] = [:]
    for key in state.objects.keys where !before.exists(key) {
      if let stored = before.key(state.id(key)), stored != key { twins[key] = stored }
    }
    for (id, key) in ids {
      if let stored = before.key(id), stored != key { twins[key] = stored }
    }
    return twins
  }
}

extension PlainState {
  /// Everything that the end state of a save violates: required properties, types of values,
  /// ranges, counts, and uniqueness over each family.
  func violations() -> [PlainProblem] {
    var problems: [PlainProblem] = []
    for key in objects.keys.sorted() {
      let entity = entity(key)
      for attribute in entity.stored {
        guard let rule = rule(attribute, objects[key]?.values[attribute.name] ?? .null) else {
          continue
        }
        problems.append(
          PlainProblem(code: 1102, rule: rule, key: key, property: attribute.name)
        )
      }
      for relationship in entity.toOnes
      where !relationship.optional && target(relationship.name, of: key) == nil {
        problems.append(
          PlainProblem(code: 1102, rule: "required", key: key, property: relationship.name)
        )
      }
      for relationship in entity.toManys {
        let count = related(relationship, of: key).count
        guard count < relationship.minimumCount || count > relationship.maximumCount ?? count
        else { continue }
        problems.append(
          PlainProblem(code: 1102, rule: "count", key: key, property: relationship.name)
        )
      }
    }
    return problems + collisions()
  }

  func rule(_ attribute: PlainModel.Attribute, _ value: JSONValue) -> String? {
    if value.isNull { return attribute.optional ? nil : "required" }
    if let number = value.integer {
      if let minimum = attribute.minimum, number < minimum { return "minimum" }
      if let maximum = attribute.maximum, number > maximum { return "maximum" }
      if attribute.type == "int16", Int16(exactly: number) == nil { return "type" }
    }
    if let allowed = attribute.allowed, !allowed.contains(value) { return "enum" }
    if let maximum = attribute.maximumLength, let text = value.string,
      text.unicodeScalars.count > maximum
    {
      return "maximumLength"
    }
    return nil
  }

  /// One problem for each group of objects that share unique values.
  func collisions() -> [PlainProblem] {
    var problems: Set<PlainProblem> = []
    for key in objects.keys.sorted() {
      for set in entity(key).unique {
        let others = sharers(set, with: key)
        guard !others.isEmpty, key < others.min() ?? key else { continue }
        problems.insert(
          PlainProblem(
            code: 1105,
            rule: "unique",
            key: key,
            property: set.names.joined(separator: ","),
            others: others
          )
        )
      }
    }
    return problems.sorted { $0.description < $1.description }
  }

  /// The other objects that have the values of an object's unique set; none where one is null.
  func sharers(_ set: PlainModel.UniqueSet, with key: Int) -> Set<Int> {
    guard let own = uniqueValues(set, of: key) else { return [] }
    return Set(
      objects.keys.filter {
        $0 != key && model.isKind(objects[$0]?.entity ?? "", of: set.entity)
          && uniqueValues(set, of: $0) == own
      }
    )
  }

  /// The values of a unique set, to-ones by their object; nil where one is null.
  func uniqueValues(_ set: PlainModel.UniqueSet, of key: Int) -> [JSONValue]? {
    var values: [JSONValue] = []
    for name in set.names {
      let value =
        entity(key).relationship(name) == nil
        ? objects[key]?.values[name] : target(name, of: key).map { .integer(Int64($0)) }
      guard let value, !value.isNull else { return nil }
      values.append(value)
    }
    return values
  }
}
