/// The spellings of umlauts as two letters, `ae`, `oe` and `ue`, and as one letter.
///
/// The index has no accents: it has `für` as `fur`.
enum UmlautSpelling {
  /// The maximum count of letter pairs of a word that may stand for an umlaut.
  private static let pairsMax = 3

  /// Returns the words of the index as which a typed word may also be spelled.
  ///
  /// - Parameter text: A word as it was typed.
  /// - Returns: The other spellings, folded; empty for a word without umlauts and such pairs.
  static func others(of text: String) -> [String] {
    guard let word = Tokens.wholes(text).first?.text else { return [] }
    var others: [String] = []
    let letters = Array(word)
    let pairs = letters.indices.dropLast().filter { index in
      "aou".contains(letters[index]) && letters[index + 1] == "e"
    }
    if !pairs.isEmpty, pairs.count <= pairsMax {
      // Each combination of pairs that stand for umlauts.
      for mask in 1..<(1 << pairs.count) {
        let dropped = Set(pairs.indices.filter { mask >> $0 & 1 == 1 }.map { pairs[$0] + 1 })
        others.append(String(letters.indices.filter { !dropped.contains($0) }.map { letters[$0] }))
      }
    }
    var spelled = ""
    for character in text {
      switch String(character).lowercased() {
      case "ä": spelled += "ae"
      case "ö": spelled += "oe"
      case "ü": spelled += "ue"
      default: spelled.append(character)
      }
    }
    if spelled != text, let other = Tokens.wholes(spelled).first?.text { others.append(other) }
    return others
  }
}
