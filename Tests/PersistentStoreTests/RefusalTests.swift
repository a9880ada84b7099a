import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `A refused save reports the reason` {
  private static let model = """
    {"name": "Rules", "version": "1", "entities": [
      {"name": "Item", "attributes": [
        {"name": "code", "type": "string", "minimumLength": 2, "maximumLength": 4},
        {"name": "count", "type": "int16", "optional": true, "minimum": 0, "maximum": 10},
        {"name": "state", "type": "string", "optional": true, "enum": ["open", "closed"]},
        {"name": "amount", "type": "decimal", "optional": true, "maximum": "9.5"},
        {"name": "due", "type": "date", "optional": true}],
       "relationships": [
         {"name": "owner", "destination": "Owner", "inverse": "items"},
         {"name": "parts", "destination": "Part", "toMany": true, "maximumCount": 2}],
       "unique": [["code"], ["state", "count"]]},
      {"name": "Owner", "attributes": [],
       "relationships": [{"name": "items", "destination": "Item", "toMany": true,
         "inverse": "owner", "minimumCount": 1, "maximumCount": 2, "deleteRule": "cascade"}]},
      {"name": "Part", "attributes": []}]}
    """
  private let store: TestStore

  init() async throws {
    store = try TestStore(Self.model)
    try await store.save(
      """
      {"insert":[{"id":"Owner/t1"},{"id":"Owner/t2"},
        {"id":"Item/t1","values":{"code":"aa","owner":"Owner/t1","state":"open","count":1}},
        {"id":"Item/t2","values":{"code":"bb","owner":"Owner/t2"}},
        {"id":"Part/t1"},{"id":"Part/t2"},{"id":"Part/t3"}]}
      """
    )
  }

  /// `id property rule` of each problem.
  private func problems(_ save: String) async throws -> [String] {
    let refusal = try await store.refusal(save)
    guard refusal?.code == "validationFailed" else { return ["\(refusal?.code ?? "saved")"] }
    return (refusal?.data["problems"]?.array ?? []).map { problem in
      #expect(problem["message"]?.string?.isEmpty == false)
      return [problem["id"], problem["property"], problem["rule"]]
        .map { $0?.string ?? "-" }.joined(separator: " ")
    }
  }

  // MARK: Validation

  @Test(arguments: [
    (#""count":11"#, "count maximum"), (#""count":-1"#, "count minimum"),
    (#""count":1.5"#, "count type"), (#""count":"1""#, "count type"),
    (#""count":40000"#, "count type"),
    (#""code":null"#, "code required"), (#""code":"a""#, "code minimumLength"),
    (#""code":"abcde""#, "code maximumLength"), (#""code":7"#, "code type"),
    (#""state":"other""#, "state enum"), (#""amount":"9.51""#, "amount maximum"),
    (#""amount":9.5"#, "amount type"), (#""due":"2026-02-30T00:00:00Z""#, "due type"),
    (#""due":1"#, "due type"), (#""owner":7"#, "owner type"),
    (#""owner":"Part/p1""#, "owner type"), (#""owner":["Owner/p1"]"#, "owner type"),
    (#""parts":"Part/p1""#, "parts type"), (#""parts":[null]"#, "parts type"),
    (#""parts":["Part/p1","Part/p2","Part/p3"]"#, "parts maximumCount"),
    (#""parts":{"@add":"Part/p1"}"#, "parts type"),
    (#""parts":{"@plus":["Part/p1"]}"#, "parts type"),
    (#""parts":null"#, "parts type"),
  ])
  func `one rule is broken, by an update`(values: String, rule: String) async throws {
    #expect(
      try await problems(#"{"update":[{"id":"Item/p1","values":{\#(values)}}]}"#)
        == ["Item/p1 \(rule)"]
    )
    #expect(try store.lines("Item code count")[0] == "Item/p1 v1 code=aa count=1")
  }

  @Test func `a value equal to a limit is allowed`() async throws {
    let values = """
      {"code":"𝄞𝄞𝄞𝄞","count":10,"state":"closed","amount":"9.5","parts":["Part/p1","Part/p2"]}
      """
    try await store.save(#"{"update":[{"id":"Item/p1","values":\#(values)}]}"#)
    #expect(
      try store.lines("Item count amount parts")[0]
        == "Item/p1 v2 count=10 amount=9.5 parts=[Part/p1,Part/p2]"
    )
  }

  // Evidence: P-063a
  @Test func `every problem of a save is listed at once`() async throws {
    let found = try await problems(
      """
      {"insert":[{"id":"Item/tA","values":{"code":"a","count":11,"state":"x"}},
        {"id":"Item/tB","values":{"owner":"Owner/p1"}}],
       "update":[{"id":"Item/p1","values":{"count":-1,"due":"now"}},
        {"id":"Item/p2","values":{"parts":["Part/p1","Part/p2","Part/p3"]}}]}
      """
    )
    #expect(
      found.sorted() == [
        "Item/p1 count minimum", "Item/p1 due type", "Item/p2 parts maximumCount",
        "Item/tA code minimumLength", "Item/tA count maximum", "Item/tA owner required",
        "Item/tA state enum", "Item/tB code required",
      ]
    )
  }

  // MARK: Counts

  @Test(arguments: [
    // Straight.
    (
      #"{"insert":[{"id":"Owner/t1"}]}"#,
      ["Owner/p3 items minimumCount", "Owner/t1 items minimumCount"]
    ),
    // The item leaves its owner for another, from either end.
    (
      #"{"update":[{"id":"Item/p1","values":{"owner":"Owner/p2"}}]}"#,
      ["Owner/p1 items minimumCount"]
    ),
    (
      #"{"update":[{"id":"Owner/p2","values":{"items":{"@add":["Item/p1"]}}}]}"#,
      ["Owner/p1 items minimumCount"]
    ),
    // The last item goes.
    (#"{"delete":["Item/p1"]}"#, ["Owner/p1 items minimumCount"]),
    // One too many, from the other end.
    (
      """
      {"insert":[{"id":"Item/t1","values":{"code":"cc","owner":"Owner/p1"}},
        {"id":"Item/t2","values":{"code":"dd","owner":"Owner/p1"}}]}
      """, ["Owner/p1 items maximumCount"]
    ),
  ])
  func `counts are checked after all changes`(save: String, expected: [String]) async throws {
    let found = try await problems(save)
    #expect(found.count == 1 && expected.contains(found[0]), "\(found)")
  }

  @Test(arguments: [
    #"{"update":[{"id":"Item/p1","values":{"owner":"Owner/p2"}},{"id":"Item/p2","values":{"owner":"Owner/p1"}}]}"#,
    #"{"delete":["Owner/p1"]}"#,
    #"{"delete":["Item/p1","Owner/p1"]}"#,
    #"{"insert":[{"id":"Item/t1","values":{"code":"cc","owner":"Owner/p1"}}],"delete":["Item/p1"]}"#,
    #"{"insert":[{"id":"Owner/t1","values":{"items":["Item/t1"]}},{"id":"Item/t1","values":{"code":"cc","owner":"Owner/t1"}}]}"#,
  ])
  func `counts may be violated in between`(save: String) async throws {
    try await store.save(save)
  }

  // MARK: Uniqueness

  @Test(arguments: [
    (
      #"{"insert":[{"id":"Item/t1","values":{"code":"aa","owner":"Owner/p2"}}]}"#,
      #"{"id":"Item/t1","properties":["code"],"existing":"Item/p1"}"#
    ),
    (
      #"{"update":[{"id":"Item/p2","values":{"code":"aa"}}]}"#,
      #"{"id":"Item/p2","properties":["code"],"existing":"Item/p1"}"#
    ),
    (
      #"{"update":[{"id":"Item/p2","values":{"state":"open","count":1}}]}"#,
      #"{"id":"Item/p2","properties":["state","count"],"existing":"Item/p1"}"#
    ),
  ])
  func `uniqueness names both objects and the properties`(
    save: String,
    data: String
  )
    async throws
  {
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == "uniquenessViolation")
    #expect(refusal?.data.withoutProblems.text == data)
  }

  // Evidence: P-063a
  @Test func `a removed to-one violates the rules of both ends`() async throws {
    #expect(
      try await problems(#"{"update":[{"id":"Item/p1","values":{"owner":null}}]}"#).sorted()
        == ["Item/p1 owner required", "Owner/p1 items minimumCount"]
    )
  }

  @Test func `null equals no value, not even null`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Item/t1","values":{"code":"cc","owner":"Owner/p1","state":"open"}}]}"#
    )
    try await store.save(#"{"update":[{"id":"Item/p2","values":{"state":"open"}}]}"#)
  }

  // MARK: Names and identifiers

  @Test(arguments: [
    (#"{"insert":[{"id":"Nothing/t1"}]}"#, "unknownEntity"),
    (#"{"insert":[{"entity":"item"}]}"#, "unknownEntity"),
    (#"{"update":[{"id":"Nothing/p1","values":{}}]}"#, "unknownEntity"),
    (#"{"delete":["Nothing/p1"]}"#, "unknownEntity"),
    (#"{"insert":[{"id":"Part/t1","values":{"nothing":1}}]}"#, "unknownProperty"),
    (#"{"update":[{"id":"Item/p1","values":{"Code":"aa"}}]}"#, "unknownProperty"),
    (#"{"update":[{"id":"Item/p1","values":{"_id":9}}]}"#, "unknownProperty"),
    (#"{"update":[{"id":"Item/p1","values":{"_version":9}}]}"#, "unknownProperty"),
    (#"{"update":[{"id":"Item/p9","values":{}}]}"#, "objectNotFound"),
    (#"{"delete":["Item/p9"]}"#, "objectNotFound"),
    (#"{"delete":["Item/p9223372036854775807"]}"#, "objectNotFound"),
    (#"{"update":[{"id":"Item/p1","values":{"owner":"Owner/p9"}}]}"#, "objectNotFound"),
    (#"{"update":[{"id":"Item/p1","values":{"parts":["Part/p9"]}}]}"#, "objectNotFound"),
    (#"{"update":[{"id":"Item","values":{}}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/p01","values":{}}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/p0","values":{}}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/t1","values":{}}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/i1","values":{}}]}"#, "invalidIdentifier"),
    (#"{"delete":["Item/sx"]}"#, "invalidIdentifier"),
    (#"{"delete":["Item/t1"]}"#, "invalidIdentifier"),
    (#"{"insert":[{"id":"Part/p5"}]}"#, "invalidIdentifier"),
    (#"{"insert":[{"id":"Part/i5"}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/p1","values":{"owner":"Owner/t1"}}]}"#, "invalidIdentifier"),
    (#"{"update":[{"id":"Item/p1","values":{"owner":"nonsense"}}]}"#, "invalidIdentifier"),
    (
      #"{"update":[{"id":"Item/p1","values":{}},{"id":"Item/p1","values":{}}]}"#, "validationFailed"
    ),
    (#"{"update":[{"id":"Item/p1","values":{}}],"delete":["Item/p1"]}"#, "validationFailed"),
    (#"{"insert":[{"id":"Part/t1"},{"id":"Part/t1"}]}"#, "validationFailed"),
  ])
  func `unknown names and identifiers`(save: String, code: String) async throws {
    let before = try store.lines("Item code owner; Owner; Part")
    #expect(try await store.refusal(save)?.code == code)
    #expect(try store.lines("Item code owner; Owner; Part") == before)
  }

  @Test func `what was deleted is not found`() async throws {
    try await store.save(#"{"delete":["Part/p1"]}"#)
    for save in [#"{"delete":["Part/p1"]}"#, #"{"update":[{"id":"Part/p1","values":{}}]}"#] {
      let refusal = try await store.refusal(save)
      #expect(refusal?.code == "objectNotFound")
      #expect(refusal?.data.withoutProblems == ["id": "Part/p1"])
    }
  }

  // MARK: All or nothing

  @Test(arguments: [
    #"{"id":"Item/p1","values":{"count":11}}"#, #"{"id":"Item/p9","values":{}}"#,
    #"{"id":"Item/p2","values":{"code":"aa"}}"#, #"{"id":"Item/p1","values":{"nothing":1}}"#,
    #"{"id":"Item/p1","version":2,"values":{"code":"zz"}}"#,
  ])
  func `a save that fails leaves everything as it was`(update: String) async throws {
    let tables = [
      "Item", "Owner", "Part", "cordial_pairs_Item_parts", "cordial_transaction", "cordial_change",
      "sqlite_sequence", "cordial_meta",
    ]
    func dump() throws -> [[String]] {
      try tables.map { try store.rows("SELECT * FROM \($0) ORDER BY 1, 2") }
    }
    let before = try dump()
    let token = try store.snapshot { $0.token }
    let refusal = try await store.refusal(
      """
      {"insert":[{"id":"Owner/t1"},{"id":"Item/t1","values":{"code":"cc","owner":"Owner/t1"}},
        {"id":"Part/t1"}],
       "update":[{"id":"Item/p2","values":{"count":5,"parts":["Part/p1","Part/t1"],"owner":"Owner/p1"}},
         \(update.replacing("Item/p2", with: "Item/p1").replacing("aa", with: "bb"))],
       "delete":["Part/p3"]}
      """
    )
    #expect(refusal != nil)
    #expect(try dump() == before)
    #expect(try store.snapshot { $0.token } == token)
  }
}

@Suite struct `A save that is based on an older version` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1"},{"id":"Task/t1","values":{"title":"Milk","priority":1,
        "due":"1969-12-31T00:00:00.000Z"}}]}
      """
    )
  }

  @Test func `is a conflict, with what differs`() async throws {
    try await store.save(
      """
      {"update":[{"id":"Task/p1","version":1,"values":{"title":"Oat milk","due":null,"done":true,
        "group":"Group/p1"}}]}
      """
    )
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"Soy milk"}}]}"#)
    let refusal = try await store.refusal(
      """
      {"update":[{"id":"Task/p1","version":1,"values":{"title":"Rice milk","priority":2,
        "due":"2026-01-01T00:00:00.000Z","done":false,"group":null}}]}
      """
    )
    #expect(refusal?.code == "saveConflict")
    let conflicts = refusal?.data["conflicts"]?.array ?? []
    #expect(
      conflicts.sorted { ($0["property"]?.string ?? "") < ($1["property"]?.string ?? "") }
        .map(\.text) == [
          """
          {"id":"Task/p1","property":"done","base":false,"store":true,"client":false,"version":3}
          """,
          """
          {"id":"Task/p1","property":"due","base":"1969-12-31T00:00:00.000Z","store":null,\
          "client":"2026-01-01T00:00:00.000Z","version":3}
          """,
          """
          {"id":"Task/p1","property":"group","base":null,"store":"Group/p1","client":null,"version":3}
          """,
          """
          {"id":"Task/p1","property":"title","base":"Milk","store":"Soy milk","client":"Rice milk",\
          "version":3}
          """,
        ]
    )
    #expect(try store.lines("Task title priority") == ["Task/p1 v3 title=Soy milk priority=1"])
  }

  @Test func `is no conflict with the current version or without a version`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"a"}}]}"#)
    try await store.save(#"{"update":[{"id":"Task/p1","version":2,"values":{"title":"b"}}]}"#)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"c"}}]}"#)
    #expect(try store.lines("Task title") == ["Task/p1 v4 title=c"])
  }

  /// Under `error` nothing is written, even where the changes would not meet.
  @Test func `is a conflict even if other properties changed`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"a"}}]}"#)
    let refusal = try await store.refusal(
      #"{"update":[{"id":"Task/p1","version":1,"values":{"priority":2}}]}"#
    )
    #expect(refusal?.code == "saveConflict")
    #expect(try store.lines("Task title priority") == ["Task/p1 v2 title=a priority=1"])
  }

  // Evidence: P-031a
  @Test func `a conflict names objects with an identity by their identity`() async throws {
    let store = try TestStore(TestModels.identities)
    try await store.save(
      #"{"insert":[{"id":"Country/sde"},{"id":"Country/sat"},{"id":"City/i1"}]}"#
    )
    for country in ["de", "at"] {
      try await store.save(
        #"{"update":[{"id":"City/i1","values":{"country":"Country/s\#(country)"}}]}"#
      )
    }
    let refusal = try await store.refusal(
      #"{"update":[{"id":"City/i1","version":2,"values":{"country":null}}]}"#
    )
    let conflict = refusal?.data["conflicts"]?.array?.first
    #expect(conflict?["base"] == "Country/sde")
    #expect(conflict?["store"] == "Country/sat")
  }

  @Test func `a delete is a conflict as an update is`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"a"}}]}"#)
    #expect(
      try await store.refusal(#"{"delete":[{"id":"Task/p1","version":1}]}"#)?.code == "saveConflict"
    )
    try await store.save(#"{"delete":[{"id":"Task/p1","version":2}]}"#)
    #expect(try store.ids(#"{"entity":"Task"}"#) == [])
  }
}
