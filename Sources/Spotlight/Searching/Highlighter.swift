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
  }

  private struct Phrase: Sendable {
    /// The index of the term in the query.
    let term: Int
    let tokens: [Place]
    let column: String?
    let isPrefix: Bool
  }

  private let phrases: [Phrase]
  /// The unit of the ranges.
  package var encoding = PositionEncoding.utf16

  init(_ query: SearchQuery) {
    phrases = query.terms.enumerated().flatMap { number, term in
      term.allPhrases.map {
        Phrase(
          term: number,
          tokens: $0.tokens.map { Place($0) },
          column: term.column,
          isPrefix: $0.isPrefix
        )
      }
    }
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
  }

  /// Returns the occurrences of the query's words among the tokens of a text.
  func occurrences(_ tokens: [Token], column: String) -> [Occurrence] {
    let positions = Self.positions(tokens)
    var found: [Occurrence] = []
    for phrase in phrases where phrase.column == nil || phrase.column == column {
      for start in positions.indices {
        guard let range = match(phrase, at: start, positions, tokens) else { continue }
        found.append(Occurrence(term: phrase.term, range: range))
      }
    }
    return found
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
    var end = 0
    for (offset, wanted) in phrase.tokens.enumerated() {
      let isLast = offset == phrase.tokens.count - 1
      guard
        let index = positions[start + offset].first(where: { index in
          isLast && phrase.isPrefix
            ? tokens[index].text.utf8.starts(with: wanted.token.utf8)
            : wanted.matches(tokens[index].text)
        })
      else { return nil }
      end = tokens[index].end
    }
    return tokens[positions[start].lowerBound].start..<end
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
