import JSON

/// The settings that define the content of the search index for an entity's objects.
package struct SpotlightDescription: Sendable, Equatable {
  /// The attribute shown as a hit's title; always indexed.
  package let displayName: String?
  /// The indexed attributes with their weights, including the display name, sorted by name.
  package let weights: [(name: String, weight: Double)]
  /// The key paths over relationships whose texts are indexed with the object, in the order of the
  /// model.
  package let keywords: [String]
  /// The predicate that selects the objects that the index leaves out; nil for none.
  package let exclude: String?
  /// The key path over to-ones whose value is the domain of an object; nil for none.
  package let domain: String?

  /// The attributes whose values change the scores of objects, sorted by name.
  package let boosts: [SpotlightBoost]

  /// The synonyms, in the order of the model.
  package let synonyms: [SynonymList]

  /// The names of the indexed texts: attributes, then key paths.
  package var fields: [String] { weights.map(\.name) + keywords }

  /// The key paths whose values the index reads in addition to the object's attributes: the
  /// keywords, then the domain.
  package var paths: [String] { keywords + [domain].compactMap(\.self) }

  package static func == (first: SpotlightDescription, second: SpotlightDescription) -> Bool {
    first.displayName == second.displayName && first.keywords == second.keywords
      && first.exclude == second.exclude && first.domain == second.domain
      && first.boosts == second.boosts && first.synonyms == second.synonyms
      && first.weights.elementsEqual(second.weights) { $0 == $1 }
  }
}

/// The rule by which the value of an attribute changes the score of an object.
package struct SpotlightBoost: Sendable, Equatable {
  package let attribute: String
  /// The weight, above zero.
  package let weight: Double
  /// The half-life of a date, in days; nil for a number.
  package let halfLifeDays: Double?
}

/// The readers of search settings in a model file.
extension ModelDocument {
  static let spotlightMembers: Set<String> = [
    "displayName", "attributes", "keywords", "domain", "exclude", "boost", "synonyms",
  ]

  mutating func spotlight(
    _ value: JSONValue?,
    _ attributes: [AttributeDescription],
    at path: String
  ) -> SpotlightDescription? {
    guard let value, !value.isNull else { return nil }
    checkMembers(value, of: Self.spotlightMembers, at: path + ".")
    let texts = Set(attributes.filter { $0.type.codec.isText }.map(\.name))
    var weights: [String: Double] = [:]
    if let attributes = value["attributes"], !attributes.isNull, attributes.members == nil {
      problem(path + ".attributes", "Expected an object of names and weights")
    }
    for member in value["attributes"]?.members ?? [] {
      guard texts.contains(member.name), let weight = Self.positive(member.value) else {
        problem(
          "\(path).attributes.\(member.name)",
          "Expected a string or uri attribute of the entity with a weight above zero"
        )
        continue
      }
      weights[member.name] = weight
    }
    let displayName = optionalText(value, "displayName", at: path)
    if let displayName {
      guard texts.contains(displayName) else {
        problem(path + ".displayName", "The entity has no string attribute \(displayName)")
        return nil
      }
      weights[displayName, default: 0] += weights[displayName] == nil ? 1 : 0
    }
    let keywords = keywords(value, at: path)
    return SpotlightDescription(
      displayName: displayName,
      weights: weights.sorted { $0.key < $1.key }.map { (name: $0.key, weight: $0.value) },
      keywords: keywords,
      exclude: exclude(value, at: path),
      domain: optionalText(value, "domain", at: path),
      boosts: boosts(value["boost"], attributes, at: path + ".boost"),
      synonyms: synonyms(value, weights.keys + keywords, at: path)
    )
  }

  private mutating func keywords(_ value: JSONValue, at path: String) -> [String] {
    var keywords: [String] = []
    for (index, element) in list(value, "keywords", at: path + ".").enumerated() {
      guard let keyword = element.string else {
        problem(
          "\(path).keywords[\(index)]",
          "Expected a key path like group.title, found \(element.kind)"
        )
        continue
      }
      guard !keywords.contains(keyword) else {
        problem("\(path).keywords[\(index)]", "The key path \(keyword) is there twice")
        continue
      }
      keywords.append(keyword)
    }
    return keywords
  }

  private mutating func exclude(_ value: JSONValue, at path: String) -> String? {
    guard let text = optionalText(value, "exclude", at: path) else { return nil }
    do throws(PredicateError) {
      _ = try PredicateParser.parse(text)
    } catch {
      problem(path + ".exclude", error.message)
    }
    return text
  }

