import CordialValues
import JSON

/// The readers of entities and their families.
extension ModelDocument {
  /// The properties that one entity declares, without those that it inherits.
  private struct OwnProperties {
    var attributes: [AttributeDescription] = []
    var composites: [CompositeDescription] = []
    var transients: [String] = []
    var computed: [ComputedAttribute] = []
    var relationships: [RelationshipDescription] = []
  }

  /// The maximum number of entities in an entity family.
  ///
  /// Each table's triggers name every other table of the family, and SQLite reads all triggers
  /// whenever it opens the store.
  static let familyMax = 100

  /// The maximum number of columns of an entity family; SQLite returns at most 2,000 columns.
  static let familyColumnsMax = 1500

  /// Finds each entity's ancestors.
  mutating func readParents() {
    var parents: [Int?] = []
    for (_, path, value) in raw {
      guard let name = optionalText(value, "parent", at: path) else {
        parents.append(nil)
        continue
      }
      let parent = raw.firstIndex { $0.name == name }
      if parent == nil {
        problem(path + ".parent", "The parent must be the name of an entity of this model")
      }
      parents.append(parent)
    }
    lineages = raw.indices.map { index in
      var lineage = [index]
      while let parent = parents[lineage[0]] {
        guard !lineage.contains(parent) else {
          problem(raw[index].path + ".parent", "\(raw[index].name) would be its own ancestor")
          return [index]
        }
        lineage.insert(parent, at: 0)
      }
      return lineage
    }
  }

  /// Returns all entities, in the order of the file.
  mutating func entities(_ slots: [String: Int]) -> [EntityDescription] {
    let own = raw.indices.map { ownProperties($0) }
    let slots = familySlots(slots)
    var made: [Int: EntityDescription] = [:]
    // Ancestors come first, because their descendants inherit from them.
    for index in raw.indices.sorted(by: { (lineages[$0].count, $0) < (lineages[$1].count, $1) }) {
      let parent = lineages[index].dropLast().last
      made[index] = entity(index, own, parent.flatMap { made[$0] }, slot: slots[index])
    }
    return raw.indices.compactMap { made[$0] }
  }

  private mutating func ownProperties(_ index: Int) -> OwnProperties {
    let (_, path, value) = raw[index]
    let number = index + 1
    checkMembers(value, of: Self.entityMembers, at: path + ".")
    checkAnnotations(value, at: path)
    var names: Set<String> = []
    var own = OwnProperties()
    for (index, element) in list(value, "attributes", at: path + ".").enumerated() {
      let elementPath = "\(path).attributes[\(index)]"
      guard element["type"]?.string != Self.composite else {
        if let composite = composite(element, at: elementPath),
          claim(composite.composites[0].name, &names, elementPath)
        {
          own.attributes += composite.attributes
          own.composites += composite.composites
        }
        continue
      }
      guard let attribute = attribute(element, at: elementPath),
        claim(attribute.name, &names, elementPath)
      else { continue }
      if flag(element, "transient", at: elementPath) {
        own.transients.append(attribute.name)
        if let function = optionalText(element, "computed", at: elementPath) {
          own.computed.append(
            ComputedAttribute(attribute: attribute, owner: number, function: function)
          )
        }
        if attribute.sortsLocalized {
          problem(elementPath + ".sorted", "The store has no values of a transient attribute")
        }
      } else {
        if element["computed"].map({ !$0.isNull }) == true {
          problem(elementPath + ".computed", "Only a transient attribute is computed")
        }
        own.attributes.append(attribute)
      }
    }
    for (position, element) in list(value, "relationships", at: path + ".").enumerated() {
      let elementPath = "\(path).relationships[\(position)]"
      if let relationship = relationship(element, of: index, at: elementPath),
        claim(relationship.name, &names, elementPath)
      {
        own.relationships.append(relationship)
      }
    }
    let former =
      own.attributes.compactMap(\.renamedFrom) + own.relationships.compactMap(\.renamedFrom)
    for name in Set(former) where former.count(where: { $0 == name }) > 1 {
      problem(path, "Two properties are renamed from \(name)")
    }
    return own
  }

  private mutating func entity(
    _ index: Int,
    _ own: [OwnProperties],
    _ parent: EntityDescription?,
    slot: Int
  ) -> EntityDescription {
    let (name, path, value) = raw[index]
    checkInherited(own[index], parent, at: path)
    let attributes = (parent?.attributes ?? []) + own[index].attributes
    let relationships = (parent?.relationships ?? []) + own[index].relationships
    let columns = attributes.count + relationships.count { !$0.toMany }
    if columns > Self.columnsMax {
      problem(
        path,
        "An entity has at most \(Self.columnsMax) attributes and to-ones, not \(columns)"
      )
    }
    let identity = identity(value, attributes, at: path)
    if let inherited = parent?.identity, let identity, identity != inherited.name {
      problem(path + ".identity", "The identity must be the parent's, \(inherited.name)")
    }
    let unique = propertySets(value, "unique", attributes, relationships, at: path)
    let indexes = propertySets(value, "indexes", attributes, relationships, at: path)
    return EntityDescription(
      number: index + 1,
      name: name,
      renamedFrom: optionalText(value, "renamedFrom", at: path),
      identity: parent?.identity?.name ?? identity,
      attributes: attributes,
      composites: (parent?.composites ?? []) + own[index].composites,
      transients: (parent?.transients ?? []) + own[index].transients,
      computed: (parent?.computedAttributes ?? []) + own[index].computed,
      relationships: relationships,
      unique: (parent?.unique ?? []) + unique,
      indexes: (parent?.indexes ?? []) + indexes,
      spotlight: spotlight(value["spotlight"], attributes, at: path + ".spotlight")
        ?? parent?.spotlight,
      familyPosition: EntityDescription.FamilyPosition(
        ancestors: lineages[index].map { $0 + 1 },
        isAbstract: flag(value, "abstract", at: path),
        concreteEntities: raw.indices.filter { lineages[$0].contains(index) && !isAbstract($0) }
          .map { $0 + 1 },
        slot: slot
      )
    )
  }

