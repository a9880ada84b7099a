import ObjectModel

/// A converter of the names of entities and properties to names in Swift.
///
/// A name that Swift or the generated code already uses gets a longer form.
struct SwiftNames {
  let model: Model
  /// The beginning of each type's name, before the name of the entity.
  let prefix: String

  /// Returns the name of the type of an entity.
  func typeName(_ name: String) -> String {
    if !prefix.isEmpty { return prefix + name }
    let isTaken = Self.takenTypes.contains(name) || Self.keywords.contains(name)
    guard isTaken else { return name }
    // A name in Swift must not begin with a digit.
    let head = Self.capitalized(model.name).drop(while: \.isNumber)
    var unique = "\(head)\(Self.capitalized(name))"
    while model.entity(named: unique) != nil { unique += "Object" }
    return unique
  }

  /// Returns the name of an enumeration or a composite inside an entity's struct.
  static func nestedName(_ name: String) -> String {
    let nested = capitalized(name)
    let isTaken =
      takenTypes.contains(nested) || ["Path", "Protocol", "CodingKeys"].contains(nested)
    return isTaken ? nested + "Value" : nested
  }

  /// Returns the name of a struct's property: the name in the model, extended if Swift refuses it.
  ///
  /// The struct has its own `id`, and a property must not have the name of a type.
  static func memberName(_ name: String, besides others: [String]) -> String {
    let isTaken = reservedMembers.contains(name) || takenTypes.contains(name)
    guard isTaken else { return name }
    var unique = name + "Property"
    while others.contains(unique) { unique += "_" }
    return unique
  }

  private static let reservedMembers: Set<String> = ["id", "init", "self", "Protocol", "Type"]

  /// The names of types that programs with the generated structs also use.
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

  /// Returns the words of a text as a case's name; nil unless its first word begins with a letter.
  static func caseName(_ text: String) -> String? {
    let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    guard let first = words.first, first.first?.isLetter == true else { return nil }
    let head = first.prefix(1).lowercased() + first.dropFirst()
    let name = head + words.dropFirst().map { capitalized(String($0)) }.joined()
    return ["allCases", "init", "rawValue", "self"].contains(name) ? name + "Case" : escaped(name)
  }

  /// Returns whether the generated code, or a program with this code, already uses a type's name.
  func isTaken(_ name: String) -> Bool {
    Self.takenTypes.contains(name) || Self.keywords.contains(name)
      || model.entities.contains { typeName($0.name) == name }
  }
}
