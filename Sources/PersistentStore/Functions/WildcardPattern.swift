/// A pattern of `LIKE`: `*` matches any characters, `?` matches one character, and a backslash
/// makes the next character literal.
struct WildcardPattern {
  /// The pattern in the form that `matches` reads.
  let text: String
  /// The literal characters before the first `*` or `?`.
  let prefix: String

  /// Parses a pattern.
  ///
  /// - Parameters:
  ///   - source: The pattern.
  ///   - form: Converts the literal characters of the pattern.
  init(_ source: String, _ form: (String) -> String) {
    var text = ""
    var prefix: String?
    var literal = ""
    func endLiteral() {
      let formed = form(literal)
      if prefix == nil { prefix = formed }
      for character in formed.unicodeScalars {
        if "*?\\".unicodeScalars.contains(character) { text += "\\" }
        text.unicodeScalars.append(character)
      }
      literal = ""
    }
    var isEscaped = false
    for character in source.unicodeScalars {
      if isEscaped {
        literal.unicodeScalars.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "*" || character == "?" {
        endLiteral()
        text.unicodeScalars.append(character)
      } else {
        literal.unicodeScalars.append(character)
      }
    }
    // A backslash at the end is literal.
    if isEscaped { literal.append("\\") }
    endLiteral()
    self.text = text
    self.prefix = prefix ?? ""
  }

  /// Returns whether a pattern matches a whole text; both are UTF-8.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - pattern: The `text` of a pattern.
  ///   - check: Called between steps; it throws to stop the work.
  /// - Returns: Whether the pattern matches.
  /// - Throws: The error of the check.
  /// - Complexity: The product of both lengths, in the worst case.
  static func matches(
    _ text: Span<UInt8>,
    _ pattern: Span<UInt8>,
    _ check: () throws -> Void
  ) throws -> Bool {
    var (at, index) = (0, 0)
    var attempts = 0
    /// The pattern index after the last `*`, and the text index up to which that `*` matches so
    /// far.
    var star: (index: Int, at: Int)?
    while at < text.count {
      if index < pattern.count {
        switch pattern[index] {
        case UInt8(ascii: "*"):
          index += 1
          star = (index, at)
          continue
        case UInt8(ascii: "?"):
          index += 1
          at = next(after: at, text)
          continue
        case UInt8(ascii: "\\") where index + 1 < pattern.count && pattern[index + 1] == text[at]:
          index += 2
          at += 1
          continue
        case text[at] where pattern[index] != UInt8(ascii: "\\"):
          index += 1
          at += 1
          continue
        default: break
        }
      }
      guard let last = star else { return false }
      attempts += 1
      if attempts.isMultiple(of: 4096) { try check() }
      at = next(after: last.at, text)
      star = (last.index, at)
      index = last.index
    }
    while index < pattern.count, pattern[index] == UInt8(ascii: "*") { index += 1 }
    return index == pattern.count
  }

  /// Returns the index of the next character.
  private static func next(after start: Int, _ text: Span<UInt8>) -> Int {
    var at = start + 1
    while at < text.count, text[at] & 0xC0 == 0x80 { at += 1 }
    return at
  }
}
