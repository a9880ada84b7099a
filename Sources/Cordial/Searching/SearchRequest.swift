import CordialProtocol

/// A request for the objects that a person's text finds.
///
///     let found = try await client.search(SearchRequest("oat mil", isPrefix: true))
public struct SearchRequest: Equatable, Sendable {
  /// The text: words that all have to match, `"a phrase"`, `-not`, `OR`, `title:word` and `word*`.
  ///
  /// Any text is a query.
  public var query: String
  /// The names of the entities; nil for all that are indexed.
  public var entities: [String]?
  /// The condition on the objects beside the text; nil for none.
  public var predicate: FetchPredicate?
  /// Whether the last word is unfinished, as in a search while a person types.
  public var isPrefix: Bool
  /// Whether words with typing mistakes match.
  public var isFuzzy: Bool
  /// Whether pinyin finds Chinese, romaji kana, and initial letters Korean.
  public var hasReadings: Bool
  /// The maximum number of hits.
  public var limit: Int
  /// The number of hits that the result omits at its beginning.
  public var offset: Int
  /// The position that the index has to have reached, such as that of a `SaveResult`; nil to wait a
  /// tenth of a second at most.
  public var at: String?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - query: The text.
  ///   - entities: The names of the entities; nil for all that are indexed.
  ///   - predicate: The condition on the objects beside the text; nil for none.
  ///   - isPrefix: Whether the last word is unfinished.
  ///   - isFuzzy: Whether words with typing mistakes match.
  ///   - hasReadings: Whether pinyin finds Chinese, romaji kana, and initial letters Korean.
  ///   - limit: The maximum number of hits.
  ///   - offset: The number of hits that the result omits at its beginning.
  ///   - at: The position that the index has to have reached; nil to wait a tenth of a second at
  ///     most.
  public init(
    _ query: String,
    entities: [String]? = nil,
    predicate: FetchPredicate? = nil,
    isPrefix: Bool = false,
    isFuzzy: Bool = false,
    hasReadings: Bool = false,
    limit: Int = 20,
    offset: Int = 0,
    at: String? = nil
  ) {
    self.query = query
    self.entities = entities
    self.predicate = predicate
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
    call.isPrefix = isPrefix
    call.isFuzzy = isFuzzy
    call.hasReadings = hasReadings
    call.limit = limit
    call.offset = max(0, offset)
    call.at = at
    return call
  }
}
