import CordialProtocol

/// A request for the objects that match a person's text.
///
///     let found = try await client.search(SearchRequest("oat mil"))
public struct SearchRequest: Equatable, Sendable {
  /// The words of a text that an object must have.
  public enum Match: String, Sendable, CaseIterable {
    /// All words as they were typed; then those with other forms, those with typing mistakes, and
    /// those with most of the words, until there are enough hits.
    case forgiving
    /// All words as they were typed.
    case all
    /// One word as it was typed.
    case any
  }

  /// The text: words, `"a phrase"`, `-not`, `OR`, `title:word` and `word*`.
  ///
  /// Any text is a valid query.
  public var query: String
  /// The names of the entities; nil for all indexed entities.
  public var entities: [String]?
  /// An additional condition on the objects; nil for none.
  public var predicate: FetchPredicate?
  /// The words of the text that an object must have.
  public var match: Match
  /// Whether the last word is unfinished, as in a search while a person types; nil for true in a
  /// forgiving search, else for false.
  ///
  /// In a forgiving search, every word of at least three letters may then be unfinished.
  public var isPrefix: Bool?
  /// Whether words with typing mistakes match; nil for true in a forgiving search, else for false.
  public var isFuzzy: Bool?
  /// Whether words match by reading: Chinese by pinyin, kana by romaji, Korean by initial letters;
  /// nil for true in a forgiving search, else for false.
  public var hasReadings: Bool?
  /// The maximum number of hits.
  public var limit: Int
  /// The number of hits that the result omits at its beginning.
  public var offset: Int
  /// The position that the index must reach before the search, such as the token of a `SaveResult`.
  ///
  /// If it is nil, the search waits at most a tenth of a second for the newest commit.
  public var at: String?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - query: The text.
  ///   - entities: The names of the entities; nil for all indexed entities.
  ///   - predicate: An additional condition on the objects; nil for none.
  ///   - match: The words of the text that an object must have.
  ///   - isPrefix: Whether the last word is unfinished; nil for true in a forgiving search.
  ///   - isFuzzy: Whether words with typing mistakes match; nil for true in a forgiving search.
  ///   - hasReadings: Whether words match by reading: Chinese by pinyin, kana by romaji, Korean by
  ///     initial letters; nil for true in a forgiving search.
  ///   - limit: The maximum number of hits.
  ///   - offset: The number of hits that the result omits at its beginning.
  ///   - at: The position that the index must reach before the search; nil to wait at most a tenth
  ///     of a second.
  public init(
    _ query: String,
    entities: [String]? = nil,
    predicate: FetchPredicate? = nil,
    match: Match = .forgiving,
    isPrefix: Bool? = nil,
    isFuzzy: Bool? = nil,
    hasReadings: Bool? = nil,
    limit: Int = 20,
    offset: Int = 0,
    at: String? = nil
  ) {
    self.query = query
    self.entities = entities
    self.predicate = predicate
    self.match = match
    self.isPrefix = isPrefix
    self.isFuzzy = isFuzzy
    self.hasReadings = hasReadings
    self.limit = limit
    self.offset = offset
    self.at = at
  }

  /// The params of `search`.
  var call: SearchCall {
    var call = SearchCall(query: query)
    call.entities = entities
    call.predicate = predicate?.format
    call.arguments = predicate?.wireArguments
    call.match = SearchCall.Match(rawValue: match.rawValue) ?? .forgiving
    call.isPrefix = isPrefix
    call.isFuzzy = isFuzzy
    call.hasReadings = hasReadings
    call.limit = limit
    call.offset = max(0, offset)
    call.at = at
    return call
  }
}
