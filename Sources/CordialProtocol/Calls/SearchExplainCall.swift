package import JSON
package import JSONRPC

/// The params of `search/explain`: explains why a search finds an object, or does not find it.
package struct SearchExplainCall: Call {
  package static let name = MethodName.explainSearch

  /// The params that determine the objects that a search finds.
  package static let deciding: [MemberName] = [
    .query, .entities, .predicate, .arguments, .match, .prefix, .fuzzy, .readings, .asOf,
  ]

  /// The search; only its params in `deciding` have an effect.
  package var search: SearchCall
  /// The ID of the object.
  package var id: String

  /// Creates a request.
  package init(search: SearchCall, id: String) {
    self.search = search
    self.id = id
  }

  package init(_ json: JSONValue) throws(RPCError) {
    id = try json.text(.id)
    search = try SearchCall(Self.params(of: json))
  }

  package var json: JSONValue {
    .object((Self.params(of: search.json).members ?? []) + [JSONMember(.id, .string(id))])
  }

  private static func params(of json: JSONValue) -> JSONValue {
    .object(deciding.compactMap { name in json[name].map { JSONMember(name, $0) } })
  }

  /// The reason why the search finds the object, or does not find it.
  package struct Result: WireObject {
    /// The history position that the index had reached.
    package let token: String
    /// Whether the search finds the object.
    package let isFound: Bool
    /// The rank among all hits, from 1; nil for an object that is not found.
    package var rank: Int64?
    /// The class of an object that lacks a word as it was typed, as in a hit; nil for others.
    package var hitClass: Int?
    /// The words that the object has in another form; nil for none.
    package var matched: [SearchCall.MatchedWord]?
    /// The words that the object lacks, although the search finds it; nil for none.
    package var missing: [String]?
    /// The score; nil for an object that is not found.
    package var score: Double?
    /// The object's terms with their shares of the score; nil for an object that is not found.
    package var explanation: [SearchCall.TermShare]?
    /// The reason why the object is not found: `unknown`, `notIndexed`, `missingWord`,
    /// `excludedWord` or `filtered`.
    package var reason: String?
    /// The rule that keeps the object out of the index: `entity`, `exclude`, `delegate` or `empty`.
    package var rule: String?
    /// The missing word, or the excluded word that the object contains.
    package var word: String?
    /// The words of the object that are nearest to the missing word.
    package var nearest: [String]?
    /// The filter that excludes the object: `entities` or `predicate`.
    package var filter: String?
    /// The numbers of read and skipped index entries.
    package var postings = SearchCall.Postings(read: 0, skipped: 0)

    /// Creates a result.
    package init(token: String, isFound: Bool) {
      self.token = token
      self.isFound = isFound
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      isFound = try json.flag(.found)
      rank = json.integer(.rank)
      hitClass = json.int(.class)
      matched = try json.optionalList(.matched)
      missing = try json.optionalTexts(.missing)
      score = json.number(.score)
      explanation = try json.optionalList(.explanation)
      reason = json.string(.reason)
      rule = json.string(.rule)
      word = json.string(.word)
      nearest = try json.optionalTexts(.nearest)
      filter = json.string(.filter)
      postings = try json.object(.postings)
    }

    package var json: JSONValue {
      .present([
        .token: token, .found: isFound, .rank: rank, .class: hitClass, .matched: matched,
        .missing: missing, .score: score, .explanation: explanation,
        .reason: reason, .rule: rule, .word: word, .nearest: nearest, .filter: filter,
        .postings: postings,
      ])
    }
  }
}
