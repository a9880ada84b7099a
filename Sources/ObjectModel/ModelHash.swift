package import JSON

/// The hash that identifies a version of a model.
package enum ModelHash {
  /// The members of a model file that do not affect stored data.
  static let requests: Set<String> = ["values", "templates", "configurations"]

  /// Returns the hash of a model's document.
  ///
  /// - Parameter document: The content of the model file.
  /// - Returns: The SHA-256 of the canonical document, as 64 hexadecimal digits.
  package static func hash(of document: JSONValue) -> String {
    ContentDigest(canonicalText(document).utf8).hexadecimal
  }

  /// Returns the hash that identifies a version in stores of earlier programs.
  ///
  /// - Parameter document: The content of the model file.
  /// - Returns: FNV-1a (64 bits) over the canonical document, as 16 hexadecimal digits.
  static func earlierHash(of document: JSONValue) -> String {
    var state: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in canonicalText(document).utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns the text of a document with its member names and its lists of named elements sorted.
  ///
  /// Neither formatting nor order affects this text. It leaves out stored requests, configurations
  /// and former names, because a store does not depend on them.
  private static func canonicalText(_ document: JSONValue) -> String {
    let members = document.members?.filter { !requests.contains($0.name) }
    return canonical(members.map { .object($0) } ?? document).text
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

  /// Returns elements sorted by name if all of them have one, as entities and attributes do; other
  /// lists keep their order.
  private static func ordered(_ elements: [JSONValue]) -> [JSONValue] {
    let names = elements.compactMap { $0["name"]?.string }
    guard names.count == elements.count else { return elements }
    return zip(names, elements).sorted { $0.0 < $1.0 }.map(\.1)
  }
}
