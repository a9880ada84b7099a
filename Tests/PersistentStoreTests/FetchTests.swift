import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `A fetch returns a total order` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  private func insert(_ values: [String]) async throws {
    let inserts = values.map { #"{"entity":"Task","values":{\#($0)}}"# }.joined(separator: ",")
    try await store.save(#"{"insert":[\#(inserts)]}"#)
  }

  /// Expects the numbers of the tasks under a sort.
  private func check(
    _ sort: String,
    _ expected: [Int],
    _ more: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      try store.ids(#"{"entity":"Task","sort":\#(sort)\#(more)}"#)
        == expected.map { "Task/p\($0)" },
      "\(sort)\(more)",
      sourceLocation: sourceLocation
    )
  }

  // Evidence: P-055b, P-055c
  @Test func `null is first ascending and last descending, and the ID decides`() async throws {
    try await insert([
      #""priority":2"#, #""title":"x""#, #""priority":1"#, #""priority":2"#, "", #""priority":-1"#,
    ])
    try check("[]", [1, 2, 3, 4, 5, 6])
    try check(#"["priority"]"#, [2, 5, 6, 3, 1, 4])
    try check(#"["-priority"]"#, [1, 4, 3, 6, 2, 5])
    try check(#"["-priority","title"]"#, [1, 4, 3, 6, 5, 2])
    try check(#"["title","-priority"]"#, [1, 4, 3, 6, 5, 2])
    try check(#"["done"]"#, [1, 2, 3, 4, 5, 6])
    try check(#"["-done"]"#, [1, 2, 3, 4, 5, 6])
  }

  // Evidence: P-055b
  @Test func `strings are ordered by code point`() async throws {
    try await insert(
      ["b", "B", "a", "é", "z", "", "\u{FFFD}", "𝄞", "a2", "a10", "e\u{301}"].map {
        #""title":\#(JSONValue.string($0).text)"#
      }
    )
    try check(#"["title"]"#, [6, 2, 3, 10, 9, 1, 11, 5, 4, 7, 8])
    try check(#"["-title"]"#, [8, 7, 4, 5, 11, 1, 9, 10, 3, 2, 6])
  }

  // Evidence: P-055a
  @Test func `localized strings are ordered by locale rules`() async throws {
    try await insert(
      ["zebra", "Äpfel", "apfel", "a10", "a2", "Öl", "ol", "𝄞", "", "A2", "Éclair", "eclipse"].map {
        #""title":\#(JSONValue.string($0).text)"#
      } + [""]
    )
    let titles = try store.fetch(
      #"{"entity":"Task","sort":["title:localized"],"predicate":"title != \"𝄞\""}"#
    ).map { $0["values"]?["title"]?.string ?? "nil" }
    #expect(
      titles == [
        "nil", "", "a2", "A2", "a10", "apfel", "Äpfel", "Éclair", "eclipse", "ol", "Öl", "zebra",
      ]
    )
    let descending = try store.fetch(
      #"{"entity":"Task","sort":["-title:localized"],"predicate":"title != \"𝄞\""}"#
    ).map { $0["values"]?["title"]?.string ?? "nil" }
    #expect(descending == titles.reversed())
  }

  // Evidence: P-055a
  @Test func `key paths over to-ones, nil as null`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"b","rank":1}},
        {"id":"Group/t2","values":{"title":"a","rank":1}}]}
      """
    )
    try await insert([
      #""group":"Group/p1""#, "", #""group":"Group/p2""#, #""group":"Group/p1""#,
    ])
    try check(#"["group.title"]"#, [2, 3, 1, 4])
    try check(#"["-group.title"]"#, [1, 4, 3, 2])
    try check(#"["group.title:localized"]"#, [2, 3, 1, 4])
    try check(#"["group.rank","-group.title"]"#, [2, 1, 4, 3])
  }

  @Test func `a window is a part of the whole`() async throws {
    try await insert((1...10).map { #""priority":\#(10 - $0)"# })
    let whole = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    for limit in [0, 1, 3, 10, 11, Int(Int32.max)] {
      for offset in [0, 1, 9, 10, 11] {
        try check(
          #"["priority"]"#,
          Array(whole.dropFirst(offset).prefix(limit)),
          #","limit":\#(limit),"offset":\#(offset)"#
        )
      }
    }
    try check(#"["priority"]"#, [8, 7, 6, 5, 4, 3, 2, 1], #","offset":2"#)
    try check(#"["-priority"]"#, [4, 5], #","offset":1,"limit":2,"predicate":"priority < 8""#)
  }

  // Evidence: P-055a
  @Test func `decimals are ordered by value`() async throws {
    let store = try TestStore(TestModels.everything)
    let numbers = ["10", "9", "-1", "-10", "0.5", "0.25", "0", "9.99", "100000000000000000000.1"]
    let inserts = numbers.map { #"{"entity":"Item","values":{"decimal":"\#($0)"}}"# }
    try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    let sorted = try store.fetch(#"{"entity":"Item","sort":["decimal"],"select":["decimal"]}"#)
      .map { $0["values"]?["decimal"]?.string ?? "" }
    #expect(
      sorted == ["-10", "-1", "0", "0.25", "0.5", "9", "9.99", "10", "100000000000000000000.1"]
    )
    for (predicate, count) in [
      (#"decimal > \"9.5\""#, 3), (#"decimal == \"0.50\""#, 1),
      (#"decimal BETWEEN {\"-1\", \"9\"}"#, 5),
      (#"decimal IN {\"10.0\"}"#, 1), (#"decimal < 0"#, 2),
    ] {
      #expect(
        try store.ids(#"{"entity":"Item","predicate":"\#(predicate)"}"#).count == count,
        "\(predicate)"
      )
    }
  }
}

@Suite struct `A fetch returns the selected values` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"Home"}},{"id":"Group/t2"},
        {"id":"Task/t1","values":{"title":"Milk","group":"Group/t1","memo":"Memo/t1",
          "labels":["Label/t1","Label/t2"]}},
        {"id":"Task/t2","values":{"title":"Bread","group":"Group/t1"}},
        {"id":"Task/t3","values":{"blocks":["Task/t1","Task/t2"],"priority":0}},
        {"id":"Memo/t1","values":{"content":"two litres","task":"Task/t1"}},
        {"id":"Label/t1"},{"id":"Label/t2"}]}
      """
    )
  }

  private func check(
    _ entity: String,
    _ select: String,
    _ expected: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      try store.fetch(#"{"entity":"\#(entity)","select":\#(select)}"#)
        .map { $0["values"]?.text ?? "" } == expected,
      "\(select)",
      sourceLocation: sourceLocation
    )
  }

  // Evidence: P-041a, P-041b
  @Test func `without select every attribute and to-one, null included`() throws {
    #expect(
      try store.fetch(#"{"entity":"Task","limit":1,"offset":2}"#).map(\.text) == [
        """
        {"id":"Task/p3","version":1,"values":{"title":null,"priority":0,"done":false,"due":null,\
        "group":null,"memo":null}}
        """
      ]
    )
    #expect(
      try store.fetch(#"{"entity":"Group","limit":1}"#).map(\.text) == [
        #"{"id":"Group/p1","version":1,"values":{"title":"Home","rank":null}}"#
      ]
    )
  }

  @Test func `exactly what was selected, in that order, under those names`() throws {
    try check("Group", "[]", ["{}", "{}"])
    try check("Group", #"["title"]"#, [#"{"title":"Home"}"#, #"{"title":null}"#])
    try check(
      "Task",
      #"{"note":"memo.content","in":"group.title","name":"title"}"#,
      [
        #"{"note":"two litres","in":"Home","name":"Milk"}"#,
        #"{"note":null,"in":"Home","name":"Bread"}"#, #"{"note":null,"in":null,"name":null}"#,
      ]
    )
    try check(
      "Memo",
      #"{"a":"task.group","b":"task.group.title"}"#,
      [#"{"a":"Group/p1","b":"Home"}"#]
    )
    try check(
      "Group",
      #"{"\"; DROP TABLE Task; --":"title"}"#,
      [#"{"\"; DROP TABLE Task; --":"Home"}"#, #"{"\"; DROP TABLE Task; --":null}"#]
    )
  }

  // Evidence: P-056b
  @Test func `the fallback of a request replaces missing values only`() throws {
    try check(
      "Task",
      #"{"t":{"path":"title","default":"-"},"g":{"path":"group.title","default":""},"p":{"path":"priority","default":7}}"#,
      [
        #"{"t":"Milk","g":"Home","p":7}"#, #"{"t":"Bread","g":"Home","p":7}"#,
        #"{"t":"-","g":"","p":0}"#,
      ]
    )
    try check(
      "Group",
      #"{"t":{"path":"title","default":"it's \"x\""}}"#,
      [#"{"t":"Home"}"#, #"{"t":"it's \"x\""}"#]
    )
  }

  // Evidence: P-056a, P-041c
  @Test func `counts and lists of to-manys`() throws {
    try check(
      "Group",
      #"{"n":"tasks.@count","tasks":"tasks"}"#,
      [#"{"n":2,"tasks":["Task/p1","Task/p2"]}"#, #"{"n":0,"tasks":[]}"#]
    )
    try check(
      "Task",
      #"{"labels":"labels","n":"labels.@count","blocks":"blocks","by":"blockedBy.@count"}"#,
      [
        #"{"labels":["Label/p1","Label/p2"],"n":2,"blocks":[],"by":1}"#,
        #"{"labels":[],"n":0,"blocks":[],"by":1}"#,
        #"{"labels":[],"n":0,"blocks":["Task/p1","Task/p2"],"by":0}"#,
      ]
    )
    try check(
      "Task",
      #"{"n":"group.tasks.@count","all":"group.tasks"}"#,
      [
        #"{"n":2,"all":["Task/p1","Task/p2"]}"#, #"{"n":2,"all":["Task/p1","Task/p2"]}"#,
        #"{"n":0,"all":[]}"#,
      ]
    )
  }

  // Evidence: P-050
  @Test func `one object in the form of a fetch`() throws {
    try store.snapshot { (snapshot) throws in
      let task = try #require(snapshot.model.entity(named: "Task"))
      let plan = try snapshot.plan(of: task, select: [.init(name: "g", path: "group.title")])
      var writer = JSONWriter()
      #expect(try snapshot.write(1, as: plan, to: &writer))
      #expect(try !snapshot.write(99, as: plan, to: &writer))
      #expect(
        String(decoding: writer.bytes, as: UTF8.self)
          == #"{"id":"Task/p1","version":1,"values":{"g":"Home"}}"#
      )
    }
  }

  @Test func `a result that would be too long is refused`() throws {
    let refusal = #expect(throws: StoreError.self) {
      try store.snapshot { (snapshot) throws in
        var writer = JSONWriter()
        _ = try snapshot.writeObjects(
          try snapshot.plan(FetchRequest(entity: "Task")),
          bytesMax: 150,
          to: &writer
        )
      }
    }
    #expect(refusal?.code == .limitExceeded)
    #expect(refusal?.data.first { $0.name == "max" }?.value == 150)
  }
}

@Suite struct `Names that are SQL keywords` {
  private static let model = """
    {"name": "Words", "version": "1", "entities": [
      {"name": "Order",
       "attributes": [
         {"name": "select", "type": "string", "optional": true},
         {"name": "group", "type": "int32", "default": 1},
         {"name": "index", "type": "binary", "optional": true},
         {"name": "rowid", "type": "double", "optional": true},
         {"name": "oid", "type": "date", "optional": true}],
       "relationships": [
         {"name": "table", "destination": "Values", "inverse": "from", "optional": true},
         {"name": "join", "destination": "Order", "toMany": true, "inverse": "union"},
         {"name": "union", "destination": "Order", "toMany": true, "inverse": "join"}],
       "unique": [["select", "group"]], "indexes": [["index"], ["group", "select"]],
       "spotlight": {"displayName": "select", "attributes": {"select": 1}}},
      {"name": "Values", "identity": "key",
       "attributes": [{"name": "key", "type": "string"}, {"name": "where", "type": "json",
         "optional": true}],
       "relationships": [{"name": "from", "destination": "Order", "toMany": true,
         "inverse": "table", "deleteRule": "cascade"}]}]}
    """
  private let store: TestStore

  init() throws {
    store = try TestStore(Self.model)
  }

  @Test func `are saved, fetched, changed and deleted like other names`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Values/sdrop"},
        {"id":"Order/t1","values":{"select":"a","group":2,"index":"AA==","rowid":1.5,
          "oid":"1969-01-01T00:00:00.000Z","table":"Values/sdrop","join":["Order/t2"]}},
        {"id":"Order/t2","values":{"select":"b"}}]}
      """
    )
    try await store.save(
      #"{"update":[{"id":"Order/p2","values":{"group":3,"union":{"@add":["Order/p2"]}}}]}"#
    )
    #expect(
      try store.lines(
        "Order select group index rowid oid table join union; Values key where from.@count"
      )
        == [
          """
          Order/p1 v1 select=a group=2 index=AA== rowid=1.5 oid=1969-01-01T00:00:00.000Z \
          table=Values/sdrop join=[Order/p2] union=[]
          """,
          """
          Order/p2 v2 select=b group=3 index=null rowid=null oid=null table=null join=[Order/p2] \
          union=[Order/p1,Order/p2]
          """,
          "Values/sdrop v1 key=drop where=null from.@count=1",
        ]
    )
    for (fetch, ids) in [
      (#""predicate":"select == \"a\" AND group > 1""#, ["Order/p1"]),
      (#""predicate":"rowid == 1.5""#, ["Order/p1"]), (#""predicate":"oid == nil""#, ["Order/p2"]),
      (#""predicate":"table.key == \"drop\"""#, ["Order/p1"]),
      (#""sort":["-group","select:localized"]"#, ["Order/p2", "Order/p1"]),
    ] {
      #expect(try store.ids(#"{"entity":"Order",\#(fetch)}"#) == ids, "\(fetch)")
    }
    try await store.save(#"{"delete":["Values/sdrop"]}"#)
    #expect(try store.ids(#"{"entity":"Order"}"#) == ["Order/p2"])
    let history = try store.snapshot {
      try $0.log.transactions(after: 0, through: $0.head.number, limit: 9).map { $0.changes.count }
    }
    #expect(history == [3, 1, 3])
  }

  @Test func `the beginning of a text is found by its index`() async throws {
    let store = try TestStore(
      """
      {"name": "Words", "entities": [{"name": "Word", "indexes": [["text"]], "attributes": [
        {"name": "text", "type": "string"}]}]}
      """
    )
    let texts = ["", "a", "ab", "ab\u{0}", "ab\u{10FFFF}", "ac", "b", "\u{D7FF}x", "\u{E000}"]
    let inserts = texts.map {
      #"{"entity":"Word","values":{"text":\#(JSONValue.string($0).text)}}"#
    }
    _ = try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    let expected: [(String, [Int])] = [
      ("BEGINSWITH 'ab'", [3, 4, 5]), ("LIKE 'ab*'", [3, 4, 5]), ("LIKE 'ab?'", [4, 5]),
      ("LIKE 'ab'", [3]), ("BEGINSWITH '\u{D7FF}'", [8]), ("BEGINSWITH 'ab\u{10FFFF}'", [5]),
      ("BEGINSWITH ''", []), ("ENDSWITH ''", []), ("CONTAINS ''", []), ("LIKE ''", [1]),
      ("LIKE '?'", [2, 7, 9]),
    ]
    for (condition, numbers) in expected {
      let predicate = JSONValue.string("text \(condition)").text
      let ids = try store.ids(#"{"entity":"Word","predicate":\#(predicate)}"#)
      #expect(Set(ids) == Set(numbers.map { "Word/p\($0)" }), "\(condition)")
    }
    let plans = try ["text BEGINSWITH 'ab'", "text LIKE 'ab*'"].map { predicate in
      let request = FetchRequest(entity: "Word", predicate: predicate)
      return try store.snapshot { try $0.explain(request, isCount: false, isValues: false).plan }
    }
    for plan in plans {
      #expect(plan.first?.hasPrefix("SEARCH") == true, "\(plan)")
    }
  }

  @Test func `BEGINSWITH compares other types in their stored form`() async throws {
    let store = try TestStore(
      """
      {"name": "Marks", "entities": [{"name": "Mark", "attributes": [
        {"name": "key", "type": "uuid"}, {"name": "facts", "type": "json"}]}]}
      """
    )
    let key = "A1B2C3D4-0000-0000-0000-00000000000F"
    _ = try await store.save(
      #"{"insert":[{"entity":"Mark","values":{"key":"\#(key)","facts":{"code":12}}}]}"#
    )
    for predicate in [
      "key BEGINSWITH '\(key)'", "facts.code BEGINSWITH '1'", "facts.code ENDSWITH '2'",
      "facts.code LIKE '1*'", "length:(facts.code) == 2",
    ] {
      let request = #"{"entity":"Mark","predicate":\#(JSONValue.string(predicate).text)}"#
      #expect(try store.ids(request) == ["Mark/p1"], "\(predicate)")
    }
  }

  // Evidence: P-052g
  @Test func `strings that look like SQL are strings`() async throws {
    let texts = [
      "'; DROP TABLE \"Order\"; --", "\" OR 1=1 --", "%s%@?1:a@b$c", "a' UNION SELECT 1", "\\'",
    ]
    for text in texts {
      let json = JSONValue.string(text).text
      try await store.save(#"{"insert":[{"id":"Order/t1","values":{"select":\#(json)}}]}"#)
      let byArgument = #"{"entity":"Order","predicate":"select == %@","arguments":[\#(json)]}"#
      #expect(try store.ids(byArgument).count == 1)
      let quoted = JSONValue.string("select == \(json)").text
      #expect(try store.ids(#"{"entity":"Order","predicate":\#(quoted)}"#).count == 1)
    }
    #expect(try store.ids(#"{"entity":"Order"}"#).count == texts.count)
  }
}
