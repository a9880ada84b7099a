import JSON

/// Reads the NSPredicate format language: comparisons, `IN`, `BETWEEN`, `CONTAINS`, `BEGINSWITH`
/// and `ENDSWITH` with `[cd]`, `AND`, `OR`, `NOT`, key paths over to-ones, `SELF`, `nil`,
/// `$name`, `%@` and `%K`.
package struct PredicateParser {
  /// The length of a predicate in UTF-8 bytes that is still read.
  package static let textBytesMax = 1 << 20
  /// How deep parentheses and NOT may stand inside one another.
  package static let depthMax = 100
  /// How many comparisons one predicate may have.
  package static let comparisonsMax = 1000

  private static let notBuiltYet: Set<String> = [
    "ANY", "ALL", "NONE", "SOME", "SUBQUERY", "FUNCTION", "CAST",
  ]

  private var lexer: PredicateLexer
  private var token: PredicateLexer.Token
  private let arguments: PredicateArguments
  private var nextArgument = 0
  private var depth = 0
  private var comparisons = 0

  /// Reads a predicate and puts its arguments in their places.
  ///
  /// - Parameters:
  ///   - text: The predicate.
  ///   - arguments: What its variables and placeholders stand for.
  /// - Returns: The syntax tree.
  /// - Throws: `PredicateError` with the place of the first mistake.
  package static func parse(
    _ text: String,
    arguments: PredicateArguments = .none
  ) throws(PredicateError) -> Predicate {
    guard text.utf8.count <= textBytesMax else {
      throw PredicateError(offset: 0, expected: "at most \(textBytesMax) bytes")
    }
    var parser = try PredicateParser(text, arguments)
    let predicate = try parser.disjunction()
    guard parser.token.form == .end else {
      throw parser.unexpected("AND, OR or the end")
    }
    if case .positional(let values) = arguments, parser.nextArgument < values.count {
      throw parser.unexpected("a placeholder for argument \(parser.nextArgument + 1)")
    }
    return predicate
  }

  private init(_ text: String, _ arguments: PredicateArguments) throws(PredicateError) {
    lexer = PredicateLexer(text)
    token = try lexer.next()
    self.arguments = arguments
  }

  // MARK: Tokens

  private func unexpected(_ expected: String) -> PredicateError {
    lexer.error(at: token.offset, expected: expected)
  }

  private mutating func advance() throws(PredicateError) {
    token = try lexer.next()
  }

  /// Takes the token when it is this keyword, in either case, or this sign.
  private mutating func take(_ choices: String...) throws(PredicateError) -> Bool {
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

  // MARK: Conditions

  private mutating func disjunction() throws(PredicateError) -> Predicate {
    var terms = [try conjunction()]
    while try take("OR", "||") { terms.append(try conjunction()) }
    return terms.count == 1 ? terms[0] : .or(terms)
  }

  private mutating func conjunction() throws(PredicateError) -> Predicate {
    var terms = [try condition()]
    while try take("AND", "&&") { terms.append(try condition()) }
    return terms.count == 1 ? terms[0] : .and(terms)
  }

  private mutating func condition() throws(PredicateError) -> Predicate {
    depth += 1
    defer { depth -= 1 }
    // The comparison inside the innermost parentheses is a condition too.
    guard depth <= Self.depthMax + 1 else {
      throw unexpected("at most \(Self.depthMax) levels of nesting")
    }
    if try take("NOT", "!") { return .not(try condition()) }
    if try take("TRUEPREDICATE") { return .constant(true) }
    if try take("FALSEPREDICATE") { return .constant(false) }
    if try take("(") {
      let inner = try disjunction()
      guard try take(")") else { throw unexpected(")") }
      return inner
    }
    return try comparison()
  }

  private mutating func comparison() throws(PredicateError) -> Predicate {
    comparisons += 1
    guard comparisons <= Self.comparisonsMax else {
      throw unexpected("at most \(Self.comparisonsMax) comparisons")
    }
    let left = try expression()
    let offset = lexer.utf16Offset(token.offset)
    let comparison = try comparisonOperator()
    let (ignoresCase, ignoresDiacritics) = try options(of: comparison)
    let right = try expression()
    switch (comparison, right.form) {
    case (.in, .list), (.in, .constant(.array)): break
    case (.in, _):
      throw PredicateError(offset: right.offset, expected: "a list")
    case (.between, .list(let bounds)) where bounds.count == 2: break
    case (.between, .constant(.array(let bounds))) where bounds.count == 2: break
    case (.between, _):
      throw PredicateError(offset: right.offset, expected: "a list of two bounds")
    case (_, .list):
      throw PredicateError(offset: right.offset, expected: "a single value")
    default: break
    }
    return .comparison(
      PredicateComparison(
        left: left,
        comparison: comparison,
        right: right,
        ignoresCase: ignoresCase,
        ignoresDiacritics: ignoresDiacritics,
        offset: offset
      )
    )
  }

  private mutating func comparisonOperator() throws(PredicateError)
    -> PredicateComparison.Operator
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
    throw unexpected(
      "a comparison: ==, !=, <, <=, >, >=, IN, BETWEEN, CONTAINS, BEGINSWITH or ENDSWITH"
    )
  }

  private mutating func options(
    of comparison: PredicateComparison.Operator
  ) throws(PredicateError)
    -> (ignoresCase: Bool, ignoresDiacritics: Bool)
  {
    guard try take("[") else { return (false, false) }
    guard case .word(let letters) = token.form, !letters.isEmpty,
      letters.lowercased().allSatisfy({ $0 == "c" || $0 == "d" })
    else { throw unexpected("c, d or cd") }
    guard ![.in, .between].contains(comparison) else {
      throw unexpected("no options behind \(comparison.rawValue)")
    }
    try advance()
    guard try take("]") else { throw unexpected("]") }
    return (letters.lowercased().contains("c"), letters.lowercased().contains("d"))
  }

  // MARK: Expressions

  private mutating func expression() throws(PredicateError) -> PredicateExpression {
    let start = token
    let offset = lexer.utf16Offset(start.offset)
    func constant(_ value: JSONValue) -> PredicateExpression {
      PredicateExpression(form: .constant(value), offset: offset)
    }
    switch start.form {
    case .string(let text):
      try advance()
      return constant(.string(text))
    case .integer(let number):
      try advance()
      return constant(.integer(number))
    case .number(let number):
      try advance()
      return constant(.number(number))
    case .variable(let name):
      guard case .named(let members) = arguments,
        let member = members.last(where: { $0.name == name })
      else { throw unexpected("a variable that arguments name, not $\(name)") }
      try advance()
      return constant(member.value)
    case .placeholder(let kind):
      let value = try argument()
      try advance()
      guard kind == "K" else { return constant(value) }
      guard let path = value.string, !path.isEmpty else {
        throw lexer.error(at: start.offset, expected: "a string as the argument of %K")
      }
      let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      return PredicateExpression(
        form: names == ["SELF"] ? .object : .keyPath(names),
        offset: offset
      )
    case .sign("{"):
      return PredicateExpression(form: .list(try list()), offset: offset)
    case .word(let word):
      guard !Self.notBuiltYet.contains(word.uppercased()) else {
        throw unexpected("no \(word.uppercased()): this version of Cordial has it not yet")
      }
      try advance()
      return PredicateExpression(form: try form(of: word), offset: offset)
    default: throw unexpected("a key path or a value")
    }
  }

  private mutating func argument() throws(PredicateError) -> JSONValue {
    guard case .positional(let values) = arguments, nextArgument < values.count else {
      throw unexpected("an argument for each placeholder; there are fewer arguments")
    }
    nextArgument += 1
    return values[nextArgument - 1]
  }

  private mutating func list() throws(PredicateError) -> [PredicateExpression] {
    try advance()
    var elements: [PredicateExpression] = []
    if try take("}") { return elements }
    while true {
      elements.append(try listElement())
      if try take("}") { return elements }
      guard try take(",") else { throw unexpected(", or }") }
    }
  }

  /// Lists do not nest, so reading one needs no recursion.
  private mutating func listElement() throws(PredicateError) -> PredicateExpression {
    if case .sign("{") = token.form { throw unexpected("a single value") }
    return try expression()
  }

  private mutating func form(of word: String) throws(PredicateError) -> PredicateExpression.Form {
    switch word.uppercased() {
    case "NIL", "NULL": return .constant(.null)
    case "TRUE", "YES": return .constant(.bool(true))
    case "FALSE", "NO": return .constant(.bool(false))
    default: break
    }
    var names = word.uppercased() == "SELF" ? [] : [word]
    while try take(".") {
      guard case .word(let name) = token.form else { throw unexpected("the name of a property") }
      names.append(name)
      try advance()
    }
    return names.isEmpty ? .object : .keyPath(names)
  }
}
