import CSpotlight
package import CordialValues

/// A highlighter, which finds the words of a query in texts.
package struct Highlighter: Sendable {
  /// The tokens that match at one offset of a phrase.
  private struct Place: Sendable {
    let token: String
    /// All tokens that match; nil if there is only one.
    let alternatives: Set<String>?

    init(_ text: String) {
      guard text.utf8.contains(UInt8(SPOTLIGHT_TOKEN_OR)) else {
        (token, alternatives) = (text, nil)
        return
      }
      let tokens = text.split(separator: Readings.alternative).map(String.init)
      token = tokens.first ?? text
      alternatives = Set(tokens)
    }

    func matches(_ text: String) -> Bool { text == token || alternatives?.contains(text) == true }

    /// Returns whether a text begins with one of the tokens.
    func begins(_ text: String) -> Bool {
      guard let alternatives else { return text.utf8.starts(with: token.utf8) }
      return alternatives.contains { text.utf8.starts(with: $0.utf8) }
    }
  }

  private struct Phrase: Sendable {
    /// The index of the term in the query.
    let term: Int
    let tokens: [Place]
    let columns: [String]?
    let isPrefix: Bool
    /// The kind of the form; nil for a phrase as it was typed.
    let kind: SearchQuery.Term.Kind?
    let mistakes: Int
    let isSymbol: Bool
  }

  private let phrases: [Phrase]
  /// The words of the query with their places in its list of required words; no word of a list of
  /// alternatives and no word with an operator, which have no forms.
  private let words: [(list: Int, term: Int, text: String, whole: String?)]
  /// The unit of the ranges.
  package var encoding = PositionEncoding.utf16

  init(_ query: SearchQuery) {
    phrases = query.terms.enumerated().flatMap { number, term in
      term.allPhrases.map {
        Phrase(
          term: number,
          tokens: $0.tokens.map { Place($0) },
          columns: term.column.map { [$0] } ?? $0.columns,
          isPrefix: $0.isPrefix,
          kind: $0.kind,
          mistakes: $0.mistakes,
          isSymbol: $0.isSymbol
        )
      }
    }
    var term = 0
    let plain = Set(query.plain)
    var words: [(list: Int, term: Int, text: String, whole: String?)] = []
    for (list, alternatives) in query.required.enumerated() {
      if plain.contains(list) {
        words.append((list, term, alternatives[0].text, alternatives[0].whole))
      }
      term += alternatives.count
    }
    self.words = words
  }

  /// Returns the ranges of the query's words and phrases in a text.
  ///
  /// - Parameters:
  ///   - text: The value of a property.
  ///   - column: The name of the property.
  /// - Returns: Ranges in units of the encoding, ascending, neither overlapping nor adjacent.
  package func ranges(in text: String, column: String) -> [Range<Int>] {
    let found = occurrences(Tokens.unmarked(text), column: column)
    return units(Self.merged(found.map(\.range)), in: text)
  }

  /// An occurrence of a query's word in a text.
  struct Occurrence {
    let term: Int
    /// The range in bytes.
    let range: Range<Int>
    /// The kind of the form; nil for the word as it was typed.
    var kind: SearchQuery.Term.Kind?
    var mistakes = 0
    var isSymbol = false
  }

  /// Returns the occurrences of the query's words among the tokens of a text.
  func occurrences(_ tokens: [Token], column: String) -> [Occurrence] {
    let positions = Self.positions(tokens)
    var found: [Occurrence] = []
    for phrase in phrases where phrase.columns?.contains(column) ?? true {
      for start in positions.indices {
        guard let range = match(phrase, at: start, positions, tokens) else { continue }
        found.append(
          Occurrence(
            term: phrase.term,
            range: range,
            kind: phrase.kind,
            mistakes: phrase.mistakes,
            isSymbol: phrase.isSymbol
          )
        )
      }
    }
    return found
  }

  /// Returns whether a text has every term of the query.
  func hasAllTerms(in text: String, column: String) -> Bool {
    let found = Set(occurrences(Tokens.unmarked(text), column: column).map(\.term))
    return Set(phrases.map(\.term)).isSubset(of: found)
  }

  /// Returns the words of the query that an object has only in another form, and those that it
  /// lacks.
  ///
  /// A form that the object's texts no longer have is left out: the index may be older.
  ///
  /// - Parameters:
  ///   - hit: The object.
  ///   - texts: The texts of the object by property.
  /// - Returns: The words, in the order of the query.
  package func forgiven(
    _ hit: SearchResult.Hit,
    in texts: [(property: String, text: String)]
  ) -> (matched: [MatchedWord], missing: [String]) {
    var best: [Int: (kind: SearchQuery.Term.Kind?, mistakes: Int, text: String)] = [:]
    for (property, text) in texts {
      let bytes = Array(text.utf8)
      for found in occurrences(Tokens.unmarked(text), column: property) {
        if found.isSymbol { continue }
        if let known = best[found.term], known.mistakes <= found.mistakes { continue }
        let form = String(decoding: bytes[found.range], as: UTF8.self)
        best[found.term] = (found.kind, found.mistakes, form)
      }
    }
    var matched: [MatchedWord] = []
    var missing: [String] = []
    for word in words {
      guard hit.words >> UInt64(min(word.list, 63)) & 1 == 1 else {
        missing.append(word.text)
        continue
      }
      guard let found = best[word.term] else { continue }
      if let whole = word.whole {
        if let last = matched.last, last.word == whole, last.kind == .split {
          matched[matched.count - 1].form += " " + found.text
        } else {
          matched.append(MatchedWord(word: whole, form: found.text, kind: .split))
        }
      } else if let kind = found.kind {
        matched.append(MatchedWord(word: word.text, form: found.text, kind: kind))
      }
    }
    return (matched, missing)
  }

  /// A word of a query that an object has in another form.
  package struct MatchedWord {
    /// The word as it was typed.
    package let word: String
    /// The form as the object has it.
    package var form: String
    fileprivate let kind: SearchQuery.Term.Kind

    /// The kind of the form, as in the protocol.
    package var kindName: String { kind.rawValue }
  }

  /// Returns the token indices at each position; a colocated token has the position of the token
  /// before it.
  private static func positions(_ tokens: [Token]) -> [Range<Int>] {
    var positions: [Range<Int>] = []
    for (index, token) in tokens.enumerated() {
      if token.isColocated, let last = positions.popLast() {
        positions.append(last.lowerBound..<index + 1)
      } else {
        positions.append(index..<index + 1)
      }
    }
    return positions
  }

  /// Returns the range of bytes that a phrase covers at a position, or nil if it does not match.
  private func match(
    _ phrase: Phrase,
    at start: Int,
    _ positions: [Range<Int>],
    _ tokens: [Token]
  ) -> Range<Int>? {
    guard start + phrase.tokens.count <= positions.count else { return nil }
    var (first, end) = (tokens[positions[start].lowerBound].start, 0)
    for (offset, wanted) in phrase.tokens.enumerated() {
      let isLast = offset == phrase.tokens.count - 1
      guard
        let index = positions[start + offset].first(where: { index in
          isLast && phrase.isPrefix
            ? wanted.begins(tokens[index].text)
            : wanted.matches(tokens[index].text)
        })
      else { return nil }
      end = tokens[index].end
      // A symbol shares the position of a word, but not its place in the text.
      if phrase.tokens.count == 1 { first = tokens[index].start }
    }
    return first..<max(first, end)
  }

  static func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  /// Converts ranges of bytes to units of the encoding.
  func units(_ ranges: [Range<Int>], in text: String) -> [Range<Int>] {
    let bytes = Array(text.utf8)
    var offset = 0
    var units = 0
    func advance(to byte: Int) -> Int {
      while offset < byte, offset < bytes.count {
        // The first byte of a code point counts for the whole code point.
        if bytes[offset] & 0xC0 != 0x80 { units += encoding.width(ofLead: bytes[offset]) }
        offset += 1
      }
      return units
    }
    return ranges.map { range in
      let lower = advance(to: range.lowerBound)
      return lower..<advance(to: range.upperBound)
    }
  }
}
