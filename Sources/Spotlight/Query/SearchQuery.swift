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
  /// A word or phrase of a query.
  struct Term: Sendable, Equatable {
    let text: String
    /// The phrases of tokens; a document that has any of them matches the term.
    let phrases: [[String]]
    /// The column to search, or nil for all.
    let column: String?
    let isQuoted: Bool
    var isPrefix: Bool
    /// The words of the index that differ from the term by typing mistakes, and also match.
    var near: [NearWord] = []
    /// The phrases that a person may have meant, which also match.
    var meant: [MeantPhrase] = []

    init(text: String, column: String?, isPrefix: Bool, isQuoted: Bool = false) {
      self.text = text
      self.column = column
      self.isPrefix = isPrefix
      self.isQuoted = isQuoted
      phrases = Tokens.phrases(text)
    }

    /// Creates a term from words of the index.
    init(phrase: [String], column: String?) {
      text = phrase.joined(separator: " ")
      self.column = column
      isPrefix = false
      isQuoted = true
      phrases = [phrase]
    }

    /// A phrase that differs from the typed text.
    struct MeantPhrase: Sendable, Equatable {
      let tokens: [String]
      /// The count of typing mistakes as which the ranking treats the phrase.
      let mistakes: Int
      /// The typed word of which the phrase is a reading; nil for other phrases.
      var reading: String?
    }

    /// A phrase of a term in the expression.
    struct Phrase {
      let tokens: [String]
      let isPrefix: Bool
      /// The count of typing mistakes.
      let mistakes: Int
      /// The typed word of which the phrase is a reading; nil for other phrases.
      var reading: String?

      /// The text of the phrase in explanations.
      var text: String { reading ?? tokens.joined(separator: " ") + (isPrefix ? "*" : "") }
    }

    /// All phrases that match the term.
    ///
    /// For a prefix, the whole word is an additional phrase, so that whole words rank higher.
    var allPhrases: [Phrase] {
      exactPhrases
        + near.map { Phrase(tokens: [$0.text], isPrefix: isPrefix, mistakes: $0.mistakes) }
        + meant.map {
          Phrase(tokens: $0.tokens, isPrefix: false, mistakes: $0.mistakes, reading: $0.reading)
        }
    }

    /// The phrases without typing mistakes.
    ///
    /// The phrases of `starts` match no further documents, but rank documents higher in which the
    /// phrase begins a word.
    var exactPhrases: [Phrase] {
      let all = phrases + starts
      let typed = all.map { Phrase(tokens: $0, isPrefix: isPrefix, mistakes: 0) }
      guard isPrefix else { return typed }
      return typed + all.map { Phrase(tokens: $0, isPrefix: false, mistakes: 0) }
    }

    /// The phrases of scripts without spaces that match only at the beginning of a word.
    private var starts: [[String]] {
      phrases.filter { $0.count <= Self.startLettersMax }.compactMap { phrase in
        phrase.first.flatMap { Tokens.start(of: $0) }.map { [$0] + phrase.dropFirst() }
      }
    }

    /// The maximum count of letters in a phrase that is searched at the beginning of a word.
    private static let startLettersMax = 32

    /// The word whose typing mistakes are searched; nil for a term of several words, a quoted term,
    /// and a term with a digit.
    var mistakable: String? {
      let wholes = Tokens.wholes(text)
      guard !isQuoted, wholes.count == 1, let word = wholes.first?.text,
        !word.unicodeScalars.contains(where: { $0.properties.numericType != nil })
      else { return nil }
      return word
    }
  }

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
    var reader = Reader(text: text, columns: columns)
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
    guard isPrefix, isLastUnfinished, let last = required.indices.last else { return }
    required[last][required[last].count - 1].isPrefix = true
  }

  /// Whether the query has no positive term and so finds nothing.
  var isEmpty: Bool { required.isEmpty }

  /// The query in FTS5's syntax, or nil if it has no positive term and so finds nothing.
  var match: String? {
    guard !required.isEmpty else { return nil }
    let positive = required.map { alternatives in
      "(" + alternatives.map { Self.expression($0) }.joined(separator: " OR ") + ")"
    }.joined(separator: " AND ")
    guard !excluded.isEmpty else { return positive }
    let negative = excluded.map { Self.expression($0) }.joined(separator: " OR ")
    return "(\(positive)) NOT (\(negative))"
  }

  /// Creates the query of one word of the index.
  init(word: String) {
    required = [[Term(phrase: [word], column: nil)]]
  }

  /// Whether the query has a single list of alternatives without typing mistakes, and excludes
  /// nothing.
  var isWord: Bool {
    excluded.isEmpty && required.count == 1
      && required[0].allSatisfy { $0.near.isEmpty && $0.meant.isEmpty }
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

  /// Replaces each required term of several words by one term for each word, unless the term has
  /// alternatives.
  ///
  /// - Parameters:
  ///   - wordsMax: The maximum count of words afterwards; a term that would exceed it stays whole.
  ///   - isDivided: Returns whether a term must be divided.
  mutating func divideTerms(wordsMax: Int, _ isDivided: (Term) throws -> Bool) rethrows {
    var divided: [[Term]] = []
    for (index, group) in required.enumerated() {
      let parts = group.count == 1 ? group[0].parts : []
      let count = divided.count + parts.count + required.count - index - 1
      if parts.count > 1, count <= wordsMax, try isDivided(group[0]) {
        divided += parts.map { [$0] }
      } else {
        divided.append(group)
      }
    }
    required = divided
  }

  /// Adds to each required term the phrases that a person may have meant.
  mutating func addMeant(_ meant: (Term) throws -> [Term.MeantPhrase]) rethrows {
    for group in required.indices {
      for index in required[group].indices {
        required[group][index].meant += try meant(required[group][index])
      }
    }
  }

  /// Adds to each required term the phrases of which the term may be a reading.
  mutating func addReadings() {
    var room = Readings.alternativesMax
    addMeant { Readings.phrases(of: $0, room: &room) }
  }

  /// Adds to each required term the words that differ from it by typing mistakes.
  mutating func addMistakes(_ near: (Term) throws -> [NearWord]) rethrows {
    for group in required.indices {
      for index in required[group].indices {
        required[group][index].near = try near(required[group][index])
      }
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
    let phrases = (isExact ? term.exactPhrases : term.allPhrases).map { expression($0) }
    let column = column(of: term)
    return phrases.count == 1
      ? column + phrases[0] : column + "(" + phrases.joined(separator: " OR ") + ")"
  }

  private static func expression(_ phrase: Term.Phrase) -> String {
    // A token needs no escaping: it has only letters, digits, signs and pictographs.
    "\"" + phrase.tokens.map { alternatives($0) }.joined(separator: tokenEnd) + "\""
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

  private static let tokenEnd = String(UnicodeScalar(UInt8(SPOTLIGHT_TOKEN_END)))
}

/// A reader that splits a query into words and phrases, by code points.
private struct Reader {
  enum Item {
    case or
    case term(SearchQuery.Term, isExcluded: Bool, isOpen: Bool)
  }

  private var rest: Substring.UnicodeScalarView
  /// Whether white space or nothing precedes `rest`.
  private var isApart = true
  private let columns: Set<String>

  init(text: String, columns: Set<String>) {
    rest = text[...].unicodeScalars
    self.columns = columns
  }

  mutating func next() -> Item? {
    let start = rest.startIndex
    rest = rest.drop { Self.isSpace($0) }
    guard !rest.isEmpty else { return nil }
    let isExcluded = (isApart || rest.startIndex > start) && excludes()
    isApart = false
    if isExcluded { rest = rest.dropFirst() }
    let column = takeColumn()
    if rest.first == "\"" { return phrase(column, isExcluded) }
    let word = rest.prefix { !Self.isSpace($0) }
    rest = rest.dropFirst(word.count)
    if word.elementsEqual("OR".unicodeScalars), column == nil, !isExcluded { return .or }
    let isPrefix = word.last == "*" && word.count > 1
    let term = SearchQuery.Term(
      text: String(isPrefix ? word.dropLast() : word),
      column: column,
      isPrefix: isPrefix
    )
    return .term(term, isExcluded: isExcluded, isOpen: rest.isEmpty)
  }

  /// Returns whether the rest begins with a minus that excludes the following word.
  ///
  /// A minus inside other text, such as a command's option or a bracket, excludes nothing.
  private func excludes() -> Bool {
    guard rest.first == "-", let second = rest.dropFirst().first else { return false }
    let begins: [Unicode.Scalar] = ["\"", "#", "@", "_"]
    return begins.contains(second) || second.properties.isAlphabetic
      || second.properties.numericType != nil || !second.isASCII && !Self.isSpace(second)
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace
  }

  private mutating func takeColumn() -> String? {
    guard let colon = rest.firstIndex(of: ":") else { return nil }
    let name = String(rest[..<colon])
    let after = rest[rest.index(after: colon)...]
    guard columns.contains(name), let first = after.first, !Self.isSpace(first) else { return nil }
    rest = after
    return name
  }

  private mutating func phrase(_ column: String?, _ isExcluded: Bool) -> Item {
    rest = rest.dropFirst()
    let text = rest.prefix { $0 != "\"" }
    rest = rest.dropFirst(text.count)
    let isClosed = !rest.isEmpty
    rest = rest.dropFirst()
    let term = SearchQuery.Term(
      text: String(text),
      column: column,
      isPrefix: false,
      isQuoted: true
    )
    return .term(term, isExcluded: isExcluded, isOpen: !isClosed)
  }
}
