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

  @Test func `count the documents of the entities`() throws {
    #expect(try suggested("mi", entities: [3]) == ["mint 2"])
    #expect(try suggested("mi", entities: []) == [])
  }
}
