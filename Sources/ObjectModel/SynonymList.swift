import JSON

/// A list of synonyms: a search for a word of `from` also finds the words of `to`.
package struct SynonymList: Sendable, Equatable {
  /// The words and phrases that a person types.
  package let from: [String]
  /// The words and phrases that a search also finds; equal to `from` where each one finds every
  /// other.
  package let to: [String]
  /// The attributes and key paths in whose texts they are found; nil for all of the entity.
  package var fields: [String]?

  /// Creates a list.
  package init(from: [String], to: [String], fields: [String]? = nil) {
    (self.from, self.to, self.fields) = (from, to, fields)
  }

  /// The greatest counts of lists of an entity or of a file, and of the words of a list.
  package static let (listsMax, wordsMax) = (200_000, 1000)
  /// The greatest count of words and phrases in all lists of an entity or of a file.
  package static let textsMax = 500_000
  /// The greatest length of a word or phrase in bytes.
  package static let bytesMax = 200

  /// Returns why words cannot be in a list; nil if they can.
  package static func objection(to words: [String]) -> String? {
    guard words.count <= wordsMax else { return "A list has at most \(wordsMax) words" }
    for word in words {
      let isBlank = word.unicodeScalars.allSatisfy(\.properties.isWhitespace)
      if isBlank { return "A word or phrase must have a letter" }
      if word.utf8.count > bytesMax {
        return "A word or phrase has at most \(bytesMax) bytes, not \(word.utf8.count)"
      }
    }
    return nil
  }
}

/// The reader of synonyms in a model file.
extension ModelDocument {
  /// Reads the member `synonyms` of an entity's search settings.
  mutating func synonyms(
    _ value: JSONValue,
    _ fields: [String],
    at path: String
  ) -> [SynonymList] {
    let elements = list(value, "synonyms", at: path + ".")
    guard elements.count <= SynonymList.listsMax else {
      problem(path + ".synonyms", "An entity has at most \(SynonymList.listsMax) lists")
      return []
    }
    var lists: [SynonymList] = []
    for (index, element) in elements.enumerated() {
      let path = "\(path).synonyms[\(index)]"
      guard var list = synonyms(element, at: path) else { continue }
      if element["attributes"] != nil {
        let named = texts(element["attributes"], at: path + ".attributes")
        for name in named ?? [] where !fields.contains(name) {
          problem(path + ".attributes", "The index has no texts of \(name)")
        }
        list.fields = named
      }
      lists.append(list)
    }
    guard lists.reduce(0, { $0 + $1.from.count + $1.to.count }) <= SynonymList.textsMax else {
      problem(
        path + ".synonyms",
        "The lists of an entity have at most \(SynonymList.textsMax) words and phrases"
      )
      return []
    }
    return lists
  }

  private mutating func synonyms(_ element: JSONValue, at path: String) -> SynonymList? {
    if element["from"] != nil || element["to"] != nil {
      checkMembers(element, of: ["from", "to", "attributes"], at: path + ".")
      let from = element["from"]?.string.map { [$0] } ?? texts(element["from"], at: path + ".from")
      guard let from, let to = texts(element["to"], at: path + ".to") else { return nil }
      return SynonymList(from: from, to: to)
    }
    let isObject = element.members != nil
    if isObject { checkMembers(element, of: ["words", "attributes"], at: path + ".") }
    guard let words = texts(isObject ? element["words"] : element, at: path) else { return nil }
    guard words.count > 1 else {
      problem(path, "Expected at least two words, of which each finds the others")
      return nil
    }
    return SynonymList(from: words, to: words)
  }

  private mutating func texts(_ value: JSONValue?, at path: String) -> [String]? {
    guard let elements = value?.array, !elements.isEmpty else {
      problem(path, "Expected a list of words")
      return nil
    }
    let words = elements.compactMap(\.string)
    guard words.count == elements.count else {
      problem(path, "Expected a list of words")
      return nil
    }
    if let objection = SynonymList.objection(to: words) {
      problem(path, objection)
      return nil
    }
    return words
  }
}
