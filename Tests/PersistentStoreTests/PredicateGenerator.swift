import JSON
import ObjectModel
import TestSeeds

/// Rows of the world in plain Swift, by number.
struct OracleData {
  struct Node {
    var a: Int?
    var b: Double?
    var text: String?
    var flag: Bool
    var leader: Int?
    var tags: Set<Int> = []
  }

  var nodes: [Int: Node] = [:]
  var tags: [Int: (name: String?, weight: Int?)] = [:]

  func followers(_ number: Int) -> [Int] {
    nodes.filter { $0.value.leader == number }.map(\.key).sorted()
  }
}

/// A value of an expression; two are equal when SQL's `IS` would say so.
enum OracleValue: Equatable {
  case missing
  case integer(Int)
  case double(Double)
  case text(String)
  case flag(Bool)
  case node(Int)
  case tag(Int)

  var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  func equals(_ other: OracleValue) -> Bool {
    if let a = number, let b = other.number { return a == b }
    return self == other
  }
}

/// An expression as text and as a function of what its variables stand for; the object itself is
/// `""`.
struct OracleExpression {
  let source: String
  let value: ([String: OracleValue]) -> OracleValue
}

/// A condition as text and as a function.
struct OracleCondition {
  let source: String
  let holds: ([String: OracleValue]) -> Bool
}

/// Makes conditions of the whole language and evaluates them naively, over arrays.
struct OracleGenerator {
  let data: OracleData
  var random: SplitMix64
  var names = 0

  static let texts = [
    "", "a", "A", "ä", "abc", "aXc", "b*", "ß", "Straße", "日本", "x.y", "é", "a\0B",
  ]

  // MARK: Numbers

  /// A number of a node for which a variable stands.
  mutating func number(_ variable: String, _ levels: Int) -> OracleExpression {
    let data = data
    let prefix = variable.isEmpty ? "" : "$\(variable)."
    func node(_ env: [String: OracleValue]) -> OracleData.Node? {
      if case .node(let number)? = env[variable] { data.nodes[number] } else { nil }
    }
    switch random.below(levels > 0 ? 12 : 4) {
    case 0:
      return OracleExpression(source: prefix + "a") { node($0)?.a.map { .integer($0) } ?? .missing }
    case 1:
      return OracleExpression(source: prefix + "b") { node($0)?.b.map { .double($0) } ?? .missing }
    case 2:
      return OracleExpression(source: prefix + "leader.a") { env in
        node(env)?.leader.flatMap { data.nodes[$0]?.a }.map { .integer($0) } ?? .missing
      }
    case 3:
      let constant = random.below(7) - 2
      return OracleExpression(source: "\(constant)") { _ in .integer(constant) }
    case 4: return arithmetic(variable, levels)
    case 5:
      let inner = number(variable, levels - 1)
      return OracleExpression(source: "abs:(\(inner.source))") { env in
        switch inner.value(env) {
        case .integer(let number): .integer(abs(number))
        case .double(let number): .double(abs(number))
        default: .missing
        }
      }
    case 6:
      let inner = number(variable, levels - 1)
      return OracleExpression(source: "-(\(inner.source))") { env in
        switch inner.value(env) {
        case .integer(let number): .integer(-number)
        case .double(let number): .double(-number)
        default: .missing
        }
      }
    case 7:
      let text = text(variable)
      return OracleExpression(source: "length:(\(text.source))") { env in
        if case .text(let text) = text.value(env) {
          .integer(text.unicodeScalars.count)
        } else {
          .missing
        }
      }
    case 8: return aggregate(variable, prefix)
    case 9:
      return OracleExpression(source: prefix + "tags.@count") {
        .integer(node($0)?.tags.count ?? 0)
      }
    default: return subquery(variable, prefix, levels)
    }
  }

  private mutating func arithmetic(_ variable: String, _ levels: Int) -> OracleExpression {
    let (left, right) = (number(variable, levels - 1), number(variable, levels - 1))
    let sign = random.pick(["+", "-", "*", "/"])
    return OracleExpression(source: "(\(left.source) \(sign) \(right.source))") { env in
      let (a, b) = (left.value(env), right.value(env))
      if case .integer(let a) = a, case .integer(let b) = b {
        switch sign {
        case "+": return .integer(a + b)
        case "-": return .integer(a - b)
        case "*": return .integer(a * b)
        default: return b == 0 ? .missing : .integer(a / b)
        }
      }
      guard let a = a.number, let b = b.number else { return .missing }
      switch sign {
      case "+": return .double(a + b)
      case "-": return .double(a - b)
      case "*": return .double(a * b)
      default: return b == 0 ? .missing : .double(a / b)
      }
    }
  }

