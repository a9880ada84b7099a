/// The constructs that the random graphs leave out because of a defect of the program.
///
/// A construct is turned on again with the fix of its defect.
enum GraphDefects {
  /// `ANY leader.facts.list > 2` fails with an error of SQLite: P-052a has lists in `json`
  /// attributes, to which a path over to-ones leads.
  static let allowsListsBehindToOnes = true
  /// `facts.list CONTAINS 1` also finds the text of a number in the text of the list, as in [-1].
  static let allowsListsThatContain = true
  /// `ANY {1, 2} IN {1}` is refused, although `ANY {1, 2} == 1` is not.
  static let allowsQuantifiedBraces = true
  /// `'A' IN title` is refused, although `title IN 'A'` is not.
  static let allowsPartsOfAttributes = true
  /// `price < 1e300` and `single < 1e300` are refused, although `real < 1e300` is not.
  static let allowsGreatNumbers = true
  /// A decimal beside the value 1e300 of an attribute compares as with nil.
  ///
  /// `price < real` misses it, and `price == real` finds it where the price is nil. P-052j gives the
  /// number its shortest digits.
  static let comparesGreatNumbers = true
  /// `CAST(price, 'NSString') < 'A'` compares as with a decimal, not as a text.
  static let castsDecimalsToTexts = true
  /// `price IN (tags.rate INTERSECT things.small)` finds nothing, and `MINUS` subtracts nothing.
  ///
  /// A decimal and an integer that are equal in comparisons are no common element.
  static let combinesDecimals = true
  /// `price ** 2` is nil for every price: P-052a has `**` among the operators of numbers.
  static let raisesDecimals = true
  /// `TERNARY(title ==[l] 'z', text, title) > 'B'` compares by the collation.
  ///
  /// A decimal in the condition has the same effect: the texts compare as decimals. P-052l gives
  /// `[l]` an effect on its own comparison.
  static let choosesByCollation = true
  /// `facts.name == small` finds the text "10" beside the number 10.
  ///
  /// By P-052c a value in JSON compares as SQLite stores it, and `facts.name == 10` does so.
  static let comparesTextsInJSON = true
  /// `mode:({price}) == price` is false for a price with more digits than a double has.
  ///
  /// `median:` has the same defect. P-052l has a value of the collection as its `mode:`.
  static let countsDecimals = false
  /// `median:(tags.rate) == '0.1'`, `mode:` and `stddev:` are refused; `sum:` and `max:` are not.
  static let allowsDecimalStatistics = false
}
