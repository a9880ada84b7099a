/// The notations of a code point: the character itself, `U+1F41A` and `0x1f41a`; and those that a
/// query may have in addition, `\u1F41A`, `\u{1F41A}` and `&#x1F41A;`.
enum CodePointNotation {
  /// Returns the phrases with which documents may have the code point that a word names.
  ///
  /// - Parameter text: A word: a character, or one of the notations.
  /// - Returns: The phrases of the other notations; empty for a word that names no code point.
  static func phrases(of text: String) -> [[String]] {
    guard let scalar = scalar(in: text) else { return [] }
    let number = String(scalar.value, radix: 16, uppercase: true)
    let padded = String(repeating: "0", count: max(0, 4 - number.count)) + number
    let typed = Set(Tokens.phrases(text))
    var phrases: [[String]] = []
    for other in [String(Character(scalar)), "U+\(padded)", "0x\(number)"] {
      for phrase in Tokens.phrases(other) where !typed.contains(phrase) {
        if !phrases.contains(phrase) { phrases.append(phrase) }
      }
    }
    return phrases
  }

  /// The texts before and after the hexadecimal digits of a notation.
  private static let frames = [("u+", ""), ("0x", ""), ("\\u{", "}"), ("\\u", ""), ("&#x", ";")]

  /// Returns whether a word is a whole notation, and not the beginning of some word.
  ///
  /// A number of less than four digits may be unfinished.
  static func isWhole(_ text: String) -> Bool {
    text.utf8.count >= 6 && scalar(in: text) != nil
  }

  private static func scalar(in text: String) -> Unicode.Scalar? {
    let scalars = text.unicodeScalars
    if scalars.count == 1 { return scalars.first }
    let lower = text.lowercased()
    guard
      let (before, after) = frames.first(where: {
        lower.hasPrefix($0.0) && lower.hasSuffix($0.1)
      })
    else { return nil }
    let digits = lower.dropFirst(before.count).dropLast(after.count)
    guard (2...6).contains(digits.count), let value = UInt32(digits, radix: 16) else { return nil }
    return Unicode.Scalar(value)
  }
}
