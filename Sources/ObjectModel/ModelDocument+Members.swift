import CordialValues
import JSON

/// Readers of members at any level of the model file.
extension ModelDocument {
  mutating func checkMembers(_ value: JSONValue, of known: Set<String>, at path: String) {
    guard let members = value.members else {
      problem(String(path.dropLast()), "Expected an object, found \(value.kind)")
      return
    }
    for member in members where !Self.isAbsent(member) {
      guard !known.contains(member.name) else { continue }
      let names = known.sorted().joined(separator: ", ")
      problem(path + member.name, "Unknown member; known members are: \(names)")
    }
  }

  /// Checks `userInfo`, which contains texts for people, and `versionHashModifier`, which changes
  /// the hash.
  mutating func checkAnnotations(_ value: JSONValue, at path: String) {
    _ = optionalText(value, "versionHashModifier", at: path)
    guard let texts = value["userInfo"], !texts.isNull else { return }
    guard let members = texts.members else {
      return problem("\(path).userInfo", "Expected an object of texts, found \(texts.kind)")
    }
    for member in members where member.value.string == nil {
      problem("\(path).userInfo.\(member.name)", "Expected a string, found \(member.value.kind)")
    }
  }

  /// Returns whether a member has a value that means the same as leaving out the member.
  private static func isAbsent(_ member: JSONMember) -> Bool {
    switch member.value {
    case .null, .bool(false), .array([]), .object([]): true
    default: false
    }
  }

  mutating func text(
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

  mutating func optionalText(
    _ value: JSONValue,
    _ member: String,
    at path: String
  ) -> String? {
    guard let found = value[member], !found.isNull else { return nil }
    if let text = found.string { return text }
    problem("\(path).\(member)", "Expected a string, found \(found.kind)")
    return nil
  }

  /// Reads a name, which must be valid in key paths, in SQL and in IDs.
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
        "\"\(name)\" is not a valid name: expected a letter, then letters, digits and _, 64 in all "
          + "at most; the prefixes cordial_ and sqlite_ are reserved"
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

  mutating func flag(_ value: JSONValue, _ member: String, at path: String) -> Bool {
    guard let found = value[member], !found.isNull else { return false }
    if let flag = found.bool { return flag }
    problem("\(path).\(member)", "Expected true or false, found \(found.kind)")
    return false
  }

  mutating func count(_ value: JSONValue, _ member: String, at path: String) -> Int? {
    guard let found = value[member], !found.isNull else { return nil }
    if let count = found.integer, 0...Int64(Int32.max) ~= count { return Int(count) }
    problem("\(path).\(member)", "Expected a count, found \(found.kind)")
    return nil
  }
}
