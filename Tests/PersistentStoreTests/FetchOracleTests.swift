import JSON
import TestSeeds
import TestStores
import Testing

/// One row of the oracle's world; a leader is a row too.
private struct Item {
  var number: Int
  var a: Int64?
  var b: Int64?
  var text: String?
  var flag: Bool?
  var leader: Int?
}

/// A value that compares with those of its own kind only.
private enum Value: Equatable {
  case integer(Int64)
  case text(String)
  case flag(Bool)
  case item(Int)

  func precedes(_ other: Value) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.text(let a), .text(let b)):
      a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
    case (.flag(let a), .flag(let b)): !a && b
    default: false
    }
  }
}

/// A predicate with its text and what it means, written down without SQL.
private struct Condition {
  let text: String
  let holds: (Item, [Int: Item]) -> Bool
}

/// Makes predicates and evaluates them one row at a time.
private struct Oracle {
  static let texts = ["", "a", "A", "ab", "aB", "é", "É", "e", "abc é", "b'\"%"]
  static let paths = [
    "a", "b", "text", "flag", "leader", "leader.a", "leader.text", "leader.leader.b",
  ]

  static func value(_ path: String, _ item: Item, _ all: [Int: Item]) -> Value? {
    var item = item
    var names = path.split(separator: ".").map(String.init)
    while names.count > 1 {
      guard let leader = item.leader.flatMap({ all[$0] }) else { return nil }
      item = leader
      names.removeFirst()
    }
    switch names[0] {
    case "a": return item.a.map { .integer($0) }
    case "b": return item.b.map { .integer($0) }
    case "text": return item.text.map { .text($0) }
    case "flag": return item.flag.map { .flag($0) }
    default: return item.leader.map { .item($0) }
    }
  }

  static func fold(_ text: String, _ options: String) -> String {
    var text = text
    if options.contains("c") { text = text.lowercased() }
    guard options.contains("d") else { return text }
    return text.replacing("é", with: "e").replacing("É", with: "E")
  }

  var random: SplitMix64

  mutating func condition(_ depth: Int) -> Condition {
    switch depth > 0 ? random.below(8) : 7 {
    case 0, 1:
      let inner = condition(depth - 1)
      return Condition(text: "NOT (\(inner.text))") { !inner.holds($0, $1) }
    case 2, 3:
      let first = condition(depth - 1)
      let second = condition(depth - 1)
      return Condition(text: "(\(first.text)) AND (\(second.text))") {
        first.holds($0, $1) && second.holds($0, $1)
      }
    case 4, 5:
      let first = condition(depth - 1)
      let second = condition(depth - 1)
      return Condition(text: "(\(first.text)) OR (\(second.text))") {
        first.holds($0, $1) || second.holds($0, $1)
      }
    default:
      switch random.below(6) {
      case 0: return list()
      case 1: return part()
      case 2: return missing()
      case 3: return twoPaths()
      default: return comparison()
      }
    }
  }

  /// A constant of the kind of a path, as text of a predicate and as a value.
  private mutating func constant(_ path: String) -> (text: String, value: Value) {
    switch path.split(separator: ".").last {
    case "text":
      let text = random.pick(Self.texts)
      return (JSONValue.string(text).text, .text(text))
    case "flag":
      let flag = random.oneIn(2)
      return (flag ? "YES" : "false", .flag(flag))
    case "leader":
      let number = 1 + random.below(14)
      return ("\"Item/p\(number)\"", .item(number))
    default:
      let number = Int64(random.below(7)) - 2
      return ("\(number)", .integer(number))
    }
  }

  private static func compare(_ sign: String, _ first: Value?, _ second: Value?) -> Bool {
    switch sign {
    case "==": return first == second
    case "!=": return first != second
    default: break
    }
    guard let first, let second else { return false }
    switch sign {
    case "<": return first.precedes(second)
    case "<=": return first.precedes(second) || first == second
    case ">": return second.precedes(first)
    default: return second.precedes(first) || first == second
    }
  }

  private mutating func sign(_ path: String) -> String {
    path.hasSuffix("leader") || path == "flag"
      ? random.pick(["==", "!="]) : random.pick(["==", "!=", "<", "<=", ">", ">="])
  }

  private mutating func comparison() -> Condition {
    let path = random.pick(Self.paths)
    let sign = sign(path)
    let (text, wanted) = constant(path)
    if random.oneIn(4) {
      return Condition(text: "\(text) \(sign) \(path)") { item, all in
        Self.compare(sign, wanted, Self.value(path, item, all))
      }
    }
    return Condition(text: "\(path) \(sign) \(text)") { item, all in
      Self.compare(sign, Self.value(path, item, all), wanted)
    }
  }

  private mutating func twoPaths() -> Condition {
    let first = random.pick(["a", "b", "leader.a"])
    let second = random.pick(["a", "b", "leader.leader.b"])
    let sign = sign(first)
    return Condition(text: "\(first) \(sign) \(second)") { item, all in
      Self.compare(sign, Self.value(first, item, all), Self.value(second, item, all))
    }
  }

  private mutating func missing() -> Condition {
    let path = random.pick(Self.paths)
    return random.oneIn(2)
      ? Condition(text: "\(path) == nil") { Self.value(path, $0, $1) == nil }
      : Condition(text: "\(path) != NULL") { Self.value(path, $0, $1) != nil }
  }