  private mutating func boosts(
    _ value: JSONValue?,
    _ attributes: [AttributeDescription],
    at path: String
  ) -> [SpotlightBoost] {
    guard let value, !value.isNull else { return [] }
    guard let members = value.members else {
      problem(path, "Expected an object of attributes and weights, found \(value.kind)")
      return []
    }
    var boosts: [SpotlightBoost] = []
    for member in members {
      let path = "\(path).\(member.name)"
      let type = attributes.first { $0.name == member.name }?.type
      if type == .date {
        checkMembers(member.value, of: ["weight", "halfLifeDays"], at: path + ".")
        guard let weight = Self.positive(member.value["weight"]), weight <= Self.boostMax,
          let days = Self.positive(member.value["halfLifeDays"])
        else {
          problem(
            path,
            "A date wants halfLifeDays above zero, and a weight above zero and up to 10"
          )
          continue
        }
        boosts.append(
          SpotlightBoost(attribute: member.name, weight: weight, halfLifeDays: days)
        )
      } else if let type, type.isNumber || type == .decimal {
        guard let weight = Self.positive(member.value), weight <= Self.boostMax else {
          problem(path, "A number wants a weight above zero and up to 10")
          continue
        }
        boosts.append(SpotlightBoost(attribute: member.name, weight: weight, halfLifeDays: nil))
      } else {
        problem(path, "The entity has no number and no date \(member.name)")
      }
    }
    return boosts.sorted { $0.attribute < $1.attribute }
  }

  /// The maximum weight of a boost, so that scores remain finite numbers.
  private static let boostMax = 10.0

  private static func positive(_ value: JSONValue?) -> Double? {
    switch value {
    case .integer(let number): number > 0 ? Double(number) : nil
    case .number(let number): number > 0 ? number : nil
    default: nil
    }
  }

  /// Checks that keywords are key paths over relationships to texts, and that a domain is a key
  /// path over to-ones.
  mutating func checkSpotlight(_ entities: [EntityDescription]) {
    for entity in entities {
      let (_, path, value) = raw[entity.number - 1]
      guard let own = value["spotlight"], !own.isNull else { continue }
      for (index, element) in (own["keywords"]?.array ?? []).enumerated() {
        guard let keyword = element.string,
          let message = objection(toKeyword: keyword, of: entity, entities)
        else { continue }
        problem("\(path).spotlight.keywords[\(index)]", message)
      }
      if let domain = own["domain"]?.string,
        let message = objection(toDomain: domain, of: entity, entities)
      {
        problem("\(path).spotlight.domain", message)
      }
    }
  }

  /// Returns why a key path cannot be a domain, or nil if it can.
  private func objection(
    toDomain domain: String,
    of entity: EntityDescription,
    _ entities: [EntityDescription]
  ) -> String? {
    var entity = entity
    var names = domain.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    while !names.isEmpty {
      // The path of a composite's member has several names.
      let rest = names.joined(separator: ".")
      switch entity.property(named: rest) ?? entity.property(named: names[0]) {
      case .attribute(let attribute) where attribute.name == rest:
        let isName =
          attribute.type.codec.isText || attribute.type.isInteger || attribute.type == .uuid
        return isName ? nil : "\(entity.name).\(rest) is no string, uri, uuid or integer"
      case .relationship(let relationship):
        guard !relationship.toMany else {
          return "\(entity.name).\(names[0]) is a to-many; an object has one domain"
        }
        entity = entities[relationship.destination - 1]
        names.removeFirst()
      default: return "\(entity.name) has no property \(rest)"
      }
    }
    return nil
  }

  /// Returns why a key path cannot be a keyword, or nil if it can.
  private func objection(
    toKeyword keyword: String,
    of entity: EntityDescription,
    _ entities: [EntityDescription]
  ) -> String? {
    var entity = entity
    var names = keyword.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard case .relationship? = entity.property(named: names[0]) else {
      return "\(entity.name) has no relationship \(names[0]); its own texts belong in attributes"
    }
    while !names.isEmpty {
      // The path of a composite's member has several names.
      let rest = names.joined(separator: ".")
      switch entity.property(named: rest) ?? entity.property(named: names[0]) {
      case .attribute(let attribute) where attribute.name == rest:
        return attribute.type.codec.isText
          ? nil : "\(entity.name).\(rest) is no string and no uri"
      case .relationship(let relationship):
        guard names.count > 1 else { return "The key path ends before an attribute" }
        entity = entities[relationship.destination - 1]
        names.removeFirst()
      default: return "\(entity.name) has no property \(rest)"
      }
    }
    return nil
  }
}
