/// A text as a person reads it: JSON's escapes are in the place of the characters that a reader
/// does not see, or that control a terminal.
///
/// JSON without these characters is JSON of the same value.
package enum VisibleText {
  /// Returns a text as one line, in which a line feed, a tab or a separator of lines is a space.
  package static func line(_ text: String) -> String {
    visible(text) { $0 == "\n" || $0 == "\t" || isSeparator($0) ? " " : nil }
  }

  /// Returns a text whose line feeds and tabs remain; a line may also end with a carriage return
  /// and a line feed.
  package static func lines(_ text: String) -> String {
    visible(text) { $0 == "\n" || $0 == "\t" ? $0 : nil }
  }

  /// Returns whether a reader does not see a character, or sees only its effect on others.
  ///
  /// These are the control characters (C0, C1 and DEL), the separators of lines and paragraphs, and
  /// the format characters without a form, as those that change the direction of text. The joiners
  /// and the marks of direction, which scripts and emoji need, change nothing else.
  package static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    case .format: return properties.isDefaultIgnorableCodePoint && !needed.contains(scalar)
    default: return properties.isNoncharacterCodePoint
    }
  }

  /// The joiners, and the marks of direction of single characters.
  private static let needed: Set<Unicode.Scalar> = [
    "\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{61C}",
  ]

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{2028}" || scalar == "\u{2029}"
  }

  /// Returns a text with escapes in the place of hidden characters.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - whiteSpace: Returns what is written for a hidden character instead of its escape; nil for
  ///     the escape.
  /// - Returns: The text.
  private static func visible(
    _ text: String,
    whiteSpace: (Unicode.Scalar) -> Unicode.Scalar?
  ) -> String {
    // Most texts need no change.
    guard text.utf8.contains(where: { !(0x20...0x7E).contains($0) }) else { return text }
    var visible = String.UnicodeScalarView()
    var hasReturn = false
    for scalar in text.unicodeScalars {
      // A carriage return before a line feed is a part of the end of a line.
      if hasReturn, scalar != "\n" { visible.append(contentsOf: escape("\r")) }
      hasReturn = scalar == "\r"
      if hasReturn { continue }
      if !isHidden(scalar) {
        visible.append(scalar)
      } else if let space = whiteSpace(scalar) {
        visible.append(space)
      } else {
        visible.append(contentsOf: escape(scalar))
      }
    }
    if hasReturn { visible.append(contentsOf: escape("\r")) }
    return String(visible)
  }

  /// Returns the escape of a character in a string of JSON.
  private static func escape(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
    guard scalar != "\r" else { return "\\r".unicodeScalars }
    let units = scalar.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    return units.joined().unicodeScalars
  }
}
