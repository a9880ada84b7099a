import JSON

/// The known names of Xcode's elements, annotations, and notes about unsupported parts.
extension XcodeModelReader {
  /// The known child elements of a model; `elements` contains the positions in Xcode's drawing.
  static let modelElements: Set<String> = [
    "entity", "composite", "compositeAttribute", "configuration", "fetchRequest", "elements",
  ]
  static let entityElements: Set<String> = [
    "attribute", "relationship", "fetchedProperty", "uniquenessConstraints", "fetchIndex",
    "userInfo",
  ]
  static let entityMembers: Set<String> = [
    "name", "parentEntity", "isAbstract", "elementID", "renamingIdentifier", "versionHashModifier",
    "coreSpotlightDisplayNameExpression",
  ]
  static let attributeMembers: Set<String> = [
    "name", "attributeType", "transient", "optional", "derived", "derivationExpression",
    "elementID", "renamingIdentifier", "versionHashModifier", "regularExpressionString",
    "defaultDateTimeInterval", "defaultValueString", "minValueString", "maxValueString",
    "minDateTimeInterval", "maxDateTimeInterval", "indexed", "spotlightIndexingEnabled",
    "preserveAfterDeletion", "preserveValueOnDeletionInPersistentHistory",
    "allowsExternalBinaryDataStorage", "allowsCloudEncryption", "valueTransformerName",
  ]
  static let relationshipMembers: Set<String> = [
    "name", "destinationEntity", "toMany", "optional", "inverseName", "inverseEntity",
    "deletionRule", "ordered", "minCount", "maxCount", "elementID", "renamingIdentifier",
    "versionHashModifier", "transient",
  ]
  /// The XML attributes that concern only a program's classes or Apple's services, not the data.
  private static let ofPrograms: Set<String> = [
    "representedClassName", "customClassName", "codeGenerationType", "usesScalarValueType",
    "syncable", "allowsCustomClass", "storedInTruthFile",
  ]

  /// Returns the members `versionHashModifier` and `userInfo` of an element.
  func annotations(_ element: XMLElement) -> [JSONMember] {
    var members: [JSONMember] = []
    if let modifier = element["versionHashModifier"] {
      members.append(JSONMember("versionHashModifier", .string(modifier)))
    }
    let entries = element.all("userInfo").flatMap { $0.all("entry") }.compactMap { entry in
      entry["key"].map { JSONMember($0, .string(entry["value"] ?? "")) }
    }
    if !entries.isEmpty { members.append(JSONMember("userInfo", .object(entries))) }
    return members
  }

  /// Returns the member `preserveAfterDeletion` if an XML attribute of the element sets it.
  func preservation(_ element: XMLElement) -> [JSONMember] {
    ["preserveAfterDeletion", "preserveValueOnDeletionInPersistentHistory"].contains {
      element[$0] == "YES"
    } ? [JSONMember("preserveAfterDeletion", true)] : []
  }

  /// Adds a note for each difference between Cordial's and Core Data's storage of an attribute.
  mutating func noteStorage(_ element: XMLElement, _ path: String) {
    if element["allowsExternalBinaryDataStorage"] == "YES" {
      note("\(path) is stored in the store itself, never in a file of its own")
    }
    if element["allowsCloudEncryption"] == "YES" {
      note("\(path) is not encrypted: Cordial does not use CloudKit")
    }
    if let name = element["valueTransformerName"] {
      note("\(path) has what its transformer \(name) returns: clients use the transformer")
    }
  }

  /// Adds a note about the XML attributes of an element that Cordial does not support.
  mutating func noteUnknown(_ element: XMLElement, _ known: Set<String>, _ path: String) {
    let unknown = element.attributeNames.filter {
      !known.contains($0) && !Self.ofPrograms.contains($0)
    }
    guard !unknown.isEmpty else { return }
    note("Of \(path) these are left out: \(unknown.sorted().joined(separator: ", "))")
  }

  /// Adds a note about the child elements whose names are not in `known`.
  mutating func noteUnknownElements(of element: XMLElement, _ known: Set<String>, _ path: String) {
    let unknown = Set(element.children.map(\.name)).subtracting(known)
    guard !unknown.isEmpty else { return }
    let names = unknown.sorted().map { "<\($0)>" }.joined(separator: ", ")
    note("Of \(path) these elements are left out: \(names)")
  }
}
