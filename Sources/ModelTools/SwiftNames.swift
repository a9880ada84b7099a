import ObjectModel

/// The names of a model's entities and properties as names of Swift.
///
/// A name that Swift or the generated code uses already becomes a longer one.
struct SwiftNames {
  let model: Model
  /// The beginning of each type's name, before the name of the entity.
  let prefix: String

  /// The type's name of an entity.
  func typeName(_ name: String) -> String {
    if !prefix.isEmpty { return prefix + name }
    let isTaken = Self.takenTypes.contains(name) || Self.keywords.contains(name)
    guard isTaken else { return name }
    // A name begins with no digit.
    let head = Self.capitalized(model.name).drop(while: \.isNumber)
    var unique = "\(head)\(Self.capitalized(name))"
    while model.entity(named: unique) != nil { unique += "Object" }
    return unique
  }

  /// The name of an enumeration or a composite inside of an entity's struct.
  static func nestedName(_ name: String) -> String {
    let nested = capitalized(name)
    let isTaken =
      takenTypes.contains(nested) || ["Path", "Protocol", "CodingKeys"].contains(nested)
    return isTaken ? nested + "Value" : nested
  }

  /// The names of a struct's properties that differ from those of the entity, which cannot be
  /// names in Swift: the struct has an `id` of its own, and a property is not named as its type.
  static func memberName(_ name: String, besides others: [String]) -> String {
    let isTaken = reservedMembers.contains(name) || takenTypes.contains(name)
    guard isTaken else { return name }
    var unique = name + "Property"
    while others.contains(unique) { unique += "_" }
    return unique
  }

  private static let reservedMembers: Set<String> = ["id", "init", "self", "Protocol", "Type"]

  /// The types that code with these values also uses by their names.
  private static let takenTypes: Set<String> = [
    "Any", "Array", "BaseValue", "Bool", "CaseIterable", "Character", "Client", "Codable",
    "Container", "Context", "Data", "Date", "Decimal", "Dictionary", "Double", "Equatable",
    "Error", "FetchRequest", "FetchedResults", "Float", "Int", "Int64", "Mock", "Never",
    "ObjectValue", "Optional", "Result", "SaveRequest", "Self", "Sendable", "Set", "String", "Task",
    "Type", "URL", "UUID", "Void", "WrappedID",
  ]

  private static let keywords: Set<String> = [
    "Any", "Self", "actor", "as", "associatedtype", "await", "break", "case", "catch", "class",
    "continue", "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough",
    "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
    "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
    "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch",
    "throw", "throws", "true", "try", "typealias", "var", "where", "while",
  ]

  static func escaped(_ name: String) -> String {
    keywords.contains(name) ? "`\(name)`" : name
  }

  static func capitalized(_ name: String) -> String {
    let letters = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return letters.prefix(1).uppercased() + letters.dropFirst()
  }

  /// The words of a text as the name of a case; nil where none is left.
  static func caseName(_ text: String) -> String? {
    let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    guard let first = words.first, first.first?.isLetter == true else { return nil }
    let head = first.prefix(1).lowercased() + first.dropFirst()
    let name = head + words.dropFirst().map { capitalized(String($0)) }.joined()
    return ["allCases", "init", "rawValue", "self"].contains(name) ? name + "Case" : escaped(name)
  }

  /// Returns whether code with these values already uses a name for a type.
  func isTaken(_ name: String) -> Bool {
    Self.takenTypes.contains(name) || Self.keywords.contains(name)
      || model.entities.contains { typeName($0.name) == name }
  }
}
