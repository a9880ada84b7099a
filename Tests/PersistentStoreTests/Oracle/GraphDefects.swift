/// The constructs that the random graphs leave out because of a defect of the program.
///
/// A construct is turned on again with the fix of its defect.
enum GraphDefects {
  /// `mode:({price}) == price` is false for a price with more digits than a double has.
  ///
  /// `median:` has the same defect. P-052l has a value of the collection as its `mode:`.
  static let countsDecimals = false
  /// `median:(tags.rate) == '0.1'`, `mode:` and `stddev:` are refused; `sum:` and `max:` are not.
  static let allowsDecimalStatistics = false
}
