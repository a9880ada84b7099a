package import CordialValues
package import JSON
package import JSONRPC

/// The params of `search`: finds objects by a query that a person types, best match first.
package struct SearchCall: Call {
  package static let name = MethodName.search

  package var query: String
  package var entities: [String]?
  /// The maximum number of hits; nil for the default of 20.
  package var limit: Int?
  package var offset = 0
  /// The words of the query that an object must have.
  package enum Match: String, Sendable, CaseIterable {
    case forgiving, all, any
  }

  package var match = Match.forgiving
  /// Whether the last word may be unfinished; nil for true in a forgiving search, else for false.
  package var isPrefix: Bool?
  /// Whether words may have typing mistakes; nil for true in a forgiving search, else for false.
  package var isFuzzy: Bool?
  /// Whether words also match as readings; nil for true in a forgiving search, else for false.
  package var hasReadings: Bool?
  package var highlights = false
  package var withObjects = false
  /// The commit that the index must have reached; nil to wait only briefly.
  package var at: String?
  /// The past commit whose objects are searched; nil for the newest commit.
  package var asOf: String?
  package var predicate: String?
  package var arguments: JSONValue?
  package var select: [FetchCall.Selection]?
  package var snippets = false
  /// The properties whose values the result counts as facets; nil for no facets.
  package var facets: [String]?
  /// Whether hits explain their scores.
  package var explains = false
  /// Whether the search belongs to an `observe`; the message has no such member.
  package var isObserved = false
  /// The unit of positions that the connection has chosen; the message has no such member.
  package var positionEncoding = PositionEncoding.utf16

  /// Creates a search with a query.
  package init(query: String) { self.query = query }

  package init(_ json: JSONValue) throws(RPCError) {
    query = try json.text(.query)
    entities = json.strings(.entities)
    limit = json.int(.limit)
    offset = json.int(.offset) ?? 0
    match = json.string(.match).flatMap(Match.init) ?? .forgiving
    isPrefix = json[.prefix]?.bool
    isFuzzy = json[.fuzzy]?.bool
    hasReadings = json[.readings]?.bool
    highlights = json.bool(.highlight)
    withObjects = json.bool(.objects)
    at = json.string(.at)
    asOf = json.string(.asOf)
    predicate = json.string(.predicate)
    arguments = json[.arguments]
    select = try json[.select].map { value throws(RPCError) in
      try FetchCall.selections(value, method: "search")
    }
    snippets = json.bool(.snippet)
    explains = json.bool(.explain)
    facets = json[.facets].map { $0.strings(.properties) ?? [] }
    guard arguments == nil || predicate != nil else {
      throw RPCError(.invalidParams, "search: arguments need a predicate")
    }
    guard at == nil || asOf == nil else {
      throw RPCError(.invalidParams, "search: name either at or asOf")
    }
    guard !withObjects || select == nil else {
      throw RPCError(.invalidParams, "search: name either objects or select")
    }
  }

  /// Returns whether the search has an option that is true by default in a forgiving search only.
  ///
  /// - Parameter option: `isPrefix`, `isFuzzy` or `hasReadings`.
  /// - Returns: The value that the client gave, or the default.
  package func has(_ option: KeyPath<SearchCall, Bool?>) -> Bool {
    self[keyPath: option] ?? (match == .forgiving)
  }

  /// The maximum number of hits.
  package var hitsMax: Int { limit ?? 20 }

  package var json: JSONValue {
    .present([
      .query: query, .entities: entities, .limit: limit,
      .offset: offset == 0 ? nil : offset,
      .match: match == .forgiving ? nil : match.rawValue, .prefix: isPrefix, .fuzzy: isFuzzy,
      .readings: hasReadings, .highlight: highlights.ifTrue, .objects: withObjects.ifTrue,
      .predicate: predicate, .arguments: arguments, .select: select.map(FetchCall.json),
      .snippet: snippets.ifTrue,
      .facets: facets.map { JSONValue.present([.properties: $0.isEmpty ? nil : $0]) }, .at: at,
      .asOf: asOf, .explain: explains.ifTrue,
    ])
  }

  /// The result of a search.
  package struct Result: WireObject {
    /// The history position that the index had reached; nil if a mock's script omits the token.
    package let token: String?
    /// The history position of the titles and objects; nil if a mock's script omits it.
    package let storeToken: String?
    /// The number of all objects that match; nil if a mock's script omits it.
    package let total: Int64?
    /// Whether there may be more matches than `total`.
    package let totalIsAtLeast: Bool
    /// The numbers of matches by class, for the classes that were read; nil for a search that
    /// forgives nothing.
    package let totals: Totals?
    /// The entities of the search whose objects the index does not have; nil for none.
    package let notIndexed: [String]?
    /// The hits, best first; hits with equal scores are ordered by ID.
    package let hits: [Hit]
    /// The numbers of hits by entity and by value; nil if not requested.
    package let facets: JSONValue?
    /// For a search without hits, the number of hits without each word of the query; nil for none.
    package let omit: [JSONMember]?
    /// The words that are in no document; nil for none.
    package let missing: [String]?
    /// For a search without hits, the nearest words of the index for each missing word; nil for
    /// none.
    package let instead: [JSONMember]?
    /// The numbers of read and skipped index entries; nil if not requested.
    package let postings: Postings?
    /// The time that the service needed, in microseconds; nil if a mock's script omits it.
    package let tookMicroseconds: Int64?

    package init(_ json: JSONValue) throws(RPCError) {
      token = json.string(.token)
      storeToken = json.string(.storeToken)
      total = json.integer(.total)
      totalIsAtLeast = json.bool(.totalIsAtLeast)
      totals = try json.optional(.totals)
      notIndexed = try json.optionalTexts(.notIndexed)
      hits = try json.optionalList(.hits) ?? []
      facets = json[.facets]
      omit = json.members(.omit)
      missing = try json.optionalTexts(.missing)
      instead = json.members(.instead)
      postings = try json.optional(.postings)
      tookMicroseconds = json.integer(.tookMicroseconds)
    }

    package var json: JSONValue {
      .present([
        .token: token, .storeToken: storeToken, .total: total,
        .totalIsAtLeast: totalIsAtLeast.ifTrue, .totals: totals, .notIndexed: notIndexed,
        .hits: hits, .facets: facets,
        .omit: MemberList(omit),
        .missing: missing, .instead: MemberList(instead), .postings: postings,
        .tookMicroseconds: tookMicroseconds,
      ])
    }
  }

  /// An object that a search has found.
  package struct Hit: WireObject {
    package let id: String
    /// The score; higher is better.
    package let score: Double
    /// The display name of the object; nil for an object without a display name.
    package let title: String?
    /// The ranges of the query's words in each text, by property; nil if not requested.
    package let highlights: [JSONMember]?
    /// The part of a text that shows words of the query; nil if no text has such a part.
    package let snippet: Snippet?
    /// The object, null if it was deleted meanwhile; nil if not requested.
    package let object: JSONValue?
    /// The object's terms with their shares of the score; nil if not requested.
    package let explanation: [TermShare]?
    /// The class of a hit that lacks a word as it was typed: 2 for other forms, 3 for typing
    /// mistakes, 4 for missing words; nil for a hit that has all words.
    package let hitClass: Int?
    /// The words that the object has in another form; nil for none.
    package let matched: [MatchedWord]?
    /// The words that the object lacks; nil for none.
    package let missing: [String]?

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      score = try json.double(.score)
      title = json.string(.title)
      highlights = json.members(.highlights)
      snippet = try json.optional(.snippet)
      object = json[.object]
      explanation = try json.optionalList(.explanation)
      hitClass = json.int(.class)
      matched = try json.optionalList(.matched)
      missing = try json.optionalTexts(.missing)
    }

    package var json: JSONValue {
      .present([
        .id: id, .score: score, .title: Nullable(title), .highlights: MemberList(highlights),
        .snippet: snippet, .object: object, .explanation: explanation, .class: hitClass,
        .matched: matched, .missing: missing,
      ])
    }
  }

  /// A word of a query that an object has in another form.
  package struct MatchedWord: WireObject {
    /// The word as it was typed.
    package let word: String
    /// The form as the object has it.
    package let form: String
    /// The kind of the form: `prefix`, `inflection`, `joined`, `split`, `part`, `spelling`,
    /// `synonym`, `mistake` or `reading`.
    package let kind: String

    /// Creates a word.
    package init(word: String, form: String, kind: String) {
      self.word = word
      self.form = form
      self.kind = kind
    }

    package init(_ json: JSONValue) throws(RPCError) {
      word = try json.text(.word)
      form = try json.text(.as)
      kind = try json.text(.how)
    }

    package var json: JSONValue { .present([.word: word, .as: form, .how: kind]) }
  }

  /// The numbers of matches by class; nil for a class that was not read.
  package struct Totals: WireObject {
    package let exact: Int64?
    package let forms: Int64?
    package let mistakes: Int64?
    package let partial: Int64?

    /// Creates the numbers.
    package init(exact: Int64?, forms: Int64?, mistakes: Int64?, partial: Int64?) {
      self.exact = exact
      self.forms = forms
      self.mistakes = mistakes
      self.partial = partial
    }

    package init(_ json: JSONValue) throws(RPCError) {
      exact = json.integer(.exact)
      forms = json.integer(.forms)
      mistakes = json.integer(.mistakes)
      partial = json.integer(.partial)
    }

    package var json: JSONValue {
      .present([.exact: exact, .forms: forms, .mistakes: mistakes, .partial: partial])
    }
  }

  /// A part of a text that shows the words of a query.
  package struct Snippet: WireObject {
    /// The name of the property.
    package let property: String
    /// The part of the text, with … where the text continues.
    package let text: String
    /// The start and the end of each word of the query in the part, as pairs.
    package let highlights: JSONValue

    /// Creates a snippet.
    package init(property: String, text: String, highlights: JSONValue) {
      self.property = property
      self.text = text
      self.highlights = highlights
    }

    package init(_ json: JSONValue) throws(RPCError) {
      property = try json.text(.property)
      text = try json.text(.text)
      highlights = json[.highlights] ?? []
    }

    package var json: JSONValue {
      .present([.property: property, .text: text, .highlights: highlights])
    }
  }

  /// A term of an object with its share of the object's score.
  package struct TermShare: WireObject {
    /// The term's words, in the form in which the index stores them.
    package let term: String
    /// The number of occurrences of the term in the object.
    package let count: Int64
    /// The number of objects with the term.
    package let frequency: Int64
    /// The maximum score that the term can add.
    package let bound: Double
    /// The score that the term adds.
    package let share: Double

    /// Creates a share.
    package init(term: String, count: Int64, frequency: Int64, bound: Double, share: Double) {
      self.term = term
      self.count = count
      self.frequency = frequency
      self.bound = bound
      self.share = share
    }

    package init(_ json: JSONValue) throws(RPCError) {
      term = try json.text(.term)
      count = try json.count(.count)
      frequency = try json.count(.frequency)
      bound = try json.double(.bound)
      share = try json.double(.share)
    }

    package var json: JSONValue {
      .present([
        .term: term, .count: count, .frequency: frequency, .bound: bound, .share: share,
      ])
    }
  }

  /// The numbers of index entries that a search reads and skips.
  package struct Postings: WireObject {
    package let read: Int64
    package let skipped: Int64

    /// Creates the numbers.
    package init(read: Int64, skipped: Int64) {
      self.read = read
      self.skipped = skipped
    }

    package init(_ json: JSONValue) throws(RPCError) {
      read = try json.count(.read)
      skipped = try json.count(.skipped)
    }

    package var json: JSONValue { .present([.read: read, .skipped: skipped]) }
  }
}
