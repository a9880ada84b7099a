import JSON
import ObjectModel
import TestSeeds
import Testing

@Suite struct `A predicate is read as a tree` {
  @Test func `comparisons have signs and words, in either case`() {
    checkTree("a == 1", "(== a 1)")
    checkTree("a = 1", "(== a 1)")
    checkTree("a != 1", "(!= a 1)")
    checkTree("a <> 1", "(!= a 1)")
    checkTree("a < 1", "(< a 1)")
    checkTree("a <= 1", "(<= a 1)")
    checkTree("a =< 1", "(<= a 1)")
    checkTree("a > 1", "(> a 1)")
    checkTree("a >= 1", "(>= a 1)")
    checkTree("a => 1", "(>= a 1)")
    checkTree("a IN {1, 2}", "(in a {1 2})")
    checkTree("a in {}", "(in a {})")
    checkTree("a BETWEEN {1, 2}", "(between a {1 2})")
    checkTree("a CONTAINS 'x'", #"(contains a "x")"#)
    checkTree("a beginswith 'x'", #"(beginsWith a "x")"#)
    checkTree("a EndsWith 'x'", #"(endsWith a "x")"#)
    checkTree("1 == a", "(== 1 a)")
    checkTree("a == b", "(== a b)")
    checkTree("a==1", "(== a 1)")
    checkTree(" \t\r\na\n==\t1 ", "(== a 1)")
  }

  @Test func `options follow the operator in brackets`() {
    checkTree("a ==[c] 'x'", #"(==[c] a "x")"#)
    checkTree("a CONTAINS[cd] 'x'", #"(contains[cd] a "x")"#)
    checkTree("a BEGINSWITH [d] 'x'", #"(beginsWith[d] a "x")"#)
    checkTree("a ENDSWITH[DC] 'x'", #"(endsWith[cd] a "x")"#)
    checkTree("a !=[C] b", "(!=[c] a b)")
  }

  @Test func `AND binds tighter than OR, and NOT tighter than both`() {
    checkTree("a == 1 AND b == 2", "(and (== a 1) (== b 2))")
    checkTree("a == 1 && b == 2 and c == 3", "(and (== a 1) (== b 2) (== c 3))")
    checkTree("a == 1 OR b == 2 || c == 3", "(or (== a 1) (== b 2) (== c 3))")
    checkTree("a == 1 OR b == 2 AND c == 3", "(or (== a 1) (and (== b 2) (== c 3)))")
    checkTree("a == 1 AND b == 2 OR c == 3", "(or (and (== a 1) (== b 2)) (== c 3))")
    checkTree("(a == 1 OR b == 2) AND c == 3", "(and (or (== a 1) (== b 2)) (== c 3))")
    checkTree("NOT a == 1 AND b == 2", "(and (not (== a 1)) (== b 2))")
    checkTree("!a == 1 || b == 2", "(or (not (== a 1)) (== b 2))")
    checkTree("NOT (a == 1 AND b == 2)", "(not (and (== a 1) (== b 2)))")
    checkTree("not not a == 1", "(not (not (== a 1)))")
    checkTree("((a == 1))", "(== a 1)")
    checkTree("!(!(a == 1))", "(not (not (== a 1)))")
  }

  @Test func `two conditions are constant`() {
    checkTree("TRUEPREDICATE", "true")
    checkTree("falsepredicate", "false")
    checkTree("TRUEPREDICATE AND NOT FALSEPREDICATE", "(and true (not false))")
    checkTree("(TRUEPREDICATE)", "true")
  }

  // Evidence: P-052f
  @Test func `constants are strings, numbers, truth and nothing`() {
    checkTree("a == 0", "(== a 0)")
    checkTree("a == -17", "(== a -17)")
    checkTree("a == 9223372036854775807", "(== a 9223372036854775807)")
    checkTree("a == -9223372036854775808", "(== a -9223372036854775808)")
    checkTree("a == 1.5", "(== a 1.5)")
    checkTree("a == -0.25", "(== a -0.25)")
    checkTree("a == 1e3", "(== a 1000.0)")
    checkTree("a == 25E-2", "(== a 0.25)")
    checkTree("a == TRUE OR a == YES", "(or (== a true) (== a true))")
    checkTree("a == false OR a == no", "(or (== a false) (== a false))")
    checkTree("a == nil OR a != NULL", "(or (== a null) (!= a null))")
    checkTree("a == 'x' OR a == \"x\"", #"(or (== a "x") (== a "x"))"#)
    checkTree("a == ''", #"(== a "")"#)
    checkTree(#"a == 'it\'s'"#, #"(== a "it's")"#)
    checkTree(#"a == "it's""#, #"(== a "it's")"#)
    checkTree(#"a == "\"\\""#, #"(== a "\"\\")"#)
    checkTree(#"a == 'x\ny\tz'"#, #"(== a "x\ny\tz")"#)
    checkTree(#"a == '\u00e9\uD83E\uDD5B\b'"#, #"(== a "é🥛\u0008")"#)
    checkTree("a == '牛乳 🥛 AND %@ $x'", #"(== a "牛乳 🥛 AND %@ $x")"#)
    checkTree("a == 'x\u{301}'", "(== a \"x\u{301}\")")
  }

  @Test func `key paths follow to-ones, and SELF is the object`() {
    checkTree("group.title == 'x'", #"(== group.title "x")"#)
    checkTree("a.b.c == d.e", "(== a.b.c d.e)")
    checkTree("_a1.B_2 == 1", "(== _a1.B_2 1)")
    checkTree("SELF == 'Task/p1'", #"(== SELF "Task/p1")"#)
    checkTree("self.a == 1", "(== a 1)")
    checkTree("SELF IN {'Task/p1', 'Task/p2'}", #"(in SELF {"Task/p1" "Task/p2"})"#)
  }

  @Test func `a word that only begins like a keyword is a name`() {
    checkTree("ordinal == 1 or android == 2", "(or (== ordinal 1) (== android 2))")
    checkTree("notes == nil and nilable == 1", "(and (== notes null) (== nilable 1))")
    checkTree("inbox == 1", "(== inbox 1)")
    checkTree("selfish == trueish", "(== selfish trueish)")
  }

  @Test func `arguments are inserted as values, whatever their text`() {
    checkTree("a == %@ AND b == %@", #"(and (== a 1) (== b "x"))"#, .positional([1, "x"]))
    checkTree("%K == %@", "(== group.title null)", .positional(["group.title", nil]))
    checkTree("a IN %@", #"(in a ["x",1])"#, .positional([["x", 1]]))
    checkTree("a BETWEEN %@", "(between a [1,2])", .positional([[1, 2]]))
    checkTree("a IN {%@, %@}", "(in a {1 2})", .positional([1, 2]))
    checkTree("a == $x AND b == $x", "(and (== a true) (== b true))", .named([.init("x", true)]))
    checkTree("a == $x_1", "(== a 1)", .named([.init("x_1", 1), .init("unused", 2)]))
    checkTree("a == %@", #"(== a "' OR 1 == 1 --")"#, .positional(["' OR 1 == 1 --"]))
    checkTree("a == $x", #"(== a "b")"#, .named([.init("x", "b")]))
    checkTree("TRUEPREDICATE", "true", .positional([]))
  }
}

@Suite struct `A mistake in a predicate has an offset` {
  private func refuses(
    _ text: String,
    at offset: Int,
    _ arguments: PredicateArguments = .none,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    do throws(PredicateError) {
      let tree = try PredicateParser.parse(text, arguments: arguments)
      Issue.record("\(text) was taken as \(tree.text)", sourceLocation: sourceLocation)
    } catch {
      #expect(error.offset == offset, "\(text): \(error.message)", sourceLocation: sourceLocation)
      #expect(!error.expected.isEmpty, sourceLocation: sourceLocation)
    }
  }

  @Test func `a missing part is reported at the next token or at the end`() {
    refuses("", at: 0)
    refuses("  ", at: 2)
    refuses("a", at: 1)
    refuses("a ==", at: 4)
    refuses("a == ", at: 5)
    refuses("a == 1 AND", at: 10)
    refuses("a == 1 OR ", at: 10)
    refuses("NOT", at: 3)
    refuses("(a == 1", at: 7)
    refuses("(", at: 1)
    refuses("()", at: 1)
    refuses("a b", at: 2)
    refuses("a == 1 b", at: 7)
    refuses("a == 1)", at: 6)
    refuses("a == 1 2", at: 7)
    refuses("== 1", at: 0)
    refuses("a == == 1", at: 5)
    refuses("a == 1 AND OR b == 1", at: 11)
    refuses("a. == 1", at: 3)
    refuses(".a == 1", at: 0)
    refuses("TRUEPREDICATE == 1", at: 14)
  }

  @Test func `text that is not a token is reported at its beginning`() {
    refuses("a ~ 1", at: 2)
    refuses("a == @b", at: 5)
    refuses("a == 1 ; b", at: 7)
    refuses("a == 'x", at: 5)
    refuses("a == \"x'", at: 5)
    refuses(#"a == 'x\'"#, at: 5)
    refuses("a == 1.2.3", at: 5)
    refuses("a == 1e", at: 5)
    refuses("a == -", at: 6)
    refuses("a == 1e999", at: 5)
    refuses("a == é", at: 5)
    refuses("a == # b", at: 6)
    refuses("a == 1\u{0}", at: 6)
  }

  // Evidence: P-054a
  @Test func `offsets count UTF-16 code units`() {
    refuses("a == 'é' ~", at: 9)
    refuses("a == '🥛' ~", at: 10)
    refuses("a == '🥛e\u{301}牛' b", at: 13)
    refuses("a == '🥛' AND", at: 13)
    refuses("a == '🥛' OR b == 'x", at: 18)
    refuses("a == '🥛' OR b IN 1", at: 18)
    refuses("a == '🥛' OR b == $x", at: 18)
    refuses("🥛 == 1", at: 0)
  }

  @Test func `lists are for IN and BETWEEN`() {
    refuses("a IN 1", at: 5)
    refuses("a IN nil", at: 5)
    refuses("a == {1}", at: 5)
    refuses("a BETWEEN {1}", at: 10)
    refuses("a BETWEEN {1, 2, 3}", at: 10)
    refuses("a BETWEEN 1", at: 10)
    refuses("a IN {1", at: 7)
    refuses("a IN {1,", at: 8)
    refuses("a IN {1,}", at: 8)
    refuses("a IN {,1}", at: 6)
    refuses("a IN {1 2}", at: 8)
    refuses("a IN {{1}}", at: 6)
    refuses("a IN (1, 2)", at: 7)
    refuses("a CONTAINS {1}", at: 11)
    refuses("a IN %@", at: 5, .positional([1]))
    refuses("a BETWEEN %@", at: 10, .positional([[1]]))
  }

  @Test func `options are c and d`() {
    refuses("a CONTAINS[x] 'y'", at: 11)
    refuses("a CONTAINS[] 'y'", at: 11)
    refuses("a CONTAINS[c 'y'", at: 13)
    refuses("a CONTAINS[c", at: 12)
    refuses("a CONTAINS[1] 'y'", at: 11)
    refuses("a ==[c]", at: 7)
  }

  @Test func `arguments and placeholders must match`() {
    refuses("a == %@", at: 5)
    refuses("a == %@", at: 5, .positional([]))
    refuses("a == %@ AND b == %@", at: 17, .positional([1]))
    refuses("a == 1", at: 6, .positional([1]))
    refuses("a == %@", at: 5, .named([.init("x", 1)]))
    refuses("a == $x", at: 5)
    refuses("a == $x", at: 5, .positional([1]))
    refuses("a == $y", at: 5, .named([.init("x", 1)]))
    refuses("a == $", at: 6, .named([.init("", 1)]))
    refuses("%K == 1", at: 0, .positional([5]))
    refuses("%K == 1", at: 0, .positional([""]))
    refuses("a == %d", at: 5, .positional([1.5]))
    refuses("a == %ld", at: 5, .positional(["1"]))
    refuses("a == %f", at: 5, .positional(["1"]))
    refuses("a == %s", at: 5, .positional([1]))
    refuses("a == %l@", at: 5, .positional([1]))
    refuses("a == %y", at: 5, .positional([1]))
    refuses("a == %", at: 5, .positional([1]))
  }

  @Test func `an invalid aggregate, SUBQUERY or function has an offset`() {
    refuses("tasks.@median.x == 1", at: 6)
    refuses("tasks.@sum == 1", at: 11)
    refuses("tasks.@count.x == 1", at: 12)
    refuses("@count == 1", at: 0)
    refuses("ANY a", at: 5)
    refuses("ANY a == 1 == 2", at: 11)
    refuses("SUBQUERY(tasks, $t, $u.a == 1).@count == 1", at: 20)
    refuses("SUBQUERY(tasks, t, a == 1).@count == 1", at: 16)
    refuses("SUBQUERY(tasks, $t, $t.a == 1).@count == 1 AND $t.a == 1", at: 47)
    refuses("shout:(a) == 'x'", at: 6)
    refuses("a == CAST('x', 'y')", at: 15)
    refuses("a == CAST(b)", at: 11)
    refuses("a == TERNARY(b, 1, 2)", at: 14)
    refuses("a == add:to:(1)", at: 14)
    refuses("a == add:from:(1, 2)", at: 9)
    refuses("a[x] == 1", at: 2)
    refuses("a[-1] == 1", at: 2)
    refuses("a == 0x", at: 5)
    refuses("a == FUNCTION(b, 'c')", at: 5)
    refuses("(a == 1) + 1 == 2", at: 9)
    refuses("a + == 2", at: 4)
    refuses("a == 1 +", at: 8)
    refuses("(a + 1", at: 6)
    refuses("a LIKE", at: 6)
    refuses("LIKE == 1", at: 0)
    refuses("#", at: 1)
  }
}

@Suite struct `A predicate's size is bounded` {
  private func takes(_ text: String) -> Bool {
    do throws(PredicateError) {
      _ = try PredicateParser.parse(text)
      return true
    } catch {
      return false
    }
  }

  /// The limit is how deep parentheses and NOT may stand inside one another.
  @Test func `nesting is taken exactly up to its limit`() {
    func nested(_ depth: Int, _ open: String, _ close: String) -> String {
      String(repeating: open, count: depth) + "a == 1" + String(repeating: close, count: depth)
    }
    let limit = PredicateParser.depthMax
    for (open, close) in [("(", ")"), ("NOT ", ""), ("!", "")] {
      #expect(takes(nested(limit, open, close)), "\(limit) of \(open)")
      #expect(!takes(nested(limit + 1, open, close)), "\(limit + 1) of \(open)")
    }
    #expect(!takes(String(repeating: "(", count: 100_000)))
    #expect(!takes(String(repeating: "!", count: 100_000)))
    #expect(!takes(String(repeating: "NOT(", count: 100_000)))
  }

  @Test func `a closed condition frees its nesting level`() {
    #expect(takes(Array(repeating: "(NOT (a == 1))", count: 500).joined(separator: " AND ")))
  }

  @Test func `comparisons are taken exactly up to their limit`() {
    func joined(_ count: Int) -> String {
      Array(repeating: "a==1", count: count).joined(separator: " OR ")
    }
    #expect(takes(joined(PredicateParser.comparisonsMax)))
    #expect(!takes(joined(PredicateParser.comparisonsMax + 1)))
  }

  /// A table of all offsets answers each of them, so that no token's offset is counted anew.
  @Test func `offsets are UTF-16 code units after a long text of any script`() throws {
    let literal = String(repeating: "牛乳e\u{301}🥛", count: 20_000)
    for count in [0, 1, 5000] {
      let list = Array(repeating: "'🥛'", count: count) + ["?"]
      let text = "b == '\(literal)' AND a IN {" + list.joined(separator: ",") + "}"
      let mistake = try #require(text.utf16.firstIndex(of: 0x3F))
      let error = #expect(throws: PredicateError.self) { try PredicateParser.parse(text) }
      #expect(error?.offset == text.utf16.distance(from: text.utf16.startIndex, to: mistake))
    }
  }

  @Test func `a text is taken exactly up to its limit`() {
    func padded(_ length: Int) -> String {
      "a == 1" + String(repeating: " ", count: length - 6)
    }
    #expect(takes(padded(PredicateParser.textBytesMax)))
    #expect(!takes(padded(PredicateParser.textBytesMax + 1)))
  }
}

@Suite struct `Random predicates` {
  @Test(arguments: Seeds.first(50))
  func `what is written is read as the same tree`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20 {
      let (source, expected) = condition(&random, levels: 4)
      do throws(PredicateError) {
        let tree = try PredicateParser.parse(source)
        #expect(tree.text == expected, "\(source); \(Seeds.repeating(seed))")
      } catch {
        Issue.record("\(source): \(error.message); \(Seeds.repeating(seed))")
      }
    }
  }

  /// 50 seeds of 400 texts.
  @Test(arguments: Seeds.first(50))
  func `any text is a predicate or a mistake within it, never a trap`(seed: UInt64) {
    let tokens = [
      "a", "a.b", "SELF", "SELF.", "AND", "OR", "NOT", "!", "==", "<=", "IN", "BETWEEN", "CONTAINS",
      "[c]", "[",
      "]", "(", ")", "{", "}", "{1,2}", ",", "1", "-1", "1.5", "-", "'x'", "'", "\"", "\\", "%@",
      "%K", "$x", "$",
      "nil", "TRUE", "TRUEPREDICATE", "ANY", "LIKE", "🥛", "é", "\u{301}", "\u{0}", "@count", ".",
      "=", "<", ">", "+", "*", "**", "/", ":", "#", "@", "$t", "SUBQUERY(a, $t,", ").@count", "ALL",
      "abs:(", "MATCHES",
    ]
    var random = SplitMix64(seed: seed)
    for _ in 0..<400 {
      let text = (0..<random.below(10)).map { _ in random.pick(tokens) }
        .joined(separator: random.oneIn(2) ? " " : "")
      let arguments = random.pick([
        PredicateArguments.none, .positional(["a.b"]), .positional([1, [1, 2]]),
        .named([JSONMember("x", 1)]),
      ])
      do throws(PredicateError) {
        _ = try PredicateParser.parse(text, arguments: arguments)
      } catch {
        #expect((0...text.utf16.count).contains(error.offset), "\(text); \(Seeds.repeating(seed))")
      }
    }
  }

  /// A condition as source, and its tree as text.
  private func condition(_ random: inout SplitMix64, levels: Int) -> (String, String) {
    switch random.below(levels > 0 ? 6 : 2) {
    case 0, 1, 2:
      let (sign, name) = random.pick([
        ("==", "=="), ("!=", "!="), ("<", "<"), (">=", ">="), ("CONTAINS[cd]", "contains[cd]"),
        ("beginswith", "beginsWith"), ("ENDSWITH[d]", "endsWith[d]"), ("LIKE[c]", "like[c]"),
        ("matches", "matches"),
      ])
      let (left, side) = random.pick([
        ("a", "a"), ("a.b", "a.b"), ("SELF", "SELF"), ("(c_1)", "c_1"),
        ("a - 1 + b", "(+ (- a 1) b)"),
        ("a.@sum.b.c * -2 ** 2", "(* (sum a b.c) (** -2 2))"), ("length:(a)", "(length a)"),
      ])
      let (right, value) = random.pick([
        ("1", "1"), ("-2.5", "-2.5"), ("'it\\'s 🥛'", "\"it's 🥛\""), ("nil", "null"), ("x.y", "x.y"),
        ("YES", "true"),
      ])
      return ("\(left) \(sign) \(right)", "(\(name) \(side) \(value))")
    case 3:
      let (source, tree) = condition(&random, levels: levels - 1)
      return ("NOT (\(source))", "(not \(tree))")
    case let choice:
      let terms = (0..<2 + random.below(3)).map { _ in condition(&random, levels: levels - 1) }
      let (word, name) = choice == 4 ? (" AND ", "and") : (" OR ", "or")
      return (
        terms.map { "(\($0.0))" }.joined(separator: word),
        "(\(name) \(terms.map(\.1).joined(separator: " ")))"
      )
    }
  }
}
