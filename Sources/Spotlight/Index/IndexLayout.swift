import CSpotlight
import CordialValues
package import ObjectModel
import SQLite

/// The assignment of indexed attributes and key paths to columns of the index.
package struct IndexLayout: Sendable {
  /// The distinct names of all indexed attributes and key paths of the model, one column for each.
  package let columns: [String]
  /// The columns of an entity's texts, in the order of its `fields`, by entity number.
  let fields: [Int: [(name: String, column: Int)]]
  /// The weights of the columns, by entity number, then by column.
  let weights: [Double]
  /// The index of the display name among the texts of an entity, by entity number.
  private let titles: [Int: Int]
  /// The column of the display name, by entity number; -1 for an entity without a display name.
  let titleColumns: [Int32]
  /// The rules by which values change scores: `boostCount` rules for each entity number.
  let boosts: [spotlight_boost]
  /// The greatest count of boost rules that any entity has.
  let boostCount: Int
  let entityCount: Int
  /// The columns of texts in each language, by its name in the model.
  let languages: [String: [String]]
  /// The columns of texts without a language; nil for all columns.
  let columnsWithoutLanguage: [String]?
  /// Whether objects of an entity are indexed, by entity number.
  let indexed: [Bool]
  /// A text that describes which values of each entity are indexed.
  ///
  /// An index that was built for one model is valid for another model with the same text.
  let mark: String

  package init(_ model: Model, delegateVersion: String? = nil) {
    let described = model.entities.compactMap { entity in entity.spotlight.map { (entity, $0) } }
    let columns = Set(described.flatMap { $0.1.fields }).sorted()
    self.columns = columns
    entityCount = model.entities.count + 1
    var fields: [Int: [(name: String, column: Int)]] = [:]
    var weights = Array(repeating: 0.0, count: entityCount * max(columns.count, 1))
    for (entity, spotlight) in described {
      let keywords = spotlight.keywords.map { (name: $0, weight: Self.keywordWeight) }
      fields[entity.number] = (spotlight.weights + keywords).map { name, weight in
        let column = columns.firstIndex(of: name) ?? 0
        let isTitle = name == spotlight.displayName
        weights[entity.number * columns.count + column] = weight * (isTitle ? Self.titleFactor : 1)
        return (name, column)
      }
    }
    self.fields = fields
    indexed = (0..<entityCount).map { fields[$0] != nil }
    var titles: [Int: Int] = [:]
    var titleColumns = Array(repeating: Int32(-1), count: entityCount)
    for (entity, spotlight) in described {
      guard
        let index = fields[entity.number]?.firstIndex(where: { $0.name == spotlight.displayName })
      else { continue }
      titles[entity.number] = index
      titleColumns[entity.number] = Int32(fields[entity.number]?[index].column ?? -1)
    }
    (self.titles, self.titleColumns) = (titles, titleColumns)
    let boostCount = described.map { $0.1.boosts.count }.max() ?? 0
    var boosts = Array(repeating: spotlight_boost(), count: entityCount * boostCount)
    for (entity, spotlight) in described {
      for (index, boost) in spotlight.boosts.enumerated() {
        boosts[entity.number * boostCount + index] = spotlight_boost(
          weight: boost.weight,
          halfLife: (boost.halfLifeDays ?? 0) * Self.millisecondsOfDay
        )
      }
    }
    (self.boosts, self.boostCount) = (boosts, boostCount)
    mark =
      described.map { entity, spotlight in
        let attributes = spotlight.weights.map { name, weight in
          let derived = entity.attributes.first { $0.name == name }?.derived
          return "\(name) \(weight) \(derived.map { "\($0)" } ?? "")"
        }
        let others =
          (spotlight.keywords + [spotlight.exclude].compactMap(\.self)
          + [spotlight.domain].compactMap(\.self).map { "domain \($0)" }
          + spotlight.boosts.map { "\($0)" }).map { ", " + $0 }.joined()
        return "\(entity.number) \(entity.name) \(attributes.joined(separator: ", "))\(others)"
      }.joined(separator: "; ") + Self.derivations(model, described.map(\.1))
      + (delegateVersion.map { "; delegate \($0)" } ?? "")
    self.weights = weights
    (languages, columnsWithoutLanguage) = Self.languages(described, model, columns)
  }

  /// Returns the columns by their language, and those without one.
  ///
  /// A column has the languages of all entities whose texts are in it.
  private static func languages(
    _ described: [(EntityDescription, SpotlightDescription)],
    _ model: Model,
    _ columns: [String]
  ) -> (languages: [String: [String]], others: [String]?) {
    var languages: [String: Set<String>] = [:]
    for (entity, spotlight) in described {
      for field in spotlight.fields {
        guard let language = model.attribute(at: field, of: entity)?.language else { continue }
        languages[language, default: []].insert(field)
      }
    }
    guard !languages.isEmpty else { return ([:], nil) }
    let known = languages.values.reduce(into: Set()) { $0.formUnion($1) }
    return (languages.mapValues { $0.sorted() }, columns.filter { !known.contains($0) })
  }

  /// Returns a text with the derivations of all attributes; empty if texts and scores depend only
  /// on the object's own texts.
  private static func derivations(_ model: Model, _ described: [SpotlightDescription]) -> String {
    let dependsOnOthers = described.contains {
      !$0.paths.isEmpty || $0.exclude != nil || !$0.boosts.isEmpty
    }
    guard dependsOnOthers else { return "" }
    return model.entities.flatMap { entity in
      entity.attributes.compactMap { attribute in
        attribute.derived.map { "; \(entity.name).\(attribute.name) = \($0)" }
      }
    }.joined()
  }

  /// Returns the token count of the display name, given the texts of an object.
  func titleLength(of entity: Int, _ texts: [String?]) -> Int64 {
    guard let index = titles[entity], index < texts.count, let title = texts[index] else {
      return 0
    }
    return Tokens.count(title)
  }

  /// Returns the key of an object from its row in the file.
  ///
  /// The method checks the entity, because C code uses it as an array index, and callers look it up
  /// in the model.
  ///
  /// - Parameters:
  ///   - entity: The number of the entity in the file.
  ///   - object: The number of the object.
  /// - Returns: The key.
  /// - Throws: `SQLiteError` with the code `corrupt` for an entity without documents.
  func key(_ entity: Int64, _ object: Int64) throws -> ObjectKey {
    guard let number = Int(exactly: entity), indexed.indices.contains(number), indexed[number]
    else { throw SQLiteError(.corrupt, "The index has an object of the entity \(entity)") }
    return ObjectKey(entity: number, object: object)
  }

  private static let millisecondsOfDay = 86_400_000.0
  /// The factor by which the display name outweighs another attribute of the same weight.
  private static let titleFactor = 1.05
  /// The weight of the texts at a key path.
  private static let keywordWeight = 1.0

  /// Returns the quoted column name of an attribute.
  ///
  /// Column names have a prefix because FTS5 reserves `rank` and the name of the table.
  static func quotedColumn(_ attribute: String) -> String {
    SQLNames.quoted(columnName(attribute))
  }

  /// Returns the column name of an attribute.
  static func columnName(_ attribute: String) -> String { "p_" + attribute }

  /// Whether no attribute is indexed.
  package var isEmpty: Bool { columns.isEmpty }
}

/// The text form of the values that change scores, as the index's file stores it.
enum BoostValues {
  /// Returns the text form of some values; nil for an empty list.
  static func text(_ values: [Double?]) -> String? {
    values.isEmpty ? nil : values.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
  }

  /// Returns the values of a text form.
  static func values(_ text: String?) -> [Double?] {
    text.map { $0.split(separator: " ").map { Double($0) } } ?? []
  }
}
