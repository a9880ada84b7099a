/// The order of names that compares numbers by value: `Model 2` comes before `Model 10`.
enum NaturalOrder {
  /// Returns whether a name comes before another.
  ///
  /// Names that differ only in the zeros before a number are ordered as texts, so that no two
  /// different names are equal.
  static func precedes(_ first: String, _ second: String) -> Bool {
    let (one, two) = (parts(first), parts(second))
    guard one.elementsEqual(two) else { return one.lexicographicallyPrecedes(two) }
    return first < second
  }

  /// A part of a name: a character, or a number without leading zeros.
  private enum Part: Comparable {
    case number(digits: String)
    case character(Character)

    static func < (first: Part, second: Part) -> Bool {
      switch (first, second) {
      case (.number(let one), .number(let two)): (one.count, one) < (two.count, two)
      case (.character(let one), .character(let two)): one < two
      case (.number, .character(let two)): "0" < two
      case (.character(let one), .number): one < "0"
      }
    }
  }

  private static func parts(_ name: String) -> [Part] {
    var parts: [Part] = []
    var rest = name[...]
    while let first = rest.first {
      guard isDigit(first) else {
        parts.append(.character(first))
        rest = rest.dropFirst()
        continue
      }
      let digits = rest.prefix(while: isDigit)
      rest = rest[digits.endIndex...]
      parts.append(.number(digits: String(digits.drop { $0 == "0" })))
    }
    return parts
  }

  private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}
