/// Functions that replace invisible and terminal-control characters of a text with JSON escapes.
///
/// If the text is JSON, the result has the same value.
package enum VisibleText {
  /// Returns a text as one line, with spaces in place of line feeds, tabs, and line and paragraph
  /// separators.
  package static func line(_ text: String) -> String {
    visible(text) { $0 == "\n" || $0 == "\t" || isSeparator($0) ? " " : nil }
  }

  /// Returns a text that keeps its line feeds and tabs, without carriage returns before line feeds.
  package static func lines(_ text: String) -> String {
    visible(text) { $0 == "\n" || $0 == "\t" ? $0 : nil }
  }

  /// Returns whether a character is invisible, or visible only by its effect on other characters.
  ///
  /// These are the control characters (C0, C1 and DEL), the separators of lines and paragraphs, the
  /// noncharacters, and the format characters without a glyph, such as those that change the
  /// direction of text. Joiners and direction marks are not hidden: scripts and emoji need them,
  /// and they affect no other text.
  package static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    case .format: return properties.isDefaultIgnorableCodePoint && !needed.contains(scalar)
    default: return properties.isNoncharacterCodePoint
    }
  }

  /// The joiners and the direction marks.
  private static let needed: Set<Unicode.Scalar> = [
    "\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{61C}",
  ]

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{2028}" || scalar == "\u{2029}"
  }

  /// Returns a text with escapes in place of hidden characters.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - whiteSpace: Returns the white space that replaces a hidden character; nil writes the
  ///     escape.
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
      // A carriage return before a line feed is part of the line ending.
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

  /// Returns the escape of a character in a JSON string.
  private static func escape(_ scalar: Unicode.Scalar) -> String.UnicodeScalarView {
    guard scalar != "\r" else { return "\\r".unicodeScalars }
    let units = scalar.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    return units.joined().unicodeScalars
  }
}
