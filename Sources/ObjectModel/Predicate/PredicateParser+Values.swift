import JSON

/// Constants, key paths, aggregates and functions.
extension PredicateParser {
  /// Parses a value that does not begin with a sign or a parenthesis.
  mutating func value() throws(PredicateError) -> PredicateExpression {
    let start = token
    let offset = lexer.utf16Offset(start.offset)
    return PredicateExpression(form: try form(start), offset: offset)
  }

  private mutating func form(_ start: PredicateLexer.Token) throws(PredicateError) -> PredicateForm
  {
    switch start.form {
    case .string(let text):
      try advance()
      return .constant(.string(text))
    case .integer(let magnitude):
      try advance()
      return .constant(
        Int64(exactly: magnitude).map { .integer($0) } ?? .number(Double(magnitude))
      )
    case .number(let number):
      try advance()
      return .constant(.number(number))
    case .variable(let name): return try variable(name)
    case .placeholder(let kind): return try placeholder(kind, start)
    case .sign("{"): return .list(try list())
    case .name(let name):
      try advance()
      return try path(from: [name], variable: nil)
    case .word(let word): return try form(of: word)
    case .aggregate(let name) where isOverGroups: return try aggregate(name, of: [], nil)
    default: throw unexpected("a key path or a value")
    }
  }

  private mutating func variable(_ name: String) throws(PredicateError) -> PredicateForm {
    if variables.contains(name) {
      try advance()
      return try path(from: [], variable: name)
    }
    guard case .named(let members) = arguments,
      let member = members.last(where: { $0.name == name })
    else { throw unexpected("a variable with a value in arguments, not $\(name)") }
    try advance()
    return .constant(member.value)
  }

  private mutating func placeholder(
    _ kind: Character,
    _ start: PredicateLexer.Token
  ) throws(PredicateError) -> PredicateForm {
    guard case .positional(let values) = arguments, nextArgument < values.count else {
      throw unexpected("an argument for each placeholder, but there are fewer arguments")
    }
    nextArgument += 1
    let value = values[nextArgument - 1]
    try advance()
    guard kind == "K" else { return .constant(value) }
    guard let text = value.string, !text.isEmpty else {
      throw lexer.error(at: start.offset, expected: "a string as the argument of %K")
    }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let index = names.firstIndex(where: { $0.hasPrefix("@") }) else {
      return try path(from: names == ["SELF"] ? [] : names, variable: nil)
    }
    let memberPath = Array(names[(index + 1)...])
    guard index > 0, let aggregate = PredicateAggregate(rawValue: String(names[index].dropFirst())),
      (aggregate == .count) == memberPath.isEmpty
    else { throw lexer.error(at: start.offset, expected: "a key path as the argument of %K") }
    return .aggregate(aggregate, of: Array(names[..<index]), variable: nil, path: memberPath)
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

  /// Parses one element of a list; lists do not nest, so that this needs no recursion.
  private mutating func listElement() throws(PredicateError) -> PredicateExpression {
    let offset = lexer.utf16Offset(token.offset)
    let isNegative = try take("-")
    if case .sign("{") = token.form { throw unexpected("a single value") }
    if case .sign("(") = token.form { throw unexpected("a single value") }
    let element = try value()
    guard isNegative else { return element }
    switch element.form {
    case .constant(.integer(let number)):
      return PredicateExpression(form: .constant(.integer(-number)), offset: offset)
    case .constant(.number(let number)):
      // Int64's smallest number has no positive counterpart.
      let value: JSONValue = number == 0x1p63 ? .integer(.min) : .number(-number)
      return PredicateExpression(form: .constant(value), offset: offset)
    default: throw PredicateError(offset: element.offset, expected: "a number")
    }
  }

  // MARK: Words

  private static let keywords: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES",
    "ANY", "SOME", "ALL", "NONE", "TRUEPREDICATE", "FALSEPREDICATE",
  ]

  private mutating func form(of word: String) throws(PredicateError) -> PredicateForm {
    let upper = word.uppercased()
    switch upper {
    case "FUNCTION", "CAST", "TERNARY", "BLOCK":
      throw unexpected("no \(upper), which Cordial does not support")
    case _ where Self.keywords.contains(upper):
      throw unexpected("a key path or a value; a property of that name is written #\(word)")
    default: break
    }
    try advance()
    switch upper {
    case "NIL", "NULL": return .constant(.null)
    case "TRUE", "YES": return .constant(.bool(true))
    case "FALSE", "NO": return .constant(.bool(false))
    case "SELF": return try path(from: [], variable: nil)
    case "SUBQUERY": return try subquery()
    default: break
    }
    guard try take(":") else { return try path(from: [word], variable: nil) }
    return try function(word)
  }

  private mutating func function(_ name: String) throws(PredicateError) -> PredicateForm {
    guard let function = PredicateFunction(rawValue: name) else {
      let known = PredicateFunction.allCases.map { $0.rawValue + ":" }.joined(separator: ", ")
      throw unexpected("one of the functions \(known), not \(name):")
    }
    try expect("(")
    return try nested { parser throws(PredicateError) in
      let argument = try parser.side()
      try parser.expect(")")
      return .function(function, argument)
    }
  }

  // MARK: Key paths

  /// Parses the rest of a key path after its first names, including an aggregate at its end.
  private mutating func path(
    from names: [String],
    variable: String?
  ) throws(PredicateError) -> PredicateForm {
    var names = names
    while try take(".") {
      switch token.form {
      case .word(let name), .name(let name):
        try advance()
        if name.uppercased() == "SELF", names.isEmpty, variable == nil { continue }
        names.append(name)
      case .integer(let index) where !names.isEmpty:
        // An index into a list inside a json attribute.
        try advance()
        names.append(String(index))
      case .aggregate(let name): return try aggregate(name, of: names, variable)
      default: throw unexpected("the name of a property, or @ and an aggregate")
      }
    }
    return .keyPath(names, variable: variable)
  }

  private mutating func aggregate(
    _ name: String,
    of names: [String],
    _ variable: String?
  ) throws(PredicateError) -> PredicateForm {
    guard let aggregate = PredicateAggregate(rawValue: name), !names.isEmpty || isOverGroups else {
      throw unexpected("@count, @sum, @min, @max or @avg after a to-many")
    }
    try advance()
    guard aggregate != .count else {
      return .aggregate(.count, of: names, variable: variable, path: [])
    }
    var path: [String] = []
    while try take(".") {
      switch token.form {
      case .word(let name), .name(let name): path.append(name)
      default: throw unexpected("the name of a property")
      }
      try advance()
    }
    guard !path.isEmpty else { throw unexpected(". and the property for @\(name)") }
    return .aggregate(aggregate, of: names, variable: variable, path: path)
  }

  /// Parses a subquery like `SUBQUERY(tasks, $t, $t.priority > 3).@count`.
  private mutating func subquery() throws(PredicateError) -> PredicateForm {
    try expect("(")
    return try nested { parser throws(PredicateError) in
      let collection = try parser.value()
      guard case .keyPath(let names, let variable) = collection.form, !names.isEmpty else {
        throw PredicateError(offset: collection.offset, expected: "a key path to a to-many")
      }
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
      try parser.expect(".")
      guard parser.token.form == .aggregate("count") else { throw parser.unexpected("@count") }
      try parser.advance()
      return .subqueryCount(of: names, variable: variable, name: name, predicate)
    }
  }
}
