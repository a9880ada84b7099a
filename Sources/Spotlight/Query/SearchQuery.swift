import CSpotlight

/// A search query, parsed leniently: any text is a query.
///
/// All words and phrases of a query must match. Its syntax:
///
/// - `"a phrase"` matches adjacent words in this order.
/// - `-word`, after white space, excludes documents with the word; `--word` searches the word.
/// - `OR` between two words or phrases requires either of them.
/// - `name:word` searches one indexed property.
/// - `word*` matches the beginning of a word.
package struct SearchQuery: Sendable, Equatable {
  /// The required terms: at least one term of each list of alternatives must match.
  private(set) var required: [[Term]] = []
  /// The excluded terms, none of which may match.
  private(set) var excluded: [Term] = []
  /// Whether the query ends inside its last required term.
  private(set) var isOpen = false

  /// Parses a query.
  ///
  /// - Parameters:
  ///   - text: The text of the query.
  ///   - columns: The names of indexed properties.
  ///   - isPrefix: Whether the last word is unfinished.
  ///   - wordsMax: The maximum count of words to look up; further words are ignored.
  init(_ text: String, columns: Set<String>, isPrefix: Bool, wordsMax: Int) {
    var reader = QueryReader(text: text, columns: columns)
    var followsOr = false
    var count = 0
    var isLastUnfinished = false
    while count < wordsMax, let item = reader.next() {
      switch item {
      case .or:
        followsOr = !required.isEmpty
        continue
      case .term(let term, let isExcluded, let isOpen):
        guard !term.phrases.isEmpty else { continue }
        count += 1
        isLastUnfinished = isOpen && !isExcluded
        if isExcluded {
          excluded.append(term)
        } else if followsOr {
          required[required.count - 1].append(term)
        } else {
          required.append([term])
        }
        followsOr = false
      }
    }
    isOpen = isLastUnfinished
    let words = required.filter { list in !list.allSatisfy(\.isPunctuation) }
    if !words.isEmpty, words.count < required.count {
      // A query that ends with such a sign does not end inside a word.
      if required.last?.allSatisfy(\.isPunctuation) == true { isOpen = false }
      required = words
    }
    guard isPrefix, isOpen, let last = required.indices.last else { return }
    required[last][required[last].count - 1].isPrefix = true
  }

  /// Makes a notation of a code point at the end of the query a whole word.
  mutating func finishNotation() {
    guard let last = required.indices.last, required[last].count == 1,
      !required[last][0].isLiteral, CodePointNotation.isWhole(required[last][0].text)
    else { return }
    required[last][0].isPrefix = false
  }

  /// Whether the query has no positive term and so finds nothing.
  var isEmpty: Bool { required.isEmpty }

  /// The lists of alternative terms that a matching document needs.
  enum Requirement: Equatable {
    case all
    case any
    case most(MostWords)
  }

  /// The words of a query of which a document needs the greater part by weight.
  struct MostWords: Equatable {
    /// The weight of each list of `required`; 0 for a list that every document needs.
    let weights: [Double]
    /// The least sum of the weights of the lists that a document has.
    let least: Double
    /// The offsets of the lists without which the other lists do not reach `least`.
    let essential: [Int]
    /// The offsets of the lists that every document needs.
    let literal: [Int]
  }

  /// The count of documents of each list, by which a forgiving search weighs it; nil for a search
  /// that counts the documents of each phrase.
  var counts: [Int64]?
  /// Which of the lists in `required` a document needs.
  var requirement = Requirement.all

  /// The query in FTS5's syntax, or nil if it has no positive term and so finds nothing.
  ///
  /// The phrases of `phrases` come first, in this order.
  var match: String? {
    guard !required.isEmpty else { return nil }
    let lists = required.map { alternatives in
      "(" + alternatives.map { Self.expression($0) }.joined(separator: " OR ") + ")"
    }
    let positive: String
    switch requirement {
    case .all: positive = lists.joined(separator: " AND ")
    case .any: positive = lists.joined(separator: " OR ")
    case .most(let words):
      // FTS5 skips the documents of frequent words between two documents of essential words.
      let essential = words.essential.map { lists[$0] }.joined(separator: " OR ")
      let needed = words.literal.map { " AND " + lists[$0] }.joined()
      positive = "(" + lists.joined(separator: " OR ") + ") AND (\(essential))" + needed
    }
    guard !excluded.isEmpty else { return positive }
    let negative = excluded.map { Self.expression($0) }.joined(separator: " OR ")
    return "(\(positive)) NOT (\(negative))"
  }

  /// Creates the query of one word of the index.
  init(word: String) {
    required = [[Term(phrase: [word], column: nil)]]
  }

  /// Creates the query of one term.
  init(_ term: Term) {
    required = [[term]]
  }

  /// Whether the query has a single list of alternatives without typing mistakes, and excludes
  /// nothing.
  var isWord: Bool {
    excluded.isEmpty && required.count == 1
      && required[0].allSatisfy { $0.forms.isEmpty && $0.symbols.isEmpty }
  }

  /// The phrases of the required terms, in the order of `match`.
  var phrases: [spotlight_phrase] {
    required.enumerated().flatMap { number, alternatives in
      alternatives.flatMap(\.allPhrases).map { phrase in
        spotlight_phrase(
          word: Int32(number),
          mistakes: Int32(phrase.mistakes),
          isPrefix: phrase.isPrefix
        )
      }
    }
  }

  /// The phrases of `phrases` in FTS5's syntax.
  var phraseExpressions: [String] {
    required.flatMap { alternatives in
      alternatives.flatMap { term in
        term.allPhrases.map { Self.column(of: term) + Self.expression($0) }
      }
    }
  }

  /// The texts of `phrases` in explanations.
  var phraseTexts: [String] {
    required.flatMap { alternatives in
      alternatives.flatMap { term in
        term.allPhrases.map(\.text)
      }
    }
  }

  /// Returns the query of one list of alternative terms.
  ///
  /// - Parameters:
  ///   - index: The offset of the list in `required`.
  ///   - hasForms: Whether the terms keep their forms.
  /// - Returns: The query.
  func only(_ index: Int, hasForms: Bool) -> SearchQuery {
    var query = self
    (query.required, query.excluded, query.requirement) = ([required[index]], [], .all)
    query.counts = nil
    guard !hasForms else { return query }
    for term in query.required[0].indices { query.required[0][term].forms = [] }
    return query
  }

  /// The offsets of the lists that consist of one word or several words without an operator.
  var plain: [Int] {
    required.indices.filter { required[$0].count == 1 && !required[$0][0].isLiteral }
  }

  /// Replaces each plain term by several terms.
  ///
  /// - Parameters:
  ///   - wordsMax: The maximum count of words afterwards; a term that would exceed it stays.
  ///   - parts: Returns the texts of the terms; empty for a term that stays.
  mutating func splitTerms(
    wordsMax: Int,
    _ parts: (Term) throws -> [String]
  ) rethrows {
    var all: [[Term]] = []
    let plain = Set(plain)
    for (index, list) in required.enumerated() {
      let isWhole = !plain.contains(index) || !list[0].symbols.isEmpty
      let texts = isWhole ? [] : try parts(list[0])
      guard texts.count > 1,
        all.count + texts.count + required.count - index - 1 <= wordsMax
      else {
        all.append(list)
        continue
      }
      for (number, text) in texts.enumerated() {
        let isPrefix = list[0].isPrefix && number == texts.count - 1
        var term = Term(text: text, column: nil, isPrefix: isPrefix)
        term.whole = list[0].text
        all.append([term])
      }
    }
    required = all
  }

  /// Removes the forms of one plain term.
  ///
  /// - Parameter index: The offset of the term's list in `required`.
  mutating func removeForms(of index: Int) { required[index][0].forms = [] }

  /// Adds forms to one plain term.
  ///
  /// - Parameters:
  ///   - forms: The forms.
  ///   - index: The offset of the term's list in `required`.
  mutating func add(_ forms: [Term.Form], to index: Int) {
    required[index][0].forms += forms
  }

  /// Replaces each required term of several words by one term for each word, unless the term has
  /// alternatives.
  ///
  /// - Parameters:
  ///   - wordsMax: The maximum count of words afterwards; a term that would exceed it stays whole.
  ///   - isDivided: Returns whether a term must be divided.
  mutating func divideTerms(wordsMax: Int, _ isDivided: (Term) throws -> Bool) rethrows {
    var divided: [[Term]] = []
    for (index, group) in required.enumerated() {
      let parts = group.count == 1 && group[0].symbols.isEmpty ? group[0].parts : []
      let count = divided.count + parts.count + required.count - index - 1
      if parts.count > 1, count <= wordsMax, try isDivided(group[0]) {
        divided += parts.map { [$0] }
      } else {
        divided.append(group)
      }
    }
    required = divided
  }

  /// Adds forms to each required term.
  ///
  /// - Parameter forms: Returns the forms of a term.
  mutating func addForms(_ forms: (Term) throws -> [Term.Form]) rethrows {
    for group in required.indices {
      for index in required[group].indices {
        required[group][index].forms += try forms(required[group][index])
      }
    }
  }

  /// Adds to each required term the phrases of which the term may be a reading.
  ///
  /// - Parameter known: The letters that documents may have, for a forgiving search, which leaves
  ///   out all other letters and terms with operators; nil for any other search.
  mutating func addReadings(_ known: KnownLetters? = nil) {
    var room = Readings.alternativesMax
    addForms { term in
      guard known == nil || !term.isLiteral else { return [] }
      return Readings.phrases(of: term, room: &room, known: known)
    }
  }

  /// Returns the query with its last token replaced by a word of the index.
  ///
  /// - Parameter token: The word of the index.
  /// - Returns: The query; nil if this query does not end inside a term.
  func completed(with token: String) -> SearchQuery? {
    guard isOpen, let last = required.indices.last, let term = required[last].last,
      let phrase = term.phrases.last
    else { return nil }
    var query = self
    let completed = Term(phrase: phrase.dropLast() + [token], column: term.column)
    query.required[last][required[last].count - 1] = completed
    return query
  }

  /// Returns the query without one of its required lists of alternative terms.
  ///
  /// - Parameter index: The offset of the list in `required`.
  /// - Returns: The query without the list.
  func without(_ index: Int) -> SearchQuery {
    var query = self
    query.required.remove(at: index)
    return query
  }

  /// The required terms of all lists of alternatives.
  var terms: [Term] { required.flatMap { $0 } }

  /// Returns a term in FTS5's syntax.
  ///
  /// - Parameters:
  ///   - term: The term.
  ///   - isExact: Whether words with typing mistakes are left out.
  /// - Returns: The expression.
  static func expression(_ term: Term, isExact: Bool = false) -> String {
    let phrases = (isExact ? term.exactPhrases : term.allPhrases).filter { !$0.isSymbol }
      .map { expression($0) }
    let column = column(of: term)
    let words =
      phrases.count == 1
      ? column + phrases[0] : column + "(" + phrases.joined(separator: " OR ") + ")"
    guard !term.symbols.isEmpty else { return words }
    let symbols = term.symbolPhrases.map { " AND " + column + expression($0) }.joined()
    return "(" + words + symbols + ")"
  }

  /// Returns a form in FTS5's syntax.
  static func expression(_ form: Term.Form) -> String {
    expression(
      Term.Phrase(
        tokens: form.tokens,
        isPrefix: form.isPrefix,
        mistakes: form.mistakes,
        columns: form.columns
      )
    )
  }

  private static func expression(_ phrase: Term.Phrase) -> String {
    // A token needs no escaping: it has only letters, digits, signs and pictographs.
    columns(phrase.columns) + "\""
      + phrase.tokens.map { alternatives($0) }.joined(separator: tokenEnd) + "\""
      + (phrase.isPrefix ? " *" : "")
  }

  /// Returns the tokens that match at one offset of a phrase, including tokens that begin a word.
  private static func alternatives(_ place: String) -> String {
    guard Tokens.start(of: place) != nil else { return place }
    return place.split(separator: Readings.alternative).map { token in
      let token = String(token)
      return Tokens.start(of: token).map { token + Readings.alternative + $0 } ?? token
    }.joined(separator: Readings.alternative)
  }

  private static func column(of term: Term) -> String {
    term.column.map { IndexLayout.quotedColumn($0) + " : " } ?? ""
  }

  private static func columns(_ names: [String]?) -> String {
    names.map { "{" + $0.map(IndexLayout.quotedColumn).joined(separator: " ") + "} : " } ?? ""
  }

  private static let tokenEnd = String(UnicodeScalar(UInt8(SPOTLIGHT_TOKEN_END)))
}
