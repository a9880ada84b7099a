package import JSON

/// The hash that identifies a version of a model.
package enum ModelHash {
  /// The members of a model file that do not affect stored data.
  ///
  /// The name and the version are for people: two files with the same entities are one version.
  static let annotations: Set<String> = [
    "$schema", "name", "version", "values", "templates", "configurations", "removed", "map",
  ]
  /// The members of entities and properties that do not affect stored data.
  private static let elementAnnotations: Set<String> = ["renamedFrom", "userInfo"]
  /// The members of a model file that the hashes of earlier Cordial versions leave out.
  private static let earlierAnnotations: Set<String> = ["values", "templates", "configurations"]

  /// Returns the hash of a model's document.
  ///
  /// - Parameter document: The content of the model file.
  /// - Returns: The SHA-256 of the canonical document, as 64 hexadecimal digits.
  package static func hash(of document: JSONValue) -> String {
    ContentDigest(canonicalText(document, without: annotations).utf8).hexadecimal
  }

  /// Returns the hashes that identify a model version in stores of earlier Cordial versions.
  ///
  /// These hashes include the name and the version of the model.
  ///
  /// - Parameter document: The content of the model file.
  /// - Returns: SHA-256, as 64 hexadecimal digits, and FNV-1a (64 bits), as 16 digits.
  static func earlierHashes(of document: JSONValue) -> [String] {
    let text = canonicalText(document, without: earlierAnnotations)
    var state: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(state, radix: 16)
    let zeros = String(repeating: "0", count: 16 - digits.count)
    return [ContentDigest(text.utf8).hexadecimal, zeros + digits]
  }

  /// Returns the text of a document with its member names and its lists of named elements sorted.
  ///
  /// Neither formatting nor order affects this text.
  private static func canonicalText(
    _ document: JSONValue,
    without annotations: Set<String>
  ) -> String {
    let members = withoutSearch(document).members?.filter { !annotations.contains($0.name) }
    return canonical(members.map { .object($0) } ?? document).text
  }

  /// Returns a document without the settings by which a search forgives, which change nothing that
  /// is stored.
  private static func withoutSearch(_ document: JSONValue) -> JSONValue {
    document.replacing("entities") { entity in
      entity.replacing("attributes") { attribute($0) }
        .replacing("spotlight") { $0.removing("synonyms") }
    }
  }

  private static func attribute(_ value: JSONValue) -> JSONValue {
    value.removing("language").replacing("members") { attribute($0) }
  }

  private static func canonical(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let members):
      .object(
        members.filter { !elementAnnotations.contains($0.name) }.sorted { $0.name < $1.name }.map {
          JSONMember($0.name, canonical($0.value))
        }
      )
    case .array(let elements):
      .array(ordered(elements.map(canonical)))
    default: value
    }
  }

  /// Returns elements sorted by name if all of them have a name, like entities and attributes;
  /// other lists keep their order.
  private static func ordered(_ elements: [JSONValue]) -> [JSONValue] {
    let names = elements.compactMap { $0["name"]?.string }
    guard names.count == elements.count else { return elements }
    return zip(names, elements).sorted { $0.0 < $1.0 }.map(\.1)
  }
}

extension JSONValue {
  /// Returns an object with another value of a member, or with each element of its list replaced.
  fileprivate func replacing(
    _ name: String,
    _ replaced: (JSONValue) -> JSONValue
  ) -> JSONValue {
    guard let members else { return self }
    return .object(
      members.map { member in
        guard member.name == name else { return member }
        let value = member.value.array.map { .array($0.map(replaced)) } ?? replaced(member.value)
        return JSONMember(name, value)
      }
    )
  }

  fileprivate func removing(_ name: String) -> JSONValue {
    members.map { .object($0.filter { $0.name != name }) } ?? self
  }
}
