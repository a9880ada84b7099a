import CSpotlight

extension SearchQuery {
  /// A word or phrase of a query.
  struct Term: Sendable, Equatable {
    let text: String
    /// The phrases of tokens; a document that has any of them matches the term.
    let phrases: [[String]]
    /// The symbols that a document must have in addition, anywhere in its texts.
    let symbols: [String]
    /// The column to search, or nil for all.
    let column: String?
    let isQuoted: Bool
    /// Whether the person wrote an operator, which takes the term as it stands: quotes, the name of
    /// a property, or an asterisk.
    let isLiteral: Bool
    var isPrefix: Bool
    /// The forms of the term that also match.
    var forms: [Form] = []
    /// The typed word of which the term is a part; nil for a term as it was typed.
    var whole: String?

    init(
      text: String,
      column: String?,
      isPrefix: Bool,
      isQuoted: Bool = false,
      isLiteral: Bool = false
    ) {
      self.text = text
      self.column = column
      self.isPrefix = isPrefix
      self.isQuoted = isQuoted
      self.isLiteral = isLiteral || isQuoted || column != nil
      let phrases = Tokens.phrases(text)
      self.phrases = phrases
      symbols = Tokens.symbols(text).filter { [[$0]] != phrases && !Tokens.isPunctuation($0) }
    }

    /// Whether the term consists of punctuation alone, which counts only in a query without words.
    var isPunctuation: Bool {
      phrases.count == 1 && phrases[0].count == 1 && Tokens.isPunctuation(phrases[0][0])
    }

    /// Creates a term from words of the index.
    init(phrase: [String], column: String?) {
      text = phrase.joined(separator: " ")
      self.column = column
      isPrefix = false
      isQuoted = true
      isLiteral = true
      phrases = [phrase]
      symbols = []
    }

    /// A phrase that differs from the typed text, and that matches in place of the typed text.
    struct Form: Sendable, Equatable {
      /// The tokens of the phrase; `SPOTLIGHT_TOKEN_OR` joins the alternatives at one offset.
      let tokens: [String]
      /// Whether the last token is the beginning of a word.
      var isPrefix = false
      /// The count of typing mistakes as which the ranking treats the form, at least 1.
      let mistakes: Int
      let kind: Kind
      /// The only columns in which the form counts; nil for all.
      var columns: [String]?
      /// The text of the form in explanations; nil for its tokens.
      var label: String?
    }

    /// A phrase of a term in the expression.
    struct Phrase {
      let tokens: [String]
      let isPrefix: Bool
      /// The count of typing mistakes; 0 for a phrase as it was typed.
      let mistakes: Int
      /// The kind of the form; nil for a phrase as it was typed.
      var kind: Kind?
      var columns: [String]?
      var label: String?
      /// Whether the phrase is a symbol that a document needs in addition.
      var isSymbol = false

      /// The text of the phrase in explanations.
      var text: String { label ?? tokens.joined(separator: " ") + (isPrefix ? "*" : "") }
    }

    /// The ways in which a text differs from a typed word that it matches.
    enum Kind: String, Sendable {
      /// A word that begins with the typed word.
      case prefix
      case inflection
      /// A word that a person has typed as several words.
      case joined
      /// Several words that a person has typed as one word.
      case split
      /// A longer word that has the typed word inside it or at its end.
      case part
      case spelling
      case synonym
      case mistake
      case reading
    }

    /// The symbols as phrases.
    ///
    /// They add nothing to the score of the term's words.
    var symbolPhrases: [Phrase] {
      symbols.map { Phrase(tokens: [$0], isPrefix: false, mistakes: 1, isSymbol: true) }
    }

    /// All phrases that match the term, then its symbols.
    ///
    /// For a prefix, the whole word is an additional phrase, so that whole words rank higher.
    var allPhrases: [Phrase] {
      exactPhrases
        + forms.map { form in
          Phrase(
            tokens: form.tokens,
            isPrefix: form.isPrefix,
            mistakes: form.mistakes,
            kind: form.kind,
            columns: form.columns,
            label: form.label
          )
        } + symbolPhrases
    }

    /// The phrases as they were typed.
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
      guard !isQuoted, let word, !word.unicodeScalars.contains(where: Self.isNumeric) else {
        return nil
      }
      return word
    }

    /// The term as one word of the index; nil for a term of several words.
    var word: String? {
      let wholes = Tokens.wholes(text)
      return wholes.count == 1 ? wholes[0].text : nil
    }

    private static func isNumeric(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.numericType != nil
    }
  }
}
