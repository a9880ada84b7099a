import CordialValues
import Spotlight
import Testing

@Suite struct `Suggestions` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: "buy oat milk", title: "milkshake"), 2: (body: "buy milk", title: nil),
      3: (body: "Mühle mint", title: "#milky milk"), 4: (body: "東京 東京都", title: "HTTPServer2"),
    ])
    index.library.commit([(TestIndex.card(1), ["mint"]), (TestIndex.card(2), ["mint"])])
    #expect(await index.catchUp())
    index.commit([9: (body: "millstone", title: nil)])
    #expect(await index.catchUp())
    // A document that is dead suggests nothing.
    index.commit([9: nil])
    #expect(await index.catchUp())
  }

  private func suggested(
    _ query: String,
    entities: Set<Int>? = nil,
    limit: Int = 10
  ) throws -> [String] {
    try index.suggestions(query, entities: entities, limit: limit)
      .map { "\($0.text) \($0.documents)" }
  }

  @Test func `complete the last word by frequency`() throws {
    #expect(try suggested("mi") == ["milk 3", "mint 3", "milkshake 1", "milky 1"])
    #expect(try suggested("MI") == ["milk 3", "mint 3", "milkshake 1", "milky 1"])
    #expect(try suggested("mü") == ["muhle 1"])
    #expect(try suggested("mill") == [] && suggested("zebra") == [])
    #expect(try suggested("mi", limit: 1) == ["milk 3"])
    #expect(try suggested("mi", limit: 0) == [])
    #expect(try suggested("httpse") == ["httpserver 1", "httpserver2 1"])
    #expect(try suggested("#mi") == ["#milky 1"])
    // It begins each word that has it.
    #expect(try suggested("東") == ["东 1"])
    #expect(try suggested("東京") == ["東京 1"])
  }

  @Test func `keep what stands before the word`() throws {
    #expect(try suggested("buy mi") == ["buy milk 2", "buy milkshake 1"])
    #expect(try suggested("Oat, MI") == ["Oat, milk 1", "Oat, milkshake 1"])
    #expect(try suggested(#""oat mi"#) == [#""oat milk 1"#])
    #expect(try suggested("title:mi") == ["title:milk 1", "title:milkshake 1", "title:milky 1"])
    #expect(try suggested("-buy mi") == ["-buy mint 3", "-buy milk 1", "-buy milky 1"])
    #expect(try suggested("buy mi*") == ["buy milk 2", "buy milkshake 1"])
    #expect(try suggested("buy mi!") == ["buy milk 2", "buy milkshake 1"])
    #expect(try suggested("zebra OR mi").first == "zebra OR milk 3")
  }

  @Test func `are of a word that is being typed`() throws {
    for query in ["", " ", "mi ", "-mi", #""oat mi""#, "!", "mi OR "] {
      #expect(try suggested(query) == [], "\(query)")
    }
  }

  // Evidence: P-090h
  @Test func `correct words that no object has`() throws {
    func corrected(_ query: String, entities: Set<Int>? = nil) throws -> String? {
      try index.snapshot { index in
        try index.correction(TestIndex.suggesting(query, entities: entities), without: [])
      }
      .map { "\($0.text) \($0.kind) \($0.documents)" }
    }
    #expect(try corrected("mlik") == "milk correction 3")
    #expect(try corrected("Buy  MLIK, plaese") == nil)
    #expect(try corrected("Byu  MLIK!") == "buy  milk correction 2")
    #expect(try corrected("buymilk") == "buy milk correction 2")
    // The last word may be unfinished, and a word with an operator stays.
    #expect(try corrected("mil") == nil && corrected("milk") == nil && corrected("") == nil)
    #expect(try corrected(#""mlik""#) == nil && corrected("body:mlik") == nil)
    // What finds nothing is no correction.
    #expect(try corrected("oat mnit") == nil)
    #expect(try corrected("mnit", entities: [3]) == "mint correction 2")
    // A word of a dead document corrects nothing.
    #expect(try corrected("millstome") == nil)
  }

  // Evidence: P-090h
  @Test func `are names of objects`() throws {
    let names = [
      TestIndex.note(1): "milkshake", TestIndex.note(3): "#milky milk",
      TestIndex.note(4): "HTTPServer2", TestIndex.card(1): "mint", TestIndex.card(2): "mint",
    ]
    func named(_ query: String, limit: Int = 3, entities: Set<Int>? = nil) throws -> [String] {
      try index.snapshot { index in
        let request = TestIndex.suggesting(query, entities: entities, limit: limit)
        return try index.names(request, without: []) { key in
          names[key].map { (key.entity == 1 ? "title" : "name", $0) }
        }
      }
      .map { "\($0.text) \($0.kind) \($0.documents)" }
    }
    #expect(try named("mil") == ["#milky milk query 1", "milkshake query 1"])
    #expect(try named("mil", limit: 1).count == 1 && named("mil", limit: 0) == [])
    // All words are in the name, not only in the object.
    #expect(try named("oat mil") == [] && named("milk milky") == ["#milky milk query 1"])
    // Equal names count once, with all objects that they find.
    #expect(try named("mi", entities: [3]) == ["mint query 2"])
    #expect(try named("mint") == [] && named("HTTPSERVER2") == [] && named("") == [])
  }

  @Test func `count the documents of the entities`() throws {
    #expect(try suggested("mi", entities: [3]) == ["mint 2"])
    #expect(try suggested("mi", entities: []) == [])
  }
}
