import JSON

/// The texts of a model in Swift code: in comments, as literals and as names.
///
/// A line feed in a comment, or a name that is no name, would make code of the rest of a text.
enum SwiftText {
  /// Returns a text as a part of a comment: on one line, without backticks, and without characters
  /// that a reader does not see.
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

  /// Returns whether a text is a name, apart from keywords.
  ///
  /// The names of entities and properties are; those of a selection may be any texts. Swift has all
  /// of Unicode's identifiers (UAX #31) without normalization.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, text != "_" else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && text.unicodeScalars.allSatisfy(\.properties.isXIDContinue)
  }
}
