package import JSON

/// The hash that names a version of a model.
package enum ModelHash {
  /// The members of a model file that say nothing of what is stored.
  static let requests: Set<String> = ["values", "templates", "configurations"]

  /// The hash of a model's document.
  ///
  /// FNV-1a (64 bits) over the document with names sorted and lists of named things ordered by
  /// name, so that neither formatting nor order matters. Stored requests and configurations are
  /// left out, and what things were named before: a store does not depend on them.
  package static func hash(of document: JSONValue) -> String {
    var state: UInt64 = 0xCBF2_9CE4_8422_2325
    let members = document.members?.filter {
      !requests.contains($0.name)
    }
    for byte in canonical(members.map { .object($0) } ?? document).text.utf8 {
      state = (state ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func canonical(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let members):
      .object(
        members.filter { $0.name != "renamedFrom" }.sorted { $0.name < $1.name }.map {
          JSONMember($0.name, canonical($0.value))
        }
      )
    case .array(let elements):
      .array(ordered(elements.map(canonical)))
    default: value
    }
  }

  /// Lists of things that have a name (entities, attributes) are sets; other lists keep order.
  private static func ordered(_ elements: [JSONValue]) -> [JSONValue] {
    let names = elements.compactMap { $0["name"]?.string }
    guard names.count == elements.count else { return elements }
    return zip(names, elements).sorted { $0.0 < $1.0 }.map(\.1)
  }
}
