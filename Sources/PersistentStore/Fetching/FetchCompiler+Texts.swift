import CUnicode
import CordialValues
import JSON
import ObjectModel

/// Comparisons of texts.
extension FetchCompiler {
  /// Applies the options of a comparison to the SQL of a text.
  func folded(
    _ fragment: SQLFragment,
    _ side: ComparedSide,
    _ comparison: PredicateComparison,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    let options = comparison.options
    guard options != [] else { return fragment }
    guard Self.isText(side) else {
      throw StoreError(PredicateError(offset: offset, expected: "a string; \(side.words)"))
    }
    let flags = options.subtracting(.localized).rawValue
    var folded = fragment
    if flags != 0 { folded.sql = "cordial_fold(\(folded.sql), \(flags))" }
    if options.contains(.localized) { folded.sql += " COLLATE cordial_localized" }
    return folded
  }

  /// Compiles a comparison with a text operator or with text options; returns nil for any other
  /// comparison.
  func textComparison(
    _ comparison: PredicateComparison,
    _ first: Value,
    _ second: Value
  ) throws(StoreError) -> SQLFragment? {
    let flags = comparison.options.subtracting(.localized).rawValue
    let isTextual = Self.textOperators.contains(comparison.comparison)
    guard isTextual || comparison.options != [] else { return nil }
    for (value, side) in [(first, comparison.left), (second, comparison.right)]
    where !Self.isText(value.side) {
      throw StoreError(
        PredicateError(offset: side.offset, expected: "a string; \(value.side.words)")
      )
    }
    let (left, right) = (first.fragment, second.fragment)
    guard isTextual else {
      let a = try folded(left, first.side, comparison, comparison.left.offset)
      let b = try folded(right, second.side, comparison, comparison.right.offset)
      return SQLFragment(
        "\(a.sql) \(Self.sign(comparison.comparison)) \(b.sql)",
        a.values + b.values
      )
    }
    let (a, b) =
      flags == 0
      ? (left.sql, right.sql)
      : ("cordial_fold(\(left.sql), \(flags))", "cordial_fold(\(right.sql), \(flags))")
    let values = left.values + right.values
    switch comparison.comparison {
    case .contains: return SQLFragment("cordial_contains(\(a), \(b))", values)
    case .beginsWith: return beginsWith(comparison, a, b, (first, second), flags)
    case .endsWith: return SQLFragment("cordial_ends(\(a), \(b))", values)
    case .like: return try like(comparison, a, first, flags)
    default: return try matches(comparison, left, right, flags)
    }
  }

  private func pattern(_ comparison: PredicateComparison) throws(StoreError) -> String {
    guard case .constant(.string(let pattern)) = comparison.right.form else {
      throw StoreError(
        PredicateError(offset: comparison.right.offset, expected: "a pattern as a string")
      )
    }
    return pattern
  }

  private func beginsWith(
    _ comparison: PredicateComparison,
    _ a: String,
    _ b: String,
    _ sides: (left: Value, right: Value),
    _ flags: Int
  ) -> SQLFragment {
    let condition = SQLFragment(
      "cordial_begins(\(a), \(b))",
      sides.left.fragment.values + sides.right.fragment.values
    )
    guard case .constant(.string(let prefix)) = comparison.right.form else { return condition }
    return within(Self.range(of: prefix), comparison, sides.left, condition, flags)
  }

  /// Compiles a pattern with `*` and `?` that must match the whole value.
  private func like(
    _ comparison: PredicateComparison,
    _ subject: String,
    _ left: Value,
    _ flags: Int
  ) throws(StoreError) -> SQLFragment {
    let pattern = WildcardPattern(try pattern(comparison)) { literal in
      flags == 0 ? literal : Folding.fold(literal, flags: Int32(flags))
    }
    let condition = SQLFragment(
      "cordial_like(\(subject), ?)",
      left.fragment.values + [.string(pattern.text)]
    )
    return within(Self.range(of: pattern.prefix), comparison, left, condition, flags)
  }

  /// Returns the range of the texts with a prefix; `to` is the first text after the range.
  private static func range(of prefix: String) -> (from: String, to: String)? {
    guard let last = prefix.unicodeScalars.last else { return nil }
    // The greatest scalar has no successor, and the successor of U+D7FF is U+E000.
    let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
    guard let next = Unicode.Scalar(next) else { return nil }
    return (prefix, String(String.UnicodeScalarView(prefix.unicodeScalars.dropLast() + [next])))
  }

  /// Adds a range of texts to a condition on a column, so that SQLite can use an index.
  private func within(
    _ range: (from: String, to: String)?,
    _ comparison: PredicateComparison,
    _ subject: Value,
    _ condition: SQLFragment,
    _ flags: Int
  ) -> SQLFragment {
    guard let range, flags == 0, case .keyPath = comparison.left.form,
      case .value(.string, _) = subject.side
    else { return condition }
    let (sql, values) = (subject.fragment.sql, subject.fragment.values)
    var parts = SQLFragment.joined(
      [
        SQLFragment("\(sql) >= ?", values + [.string(range.from)]),
        SQLFragment("\(sql) < ?", values + [.string(range.to)]), condition,
      ],
      separator: " AND "
    )
    parts.sql = "(\(parts.sql))"
    return parts
  }

  private func matches(
    _ comparison: PredicateComparison,
    _ left: SQLFragment,
    _ right: SQLFragment,
    _ flags: Int
  ) throws(StoreError) -> SQLFragment {
    var pattern = try pattern(comparison)
    try Self.checkExpression(pattern, of: comparison)
    // ICU's regular expressions can ignore case, but they do not ignore marks or treat canonically
    // equivalent texts as equal.
    if flags != 0 {
      let folds = Int32(flags & Int(UNICODE_FOLD_DIACRITICS))
      pattern = Folding.fold(pattern, flags: folds)
      try Self.checkExpression(pattern, of: comparison)
    }
    return SQLFragment(
      "cordial_matches(\(left.sql), ?, \(flags)) = 1",
      left.values + [.string(pattern)]
    )
  }

  private static func checkExpression(
    _ pattern: String,
    of comparison: PredicateComparison
  ) throws(StoreError) {
    do {
      _ = try RegularExpression(pattern, ignoresCase: false)
    } catch {
      throw StoreError(
        PredicateError(
          offset: comparison.right.offset,
          expected: "a regular expression; ICU stops at character \(error.offset) of this one"
        )
      )
    }
  }
}
