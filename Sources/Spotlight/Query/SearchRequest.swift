/// The parameters of a search.
package struct SearchRequest: Sendable {
  /// The words of a query that an object must have.
  package enum Match: Sendable {
    /// All words, as they were typed or in a similar form; most words where too few objects have
    /// all words.
    case forgiving
    /// All words as they were typed.
    case all
    /// One word as it was typed.
    case any
  }

  package let query: String
  package let match: Match
  /// The numbers of the entities to search, or nil for all.
  package let entities: Set<Int>?
  package let isPrefix: Bool
  /// Whether the search also matches words that differ from the query's words by typing mistakes.
  package let isFuzzy: Bool
  /// Whether the query's words also match as readings, such as pinyin.
  package let hasReadings: Bool
  package var offset: Int
  package var limit: Int
  /// The maximum number of words to look up.
  package let wordsMax: Int
  /// Whether the result has all matching objects in addition to the window.
  package var wantsAll: Bool
  /// Whether each hit explains its score.
  package let explains: Bool
  package init(
    query: String,
    match: Match = .all,
    entities: Set<Int>?,
    isPrefix: Bool,
    isFuzzy: Bool = false,
    hasReadings: Bool = false,
    offset: Int,
    limit: Int,
    wordsMax: Int,
    wantsAll: Bool = false,
    explains: Bool = false
  ) {
    self.query = query
    self.match = match
    self.entities = entities
    self.isPrefix = isPrefix
    self.isFuzzy = isFuzzy
    self.hasReadings = hasReadings
    self.offset = offset
    self.limit = limit
    self.wordsMax = wordsMax
    self.wantsAll = wantsAll
    self.explains = explains
  }
}
