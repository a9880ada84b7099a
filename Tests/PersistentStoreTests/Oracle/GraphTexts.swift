/// The comparison of texts with options, for the characters of the random graphs.
enum GraphTexts {
  /// Whether a text has characters that may count as one or as two.
  static func isAmbiguous(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value > 0xFFFF || (0x300...0x36F).contains($0.value) }
  }

  /// Returns the text as a comparison with options sees it.
  static func folded(_ text: String, _ options: String) -> [Unicode.Scalar] {
    if options.contains("n") { return Array(text.unicodeScalars) }
    var scalars = Array(text.unicodeScalars)
    if options.contains("d") {
      let plain: [Unicode.Scalar: Unicode.Scalar] = [
        "é": "e", "É": "E", "ä": "a", "Ä": "A", "á": "a", "Á": "A",
      ]
      scalars = scalars.filter { $0 != "\u{301}" }.map { plain[$0] ?? $0 }
    }
    if options.contains("c") {
      scalars = scalars.flatMap { Array($0.properties.lowercaseMapping.unicodeScalars) }
    }
    return scalars
  }

  /// Whether a wildcard pattern matches a whole text.
  static func like(
    _ text: ArraySlice<Unicode.Scalar>,
    _ pattern: ArraySlice<Unicode.Scalar>
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "*": return (0...text.count).contains { like(text.dropFirst($0), rest) }
    case "?": return !text.isEmpty && like(text.dropFirst(), rest)
    case "\\": return text.first == rest.first && like(text.dropFirst(), rest.dropFirst())
    default: return text.first == first && like(text.dropFirst(), rest)
    }
  }

  static func contains(_ text: [Unicode.Scalar], _ part: [Unicode.Scalar]) -> Bool {
    text.indices.contains { text[$0...].starts(with: part) }
  }
}

/// ICU's root collation of spaces, digits, and the letters of `GraphSamples.titles`.
struct GraphCollation {
  private let primary: [Int]
  private let accents: [Int]
  private let capitals: [Int]

  /// Reads a text; nil for characters that it does not know.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - digitsAreNumbers: Whether a run of digits counts as one number.
  init?(_ text: String, digitsAreNumbers: Bool) {
    var primary: [Int] = []
    var accents: [Int] = []
    var capitals: [Int] = []
    var isInNumber = false
    for scalar in text.unicodeScalars {
      let plain: [Unicode.Scalar: Unicode.Scalar] = ["á": "a", "Á": "A", "é": "e", "É": "E"]
      let letter = plain[scalar] ?? scalar
      let isDigit = ("0"..."9").contains(letter)
      defer { isInNumber = isDigit }
      if digitsAreNumbers, isDigit, isInNumber, let number = primary.popLast() {
        // A greater number would come among the letters.
        guard number < 900 else { return nil }
        // The zeros in front of a number and its further digits are no elements of their own.
        primary.append(10 + (number - 10) * 10 + Int(letter.value) - 0x30)
        continue
      }
      switch letter {
      case " ": primary.append(1)
      case "0"..."9": primary.append(10 + Int(letter.value) - 0x30)
      case "a"..."z": primary.append(10_000 + Int(letter.value))
      case "A"..."Z": primary.append(10_000 + Int(letter.value) + 0x20)
      default: return nil
      }
      accents.append(letter == scalar ? 0 : 1)
      capitals.append(("A"..."Z").contains(letter) ? 1 : 0)
    }
    self.primary = primary
    self.accents = accents
    self.capitals = capitals
  }

  static func order(_ a: GraphCollation, _ b: GraphCollation) -> GraphValue.Order {
    for (x, y) in [(a.primary, b.primary), (a.accents, b.accents), (a.capitals, b.capitals)]
    where x != y {
      return x.lexicographicallyPrecedes(y) ? .less : .greater
    }
    return .equal
  }
}
