import JSON

/// Updates and deletes of the objects that match a predicate.
extension PlainSave {
  /// Carries out `delete {ids} | {entity, predicate}`.
  mutating func runDelete(_ params: JSONValue) {
    if let ids = params["ids"]?.array {
      checkTwice([], ids)
      delete(ids.compactMap { existing($0.string ?? "") })
    } else {
      delete(before.matches(params))
    }
    end()
  }

  /// Carries out `update {entity, predicate, set}`.
  mutating func runUpdate(_ params: JSONValue) {
    matched = before.matches(params)
    count = matched.count
    let set = params["set"]?.members ?? []
    if matched.isEmpty, set.contains(where: { isRisky($0, params["entity"]?.string ?? "") }) {
      open.insert("an update of no objects with an invalid value")
    }
    for key in matched {
      let members = set.map { member -> JSONMember in
        guard let text = member.value["@expression"]?.string else { return member }
        let words = text.split(separator: " ").map(String.init)
        let term = before[key]?.values[words[0]]?.integer
        let sum = term.map { JSONValue.integer($0 + (Int64(words[2]) ?? 0)) }
        return JSONMember(member.name, sum ?? .null)
      }
      apply(members, to: key)
      noteCollisions(key)
    }
    end()
  }

  private func isRisky(_ member: JSONMember, _ name: String) -> Bool {
    let entity = model.entity(name)
    if let relationship = entity.relationship(member.name) {
      if member.value.isNull { return !relationship.optional }
      return Self.texts(member.value).contains { id in
        let target = before.key(id).flatMap { before[$0]?.entity }
        return !model.isKind(target ?? "", of: relationship.destination)
      }
    }
    guard let attribute = entity.attribute(member.name) else { return true }
    if member.value["@expression"] != nil { return false }
    return attribute.derived != nil
      || (!member.value.isNull && !Self.isOfType(member.value, attribute.type))
      || member.name == entity.identity
      || before.isInvalid(attribute, member.value)
  }
}

extension PlainState {
  /// The objects that match `goals > 2`: an attribute or to-one, an operator, and a constant.
  func matches(_ fetch: JSONValue) -> [Int] {
    let words = (fetch["predicate"]?.string ?? "").split(separator: " ").map(String.init)
    let keys = keys(fetch["entity"]?.string ?? "")
    guard words.count == 3 else { return keys }
    let constant: JSONValue =
      words[2] == "nil"
      ? .null : Int64(words[2]).map { .integer($0) } ?? .string(words[2].replacing("'", with: ""))
    return keys.filter { key in
      let value = wire(words[0], of: key)
      switch words[1] {
      case "==": return value == constant
      case "!=": return value != constant
      default:
        guard let first = value.integer, let second = constant.integer else { return false }
        return words[1] == ">" ? first > second : first < second
      }
    }
  }
}