  private mutating func aggregate(_ variable: String, _ prefix: String) -> OracleExpression {
    let data = data
    let name = random.pick(["count", "sum", "min", "max", "avg"])
    let source = prefix + "followers.@\(name)" + (name == "count" ? "" : ".a")
    return OracleExpression(source: source) { env in
      guard case .node(let number)? = env[variable] else { return .missing }
      let members = data.followers(number)
      let values = members.compactMap { data.nodes[$0]?.a }
      switch name {
      case "count": return .integer(members.count)
      case "sum": return .integer(values.reduce(0, +))
      case "min": return values.min().map { .integer($0) } ?? .missing
      case "max": return values.max().map { .integer($0) } ?? .missing
      default:
        return values.isEmpty
          ? .missing : .double(Double(values.reduce(0, +)) / Double(values.count))
      }
    }
  }

  private mutating func subquery(
    _ variable: String,
    _ prefix: String,
    _ levels: Int
  ) -> OracleExpression {
    let data = data
    names += 1
    let name = "v\(names)"
    let inner = condition(random.oneIn(3) ? variable : name, levels - 1)
    return OracleExpression(
      source: "SUBQUERY(\(prefix)followers, $\(name), \(inner.source)).@count"
    ) {
      env in
      guard case .node(let number)? = env[variable] else { return .missing }
      return .integer(
        data.followers(number).count { member in
          var env = env
          env[name] = .node(member)
          return inner.holds(env)
        }
      )
    }
  }

  // MARK: Texts

  private mutating func text(_ variable: String) -> OracleExpression {
    let data = data
    let prefix = variable.isEmpty ? "" : "$\(variable)."
    switch random.below(3) {
    case 0:
      return OracleExpression(source: prefix + "text") { env in
        guard case .node(let number)? = env[variable] else { return .missing }
        return data.nodes[number]?.text.map { .text($0) } ?? .missing
      }
    case 1:
      return OracleExpression(source: prefix + "leader.text") { env in
        guard case .node(let number)? = env[variable],
          let leader = data.nodes[number]?.leader
        else { return .missing }
        return data.nodes[leader]?.text.map { .text($0) } ?? .missing
      }
    default:
      let constant = random.pick(Self.texts)
      return OracleExpression(source: JSONValue.string(constant).text) { _ in .text(constant) }
    }
  }

  // MARK: Conditions

  /// A condition on the node for which a variable stands.
  mutating func condition(_ variable: String, _ levels: Int) -> OracleCondition {
    switch random.below(levels > 0 ? 12 : 3) {
    case 0, 1: return comparison(variable, levels)
    case 2: return textual(variable)
    case 3:
      let inner = condition(variable, levels - 1)
      return OracleCondition(source: "NOT (\(inner.source))") { !inner.holds($0) }
    case 4, 5: return junction(variable, levels)
    case 6, 7, 8: return quantified(variable, levels)
    case 9: return membership(variable)
    case 10: return between(variable, levels)
    default:
      let prefix = variable.isEmpty ? "" : "$\(variable)."
      let data = data
      return OracleCondition(source: prefix + "flag == \(random.pick(["YES", "1", "TRUE"]))") {
        env in
        guard case .node(let number)? = env[variable] else { return false }
        return data.nodes[number]?.flag == true
      }
    }
  }

  private mutating func junction(_ variable: String, _ levels: Int) -> OracleCondition {
    let terms = (0..<2 + random.below(2)).map { _ in condition(variable, levels - 1) }
    let isAnd = random.oneIn(2)
    let source = terms.map { "(\($0.source))" }.joined(separator: isAnd ? " AND " : " OR ")
    return OracleCondition(source: source) { env in
      isAnd ? terms.allSatisfy { $0.holds(env) } : terms.contains { $0.holds(env) }
    }
  }

  private mutating func comparison(_ variable: String, _ levels: Int) -> OracleCondition {
    let (left, right) = (number(variable, levels - 1), number(variable, levels - 1))
    let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
    return OracleCondition(source: "\(left.source) \(sign) \(right.source)") { env in
      Self.compare(left.value(env), sign, right.value(env))
    }
  }

  /// Two-valued: with a missing value only equality with nothing, and inequality, are true.
  private static func compare(_ a: OracleValue, _ sign: String, _ b: OracleValue) -> Bool {
    if sign == "==" { return a.equals(b) }
    if sign == "!=" { return !a.equals(b) }
    guard let a = a.number, let b = b.number else { return false }
    switch sign {
    case "<": return a < b
    case "<=": return a <= b
    case ">": return a > b
    default: return a >= b
    }
  }

  private mutating func between(_ variable: String, _ levels: Int) -> OracleCondition {
    let value = number(variable, levels - 1)
    let (low, high) = (random.below(4) - 1, random.below(5))
    return OracleCondition(source: "\(value.source) BETWEEN {\(low), \(high)}") { env in
      value.value(env).number.map { Double(low) <= $0 && $0 <= Double(high) } ?? false
    }
  }

