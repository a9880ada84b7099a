import CordialValues
import JSON

/// A converter of the elements of an Xcode model to a Cordial document.
struct XcodeModelReader {
  let root: XMLElement
  private(set) var notes: [String] = []
  /// The names of the composites whose members are being read.
  var openComposites: Set<String> = []
  /// The number of composite members so far.
  var memberCount = 0

  init(_ root: XMLElement) {
    self.root = root
  }

  mutating func note(_ text: String) {
    notes.append(text)
  }

  mutating func read(name: String, version: String) -> JSONValue {
    if root["usedWithCloudKit"] == "YES" || root["usedWithCloudKit"] == "true" {
      note("The model is used with CloudKit, which Cordial does not know: it stays local")
    }
    noteUnknownElements(of: root, Self.modelElements, "the model")
    let entities = root.all("entity").map { entity($0) }
    let templates = root.all("fetchRequest").map { template($0) }
    var members: [JSONMember] = [
      JSONMember("name", .string(name)), JSONMember("version", .string(version)),
      JSONMember("entities", .array(entities)),
    ]
    for element in root.all("configuration") where element["usedWithCloudKit"] == "YES" {
      note("The configuration \(element["name"] ?? "") is used with CloudKit: it stays local")
    }
    let configurations = root.all("configuration").map { element in
      let names = element.all("memberEntity").compactMap { $0["name"] }
      return JSONMember(element["name"] ?? "", .array(names.map { .string($0) }))
    }
    if !configurations.isEmpty {
      members.append(JSONMember("configurations", .object(configurations)))
    }
    if !templates.isEmpty { members.append(JSONMember("templates", .array(templates))) }
    return .object(members)
  }

  /// The result type of a stored request for rows of values, `NSDictionaryResultType`.
  private static let rowsOfValues = "2"

  private mutating func template(_ element: XMLElement) -> JSONValue {
    let name = element["name"] ?? ""
    var members = [
      JSONMember("name", .string(name)),
      JSONMember("entity", .string(element["entity"] ?? "")),
    ]
    if let predicate = element["predicateString"] {
      members.append(JSONMember("predicate", .string(predicate)))
    }
    if let limit = element["fetchLimit"].flatMap({ Int64($0) }), limit > 0 {
      members.append(JSONMember("limit", .integer(limit)))
    }
    if element["includesSubentities"] == "NO" {
      members.append(JSONMember("subentities", false))
    }
    var known: Set<String> = [
      "name", "entity", "predicateString", "fetchLimit", "includesSubentities",
    ]
    // `returnsDistinctResults` matters only for rows of values, because a fetch returns each object
    // once.
    if element["resultType"] != Self.rowsOfValues { known.insert("returnsDistinctResults") }
    let rest = element.attributeNames.filter { !known.contains($0) }
    if !rest.isEmpty {
      note("Of the fetch request \(name) these are left out: \(rest.joined(separator: ", "))")
    }
    return .object(members)
  }

  // MARK: Entities

  private mutating func entity(_ element: XMLElement) -> JSONValue {
    let name = element["name"] ?? ""
    var members = [JSONMember("name", .string(name))]
    if let parent = element["parentEntity"] {
      members.append(JSONMember("parent", .string(parent)))
    }
    if element["isAbstract"] == "YES" { members.append(JSONMember("abstract", true)) }
    members += renaming(element) + annotations(element)
    noteUnknown(element, Self.entityMembers, name)
    noteUnknownElements(of: element, Self.entityElements, name)
    let attributes = element.all("attribute").compactMap { attribute($0, of: name) }
    members.append(JSONMember("attributes", .array(attributes)))
    let relationships = element.all("relationship").map { relationship($0, of: name) }
    if !relationships.isEmpty {
      members.append(JSONMember("relationships", .array(relationships)))
    }
    let unique = element.all("uniquenessConstraints").flatMap { $0.all("uniquenessConstraint") }
      .map { set in JSONValue.array(set.all("constraint").map { .string($0["value"] ?? "") }) }
    if !unique.isEmpty { members.append(JSONMember("unique", .array(unique))) }
    let indexes = indexes(element, name)
    if !indexes.isEmpty { members.append(JSONMember("indexes", .array(indexes))) }
    if let spotlight = spotlight(element) { members.append(JSONMember("spotlight", spotlight)) }
    for property in element.all("fetchedProperty") {
      note("The fetched property \(name).\(property["name"] ?? "") is left out: use a fetch")
    }
    return .object(members)
  }

  /// Returns the member `renamedFrom` of an element that had another name in an earlier version.
  func renaming(_ element: XMLElement) -> [JSONMember] {
    guard let former = element["elementID"] ?? element["renamingIdentifier"],
      former != element["name"]
    else { return [] }
    return [JSONMember("renamedFrom", .string(former))]
  }