  private mutating func list() -> Condition {
    let path = random.pick(Self.paths)
    if random.oneIn(2), !path.hasSuffix("leader"), path != "flag" {
      let low = constant(path)
      let high = constant(path)
      return Condition(text: "\(path) BETWEEN {\(low.text), \(high.text)}") { item, all in
        let value = Self.value(path, item, all)
        return Self.compare(">=", value, low.value) && Self.compare("<=", value, high.value)
      }
    }
    let elements = (0..<random.below(4)).map { _ in constant(path) }
    let text = elements.map(\.text).joined(separator: ", ")
    return Condition(text: "\(path) IN {\(text)}") { item, all in
      Self.value(path, item, all).map { value in elements.contains { $0.value == value } } ?? false
    }
  }

  private mutating func part() -> Condition {
    let path = random.pick(["text", "leader.text"])
    let options = random.pick(["", "c", "d", "cd"])
    let sign = random.pick(["CONTAINS", "BEGINSWITH", "ENDSWITH", "=="])
    // What an empty text is a part of is a matter of taste.
    let wanted = random.pick(Self.texts.filter { !$0.isEmpty })
    let brackets = options.isEmpty ? "" : "[\(options)]"
    let text = "\(path) \(sign)\(brackets) \(JSONValue.string(wanted).text)"
    return Condition(text: text) { item, all in
      guard case .text(let whole)? = Self.value(path, item, all) else { return false }
      let first = Self.fold(whole, options)
      let second = Self.fold(wanted, options)
      return switch sign {
      case "CONTAINS": first.contains(second)
      case "BEGINSWITH": first.hasPrefix(second)
      case "ENDSWITH": first.hasSuffix(second)
      default: first == second
      }
    }
  }

  // MARK: Order

  static func precedes(_ first: Item, _ second: Item, _ keys: [String], _ all: [Int: Item]) -> Bool
  {
    for key in keys {
      let descends = key.hasPrefix("-")
      let path = descends ? String(key.dropFirst()) : key
      let a = value(path, descends ? second : first, all)
      let b = value(path, descends ? first : second, all)
      if a == b { continue }
      guard let a else { return true }
      guard let b else { return false }
      return a.precedes(b)
    }
    return first.number < second.number
  }
}

@Suite struct `A fetch agrees with a scan of the rows` {
  private static let model = """
    {"name": "Oracle", "version": "1", "entities": [
      {"name": "Item", "attributes": [
        {"name": "a", "type": "int64", "optional": true},
        {"name": "b", "type": "int16", "optional": true},
        {"name": "text", "type": "string", "optional": true},
        {"name": "flag", "type": "boolean", "optional": true}],
       "relationships": [
         {"name": "leader", "destination": "Item", "inverse": "led", "optional": true},
         {"name": "led", "destination": "Item", "toMany": true, "inverse": "leader"}],
       "indexes": [["a"], ["text", "b"]]}]}
    """

  private func items(_ random: inout SplitMix64) -> [Item] {
    (1...12).map { number in
      Item(
        number: number,
        a: random.oneIn(4) ? nil : Int64(random.below(7)) - 2,
        b: random.oneIn(4) ? nil : Int64(random.below(7)) - 2,
        text: random.oneIn(4) ? nil : random.pick(Oracle.texts),
        flag: random.oneIn(3) ? nil : random.oneIn(2),
        leader: random.oneIn(3) ? nil : 1 + random.below(12)
      )
    }
  }

  private func values(_ item: Item) -> String {
    let values: JSONValue = [
      "a": item.a.map { .integer($0) } ?? .null, "b": item.b.map { .integer($0) } ?? .null,
      "text": item.text.map { .string($0) } ?? .null, "flag": item.flag.map { .bool($0) } ?? .null,
      "leader": item.leader.map { .string("Item/t\($0)") } ?? .null,
    ]
    return #"{"id":"Item/t\#(item.number)","values":\#(values.text)}"#
  }

  /// 30 worlds, ten fetches in each.
  @Test(arguments: Seeds.first(30))
  func `random predicates, orders and windows over random rows`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let items = items(&random)
    let store = try TestStore(Self.model)
    try await store.save(#"{"insert":[\#(items.map(values).joined(separator: ","))]}"#)
    let all = Dictionary(uniqueKeysWithValues: items.map { ($0.number, $0) })
    var oracle = Oracle(random: random)
    for _ in 0..<10 {
      let condition = oracle.condition(3)
      let keys = (0..<oracle.random.below(3)).map { _ in
        (oracle.random.oneIn(2) ? "-" : "")
          + oracle.random.pick(["a", "b", "text", "flag", "leader.a", "leader.leader.text"])
      }
      let limit = oracle.random.oneIn(2) ? nil : oracle.random.below(8)
      let offset = oracle.random.oneIn(2) ? 0 : oracle.random.below(5)
      let expected = items.filter { condition.holds($0, all) }
        .sorted { Oracle.precedes($0, $1, keys, all) }
        .dropFirst(offset).prefix(limit ?? Int.max).map { "Item/p\($0.number)" }
      let fetch: JSONValue = [
        "entity": "Item", "predicate": .string(condition.text),
        "sort": .array(keys.map { .string($0) }), "offset": .integer(Int64(offset)),
        "limit": limit.map { .integer(Int64($0)) } ?? .null,
      ]
      #expect(
        try store.ids(fetch.text) == expected,
        "\(fetch.text); \(Seeds.repeating(seed))"
      )
    }
  }
}
