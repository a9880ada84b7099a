import ObjectModel

/// The deep parts of the condition that is being compiled.
struct DeepParts {
  /// The parts with the names of their tables; nil outside a condition that is compiled in parts.
  fileprivate var found: [(name: String, fragment: SQLFragment)]?
  /// The count of parts in the whole request so far.
  fileprivate var count = 0
  /// Whether the conditions are compiled in parts.
  fileprivate var areNeeded = false
}

/// Conditions that are too deep for SQLite's parser in their original form.
///
/// The parser has a stack of 100 entries. Each level of nested parentheses uses up to six entries.
/// A deep part therefore becomes a common table expression with one value. The rest of the
/// condition reads that value: `(WITH cordial_d1(v) AS (SELECT part) SELECT rest)`.
extension FetchCompiler {
  /// The maximum number of entries that a condition may need on the stack of SQLite's parser.
  ///
  /// The stack has 100 entries.
  static let stackMax = 90
  /// The maximum number of stack entries of a fragment that stays in place; a deeper fragment
  /// becomes a part.
  private static let partMax = 30

  /// The error for a condition that is too deep.
  static var tooDeep: StoreError {
    tooMany("predicateDepth", stackMax, "entries on the stack of SQLite's parser")
  }

  /// Compiles a condition in its original form, or in parts if that form is too deep.
  ///
  /// - Parameter body: Compiles the condition, and may be called twice.
  /// - Returns: The condition.
  /// - Throws: The errors of the body; `limitExceeded` when even the parts are too deep.
  mutating func inParts(
    _ body: (inout FetchCompiler) throws(StoreError) -> SQLFragment
  ) throws(StoreError) -> SQLFragment {
    if parts.found == nil, !parts.areNeeded {
      do {
        let whole = try body(&self)
        if whole.depth <= Self.stackMax { return whole }
      } catch {
        // The code below compiles the condition again, in parts.
        guard error.isTooDeep else { throw error }
      }
      // A common table expression cannot read the rows of a group.
      guard groupedPaths == nil else { throw Self.tooDeep }
      parts.areNeeded = true
      defer { parts.areNeeded = false }
      return try inOwnParts(body)
    }
    return try parts.found == nil ? inOwnParts(body) : asPart(body(&self))
  }

  /// Compiles a subquery without parts, because parts of the enclosing condition cannot read the
  /// subquery's rows.
  mutating func withoutParts<Result>(
    _ body: (inout FetchCompiler) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outside = parts.found
    parts.found = nil
    defer { parts.found = outside }
    return try body(&self)
  }

  private mutating func inOwnParts(
    _ body: (inout FetchCompiler) throws(StoreError) -> SQLFragment
  ) throws(StoreError) -> SQLFragment {
    parts.found = []
    defer { parts.found = nil }
    let rest = try body(&self)
    guard let found = parts.found, !found.isEmpty else { return rest }
    let definitions = found.map { "\($0.name)(v) AS (SELECT \($0.fragment.sql))" }
    var whole = SQLFragment(
      "(WITH \(definitions.joined(separator: ", ")) SELECT \(rest.sql))",
      found.flatMap(\.fragment.values) + rest.values,
      depth: max(rest.depth, found.map(\.fragment.depth).max() ?? 0) + 12
    )
    whole.condition = rest.condition
    return whole
  }

  /// Turns a deep value into a part and returns a reference to it; returns any other value
  /// unchanged.
  ///
  /// SQLite does not apply the collation of a part's column, so the reference repeats this
  /// collation.
  mutating func asPart(_ value: Value) -> Value {
    var part = asPart(value.fragment)
    guard part.sql != value.fragment.sql else { return value }
    let binary = " COLLATE BINARY"
    part.sql += value.fragment.sql.hasSuffix(binary) ? binary : Self.collation(value.side.type)
    return (part, value.side)
  }

  /// Turns a deep fragment into a part and returns a reference to it; returns any other fragment
  /// unchanged.
  ///
  /// Outside a condition that is compiled in parts, the method returns every fragment unchanged.
  mutating func asPart(_ fragment: SQLFragment) -> SQLFragment {
    guard fragment.depth > Self.partMax, parts.found != nil else { return fragment }
    parts.count += 1
    let name = "cordial_d\(parts.count)"
    parts.found?.append((name, fragment))
    var reference = SQLFragment("(SELECT v FROM \(name))", depth: 8)
    reference.condition = fragment.condition
    return reference
  }
}

extension StoreError {
  /// Whether a condition is too deep for SQLite's parser.
  fileprivate var isTooDeep: Bool {
    code == .limitExceeded && message == FetchCompiler.tooDeep.message
  }
}
