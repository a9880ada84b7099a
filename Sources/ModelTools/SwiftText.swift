import JSON

/// Functions that write texts of a model into Swift code: in comments, as literals and as names.
///
/// An unescaped line feed in a comment, or an invalid name, would turn the rest of a text into
/// code.
enum SwiftText {
  /// Returns a text for a comment: on one line, without backticks and without invisible characters.
  static func comment(_ text: String) -> String {
    String(VisibleText.line(text).unicodeScalars.map { $0 == "`" ? "'" : Character($0) })
  }

  /// Returns a text as a literal, in which every character is visible.
  static func literal(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case "\n": "\\n"
      case _ where VisibleText.isHidden(scalar): "\\u{\(String(scalar.value, radix: 16))}"
      default: "\(scalar)"
      }
    }
    return "\"\(escaped.joined())\""
  }

  /// Returns whether a text is a valid name in Swift, or a keyword.
  ///
  /// The names of entities and properties are always valid. The names of a selection's values may
  /// be any texts. Swift accepts all identifiers of Unicode (UAX #31) without normalization.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, text != "_" else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && text.unicodeScalars.allSatisfy(\.properties.isXIDContinue)
  }
}
