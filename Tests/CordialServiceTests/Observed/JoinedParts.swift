import JSON

/// The parts of one `changes`, joined by the contract.
struct JoinedParts {
  let from: String
  /// The updates, joined for each subscription.
  private(set) var updates: [JSONValue] = []

  /// Creates the joined form of parts that are not added yet.
  ///
  /// - Parameter from: The position of the parts.
  init(from: String) {
    self.from = from
  }

  /// Adds the updates of a part.
  ///
  /// - Parameter part: The params of a `changes`.
  /// - Throws: `ObservationMismatch`.
  mutating func add(_ part: JSONValue) throws {
    let more = try ObservationMismatch.require(
      part["updates"]?.array,
      "A changes has no updates: \(part.text)"
    )
    for update in more {
      let name = update["subscription"]
      guard let last = updates.last, last["subscription"] == name else {
        try ObservationMismatch.check(
          !updates.contains { $0["subscription"] == name },
          "\(name?.text ?? "null") has two updates: \(part.text)"
        )
        updates.append(update)
        continue
      }
      updates[updates.count - 1] = try Self.join(last, update)
    }
  }

  /// Joins two parts of an update, or of a result.
  private static func join(_ first: JSONValue, _ second: JSONValue) throws -> JSONValue {
    var members = first.members ?? []
    for member in second.members ?? [] where member.name != "subscription" {
      guard let index = members.firstIndex(where: { $0.name == member.name }) else {
        members.append(member)
        continue
      }
      switch (members[index].value, member.value) {
      case (.array(let elements), .array(let more)): members[index].value = .array(elements + more)
      case (.object(let objects), .object(let more)) where member.name == "included":
        members[index].value = .object(objects + more)
      case (.object, .object) where member.name == "result":
        members[index].value = try join(members[index].value, member.value)
      default: throw ObservationMismatch("\(member.name) occurs in two parts: \(second.text)")
      }
    }
    return .object(members)
  }
}