  private func isAbstract(_ index: Int) -> Bool {
    raw[index].value["abstract"]?.bool == true
  }

  /// Checks that an entity does not declare a property that it inherits.
  private mutating func checkInherited(
    _ own: OwnProperties,
    _ parent: EntityDescription?,
    at path: String
  ) {
    guard let parent else { return }
    let composites = parent.composites.map(\.name)
    let inherited = Set(
      (parent.propertyNames + parent.transients + composites).map { $0.lowercased() }
    )
    let names =
      own.attributes.map(\.name) + own.composites.map(\.name) + own.transients
      + own.relationships.map(\.name)
    for name in names where inherited.contains(name.lowercased()) {
      problem(path, "The entity already inherits \(name) from \(parent.name)")
    }
  }

  /// Returns the slot of each entity; a new entity without a family has slot 0.
  ///
  /// The slot of an object's number identifies the object's entity within the family.
  private mutating func familySlots(_ known: [String: Int]) -> [Int] {
    var slots = raw.map { known[$0.name] ?? 0 }
    let retired = known.filter { $0.key == Model.retiredName($0.value) }.values
    for root in raw.indices where lineages[root].count == 1 {
      let family = raw.indices.filter { lineages[$0][0] == root }
      guard family.count > 1 else { continue }
      if family.count > Self.familyMax {
        problem(
          raw[root].path,
          "\(raw[root].name) has more than \(Self.familyMax - 1) descendants"
        )
      }
      // The root ancestor is the first of its family, whatever its position in the file.
      let ordered = [root] + family.filter { $0 != root }
      let fixed = ordered.filter { known[raw[$0].name] != nil }
      var taken = Set(fixed.compactMap { known[raw[$0].name] })
      checkWidth(family, root)
      if taken.count < fixed.count {
        problem(
          raw[root].path,
          "\(fixed.map { raw[$0].name }.joined(separator: " and ")) cannot have a common ancestor: "
            + "their objects already have the same numbers"
        )
      }
      taken.formUnion(retired)
      for index in ordered {
        let slot = known[raw[index].name] ?? (0...taken.count).first { !taken.contains($0) } ?? 0
        taken.insert(slot)
        slots[index] = slot
      }
    }
    return slots
  }

  /// Checks the number of columns of an entity family.
  ///
  /// A fetch of an ancestor returns the properties of all its descendants as columns of one row.
  private mutating func checkWidth(_ family: [Int], _ root: Int) {
    let columns = family.map { index in
      let value = raw[index].value
      let toOnes = (value["relationships"]?.array ?? []).count { $0["toMany"]?.bool != true }
      return Self.columnCount(value["attributes"]) + toOnes
    }.reduce(0, +)
    guard columns > Self.familyColumnsMax else { return }
    problem(
      raw[root].path,
      "\(raw[root].name) and its descendants have at most \(Self.familyColumnsMax) attributes and "
        + "to-ones together, not \(columns)"
    )
  }

  mutating func claim(_ name: String, _ names: inout Set<String>, _ path: String) -> Bool {
    guard names.insert(name.lowercased()).inserted else {
      // SQLite ignores case in column names.
      problem(path + ".name", "Two properties are named \(name), ignoring case")
      return false
    }
    return true
  }

  private mutating func identity(
    _ entity: JSONValue,
    _ attributes: [AttributeDescription],
    at path: String
  ) -> String? {
    guard let value = entity["identity"], !value.isNull else { return nil }
    guard let name = value.string, !name.contains("."),
      let attribute = attributes.first(where: { $0.name == name })
    else {
      problem(path + ".identity", "The identity must be the name of an attribute of the entity")
      return nil
    }
    guard attribute.type.codec.identityForm != nil else {
      problem(path + ".identity", "An identity must be a string, an integer or a uuid")
      return nil
    }
    if attribute.derived != nil { problem(path + ".identity", "An identity cannot be derived") }
    if attribute.optional { problem(path + ".identity", "An identity cannot be optional") }
    return name
  }

  private mutating func propertySets(
    _ entity: JSONValue,
    _ member: String,
    _ attributes: [AttributeDescription],
    _ relationships: [RelationshipDescription],
    at path: String
  ) -> [[String]] {
    let columns = Set(attributes.map(\.name) + relationships.filter { !$0.toMany }.map(\.name))
    let texts = Set(attributes.filter { $0.type == .string }.map(\.name))
    return list(entity, member, at: path + ".").enumerated().compactMap { index, element in
      let names = element.array?.compactMap(\.string) ?? []
      // Only an index has a direction and a collation.
      func isColumn(_ name: String) -> Bool {
        guard member == "indexes" else { return columns.contains(name) }
        let key = IndexKey(name)
        return key.isLocalized ? texts.contains(key.name) : columns.contains(key.name)
      }
      guard let elements = element.array, !elements.isEmpty, names.count == elements.count,
        names.allSatisfy(isColumn)
      else {
        problem(
          "\(path).\(member)[\(index)]",
          "Expected a list of names of attributes and to-ones"
        )
        return nil
      }
      return names
    }
  }
}
