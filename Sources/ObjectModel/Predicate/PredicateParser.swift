import JSON

/// A parser of the NSPredicate format language.
///
/// One recursive descent parses both conditions and expressions, because an opening parenthesis
/// does not show which of the two it begins.
package struct PredicateParser {
  /// The maximum length of a predicate, in UTF-8 bytes.
  package static let textBytesMax = 1 << 20
  /// The maximum nesting depth of parentheses, NOT and SUBQUERY.
  package static let depthMax = 100
  /// The maximum number of comparisons in a predicate.
  package static let comparisonsMax = 1000
  /// The maximum number of arithmetic operators and functions in a predicate.
  package static let operationsMax = 1000

  /// The maximum number of names, indexes and aggregates in one path.
  static let pathMax = 100
  /// The maximum number of operations on sets in one chain.
  private static let setsMax = 20

  /// A parsed condition, or a parsed expression that may become one side of a comparison.
  enum Node {
    case condition(Predicate)
    case expression(PredicateExpression)
  }

  var lexer: PredicateLexer
  var token: PredicateLexer.Token
  let arguments: PredicateArguments
  var nextArgument = 0
  var isOverGroups = false
  /// The variable names of the SUBQUERYs around the current token.
  var variables: [String] = []
  private var depth = 0
  private var comparisons = 0
  private var operations = 0

  /// Parses a predicate and replaces its variables and placeholders by their values.
  ///
  /// - Parameters:
  ///   - text: The predicate.
  ///   - arguments: The values of its variables and placeholders.
  ///   - overGroups: Whether the predicate is over groups, so that aggregates like `@count` and
  ///     `@sum.priority` need no to-many before them.
  /// - Returns: The syntax tree.
  /// - Throws: `PredicateError` with the offset of the first mistake.
  package static func parse(
    _ text: String,
    arguments: PredicateArguments = .none,
    overGroups: Bool = false
  ) throws(PredicateError) -> Predicate {
    var parser = try PredicateParser(text, arguments)
    parser.isOverGroups = overGroups
    let predicate = try parser.predicate()
    guard parser.token.form == .end else {
      throw parser.unexpected("AND, OR or the end")
    }
    if case .positional(let values) = arguments, parser.nextArgument < values.count {
      throw parser.unexpected("a placeholder for argument \(parser.nextArgument + 1)")
    }
    return predicate
  }

  /// Parses an expression like one side of a comparison: `count + 1`.
  ///
  /// - Parameter text: The expression.
  /// - Returns: The syntax tree.
  /// - Throws: `PredicateError` with the offset of the first mistake.
  package static func parse(expression text: String) throws(PredicateError) -> PredicateExpression {
    var parser = try PredicateParser(text, .none)
    let expression = try parser.side()
    guard parser.token.form == .end else { throw parser.unexpected("an operator or the end") }
    return expression
  }

  private init(_ text: String, _ arguments: PredicateArguments) throws(PredicateError) {
    guard text.utf8.count <= Self.textBytesMax else {
      throw PredicateError(offset: 0, expected: "at most \(Self.textBytesMax) bytes")
    }
    lexer = PredicateLexer(text)
    token = try lexer.next()
    self.arguments = arguments
  }

  // MARK: Tokens

  func unexpected(_ expected: String) -> PredicateError {
    lexer.error(at: token.offset, expected: expected)
  }

  mutating func advance() throws(PredicateError) {
    token = try lexer.next()
  }

  /// Consumes the token if it is one of these keywords or signs, and returns whether it did.
  ///
  /// Keywords match in either case.
  mutating func take(_ choices: String...) throws(PredicateError) -> Bool {
    let text: String
    switch token.form {
    case .word(let word): text = word.uppercased()
    case .sign(let sign): text = sign
    default: return false
    }
    guard choices.contains(text) else { return false }
    try advance()
    return true
  }

  mutating func expect(_ sign: String) throws(PredicateError) {
    guard try take(sign) else { throw unexpected(sign) }
  }

  /// Runs a body one nesting level deeper, at most `depthMax` levels deep.
  mutating func nested<Result>(
    _ body: (inout PredicateParser) throws(PredicateError) -> Result
  ) throws(PredicateError) -> Result {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthMax else {
      throw unexpected("at most \(Self.depthMax) levels of nesting")
    }
    return try body(&self)
  }

  // MARK: Conditions

  mutating func predicate() throws(PredicateError) -> Predicate {
    let node = try disjunction()
    return try condition(node)
  }

  /// Returns the condition of a node; throws for a node that is only an expression.
  private func condition(_ node: Node) throws(PredicateError) -> Predicate {
    guard case .condition(let predicate) = node else { throw missingOperator() }
    return predicate
  }

  private func expression(_ node: Node) throws(PredicateError) -> PredicateExpression {
    guard case .expression(let expression) = node else {
      throw unexpected("AND, OR or the end: a condition cannot be compared")
    }
    return expression
  }

  private mutating func disjunction() throws(PredicateError) -> Node {
    let first = try conjunction()
    guard try takeJunction("OR", "||", after: first) else { return first }
    var terms = [try condition(first)]
    repeat {
      let next = try conjunction()
      terms.append(try condition(next))
    } while try take("OR", "||")
    return .condition(.or(terms))
  }

  private mutating func conjunction() throws(PredicateError) -> Node {
    let first = try negation()
    guard try takeJunction("AND", "&&", after: first) else { return first }
    var terms = [try condition(first)]
    repeat {
      let next = try negation()
      terms.append(try condition(next))
    } while try take("AND", "&&")
    return .condition(.and(terms))
  }

  /// Consumes a keyword that joins conditions; the node before it must be a condition.
  private mutating func takeJunction(
    _ word: String,
    _ sign: String,
    after node: Node
  ) throws(PredicateError) -> Bool {
    let before = self
    guard try take(word, sign) else { return false }
    _ = try before.condition(node)
    return true
  }

  private mutating func negation() throws(PredicateError) -> Node {
    if try take("NOT", "!") {
      return try nested { parser throws(PredicateError) in
        let inner = try parser.negation()
        return .condition(.not(try parser.condition(inner)))
      }
    }
    if try take("TRUEPREDICATE") { return .condition(.constant(true)) }
    if try take("FALSEPREDICATE") { return .condition(.constant(false)) }
    return try comparison()
  }

  private mutating func modifier() throws(PredicateError) -> PredicateComparison.Modifier {
    if try take("ANY", "SOME") { return .any }
    if try take("ALL") { return .all }
    return try take("NONE") ? .none : .direct
  }

  private mutating func comparison() throws(PredicateError) -> Node {
    let start = token.offset
    let modifier = try modifier()
    let first = try sum()
    let offset = lexer.utf16Offset(token.offset)
    guard case .expression(let left) = first, let comparison = try comparisonOperator() else {
      guard modifier == .direct else { throw missingOperator() }
      return first
    }
    comparisons += 1
    guard comparisons <= Self.comparisonsMax else {
      throw unexpected("at most \(Self.comparisonsMax) comparisons")
    }
    let options = try options(of: comparison)
    let right = try side()
    try check(right, of: comparison)
    if comparison == .in, modifier == .direct, case .constant(.string) = right.form {
      // A string on the right makes IN a search for a substring, as in Swift and in NSPredicate.
      return .condition(
        .comparison(
          PredicateComparison(
            left: right,
            comparison: .contains,
            right: left,
            options: options,
            offset: offset,
            source: start..<token.offset
          )
        )
      )
    }
    return .condition(
      .comparison(
        PredicateComparison(
          left: left,
          comparison: comparison,
          right: right,
          modifier: modifier,
          options: options,
          offset: offset,
          source: start..<token.offset
        )
      )
    )
  }

  private func check(
    _ right: PredicateExpression,
    of comparison: PredicateComparison.Operator
  ) throws(PredicateError) {
    switch (comparison, right.form) {
    case (.in, .list), (.in, .constant(.array)), (.in, .constant(.string)), (.in, .keyPath),
      (.in, .subquery), (.in, .path), (.in, .set), (.in, .distinct), (.in, .element),
      (.in, .function), (.in, .ternary), (.in, .cast):
      break
    case (.in, _): throw PredicateError(offset: right.offset, expected: "a list or a to-many")
    case (.between, .list(let bounds)) where bounds.count == 2: break
    case (.between, .constant(.array(let bounds))) where bounds.count == 2: break
    case (.between, _):
      throw PredicateError(offset: right.offset, expected: "a list of two bounds")
    case (_, .list): throw PredicateError(offset: right.offset, expected: "a single value")
    default: break
    }
  }

  private static let operators =
    "a comparison: ==, !=, <, <=, >, >=, IN, BETWEEN, CONTAINS, BEGINSWITH, ENDSWITH, LIKE or "
    + "MATCHES"

  private func missingOperator() -> PredicateError {
    if case .word(let word) = token.form, word.uppercased() == "NOT" {
      return unexpected("a comparison; NOT stands before one: NOT (title IN {'a', 'b'})")
    }
    return unexpected(Self.operators)
  }

  /// Consumes and returns the operator of a comparison, or returns nil if there is none.
  private mutating func comparisonOperator() throws(PredicateError)
    -> PredicateComparison.Operator?
  {
    if try take("==", "=") { return .equal }
    if try take("!=", "<>") { return .notEqual }
    if try take("<=", "=<") { return .lessOrEqual }
    if try take("<") { return .less }
    if try take(">=", "=>") { return .greaterOrEqual }
    if try take(">") { return .greater }
    if try take("IN") { return .in }
    if try take("BETWEEN") { return .between }
    if try take("CONTAINS") { return .contains }
    if try take("BEGINSWITH") { return .beginsWith }
    if try take("ENDSWITH") { return .endsWith }
    if try take("LIKE") { return .like }
    return try take("MATCHES") ? .matches : nil
  }

  private mutating func options(
    of comparison: PredicateComparison.Operator
  ) throws(PredicateError) -> PredicateOptions {
    guard try take("[") else { return [] }
    guard case .word(let word) = token.form, !word.isEmpty,
      word.lowercased().allSatisfy({ "cdnl".contains($0) })
    else { throw unexpected("the options c, d, n or l, as in [cd]") }
    guard comparison != .between else { throw unexpected("no options after between") }
    try advance()
    try expect("]")
    let letters = word.lowercased()
    var options: PredicateOptions = []
    if letters.contains("c") { options.insert(.ignoresCase) }
    if letters.contains("d") { options.insert(.ignoresDiacritics) }
    if letters.contains("l") { options.insert(.localized) }
    // Normalized texts compare by code points, whatever the other options.
    return letters.contains("n") ? [] : options
  }

  // MARK: Arithmetic

  /// Parses an expression: set operations have the lowest precedence, then C's operators in C's
  /// order.
  private mutating func sum() throws(PredicateError) -> Node {
    var left = try operation(0)
    var sets = 0
    while let set = setOperation {
      sets += 1
      guard sets <= Self.setsMax else { throw unexpected("at most \(Self.setsMax) sets in a row") }
      let first = try expression(left)
      try advance()
      try count()
      let right = try operation(0)
      let form = PredicateForm.set(set, first, try expression(right))
      left = .expression(PredicateExpression(form: form, offset: first.offset))
    }
    return left
  }

  private var setOperation: PredicateSetOperation? {
    guard case .word(let word) = token.form else { return nil }
    return PredicateSetOperation(rawValue: word.uppercased())
  }

  /// The operators of each level, the lowest precedence first; `power` is the last level.
  private static let levels: [[PredicateArithmetic]] = [
    [.bitOr], [.bitXor], [.bitAnd], [.shiftLeft, .shiftRight], [.add, .subtract],
    [.multiply, .divide],
  ]

  private mutating func operation(_ level: Int) throws(PredicateError) -> Node {
    guard level < Self.levels.count else { return try power() }
    var left = try operation(level + 1)
    while let operation = try takeOperation(Self.levels[level], after: left) {
      let right = try self.operation(level + 1)
      left = try combine(operation, left, right)
    }
    return left
  }

  private mutating func power() throws(PredicateError) -> Node {
    let base = try sign()
    guard let operation = try takeOperation([.power], after: base) else { return base }
    return try nested { parser throws(PredicateError) in
      let exponent = try parser.power()
      return try parser.combine(operation, base, exponent)
    }
  }

  /// Consumes one of these operators; the node before it must be an expression.
  private mutating func takeOperation(
    _ operations: [PredicateArithmetic],
    after left: Node
  ) throws(PredicateError) -> PredicateArithmetic? {
    guard case .sign(let sign) = token.form,
      let operation = operations.first(where: { $0.rawValue == sign })
    else { return nil }
    _ = try expression(left)
    try advance()
    return operation
  }

  private mutating func combine(
    _ operation: PredicateArithmetic,
    _ left: Node,
    _ right: Node
  ) throws(PredicateError) -> Node {
    try count()
    let left = try expression(left)
    let form = PredicateForm.arithmetic(operation, left, try expression(right))
    return .expression(PredicateExpression(form: form, offset: left.offset))
  }

  /// Counts an operation or a function.
  mutating func count() throws(PredicateError) {
    operations += 1
    guard operations <= Self.operationsMax else {
      throw unexpected("at most \(Self.operationsMax) operators and functions")
    }
  }

  private mutating func sign() throws(PredicateError) -> Node {
    let offset = lexer.utf16Offset(token.offset)
    if try take("~") {
      return try nested { parser throws(PredicateError) in
        let node = try parser.sign()
        let inner = try parser.expression(node)
        let form = PredicateForm.function(.onesComplement, inner)
        return .expression(PredicateExpression(form: form, offset: offset))
      }
    }
    guard try take("-") else { return try primary() }
    if case .integer(let magnitude) = token.form {
      try advance()
      let value: JSONValue =
        magnitude == UInt64(Int64.max) + 1
        ? .integer(.min)
        : Int64(exactly: magnitude).map { .integer(-$0) } ?? .number(-Double(magnitude))
      return .expression(PredicateExpression(form: .constant(value), offset: offset))
    }
    if case .number(let number) = token.form {
      try advance()
      return .expression(PredicateExpression(form: .constant(.number(-number)), offset: offset))
    }
    return try nested { parser throws(PredicateError) in
      let node = try parser.sign()
      let inner = try parser.expression(node)
      return .expression(PredicateExpression(form: .negative(inner), offset: offset))
    }
  }

  /// Parses one side of a comparison.
  mutating func side() throws(PredicateError) -> PredicateExpression {
    let node = try sum()
    return try expression(node)
  }

  /// Parses the content of parentheses, or a value, with the path after it.
  private mutating func primary() throws(PredicateError) -> Node {
    guard try take("(") else { return .expression(try value()) }
    let node = try nested { parser throws(PredicateError) in
      let inner = try parser.disjunction()
      try parser.expect(")")
      return inner
    }
    guard case .expression(let inner) = node else { return node }
    return .expression(try continued(inner))
  }
}
