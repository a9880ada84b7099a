import JSON

/// The readers of composites.
extension ModelDocument {
  /// The type of a composite in a model file.
  static let composite = "composite"
  private static let compositeMembers: Set<String> = [
    "name", "type", "members", "renamedFrom", "userInfo", "versionHashModifier",
    "preserveAfterDeletion",
  ]
  /// The members that an attribute inside a composite may have in a model file.
  static let memberMembers = attributeMembers.subtracting(["transient", "derived", "computed"])
  /// The maximum nesting depth of composites.
  private static let depthMax = 8

  /// The composite of which an attribute is a member.
  struct OuterComposite {
    let name: String
    /// The composite's path in an earlier version of the model; equal to `name` if no name in the
    /// path has changed.
    let formerName: String
    let isPreserved: Bool
    let depth: Int

    func path(of member: String) -> String { "\(name).\(member)" }

    /// Returns the path of a member in an earlier version; nil if no name in the path has changed.
    func formerPath(of member: String, _ renamedFrom: String?) -> String? {
      guard renamedFrom != nil || formerName != name else { return nil }
      return "\(formerName).\(renamedFrom ?? member)"
    }
  }

  /// The result of reading a composite: the composite, its inner composites, and all their
  /// attributes.
  struct ReadComposite {
    var composites: [CompositeDescription]
    var attributes: [AttributeDescription] = []
  }

  /// Reads a composite with its members.
  ///
  /// - Parameters:
  ///   - value: The composite's element of the file.
  ///   - outer: The composite that contains this composite; nil for none.
  ///   - path: The element's path in the file.
  /// - Returns: The composite, which comes first, with its inner composites and attributes; nil if
  ///   its name has a fault, or if it is nested too deep.
  mutating func composite(
    _ value: JSONValue,
    in outer: OuterComposite? = nil,
    at path: String
  ) -> ReadComposite? {
    for member in ["optional", "default", "transient", "derived"]
    where value[member].map({ !$0.isNull && $0 != false }) == true {
      let isOfMembers = ["optional", "default"].contains(member)
      let advice = isOfMembers ? ": give it to each of its members" : ""
      problem("\(path).\(member)", "A composite has no \(member)\(advice)")
    }
    checkMembers(
      value,
      of: Self.compositeMembers.union(["optional", "default", "transient", "derived"]),
      at: path + "."
    )
    checkAnnotations(value, at: path)
    guard let name = identifier(value, at: path) else { return nil }
    let depth = (outer?.depth ?? 0) + 1
    guard depth <= Self.depthMax else {
      problem(path, "At most \(Self.depthMax) composites are inside one another")
      return nil
    }
    let renamedFrom = optionalText(value, "renamedFrom", at: path)
    let isPreserved = flag(value, "preserveAfterDeletion", at: path)
    let composite = OuterComposite(
      name: outer.map { $0.path(of: name) } ?? name,
      formerName: outer.map { "\($0.formerName).\(renamedFrom ?? name)" } ?? renamedFrom ?? name,
      isPreserved: isPreserved || outer?.isPreserved == true,
      depth: depth
    )
    let elements = list(value, "members", at: path + ".")
    if elements.isEmpty { problem(path + ".members", "A composite has at least one member") }
    var names: Set<String> = []
    var members: [String] = []
    var read = ReadComposite(composites: [])
    for (index, element) in elements.enumerated() {
      let elementPath = "\(path).members[\(index)]"
      let own = element["name"]?.string ?? ""
      if element["type"]?.string == Self.composite {
        guard let inner = self.composite(element, in: composite, at: elementPath),
          claim(own, &names, elementPath)
        else { continue }
        read.composites += inner.composites
        read.attributes += inner.attributes
      } else {
        guard let attribute = attribute(element, in: composite, at: elementPath),
          claim(own, &names, elementPath)
        else { continue }
        read.attributes.append(attribute)
      }
      members.append(own)
    }
    read.composites.insert(CompositeDescription(name: composite.name, members: members), at: 0)
    return read
  }

  /// Returns the count of columns for a list of attributes; a composite has a column for each of
  /// its members.
  static func columnCount(_ attributes: JSONValue?, depth: Int = 0) -> Int {
    (attributes?.array ?? []).reduce(0) { sum, element in
      guard element["type"]?.string == composite, depth < depthMax else { return sum + 1 }
      return sum + columnCount(element["members"], depth: depth + 1)
    }
  }
}