  private mutating func textual(_ variable: String) -> OracleCondition {
    let left = text(variable)
    let constant = random.pick(Self.texts)
    let quoted = JSONValue.string(constant).text
    func both(_ body: @escaping (String) -> Bool) -> ([String: OracleValue]) -> Bool {
      { env in if case .text(let text) = left.value(env) { body(text) } else { false } }
    }
    switch random.below(6) {
    case 0:
      return OracleCondition(
        source: "\(left.source) == \(quoted)",
        holds: both { $0.unicodeScalars.elementsEqual(constant.unicodeScalars) }
      )
    case 1:
      return OracleCondition(
        source: "\(left.source) BEGINSWITH \(quoted)",
        holds: both {
          !constant.isEmpty && $0.unicodeScalars.starts(with: constant.unicodeScalars)
        }
      )
    case 2:
      return OracleCondition(
        source: "\(left.source) ENDSWITH \(quoted)",
        holds: both {
          !constant.isEmpty
            && $0.unicodeScalars.reversed().starts(with: constant.unicodeScalars.reversed())
        }
      )
    case 3:
      // Plain letters, for which case folding is what Swift's lower case is.
      let letters = random.pick(["a", "ABC", "x", "aX"])
      return OracleCondition(
        source: "\(left.source) CONTAINS[c] \(JSONValue.string(letters).text)",
        holds: both { $0.lowercased().contains(letters.lowercased()) }
      )
    case 4:
      let pattern = random.pick(["a*", "*c", "?", "a?c", "*", "b\\*", "??", "a*c*"])
      return OracleCondition(
        source: "\(left.source) LIKE \(JSONValue.string(pattern).text)",
        holds: both { Self.like(Array($0.unicodeScalars), Array(pattern.unicodeScalars)) }
      )
    default:
      let (pattern, holds) = random.pick([
        ("[a-c]+", { (text: String) in !text.isEmpty && text.allSatisfy { "abc".contains($0) } }),
        ("", { $0.isEmpty }), (".{3}", { $0.unicodeScalars.count == 3 }),
        (".*\\..*", { $0.contains(".") }),
      ])
      return OracleCondition(
        source: "\(left.source) MATCHES \(JSONValue.string(pattern).text)",
        holds: both(holds)
      )
    }
  }

  private static func like(_ text: [Unicode.Scalar], _ pattern: [Unicode.Scalar]) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = Array(pattern.dropFirst())
    switch first {
    case "*": return (0...text.count).contains { like(Array(text.dropFirst($0)), rest) }
    case "?": return !text.isEmpty && like(Array(text.dropFirst()), rest)
    case "\\":
      return text.first == rest.first && like(Array(text.dropFirst()), Array(rest.dropFirst()))
    default: return text.first == first && like(Array(text.dropFirst()), rest)
    }
  }

  /// ANY, ALL and NONE of the followers' numbers or of the tags' weights and names.
  private mutating func quantified(_ variable: String, _ levels: Int) -> OracleCondition {
    let data = data
    let prefix = variable.isEmpty ? "" : "$\(variable)."
    let word = random.pick(["ANY", "SOME", "ALL", "NONE"])
    let sign = random.pick(["==", "!=", "<", ">="])
    let right = number(variable, min(levels - 1, 1))
    let overTags = random.oneIn(2)
    let path =
      prefix + (overTags ? "tags.weight" : random.pick(["followers.a", "followers.leader.a"]))
    let isOwn = path.hasSuffix("leader.a")
    return OracleCondition(source: "\(word) \(path) \(sign) \(right.source)") { env in
      guard case .node(let number)? = env[variable] else { return false }
      let values: [OracleValue] =
        overTags
        ? (data.nodes[number]?.tags ?? []).map {
          data.tags[$0]?.weight.map { .integer($0) } ?? .missing
        }
        : data.followers(number).map {
          (isOwn ? data.nodes[number]?.a : data.nodes[$0]?.a).map { .integer($0) } ?? .missing
        }
      let wanted = right.value(env)
      switch word {
      case "ALL": return values.allSatisfy { Self.compare($0, sign, wanted) }
      case "NONE": return !values.contains { Self.compare($0, sign, wanted) }
      default: return values.contains { Self.compare($0, sign, wanted) }
      }
    }
  }

  /// A constant among the members of a to-many, or among their values.
  private mutating func membership(_ variable: String) -> OracleCondition {
    let data = data
    let prefix = variable.isEmpty ? "" : "$\(variable)."
    let tag = 1 + random.below(4)
    let name = random.pick(["a", "b", "é"])
    func tags(_ env: [String: OracleValue]) -> Set<Int> {
      if case .node(let number)? = env[variable] { data.nodes[number]?.tags ?? [] } else { [] }
    }
    switch random.below(4) {
    case 0:
      return OracleCondition(source: "\"Tag/p\(tag)\" IN \(prefix)tags") { tags($0).contains(tag) }
    case 1:
      return OracleCondition(source: "\(prefix)tags CONTAINS \"Tag/p\(tag)\"") {
        tags($0).contains(tag)
      }
    case 2:
      return OracleCondition(source: "\"\(name)\" IN \(prefix)tags.name") { env in
        tags(env).contains { data.tags[$0]?.name == name }
      }
    default:
      return OracleCondition(source: "ANY \(prefix)tags IN {\"Tag/p\(tag)\", \"Tag/p9\"}") {
        tags($0).contains(tag)
      }
    }
  }
}
