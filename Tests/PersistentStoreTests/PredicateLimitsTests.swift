import JSON
import TestSeeds
import TestStores
import Testing

@Suite struct `How deep and wide a predicate may be` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"Milk","priority":1}},
        {"id":"Task/t2","values":{"title":"Bread","priority":2}},{"id":"Task/t3"}]}
      """
    )
  }

  private func fetch(_ predicate: String) -> String {
    #"{"entity":"Task","predicate":\#(JSONValue.string(predicate).text)}"#
  }

  /// AND and OR in turn, so many of them one within the other, with terms that decide nothing.
  private func alternating(_ levels: Int, width: Int = 1) -> String {
    (0..<levels).reduce("priority == 1") { inner, level in
      let (word, term) = level % 2 == 0 ? (" AND ", "priority != 77") : (" OR ", "priority == 77")
      return (["(\(inner))"] + [String](repeating: term, count: width)).joined(separator: word)
    }
  }

  @Test(arguments: [1, 2, 89, 90])
  func `many a NOT`(count: Int) throws {
    let nots = String(repeating: "NOT ", count: count)
    let (even, odd) = (["Task/p1"], ["Task/p2", "Task/p3"])
    #expect(try store.ids(fetch(nots + "priority == 1")) == (count % 2 == 0 ? even : odd))
  }

  // Evidence: P-052h
  @Test func `AND and OR alternate 100 levels deep, and no deeper`() throws {
    for levels in [1, 2, 20, 21, 60, 100] {
      #expect(try store.ids(fetch(alternating(levels))) == ["Task/p1"], "\(levels)")
    }
    #expect(try store.refusal(ofFetch: fetch(alternating(101)))?.code == "predicateInvalid")
  }

  // Evidence: P-052h
  @Test(arguments: [
    (String(repeating: "1 - (", count: 96), "priority", ")", " == 1"),
    ("priority == 1 AND " + String(repeating: "(0 + (", count: 48), "priority", "))", " == 1"),
    (String(repeating: "abs:(", count: 96), "priority", ")", " == 1"),
    ("1 == " + String(repeating: "TERNARY(priority > 5, 7, ", count: 96), "priority", ")", ""),
    ("1 == " + String(repeating: "TERNARY(priority > 5, 7, 0 + ", count: 96), "priority", ")", ""),
    (String(repeating: "sum:({", count: 48), "priority", "})", " == 1"),
    ("'milk' == " + String(repeating: "lowercase:(", count: 96), "title", ")", ""),
    (String(repeating: "NOT (priority != 1 OR NOT (", count: 24), "priority == 1", "))", ""),
  ])
  func `nested as deep as the language allows`(
    opening: String,
    inner: String,
    closing: String,
    rest: String
  ) throws {
    let count = opening.count { $0 == "(" } / closing.count { $0 == ")" }
    let predicate = opening + inner + String(repeating: closing, count: count) + rest
    #expect(try store.ids(fetch(predicate)) == ["Task/p1"], "\(predicate)")
    let negated = try store.ids(fetch("NOT (\(predicate))"))
    #expect(negated == ["Task/p2", "Task/p3"], "\(predicate)")
  }

  @Test func `AND within OR below NOT is one level`() throws {
    let nested = (1..<40).reduce("priority == 1 AND priority != 77") { inner, level in
      level % 2 == 0 ? "NOT (\(inner)) AND priority != 77" : "NOT (\(inner)) OR priority == 77"
    }
    #expect(try store.ids(fetch(nested)) == ["Task/p2", "Task/p3"])
  }

  @Test func `deep and wide at once`() throws {
    #expect(try store.ids(fetch(alternating(19, width: 12))) == ["Task/p1"])
    let negated = try store.ids(fetch("NOT (\(alternating(19, width: 12)))"))
    #expect(negated == ["Task/p2", "Task/p3"])
  }

  /// Wherever what is deep stands among its neighbours.
  @Test func `deep and wide with the inner condition last`() throws {
    for (levels, width) in [(19, 2), (15, 4), (10, 8), (19, 50), (20, 45)] {
      let predicate = (0..<levels).reduce("priority == 1") { inner, level in
        let (word, term) = level % 2 == 0 ? (" AND ", "priority != 77") : (" OR ", "priority == 77")
        return ([String](repeating: term, count: width) + ["(\(inner))"]).joined(separator: word)
      }
      #expect(try store.ids(fetch(predicate)) == ["Task/p1"], "\(levels), \(width)")
    }
  }

  /// SQLite's parser is never asked for more than it can.
  @Test(arguments: Seeds.first(20))
  func `a condition of any shape is compiled or exceeds a limit`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func condition(_ levels: Int) -> String {
      guard levels > 0 else {
        return random.pick(["priority == 1", "title LIKE 'x*'", "done == NO"])
      }
      let inner = condition(levels - 1)
      let small = random.oneIn(2) ? "priority != 7" : "ANY labels.name == 'x' OR priority > 2"
      switch random.below(6) {
      case 0: return "NOT (\(inner))"
      case 1: return "SUBQUERY(blocks, $b, \(small)).@count >= 0 AND (\(inner))"
      case 2: return "(\(small)) AND (\(inner))"
      case 3: return "(\(inner)) OR (\(small))"
      case 4: return "SUBQUERY(labels, $l\(levels), \(inner)).@count > 0"
      default: return "(priority + (\(levels) - (priority * 2)) > 1) OR (\(inner))"
      }
    }
    for _ in 0..<10 {
      let predicate = condition(5 + random.below(30))
      let code = try store.refusal(ofFetch: fetch(predicate))?.code
      #expect(
        code == nil || code == "limitExceeded" || code == "predicateInvalid",
        "\(predicate); \(Seeds.repeating(seed))"
      )
    }
  }

  @Test func `the same word within itself is one level`() throws {
    let ors = (10..<90).reduce("priority == 1") { "priority == 77 OR (\($0) OR priority == \($1))" }
    #expect(try store.ids(fetch(ors)) == ["Task/p1"])
  }
}

@Suite struct `Numbers compare by their decimal notation` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.everything)
    try await store.save(
      """
      {"insert":[{"id":"Item/t1","values":{"decimal":"99.5","float":0.1}},
        {"id":"Item/t2","values":{"decimal":"7","float":0.5}},
        {"id":"Item/t3","values":{"decimal":"0.1","float":16777216}},{"id":"Item/t4"}]}
      """
    )
  }

  @Test(
    arguments: [
      ("decimal == 99.5", [1]), ("decimal == 0.1", [3]), ("0.1 == decimal", [3]),
      ("decimal == 7", [2]), ("decimal == 7.0", [2]), ("decimal > 7", [1]),
      ("decimal >= 7.0", [1, 2]),
      ("decimal < 99.5", [2, 3]), ("decimal != 99.5", [2, 3, 4]), ("decimal IN {0.1, 7}", [2, 3]),
      ("decimal BETWEEN {0.1, 7.5}", [2, 3]), ("decimal == '99.50'", [1]),
      ("float == 0.1", [1]), ("float IN {0.1, 0.5}", [1, 2]), ("float <= 0.1", [1]),
      ("float > 0.1", [2, 3]), ("float == 16777216", [3]), ("float != 0.1", [2, 3, 4]),
    ] as [(String, [Int])]
  )
  func `decimals and floats with plain numbers`(predicate: String, found: [Int]) throws {
    let text = JSONValue.string(predicate).text
    let ids = try store.ids(#"{"entity":"Item","predicate":\#(text)}"#)
    #expect(ids == found.map { "Item/p\($0)" }, "\(predicate)")
  }

  /// Before and after the depth from which SQLite reads them in parts.
  // Evidence: P-052h
  @Test(arguments: [2, 8, 16, 18, 19, 20, 22, 24, 27, 28, 40])
  func `operations on decimals nest`(count: Int) throws {
    let sum = [String](repeating: "decimal", count: max(count, 8)).joined(separator: " + ")
    let opposite =
      String(repeating: "-(", count: count) + "decimal"
      + String(repeating: ")", count: count)
    let sign = count % 2 == 0 ? ">" : "<"
    let root =
      String(repeating: "floor:(", count: count) + "decimal"
      + String(repeating: ")", count: count)
    let other =
      String(repeating: "sqrt:(", count: count) + "float"
      + String(repeating: ")", count: count)
    let limit = count % 2 == 0 ? 1 : -1
    for (predicate, found) in [
      ("\(sum) > 9", [1, 2]), ("\(opposite) \(sign) \(limit)", [1, 2]), ("\(root) > 1", [1, 2]),
      ("\(root) == '7.0'", [2]), ("\(other) >= 0", [1, 2, 3]),
    ] {
      let deep = (0..<15).reduce(predicate) { inner, _ in
        "SELF != nil AND (SELF == nil OR \(inner))"
      }
      for predicate in [predicate, deep] {
        let text = JSONValue.string(predicate).text
        let ids = try store.ids(#"{"entity":"Item","predicate":\#(text)}"#)
        #expect(ids == found.map { "Item/p\($0)" }, "\(predicate)")
      }
    }
  }
}

@Suite struct `How many tables key paths join` {
  /// An entity with some kinds: each to-one in a key path joins their tables, or the union of more
  /// than eight.
  private static func model(kinds: Int) -> String {
    let kinds = (1...kinds).map { #"{"name":"Kind\#($0)","parent":"Node"}"# }
    return """
      {"name":"M","version":"1","entities":[{"name":"Node","abstract":true,
       "attributes":[{"name":"title","type":"string","optional":true}],
       "relationships":[{"name":"owner","destination":"Node","optional":true,"inverse":"parts"},
        {"name":"parts","destination":"Node","toMany":true,"inverse":"owner"}]},
       \(kinds.joined(separator: ","))]}
      """
  }

  private func fetch(_ predicate: String) -> String {
    #"{"entity":"Node","predicate":\#(JSONValue.string(predicate).text)}"#
  }

  // Evidence: P-052h
  @Test(arguments: [(1, 60), (4, 15), (8, 7), (9, 60)])
  func `is limited before SQLite refuses them`(kinds: Int, allowed: Int) async throws {
    let store = try TestStore(Self.model(kinds: kinds))
    // The object owns itself, so that a path of any length has a value.
    try await store.save(
      #"{"insert":[{"id":"Kind1/t1","values":{"title":"a","owner":"Kind1/t1"}}]}"#
    )
    let all = try store.ids(#"{"entity":"Node"}"#)
    #expect(all.count == 1)
    var codes: [String?] = []
    for count in 1...70 {
      let path = String(repeating: "owner.", count: count) + "title"
      let code = try store.refusal(ofFetch: fetch("\(path) == 'a'"))?.code
      if code == nil { #expect(try store.ids(fetch("\(path) == 'a'")) == all, "\(count)") }
      codes.append(code)
    }
    #expect(codes.prefix(allowed).allSatisfy { $0 == nil }, "\(codes)")
    #expect(codes.dropFirst(allowed).allSatisfy { $0 == "limitExceeded" }, "\(codes)")
  }

  @Test func `is limited in paths over several to-manys too`() async throws {
    let store = try TestStore(Self.model(kinds: 6))
    try await store.save(#"{"insert":[{"id":"Kind1/t1","values":{"title":"a"}}]}"#)
    let owners = String(repeating: "owner.", count: 9)
    var codes: [String?] = []
    for count in 1...6 {
      let path = [String](repeating: "\(owners)parts", count: count).joined(separator: ".")
      codes.append(try store.refusal(ofFetch: fetch("ANY \(path).title == 'a'"))?.code)
    }
    #expect(codes.first == .some(nil), "\(codes)")
    #expect(codes.allSatisfy { $0 == nil || $0 == "limitExceeded" }, "\(codes)")
  }
}