  private mutating func indexes(_ element: XMLElement, _ name: String) -> [JSONValue] {
    var indexes: [JSONValue] = []
    for index in element.all("fetchIndex") {
      let elements = index.all("fetchIndexElement")
      let properties = elements.compactMap { $0["property"] }
      guard properties.count == elements.count, !properties.isEmpty,
        elements.allSatisfy({ $0["type"] != "RTree" })
      else {
        note("The index \(index["name"] ?? "") of \(name) is left out: it is over an expression")
        continue
      }
      if let predicate = index["partialIndexPredicate"] {
        note(
          "The index \(index["name"] ?? "") of \(name) covers all objects: its predicate "
            + "(\(predicate)) is left out"
        )
      }
      indexes.append(
        .array(
          elements.map { element in
            let sign = element["order"] == "descending" ? "-" : ""
            return .string(sign + (element["property"] ?? ""))
          }
        )
      )
    }
    for attribute in element.all("attribute") where attribute["indexed"] == "YES" {
      indexes.append([.string(attribute["name"] ?? "")])
    }
    return indexes
  }

  /// Converts Xcode's Spotlight flags: the indexed attributes and the display name.
  private mutating func spotlight(_ element: XMLElement) -> JSONValue? {
    let indexed = element.all("attribute").filter { $0["spotlightIndexingEnabled"] == "YES" }
      .compactMap { $0["name"] }
    let name = element["coreSpotlightDisplayNameExpression"]
    let isPlain = element.all("attribute").contains { $0["name"] == name }
    if let name, !isPlain {
      note(
        "The display name of \(element["name"] ?? "") (\(name)) is left out: it is no attribute"
      )
    }
    guard !indexed.isEmpty || isPlain else { return nil }
    var members: [JSONMember] = []
    if let name, isPlain { members.append(JSONMember("displayName", .string(name))) }
    members.append(
      JSONMember("attributes", .object(indexed.map { JSONMember($0, .integer(1)) }))
    )
    return .object(members)
  }

  // MARK: Attributes

  private static let types = [
    "Integer 16": "int16", "Integer 32": "int32", "Integer 64": "int64", "Double": "double",
    "Float": "float", "Decimal": "decimal", "String": "string", "Boolean": "boolean",
    "Date": "date", "UUID": "uuid", "URI": "uri", "Binary": "binary",
    "Transformable": "binary",
  ]

  /// Converts an attribute.
  ///
  /// - Parameters:
  ///   - element: The attribute.
  ///   - owner: The path of the attribute's entity or composite, for notes.
  ///   - depth: The number of composites around the attribute.
  /// - Returns: The attribute; nil, with a note, if a model file cannot express it.
  mutating func attribute(
    _ element: XMLElement,
    of owner: String,
    depth: Int = 0
  ) -> JSONValue? {
    let name = element["name"] ?? ""
    let path = "\(owner).\(name)"
    let kind = element["attributeType"] ?? ""
    var isTransient = element["transient"] == "YES"
    if isTransient, depth > 0 {
      note("\(path) is stored: a member of a composite is not transient")
      isTransient = false
    }
    if kind == "Composite", !isTransient { return composite(element, path, depth: depth) }
    // A transient attribute may be of any type.
    guard let type = Self.types[kind] ?? (isTransient ? "binary" : nil) else {
      note("\(path) is left out: Cordial does not support its type \"\(kind)\"")
      return nil
    }
    if kind == "Transformable" { note("\(path) is transformable: it becomes binary") }
    var derived: String?
    if let expression = element["derivationExpression"] {
      derived = depth > 0 ? nil : Self.derived(expression)
      if derived == nil {
        note(
          "Cordial does not support the derivation of \(path) (\(expression)): it becomes an "
            + "attribute that clients write"
        )
      }
    }
    var members = [JSONMember("name", .string(name)), JSONMember("type", .string(type))]
    members += renaming(element) + annotations(element)
    noteUnknown(element, Self.attributeMembers, path)
    members += preservation(element)
    noteStorage(element, path)
    if element["optional"] == "YES" { members.append(JSONMember("optional", true)) }
    if isTransient { members.append(JSONMember("transient", true)) }
    if let derived {
      members.append(JSONMember("derived", .string(derived)))
      return .object(members)
    }
    if let pattern = element["regularExpressionString"] {
      members.append(JSONMember("pattern", .string(pattern)))
    }
    if let value = defaultValue(element, type, path) {
      members.append(JSONMember("default", value))
    }
    members += limits(element, type, path)
    return .object(members)
  }

  /// Returns a derivation expression in Cordial's syntax, or nil if Cordial does not support it.
  private static func derived(_ expression: String) -> String? {
    let text = expression.filter { $0 != " " }
    if text == "now()" { return text }
    for function in ["canonical", "lowercase", "uppercase"]
    where text.hasPrefix(function + ":(") && text.hasSuffix(")") {
      return text
    }
    // Xcode has two forms of a sum: tasks.@sum.priority and @sum:tasks.priority.
    let names = text.split(separator: ".").map(String.init)
    let isMember = !names.dropFirst(2).contains { $0.hasPrefix("@") }
    guard names.count >= 2, isMember else { return nil }
    if names[0].hasPrefix("@sum:") {
      return "\(names[0].dropFirst(5)).@sum.\(names[1...].joined(separator: "."))"
    }
    // The path of a composite's member has several names, so a path without `@` is valid.
    switch names[1] {
    case "@count": return names.count == 2 ? text : nil
    case "@sum": return names.count > 2 ? text : nil
    default: return names[1].hasPrefix("@") ? nil : text
    }
  }

