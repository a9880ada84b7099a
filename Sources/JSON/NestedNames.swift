/// A generator of the text between the values of an object with nested objects, such as
/// `{"title":…,"address":{"city":…,"street":…}}`.
///
/// The caller must pass the members of one nested object in succession.
package struct NestedNames {
  private var open: [String] = []
  private var isFirst = true

  package init() {}

  /// Returns the text before the next value: commas, braces and the value's name.
  ///
  /// - Parameter path: The names of the enclosing objects, outermost first, then the value's name.
  /// - Returns: The text.
  package mutating func next(_ path: [String]) -> String {
    let outer = Array(path.dropLast())
    let common = zip(open, outer).prefix { $0 == $1 }.count
    var text = String(repeating: "}", count: open.count - common)
    if !isFirst { text += "," }
    isFirst = false
    for name in outer[common...] { text += JSONValue.string(name).text + ":{" }
    open = outer
    return text + JSONValue.string(path.last ?? "").text + ":"
  }

  /// Returns the text before the next value, whose name is a path with dots.
  package mutating func next(_ path: String) -> String {
    next(path.split(separator: ".").map(String.init))
  }

  /// The text after the last value: the closing braces of the open objects.
  package var end: String { String(repeating: "}", count: open.count) }
}

extension [JSONMember] {
  /// The members, with nested objects in place of names that are paths with dots.
  package var nested: [JSONMember] {
    var members: [JSONMember] = []
    for member in self {
      let path = member.name.split(separator: ".", maxSplits: 1).map(String.init)
      guard path.count == 2 else {
        members.append(member)
        continue
      }
      let inner = JSONMember(path[1], member.value)
      if let last = members.last, last.name == path[0], let before = last.value.members {
        members[members.count - 1] = JSONMember(path[0], .object(before + [inner]))
      } else {
        members.append(JSONMember(path[0], .object([inner])))
      }
    }
    return members.map { member in
      guard contains(where: { $0.name.hasPrefix(member.name + ".") }) else { return member }
      return JSONMember(member.name, .object((member.value.members ?? []).nested))
    }
  }
}
