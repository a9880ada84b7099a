import JSON

/// The parsing of functions, casts and subqueries.
extension PredicateParser {
  /// The operators that NSExpression also has as functions of two values, by the function's name.
  private static let operators: [String: PredicateArithmetic] = [
    "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply,
    "divide:by:": .divide, "modulus:by:": .remainder, "raise:toPower:": .power,
    "bitwiseAnd:with:": .bitAnd, "bitwiseOr:with:": .bitOr, "bitwiseXor:with:": .bitXor,
    "leftshift:by:": .shiftLeft, "rightshift:by:": .shiftRight,
  ]

  /// The names of all functions, for messages.
  private static let functions: [String] =
    (PredicateFunction.allCases.map { $0.rawValue + ":" }
    + PredicateStatistic.allCases.map { $0.rawValue + ":" } + operators.keys
    + ["random:", "noindex:", "castObject:toType:", "objectFrom:withIndex:"]).sorted()

  /// Parses a function whose first word and colon are already consumed.
  mutating func function(_ word: String) throws(PredicateError) -> PredicateForm {
    let start = token
    var name = word + ":"
    while case .word(let next) = token.form {
      try advance()
      try expect(":")
      name += next + ":"
    }
    try count()
    let names = Self.functions
    let isKnown = names.contains(name)
    guard isKnown else {
      throw lexer.error(
        at: start.offset,
        expected: "one of the functions \(names.joined(separator: ", ")), not \(name)"
      )
    }
    try expect("(")
    return try nested { parser throws(PredicateError) in
      var arguments = [try parser.side()]
      while try parser.take(",") { arguments.append(try parser.side()) }
      let form = try parser.form(of: name, arguments)
      try parser.expect(")")
      return form
    }
  }

  private func form(
    of name: String,
    _ arguments: [PredicateExpression]
  ) throws(PredicateError) -> PredicateForm {
    let first = arguments[0]
    if let statistic = PredicateStatistic(rawValue: String(name.dropLast())) {
      guard arguments.count > 1 else { return .statistic(statistic, first) }
      return .statistic(
        statistic,
        PredicateExpression(form: .list(arguments), offset: first.offset)
      )
    }
    let wanted = name.split(separator: ":").count
    guard arguments.count == wanted else {
      throw unexpected("\(wanted) argument\(wanted == 1 ? "" : "s") of \(name)")
    }
    if let operation = Self.operators[name] { return .arithmetic(operation, first, arguments[1]) }
    if let function = PredicateFunction(rawValue: String(name.dropLast())) {
      return .function(function, first)
    }
    switch (name, arguments.last?.form) {
    case ("random:", _): return .random(first)
    case ("noindex:", _): return first.form
    case ("castObject:toType:", .constant(.string(let type))?): return try cast(first, to: type)
    case ("objectFrom:withIndex:", .constant(.integer(let index))?)
    where 0...Int64(Int32.max) ~= index:
      return .element(first, .at(Int(index)))
    default: throw unexpected("a constant as the second argument of \(name)")
    }
  }

  /// Parses `CAST(x, 'NSDate')`.
  mutating func cast() throws(PredicateError) -> PredicateForm {
    try count()
    try expect("(")
    return try nested { parser throws(PredicateError) in
      let value = try parser.side()
      try parser.expect(",")
      guard case .string(let type) = parser.token.form else {
        throw parser.unexpected("the name of a type as a string")
      }
      let form = try parser.cast(value, to: type)
      try parser.advance()
      try parser.expect(")")
      return form
    }
  }

  private func cast(
    _ value: PredicateExpression,
    to type: String
  ) throws(PredicateError) -> PredicateForm {
    guard let type = PredicateCast(rawValue: type) else {
      let names = PredicateCast.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
      throw unexpected("one of the types \(names)")
    }
    return .cast(value, type)
  }

  /// Parses `TERNARY(p, a, b)`.
  mutating func ternary() throws(PredicateError) -> PredicateForm {
    try count()
    try expect("(")
    return try nested { parser throws(PredicateError) in
      let condition = try parser.predicate()
      try parser.expect(",")
      let first = try parser.side()
      try parser.expect(",")
      let second = try parser.side()
      try parser.expect(")")
      return .ternary(condition, first, second)
    }
  }

  /// Parses a subquery like `SUBQUERY(tasks, $t, $t.priority > 3)`.
  mutating func subquery() throws(PredicateError) -> PredicateForm {
    try count()
    try expect("(")
    return try nested { parser throws(PredicateError) in
      let collection = try parser.side()
      try parser.expect(",")
      guard case .variable(let name) = parser.token.form else {
        throw parser.unexpected("a variable, like $x")
      }
      try parser.advance()
      try parser.expect(",")
      parser.variables.append(name)
      let predicate = try parser.predicate()
      parser.variables.removeLast()
      try parser.expect(")")
      return .subquery(of: collection, name: name, predicate)
    }
  }
}