  private mutating func defaultValue(
    _ element: XMLElement,
    _ type: String,
    _ path: String
  ) -> JSONValue? {
    if let text = element["defaultDateTimeInterval"] {
      if let date = Double(text).flatMap(Self.date) { return .string(date) }
      note("The default of \(path), \(text) seconds since 2001, is left out: it is not a date")
      return nil
    }
    guard let text = element["defaultValueString"] else { return nil }
    if let value = Self.constant(text, type) { return value }
    note("The default of \(path), \(text), is left out: it is not a valid \(type)")
    return nil
  }

  /// Returns a text of the model as a constant of a type, or nil if it is not such a constant.
  private static func constant(_ text: String, _ type: String) -> JSONValue? {
    switch type {
    case "int16", "int32", "int64": Int64(text).map { .integer($0) }
    case "double", "float": Double(text).map { .number($0) }
    case "boolean": text == "YES" ? true : text == "NO" ? false : nil
    case "string", "uri", "decimal": .string(text)
    case "uuid": .string(text.lowercased())
    default: nil
    }
  }

  /// Returns the text of a date that Core Data stores as seconds since 2001.
  private static func date(_ interval: Double) -> String? {
    // The years 1 to 9999, in seconds since 2001.
    guard (-63_113_904_000...252_423_993_599).contains(interval) else { return nil }
    let milliseconds2001: Int64 = 978_307_200_000
    return DateText.text(milliseconds2001 + Int64((interval * 1000).rounded()))
  }

  /// Returns the limits of an attribute.
  ///
  /// `minValueString` and `maxValueString` limit the length of a string, and the value of other
  /// types.
  private mutating func limits(
    _ element: XMLElement,
    _ type: String,
    _ path: String
  ) -> [JSONMember] {
    var members: [JSONMember] = []
    for (attribute, length, bound) in [
      ("minValueString", "minimumLength", "minimum"),
      ("maxValueString", "maximumLength", "maximum"),
    ] {
      guard let text = element[attribute] else { continue }
      if type == "string", let count = Int64(text), count >= 0 {
        members.append(JSONMember(length, .integer(count)))
      } else if type != "string", let value = Self.constant(text, type) {
        members.append(JSONMember(bound, value))
      } else {
        note("The \(bound) of \(path), \(text), is left out: it is not a valid \(type)")
      }
    }
    for (attribute, bound) in [
      ("minDateTimeInterval", "minimum"), ("maxDateTimeInterval", "maximum"),
    ] {
      guard let text = element[attribute] else { continue }
      if let date = Double(text).flatMap(Self.date) {
        members.append(JSONMember(bound, .string(date)))
      } else {
        note("The \(bound) of \(path), \(text) seconds since 2001, is left out: it is not a date")
      }
    }
    return members
  }

  // MARK: Relationships

  private static let rules = [
    "Nullify": "nullify", "Cascade": "cascade", "Deny": "deny", "No Action": "noAction",
  ]

  private mutating func relationship(_ element: XMLElement, of entity: String) -> JSONValue {
    let name = element["name"] ?? ""
    let path = "\(entity).\(name)"
    let isToMany = element["toMany"] == "YES"
    let isOptional = element["optional"] == "YES"
    var members = [
      JSONMember("name", .string(name)),
      JSONMember("destination", .string(element["destinationEntity"] ?? "")),
    ]
    if isToMany { members.append(JSONMember("toMany", true)) }
    if let inverse = element["inverseName"] {
      members.append(JSONMember("inverse", .string(inverse)))
    }
    let rule = element["deletionRule"] ?? "Nullify"
    if let known = Self.rules[rule] {
      if known != "nullify" { members.append(JSONMember("deleteRule", .string(known))) }
    } else {
      note("The delete rule of \(path), \(rule), is unknown: nullify replaces it")
    }
    if isToMany, element["ordered"] == "YES" { members.append(JSONMember("ordered", true)) }
    members += renaming(element) + annotations(element)
    noteUnknown(element, Self.relationshipMembers, path)
    guard isToMany else {
      if isOptional { members.append(JSONMember("optional", true)) }
      return .object(members)
    }
    // A to-many that is not optional has at least one member.
    let minimum = element["minCount"].flatMap { Int64($0) } ?? (isOptional ? 0 : 1)
    if minimum > 0 { members.append(JSONMember("minimumCount", .integer(minimum))) }
    if let maximum = element["maxCount"].flatMap({ Int64($0) }) {
      members.append(JSONMember("maximumCount", .integer(maximum)))
    }
    return .object(members)
  }
}
