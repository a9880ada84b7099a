import JSON
import PersistentStore
import TestStores
import Testing

private let shop = """
  {"name":"Shop","entities":[
    {"name":"Item","identity":"code","attributes":[
      {"name":"code","type":"string"},{"name":"count","type":"int16","maximum":100},
      {"name":"price","type":"double","optional":true},
      {"name":"title","type":"string","optional":true},
      {"name":"plain","type":"string","optional":true,"derived":"canonical:(title)"}],
     "relationships":[
      {"name":"shelf","destination":"Shelf","optional":true,"inverse":"items"},
      {"name":"tags","destination":"Tag","toMany":true,"inverse":"items"}]},
    {"name":"Shelf","attributes":[{"name":"row","type":"int32"}],
     "relationships":[
      {"name":"items","destination":"Item","toMany":true,"inverse":"shelf"}]},
    {"name":"Tag","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"items","destination":"Item","toMany":true,"inverse":"tags"}]}]}
  """

@Suite struct `An update by predicate` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(shop)
    try await store.save(
      """
      {"insert":[
        {"id":"Item/sa","values":{"count":1,"price":1.5,"title":"Á","shelf":"Shelf/t1"}},
        {"id":"Item/sb","values":{"count":2,"title":"b","shelf":"Shelf/t1"}},
        {"id":"Item/sc","values":{"count":99,"price":3}},
        {"id":"Shelf/t1","values":{"row":7}},{"id":"Tag/t1","values":{"name":"new"}}]}
      """
    )
  }

  private func update(_ predicate: String, _ set: String) async throws -> TestOutcome {
    try await store.outcome(
      #"{"updateMatching":{"entity":"Item","predicate":\#(JSONValue.string(predicate).text),"#
        + #""set":\#(set)}}"#
    )
  }

  // Evidence: P-119a
  @Test func `sets a value for each matching object`() async throws {
    let outcome = try await update("count < 50", #"{"title":"È","price":null}"#)
    #expect(outcome.count == 2)
    #expect(outcome.ids == ["Item/sa", "Item/sb"])
    #expect(
      try store.lines("Item title price plain") == [
        "Item/sa v2 title=È price=null plain=e", "Item/sb v2 title=È price=null plain=e",
        "Item/sc v1 title=null price=3.0 plain=null",
      ]
    )
  }

  // Evidence: P-120a
  @Test func `texts with NUL are whole in expressions, patterns and derived texts`() async throws {
    _ = try await update("count == 2", #"{"title":"a\u0000Ü"}"#)
    _ = try await update("count == 2", #"{"title":{"@expression":"uppercase:(title)"}}"#)
    #expect(
      try store.lines("Item title plain").dropFirst().first
        == "Item/sb v3 title=A\0Ü plain=a\0u"
    )
    for predicate in [
      "title ==[c] 'a\0ü'", "title ENDSWITH[cd] 'u'", "title MATCHES 'A.Ü'", "length:(title) == 3",
      "lowercase:(title) == 'a\0ü'", "title BEGINSWITH 'A\0'", "title LIKE 'A*Ü'",
      "title LIKE 'A\0?'", "title LIKE[c] '?\0ü'", "title CONTAINS '\0'",
    ] {
      let found = try await update(predicate, #"{"price":4}"#)
      #expect(found.ids == ["Item/sb"], "\(predicate)")
    }
    for predicate in ["title LIKE 'A'", "title ENDSWITH 'A'", "title BEGINSWITH 'A\0b'"] {
      #expect(try await update(predicate, #"{"price":5}"#).ids == [], "\(predicate)")
    }
  }

  // Evidence: P-120a
  @Test func `an expression is computed from what was before, over key paths too`() async throws {
    _ = try await update(
      "shelf != nil",
      #"{"count":{"@expression":"count + shelf.row * 2"},"price":{"@expression":"count / 2.0"}}"#
    )
    #expect(
      try store.lines("Item count price") == [
        "Item/sa v2 count=15 price=0.5", "Item/sb v2 count=16 price=1.0",
        "Item/sc v1 count=99 price=3.0",
      ]
    )
  }

  // Evidence: P-120b
  @Test func `invalid computed values are reported for each object and nothing is written`()
    async throws
  {
    let text = """
      {"updateMatching":{"entity":"Item","predicate":"TRUEPREDICATE",
       "set":{"count":{"@expression":"count + 60"}}}}
      """
    let refused = try #require(try await store.refusal(text))
    #expect(refused.code == "validationFailed")
    let problems = refused.data["problems"]?.array ?? []
    #expect(problems.map { $0["id"] } == ["Item/sc"])
    #expect(problems.map { $0["rule"] } == ["maximum"])
    #expect(try store.lines("Item count").first == "Item/sa v1 count=1")
  }

  @Test(arguments: [
    (#"{"count":{"@expression":"count + 0.5"}}"#, "validationFailed"),
    (#"{"count":{"@expression":"count * 100000"}}"#, "validationFailed"),
    (#"{"count":null}"#, "validationFailed"), (#"{"count":"x"}"#, "validationFailed"),
    (#"{"plain":"x"}"#, "validationFailed"), (#"{"code":"z"}"#, "validationFailed"),
    (#"{"shelf":{"@expression":"shelf"}}"#, "validationFailed"),
    (#"{"nothing":1}"#, "unknownProperty"),
    (#"{"count":{"@expression":"nothing + 1"}}"#, "unknownProperty"),
    (#"{"count":{"@expression":"count +"}}"#, "predicateInvalid"),
    (#"{"count":{"@expression":"title"}}"#, "predicateInvalid"),
    (#"{"shelf":"Shelf/p99"}"#, "objectNotFound"),
  ])
  func `properties that cannot be set`(set: String, code: String) async throws {
    let text = """
      {"updateMatching":{"entity":"Item","predicate":"code != \\"b\\"","set":\(set)}}
      """
    #expect(try await store.refusal(text)?.code == code)
    #expect(try store.rows("SELECT count(*) FROM cordial_transaction") == ["2"])
  }

  // Evidence: P-119c
  @Test func `relationships are updated at both ends`() async throws {
    _ = try await update("TRUEPREDICATE", #"{"shelf":null,"tags":{"@add":["Tag/p1"]}}"#)
    #expect(
      try store.lines("Shelf items; Tag items; Item shelf") == [
        "Shelf/p1 v1 items=[]", "Tag/p1 v2 items=[Item/sa,Item/sb,Item/sc]",
        "Item/sa v2 shelf=null", "Item/sb v2 shelf=null", "Item/sc v2 shelf=null",
      ]
    )
  }

  // Evidence: P-119b
  @Test func `objects that already have the value keep their version`() async throws {
    #expect(try await update("count = 1", #"{"count":1}"#).count == 1)
    #expect(try store.lines("Item count").first == "Item/sa v1 count=1")
  }

  // Evidence: P-119b
  @Test func `each object is in the history with its value before`() async throws {
    _ = try await update("count < 50", #"{"count":{"@expression":"count + 1"}}"#)
    let before = try store.rows(
      "SELECT object, before FROM cordial_change WHERE kind = 1 AND before <> '' ORDER BY number"
    )
    #expect(before == [#"1|,"count":1"#, #"2|,"count":2"#])
  }

  @Test func `thousands of inserts leave the same log as smaller saves`() async throws {
    func made(inPortionsOf size: Int) async throws -> [String] {
      let store = try TestStore(shop)
      let inserts = (0..<1200).map { number in
        number.isMultiple(of: 3)
          ? #"{"id":"Shelf/t\#(number)","values":{"row":\#(number)}}"#
          : #"{"id":"Item/s\#(number)","values":{"count":\#(number % 9),"title":"Ä\#(number)"}}"#
      }
      for start in stride(from: 0, to: inserts.count, by: size) {
        let portion = inserts[start..<min(start + size, inserts.count)]
        try await store.save(#"{"insert":[\#(portion.joined(separator: ","))]}"#)
      }
      // The triggers are there again.
      try await store.save(#"{"update":[{"id":"Shelf/p7","values":{"row":-1}}]}"#)
      return try store.rows(
        "SELECT entity, object, kind, version, before FROM cordial_change ORDER BY entity, object"
      ) + store.lines("Item count title plain; Shelf row items")
    }
    let whole = try await made(inPortionsOf: 1200)
    #expect(whole.count == 2401)
    #expect(try await made(inPortionsOf: 300) == whole)
  }

  @Test(arguments: ["Plain", "Watched"])
  func `thousands of updates leave the same log as single updates`(entity: String) async throws {
    // Of Watched something is derived, so that its triggers have more to do than to log.
    let store = try TestStore(
      """
      {"name":"Many","entities":[
        {"name":"Plain","attributes":[
          {"name":"count","type":"int64","optional":true},
          {"name":"title","type":"string","optional":true},
          {"name":"price","type":"double","optional":true}]},
        {"name":"Watched","attributes":[
          {"name":"count","type":"int64","optional":true},
          {"name":"title","type":"string","optional":true},
          {"name":"price","type":"double","optional":true}],
         "relationships":[{"name":"box","destination":"Box","optional":true,"inverse":"all"}]},
        {"name":"Box","attributes":[
          {"name":"sum","type":"int64","optional":true,"derived":"all.@sum.count"}],
         "relationships":[
          {"name":"all","destination":"Watched","toMany":true,"inverse":"box"}]}]}
      """
    )
    let inserts = (0..<2000).map { number in
      let title = number.isMultiple(of: 3) ? "null" : "\"Tö \\\"\(number)\""
      return #"{"entity":"\#(entity)","values":{"count":\#(number % 7),"title":\#(title)}}"#
    }
    try await store.save(#"{"insert":[\#(inserts.joined(separator: ","))]}"#)
    // A foreign client does the same to a copy of the objects, through the triggers.
    let first = try store.rows("SELECT max(number) FROM cordial_change").first ?? ""
    let set = #"{"count":{"@expression":"count * 2"},"title":"x","price":0.1}"#
    try await store.save(
      """
      {"updateMatching":{"entity":"\(entity)","predicate":"count < 6","set":\(set)}}
      """
    )
    let log = """
      SELECT entity, object, kind, version, before FROM cordial_change
      WHERE number > \(first) ORDER BY object
      """
    let ours = try store.rows(log)
    #expect(ours.count == 1715)
    try await store.save(#"{"undo":1}"#)
    try store.foreign("DELETE FROM cordial_change WHERE number > \(first)")
    try store.foreign(
      """
      UPDATE \(entity) SET count = count * 2, title = 'x', price = 0.1, _version = _version - 1
      WHERE count < 6
      """
    )
    #expect(try store.rows(log) == ours)
  }
}
