import JSON

/// The parsing of constants, key paths and aggregates.
extension PredicateParser {
  /// Parses a value that does not begin with a sign or a parenthesis, and the path after the value.
  mutating func value() throws(PredicateError) -> PredicateExpression {
    let start = token
    let offset = lexer.utf16Offset(start.offset)
    let form = try form(start)
    let expression = PredicateExpression(form: form, offset: offset)
    if case .constant = form {
      guard token.form != .sign(".") else {
        throw unexpected("no path here: constants and arguments have no properties")
      }
      return expression
    }
    return try continued(expression)
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
      return .keyPath([name], variable: nil)
    case .word(let word): return try form(of: word)
    case .aggregate(let name) where isOverGroups: return try groupAggregate(name)
    default: throw unexpected("a key path or a value")
    }
  }

  private mutating func variable(_ name: String) throws(PredicateError) -> PredicateForm {
    if variables.contains(name) {
      try advance()
      return .keyPath([], variable: name)
    }
    guard case .named(let members) = arguments,
      let member = members.last(where: { $0.name == name })
    else { throw unexpected("a variable with a value in arguments, not $\(name)") }
    try advance()
    return .constant(member.value)
  }

  private mutating func placeholder(
    _ kind: PredicateLexer.Placeholder,
    _ start: PredicateLexer.Token
  ) throws(PredicateError) -> PredicateForm {
    guard case .positional(let values) = arguments, nextArgument < values.count else {
      throw unexpected("an argument for each placeholder, but there are fewer arguments")
    }
    nextArgument += 1
    let value = values[nextArgument - 1]
    try advance()
    func wrongArgument(_ expected: String) -> PredicateError {
      PredicateError(
        offset: lexer.utf16Offset(start.offset),
        expected: "\(expected) as argument \(nextArgument), found \(value.kind)",
        isOfArgument: true
      )
    }
    switch (kind, value) {
    case (.value, _), (.string, .string), (.integer, .integer), (.number, .integer),
      (.number, .number), (.integer, .bool):
      return .constant(value)
    case (.string, _): throw wrongArgument("a string")
    case (.integer, _): throw wrongArgument("an integer")
    case (.number, _): throw wrongArgument("a number")
    case (.keyPath, _): break
    }
    guard let text = value.string, !text.isEmpty else { throw wrongArgument("a key path") }
    return try keyPath(text, wrongArgument("a key path"))
  }

  /// Parses the argument of `%K`, which may be a name that would be a keyword otherwise.
  private mutating func keyPath(
    _ text: String,
    _ error: PredicateError
  ) throws(PredicateError) -> PredicateForm {
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let index = names.firstIndex(where: { $0.hasPrefix("@") }) else {
      return .keyPath(names == ["SELF"] ? [] : names, variable: nil)
    }
    let memberPath = Array(names[(index + 1)...])
    guard index > 0, let aggregate = PredicateAggregate(rawValue: String(names[index].dropFirst())),
      (aggregate == .count) == memberPath.isEmpty
    else { throw error }
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

  /// Parses one element of a list; lists do not nest.
  private mutating func listElement() throws(PredicateError) -> PredicateExpression {
    if case .sign("{") = token.form { throw unexpected("a single value") }
    let element = try nested { parser throws(PredicateError) in try parser.side() }
    guard case .negative(let inner) = element.form, case .constant(let constant) = inner.form else {
      return element
    }
    let value: JSONValue
    switch constant {
    case .integer(let number):
      let (negative, overflows) = Int64(0).subtractingReportingOverflow(number)
      value = overflows ? .number(0x1p63) : .integer(negative)
    // Int64's smallest number has no positive counterpart.
    case .number(let number): value = number == 0x1p63 ? .integer(.min) : .number(-number)
    default: throw PredicateError(offset: inner.offset, expected: "a number")
    }
    return PredicateExpression(form: .constant(value), offset: element.offset)
  }

  // MARK: Words

  private static let keywords: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES",
    "ANY", "SOME", "ALL", "NONE", "TRUEPREDICATE", "FALSEPREDICATE", "UNION", "INTERSECT", "MINUS",
  ]

  private mutating func form(of word: String) throws(PredicateError) -> PredicateForm {
    let upper = word.uppercased()
    switch upper {
    case "FUNCTION", "BLOCK", "ANYKEY":
      throw unexpected("no \(upper), which Cordial does not have")
    case _ where Self.keywords.contains(upper):
      throw unexpected("a key path or a value; a property of that name is written #\(word)")
    default: break
    }
    try advance()
    switch upper {
    case "NIL", "NULL": return .constant(.null)
    case "TRUE", "YES": return .constant(.bool(true))
    case "FALSE", "NO": return .constant(.bool(false))
    case "SELF": return .keyPath([], variable: nil)
    case "SUBQUERY": return try subquery()
    case "CAST" where token.form == .sign("("): return try cast()
    case "TERNARY" where token.form == .sign("("): return try ternary()
    case "NOW", "RANDOM":
      if try take("(") {
        try expect(")")
        return upper == "NOW" ? .now : .random(nil)
      }
    default: break
    }
    return try take(":") ? try function(word) : .keyPath([word], variable: nil)
  }

  // MARK: Key paths

  /// Parses the names, indexes and aggregates that follow an expression.
  mutating func continued(
    _ start: PredicateExpression
  ) throws(PredicateError) -> PredicateExpression {
    var expression = start
    var count = 0
    while true {
      count += 1
      guard count <= Self.pathMax else {
        throw unexpected("at most \(Self.pathMax) names in a path")
      }
      if try take("[") {
        expression = try element(of: expression)
        continue
      }
      guard try take(".") else { return expression }
      switch token.form {
      case .word(let name), .name(let name):
        try advance()
        if name.uppercased() == "SELF", expression.form == .keyPath([], variable: nil) { continue }
        expression = expression.appending([name])
      case .integer(let index):
        guard case .keyPath(let names, _) = expression.form, !names.isEmpty else {
          throw unexpected("the name of a property, or @ and an aggregate")
        }
        // The index refers to a list inside a json attribute.
        try advance()
        expression = expression.appending([String(index)])
      case .placeholder(.keyPath):
        expression = try continued(expression, withArgumentOf: token)
      case .aggregate("unionOfObjects"): try advance()
      case .aggregate("distinctUnionOfObjects"):
        try self.count()
        try advance()
        expression = PredicateExpression(form: .distinct(expression), offset: expression.offset)
      // An aggregate is a single value, so no path can follow it.
      case .aggregate(let name): return try aggregate(name, of: expression)
      default: throw unexpected("the name of a property, or @ and an aggregate")
      }
    }
  }

  /// Parses a `%K` after a dot: its argument continues the path.
  private mutating func continued(
    _ expression: PredicateExpression,
    withArgumentOf start: PredicateLexer.Token
  ) throws(PredicateError) -> PredicateExpression {
    switch try placeholder(.keyPath, start) {
    case .keyPath(let names, _): return expression.appending(names)
    case .aggregate(let aggregate, let names, _, let path):
      return PredicateExpression(
        form: .statistic(PredicateStatistic(aggregate), expression.appending(names), path: path),
        offset: expression.offset
      )
    default: throw lexer.error(at: start.offset, expected: "a key path as the argument of %K")
    }
  }

  /// Parses an index after its opening bracket: `FIRST`, `LAST`, `SIZE`, or a number from 0.
  private mutating func element(
    of collection: PredicateExpression
  ) throws(PredicateError) -> PredicateExpression {
    try count()
    func made(_ form: PredicateForm) -> PredicateExpression {
      PredicateExpression(form: form, offset: collection.offset)
    }
    let start = token
    let element: PredicateExpression
    if try take("FIRST") {
      element = made(.element(collection, .first))
    } else if try take("LAST") {
      element = made(.element(collection, .last))
    } else if try take("SIZE") {
      element = made(.statistic(.count, collection))
    } else {
      switch try nested({ parser throws(PredicateError) in try parser.side() }).form {
      case .constant(.integer(let index)) where 0...Int64(Int32.max) ~= index:
        element = made(.element(collection, .at(Int(index))))
      case .constant(.string(let name)): element = collection.appending([name])
      default:
        throw lexer.error(at: start.offset, expected: "FIRST, LAST, SIZE or an index from 0")
      }
    }
    try expect("]")
    return element
  }

  /// Parses the path to a member's values, which consists of the names after an aggregate.
  private mutating func memberPath() throws(PredicateError) -> [String] {
    var path: [String] = []
    while try take(".") {
      switch token.form {
      case .word(let name), .name(let name): path.append(name)
      default: throw unexpected("the name of a property")
      }
      try advance()
    }
    return path.map { $0.uppercased() } == ["SELF"] ? [] : path
  }

  /// Parses an aggregate after its expression, which is empty for an aggregate of a group.
  private mutating func aggregate(
    _ name: String,
    of expression: PredicateExpression
  ) throws(PredicateError) -> PredicateExpression {
    func made(_ form: PredicateForm) -> PredicateExpression {
      PredicateExpression(form: form, offset: expression.offset)
    }
    try count()
    guard let aggregate = PredicateAggregate(rawValue: name) else {
      throw unexpected("@count, @sum, @min, @max, @avg, @unionOfObjects or @distinctUnionOfObjects")
    }
    guard case .keyPath(let names, let variable) = expression.form else {
      try advance()
      let path = aggregate == .count ? [] : try memberPath()
      return made(.statistic(PredicateStatistic(aggregate), expression, path: path))
    }
    return made(try self.aggregate(aggregate, of: names, variable))
  }

  private mutating func aggregate(
    _ aggregate: PredicateAggregate,
    of names: [String],
    _ variable: String?
  ) throws(PredicateError) -> PredicateForm {
    guard !names.isEmpty || isOverGroups else {
      throw unexpected("a to-many before @\(aggregate.rawValue)")
    }
    try advance()
    guard aggregate != .count else {
      return .aggregate(.count, of: names, variable: variable, path: [])
    }
    let path = try memberPath()
    guard !path.isEmpty else {
      throw unexpected(". and the property for @\(aggregate.rawValue)")
    }
    return .aggregate(aggregate, of: names, variable: variable, path: path)
  }

  /// Parses the aggregate of a group, which has no to-many before it.
  private mutating func groupAggregate(_ name: String) throws(PredicateError) -> PredicateForm {
    guard let aggregate = PredicateAggregate(rawValue: name) else {
      throw unexpected("@count, @sum, @min, @max or @avg")
    }
    return try self.aggregate(aggregate, of: [], nil)
  }
}

extension PredicateExpression {
  /// Returns the expression with names after it.
  func appending(_ names: [String]) -> PredicateExpression {
    guard !names.isEmpty else { return self }
    let form: PredicateForm =
      switch form {
      case .keyPath(let path, let variable): .keyPath(path + names, variable: variable)
      case .path(let start, let path): .path(start, path + names)
      default: .path(self, names)
      }
    return PredicateExpression(form: form, offset: offset)
  }
}
