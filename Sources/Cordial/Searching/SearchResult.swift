import CordialProtocol
public import CordialValues
import JSON

/// An object that a search has found.
public struct SearchHit: Sendable, Equatable {
  /// The ID of the object.
  public let id: WrappedID
  /// The display name of the object; nil for an object without a display name.
  public let title: String?
  /// The score, which is above zero; of a class, the hits with greater scores come first.
  public let score: Double
  /// For each property, the ranges of the query's words in the text, ascending, in UTF-16 code
  /// units.
  public let highlights: [String: [Range<Int>]]
  /// How well the object has the words of the text.
  public let hitClass: HitClass
  /// The words of the text that the object has in another form only.
  public let matched: [MatchedWord]
  /// The words of the text that the object lacks.
  public let missing: [String]

  /// How well an object has the words of a text, best first.
  public enum HitClass: Int, Sendable, Comparable, CaseIterable {
    /// The object has all words as they were typed.
    case exact = 1
    /// The object has some words in another form.
    case forms
    /// The object has some words with typing mistakes.
    case mistakes
    /// The object has most of the words.
    case partial

    /// Returns whether the objects of the first class come before those of the second.
    public static func < (first: HitClass, second: HitClass) -> Bool {
      first.rawValue < second.rawValue
    }
  }

  /// A word of a text that an object has in another form.
  public struct MatchedWord: Sendable, Equatable {
    /// The word as it was typed.
    public let word: String
    /// The form as the object has it.
    public let form: String
    /// The kind of the form: `prefix`, `inflection`, `joined`, `split`, `part`, `spelling`,
    /// `synonym`, `mistake` or `reading`.
    public let kind: String

    /// Creates a word.
    public init(word: String, form: String, kind: String) {
      self.word = word
      self.form = form
      self.kind = kind
    }
  }

  init(_ hit: SearchCall.Hit) throws(ClientError) {
    guard let id = WrappedID(hit.id) else {
      throw ClientError(code: .internalError, message: "A hit of a search has no object")
    }
    self.id = id
    (score, title) = (hit.score, hit.title)
    hitClass = hit.hitClass.flatMap(HitClass.init) ?? .exact
    matched = (hit.matched ?? []).map { MatchedWord(word: $0.word, form: $0.form, kind: $0.kind) }
    missing = hit.missing ?? []
    var highlights: [String: [Range<Int>]] = [:]
    for member in hit.highlights ?? [] {
      highlights[member.name] = (member.value.array ?? []).compactMap { range in
        guard let bounds = range.array?.compactMap(\.integer), bounds.count == 2,
          bounds[0] <= bounds[1]
        else { return nil }
        return Int(bounds[0])..<Int(bounds[1])
      }
    }
    self.highlights = highlights
  }
}

/// The result of a search.
public struct SearchResult: Sendable, Equatable {
  /// The position of the index at the time of the search.
  public let token: String
  /// The number of all matching objects, including those beyond the limit.
  public let total: Int
  /// Whether `total` is a lower bound, because the search is fuzzy or did not read all classes.
  public let totalIsAtLeast: Bool
  /// The numbers of matching objects of the classes that a forgiving search has read.
  public let totals: [SearchHit.HitClass: Int]
  /// The entities of the request whose objects are not indexed.
  public let notIndexed: [String]
  /// The hits by class, then by descending score, then by ID.
  public let hits: [SearchHit]
  /// The words of the query that occur in no object.
  public let missing: [String]
  /// The most similar words of the index, for each word of `missing`; empty if there are hits.
  public let instead: [String: [String]]

  init(_ result: SearchCall.Result) throws(ClientError) {
    guard let token = result.token, let total = result.total else {
      throw ClientError(code: .internalError, message: "The result of a search has no total")
    }
    (self.token, self.total) = (token, Int(total))
    totalIsAtLeast = result.totalIsAtLeast
    let totals: [(SearchHit.HitClass, Int64?)] = [
      (.exact, result.totals?.exact), (.forms, result.totals?.forms),
      (.mistakes, result.totals?.mistakes), (.partial, result.totals?.partial),
    ]
    self.totals = Dictionary(
      uniqueKeysWithValues: totals.compactMap { name, count in count.map { (name, Int($0)) } }
    )
    notIndexed = result.notIndexed ?? []
    var hits: [SearchHit] = []
    for hit in result.hits { hits.append(try SearchHit(hit)) }
    self.hits = hits
    missing = result.missing ?? []
    var instead: [String: [String]] = [:]
    for member in result.instead ?? [] {
      instead[member.name] = (member.value.array ?? []).compactMap(\.string)
    }
    self.instead = instead
  }
}

extension Client {
  /// Finds the objects that match a person's text.
  ///
  /// - Parameter request: The request.
  /// - Returns: The hits, with the ranges of the query's words.
  /// - Throws: `ClientError`; `unknownEntity` for an entity that the model does not have.
  public func search(_ request: SearchRequest) async throws(ClientError) -> SearchResult {
    var call = request.call
    call.highlights = true
    return try SearchResult(try await core.call(call))
  }

  /// Finds the objects that match a person's text, as values.
  ///
  /// - Parameters:
  ///   - request: The request. The search covers the entity of the type, and ignores the request's
  ///     `entities`.
  ///   - type: The type of the values.
  /// - Returns: The values, best match first.
  /// - Throws: `ClientError`; `valueMismatch` for an object that cannot be decoded as the type, and
  ///   for a type that selects one of the model's `values`.
  public func search<Value: ObjectValue>(
    _ request: SearchRequest,
    as type: Value.Type
  ) async throws(ClientError) -> [Value] {
    let selection = TypeSelection.of(type)
    try core.check(type, selection)
    guard case .paths = selection else {
      throw ClientError(
        code: .valueMismatch,
        message: "\(type) is one of the model's values; a search returns properties"
      )
    }
    var request = request
    request.entities = [type.entity]
    var call = request.call
    call.select = selection.select
    let result = try await core.call(call)
    var values: [Value] = []
    for hit in result.hits {
      // An object that was deleted after the index read it has no value.
      guard let object = hit.object, !object.isNull else { continue }
      do throws(ValueMismatch) {
        values.append(try ValueDecoder.decode(type, from: object))
      } catch {
        throw ClientError(error)
      }
    }
    return values
  }

  /// Proposes queries for the text that a person types.
  ///
  /// The proposals are a correction of words that no object has, then the text with its last word
  /// completed, then display names of objects.
  ///
  /// - Parameters:
  ///   - query: The text.
  ///   - entities: The names of the entities; nil for all indexed entities.
  ///   - limit: The maximum number of texts.
  /// - Returns: The queries; of completed texts, those that find more objects first.
  /// - Throws: `ClientError`; `unknownEntity` for an entity that the model does not have.
  public func suggestions(
    for query: String,
    entities: [String]? = nil,
    limit: Int = 10
  ) async throws(ClientError) -> [String] {
    var call = SuggestCall(query: query)
    call.entities = entities
    call.limit = limit
    return try await core.call(call).suggestions.map(\.text)
  }
}
