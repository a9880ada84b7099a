import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Predicates find the matching objects` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[
        {"id":"Group/t1","values":{"title":"Home","rank":1}},
        {"id":"Group/t2","values":{"rank":2}},
        {"id":"Memo/t1","values":{"content":"call"}},
        {"id":"Task/t1","values":{"title":"Milk","priority":1,"done":true,"group":"Group/t1",
          "due":"2026-01-01T00:00:00.000Z","memo":"Memo/t1"}},
        {"id":"Task/t2","values":{"title":"milk","priority":2,"group":"Group/t2",
          "due":"1969-12-31T23:59:59.999Z"}},
        {"id":"Task/t3","values":{"title":"Bread","priority":3}},
        {"id":"Task/t4","values":{"priority":9007199254740993,"group":"Group/t1"}},
        {"id":"Task/t5","values":{"title":""}}]}
      """
    )
  }

  /// Expects the numbers of the tasks that a predicate finds, and its negation to find the others.
  private func check(
    _ predicate: String,
    _ expected: [Int],
    _ arguments: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let tail = arguments.map { #","arguments":\#($0)"# } ?? ""
    let text = JSONValue.string(predicate).text
    let negated = JSONValue.string("NOT (\(predicate))").text
    let found = try store.ids(#"{"entity":"Task","predicate":\#(text)\#(tail)}"#)
    let others = try store.ids(#"{"entity":"Task","predicate":\#(negated)\#(tail)}"#)
    #expect(
      found == expected.map { "Task/p\($0)" },
      "\(predicate)",
      sourceLocation: sourceLocation
    )
    #expect(
      others == (1...5).filter { !expected.contains($0) }.map { "Task/p\($0)" },
      "NOT (\(predicate))",
      sourceLocation: sourceLocation
    )
  }

  @Test func `comparisons, with a missing value only == nil and != another are true`() throws {
    try check("priority == 2", [2])
    try check("priority = 2", [2])
    try check("2 == priority", [2])
    try check("priority != 2", [1, 3, 4, 5])
    try check("priority <> 2", [1, 3, 4, 5])
    try check("priority < 3", [1, 2])
    try check("priority <= 2", [1, 2])
    try check("priority =< 2", [1, 2])
    try check("priority > 2", [3, 4])
    try check("priority >= 3", [3, 4])
    try check("priority => 3", [3, 4])
    try check("3 < priority", [4])
    try check("priority < 2.5", [1, 2])
    try check("priority == 2.0", [2])
    try check("priority == 9007199254740993", [4])
    try check("priority > 9007199254740992", [4])
    try check("priority == nil", [5])
    try check("priority != nil", [1, 2, 3, 4])
    try check("nil == priority", [5])
    try check("priority < nil", [])
    try check("done == true", [1])
    try check("done == NO", [2, 3, 4, 5])
    try check("done != true", [2, 3, 4, 5])
    try check(#"due == "2026-01-01T00:00:00.000Z""#, [1])
    try check(#"due < "1970-01-01T00:00:00Z""#, [2])
    try check(#"due != "2026-01-01T01:00:00+01:00""#, [2, 3, 4, 5])
    try check(#"title == """#, [5])
    try check(#"title == "Milk""#, [1])
    try check(#"title > "Bread""#, [1, 2])
    try check("title == title", [1, 2, 3, 4, 5])
    try check("title != title", [])
  }

  // Evidence: P-053a
  @Test func `AND, OR and NOT are two-valued`() throws {
    try check("priority > 1 AND priority < 3", [2])
    try check("priority > 1 && NOT done == true", [2, 3, 4])
    try check("priority == 1 OR title == nil", [1, 4])
    try check("priority == 1 || priority == 3", [1, 3])
    try check("NOT priority > 1", [1, 5])
    try check("NOT (priority > 1 AND title != nil)", [1, 4, 5])
    try check("NOT (priority > 1 OR title == nil)", [1, 5])
    try check("NOT NOT priority > 1", [2, 3, 4])
    try check("!(priority > 1)", [1, 5])
    try check("NOT title CONTAINS \"i\"", [3, 4, 5])
    try check("priority == 1 OR priority == 2 AND done == true", [1])
    try check("(priority == 1 OR priority == 2) AND done == false", [2])
    try check("TRUEPREDICATE", [1, 2, 3, 4, 5])
    try check("FALSEPREDICATE", [])
    try check("not priority > 1 and true == done", [1])
  }

  @Test func `IN and BETWEEN`() throws {
    try check("priority IN {1, 3}", [1, 3])
    try check("priority IN {}", [])
    try check("priority IN {1.0, 2.5}", [1])
    try check(#"title IN {"Milk", "Bread", "Other"}"#, [1, 3])
    try check("priority IN %@", [1, 2], "[[1,2]]")
    try check("priority IN $wanted", [3], #"{"wanted":[3,4]}"#)
    try check("priority BETWEEN {2, 3}", [2, 3])
    try check("priority BETWEEN {3, 2}", [])
    try check("priority BETWEEN %@", [1, 2], "[[1,2]]")
    try check(#"due BETWEEN {"1969-01-01T00:00:00Z", "1971-01-01T00:00:00Z"}"#, [2])
    try check("NOT priority IN {1, 3}", [2, 4, 5])
    try check("NOT priority BETWEEN {2, 3}", [1, 4, 5])
  }

  @Test func `key paths over to-ones, a path through nil is nil`() throws {
    try check(#"group.title == "Home""#, [1, 4])
    try check(#"group.title != "Home""#, [2, 3, 5])
    try check("group.title == nil", [2, 3, 5])
    try check("group.rank > 0", [1, 2, 4])
    try check("group == nil", [3, 5])
    try check("group != nil", [1, 2, 4])
    try check(#"group == "Group/p1""#, [1, 4])
    try check(#"group != "Group/p1""#, [2, 3, 5])
    try check(#"group IN {"Group/p2", "Group/p9"}"#, [2])
    try check("group == %@", [2], #"["Group/p2"]"#)
    try check(#"memo.content == "call""#, [1])
    try check(#"memo.task.group.title == "Home""#, [1])
    try check("memo.task.group.rank == nil", [2, 3, 4, 5])
    try check("memo.task == SELF", [1])
    try check("group.rank == priority", [1, 2, 5])
  }

  // Evidence: P-053b
  @Test func `SELF is the object`() throws {
    try check(#"SELF == "Task/p2""#, [2])
    try check(#"SELF != "Task/p2""#, [1, 3, 4, 5])
    try check(#"SELF IN {"Task/p1", "Task/p5", "Task/p99"}"#, [1, 5])
    try check("SELF == %@", [3], #"["Task/p3"]"#)
    try check("self IN $ids", [4, 5], #"{"ids":["Task/p4","Task/p5"]}"#)
    try check("SELF.priority == 2", [2])
  }

  @Test func `positional and named arguments`() throws {
    try check("priority == %@ AND title == %@", [1], #"[1,"Milk"]"#)
    try check("%K == %@", [2], #"["title","milk"]"#)
    try check("%K == %@", [1, 4], #"["group.title","Home"]"#)
    try check("%K == %@", [4], #"["title",null]"#)
    try check("priority > $low AND priority < $high", [2], #"{"high":3,"low":1}"#)
    try check("title == $t OR title == $t", [3], #"{"t":"Bread","unused":1}"#)
    try check("title == $t", [4], #"{"t":null}"#)
    try check("done == $yes", [1], #"{"yes":true}"#)
    try check("due == $when", [1], #"{"when":"2026-01-01T00:00:00Z"}"#)
  }

  @Test func `text is found by parts`() throws {
    try check(#"title CONTAINS "il""#, [1, 2])
    try check(#"title CONTAINS "M""#, [1])
    try check(#"title CONTAINS[c] "M""#, [1, 2])
    try check(#"title BEGINSWITH "Mil""#, [1])
    try check(#"title BEGINSWITH "milky""#, [])
    try check(#"title ENDSWITH "lk""#, [1, 2])
    try check(#"title ENDSWITH "Milk and milk""#, [])
    try check(#"title ENDSWITH[c] "ILK""#, [1, 2])
    try check(#"title ==[c] "MILK""#, [1, 2])
    try check(#"title !=[c] "MILK""#, [3, 4, 5])
    try check(#"title CONTAINS[cd] group.title"#, [])
    try check(#"title CONTAINS "%""#, [])
    try check(#"title CONTAINS "_""#, [])
  }
}

@Suite struct `Letters are folded in every script` {
  /// A stored text, an operator, the text that is looked for, and whether it is found.
  static let rows: [(String, String, String, Bool)] = [
    ("Zoë", "==", "zoe", false), ("Zoë", "==[c]", "ZOË", true), ("Zoë", "==[c]", "zoe", false),
    ("Zoë", "==[d]", "Zoe", true), ("Zoë", "==[d]", "zoe", false), ("Zoë", "==[cd]", "zoe", true),
    ("zoe", "==[cd]", "ZOË", true), ("Zoe\u{308}", "==[c]", "zoë", true),
    ("Straße", "==[c]", "STRASSE", true), ("Straße", "CONTAINS[c]", "SS", true),
    ("İstanbul", "BEGINSWITH[cd]", "istan", true), ("Ångström", "BEGINSWITH[cd]", "ang", true),
    ("crème brûlée", "ENDSWITH[cd]", "BRULEE", true), ("crème", "CONTAINS[c]", "eme", false),
    ("ΟΔΟΣ", "==[cd]", "οδός", true), ("ΟΔΟΣ", "ENDSWITH[cd]", "ός", true),
    ("Ёж", "==[cd]", "ЕЖ", true), ("Ёж", "==[c]", "ЁЖ", true), ("Ёж", "==[c]", "ЕЖ", false),
    ("МОЙ", "CONTAINS[c]", "ой", true), ("Київ", "BEGINSWITH[c]", "КИ", true),
    ("مُحَمَّد", "==[d]", "محمد", true), ("مُحَمَّد", "==", "محمد", false),
    ("שָׁלוֹם", "==[cd]", "שלום", true),
    ("日本語", "CONTAINS", "本", true), ("日本語", "BEGINSWITH", "日本", true),
    ("日本語", "ENDSWITH", "本", false), ("が", "==[cd]", "か", false),
    ("ﾃﾞｰﾀ", "==[c]", "データ", false), ("Ｍｉｌｋ", "==[c]", "milk", false),
    ("Ｍｉｌｋ", "==[c]", "ｍｉｌｋ", true), ("①", "CONTAINS[c]", "1", false),
    ("Ｍｉｌｋ", "==", "Milk", false),
    ("한국어", "==[c]", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}\u{110B}\u{1165}", true),
    ("ภาษาไทย", "CONTAINS", "ไทย", true), ("क़लम", "==[c]", "क़लम", true),
    ("𝄞 note", "BEGINSWITH", "𝄞", true), ("👩‍👩‍👧 home", "ENDSWITH", "home", true),
    ("e\u{301}", "==", "é", false), ("a", "CONTAINS[cd]", "aaaa", false),
    ("x", "ENDSWITH[cd]", "xx", false), ("é", "ENDSWITH[d]", "xe", false),
  ]

  @Test(arguments: rows)
  func `a text against another`(row: (String, String, String, Bool)) async throws {
    let store = try TestStore(TestModels.todo)
    let (stored, sign, wanted, isFound) = row
    try await store.save(
      #"{"insert":[{"id":"Task/t1","values":{"title":\#(JSONValue.string(stored).text)}},{"id":"Task/t2"}]}"#
    )
    let wantedText = JSONValue.string(wanted).text
    let fetch = #"{"entity":"Task","predicate":"title \#(sign) %@","arguments":[\#(wantedText)]}"#
    #expect(try store.ids(fetch) == (isFound ? ["Task/p1"] : []), "\(row)")
    let others =
      #"{"entity":"Task","predicate":"NOT title \#(sign) %@","arguments":[\#(wantedText)]}"#
    #expect(try store.ids(others) == (isFound ? ["Task/p2"] : ["Task/p1", "Task/p2"]), "\(row)")
  }
}

@Suite struct `A refused fetch reports the offset of its mistake` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  @Test(arguments: [
    ("title ==", 8), ("title = = 1", 8), ("(title == \"a\"", 13), ("title == \"a\" AND", 16),
    ("title == \"a", 9), ("title IN 3", 9), ("priority BETWEEN {1}", 17), ("priority == %@", 12),
    ("title == $nothing", 9), ("title ==[x] \"a\"", 9), ("title == 1", 9),
    ("done == \"1\"", 8), ("done == 2", 8), ("due == \"today\"", 7),
    ("group == \"Task/p1\"", 9), ("group == 1", 9),
    ("labels.title == \"x\"", 0), ("labels == \"Label/p1\"", 0),
    ("title + 1 == 2", 0), ("priority + \"x\" == 2", 11), ("priority + title == 2", 11),
    ("-title == 1", 1), ("abs:(title) == 1", 5), ("length:(priority) == 1", 8),
    ("priority CONTAINS \"1\"", 0), ("title LIKE group", 11), ("title MATCHES \"(\"", 14),
    ("priority <[c] 1", 0), ("group.@count == 1", 0), ("labels.@sum.name == 1", 0),
    ("SUBQUERY(group, $x, $x.title == \"x\").@count == 1", 9),
    ("SUBQUERY(labels, $x, $x.name == \"x\") == 1", 0), ("title IN group", 9),
    ("SELF == group", 8), ("group == memo", 9), ("group == title", 9), ("SELF IN {group}", 9),
    ("due - 1 == 2", 11), ("due * 2 == 2", 6), ("due + due == 2", 6),
    ("\"𝄞\" == title == ", 14), ("title == \"a\" b", 13),
  ])
  func `a mistake in a predicate is reported with its UTF-16 offset`(
    predicate: String,
    offset: Int64
  )
    throws
  {
    let text = JSONValue.string(predicate).text
    let refusal = try store.refusal(ofFetch: #"{"entity":"Task","predicate":\#(text)}"#)
    #expect(refusal?.code == "predicateInvalid")
    #expect(refusal?.data["offset"]?.integer == offset)
    #expect(refusal?.data["expected"]?.string?.isEmpty == false)
  }

  // Evidence: P-054b
  @Test(arguments: [
    (#"{"entity":"Nothing"}"#, "unknownEntity"), (#"{"entity":"task"}"#, "unknownEntity"),
    (#"{"entity":"Task","predicate":"nothing == 1"}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"group.nothing == 1"}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"priority.length == 1"}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"_id == 1"}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"rowid == 1"}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"%K == 1","arguments":["a\" OR 1=1 --"]}"#, "unknownProperty"),
    (#"{"entity":"Task","sort":["nothing"]}"#, "unknownProperty"),
    (#"{"entity":"Task","sort":["title DESC"]}"#, "unknownProperty"),
    (#"{"entity":"Task","sort":["title; DROP TABLE Task"]}"#, "unknownProperty"),
    (#"{"entity":"Task","sort":["group.nothing"]}"#, "unknownProperty"),
    (#"{"entity":"Task","sort":["_id"]}"#, "unknownProperty"),
    (#"{"entity":"Task","select":["nothing"]}"#, "unknownProperty"),
    (#"{"entity":"Task","select":{"x":"title\" FROM Task; --"}}"#, "unknownProperty"),
    (#"{"entity":"Task","predicate":"SELF == \"Task/t1\""}"#, "invalidIdentifier"),
    (#"{"entity":"Task","predicate":"SELF == \"Task/i1\""}"#, "invalidIdentifier"),
  ])
  func `names that the model does not have`(fetch: String, code: String) throws {
    #expect(try store.refusal(ofFetch: fetch)?.code == code)
  }
}
