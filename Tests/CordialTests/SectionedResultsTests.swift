import Cordial
import CordialProtocol
import CordialValues
import JSON
import Testing

private struct Entry: ObjectValue {
  static let entity = "Task"
  var id: WrappedID
  var title: String
  var priority: Int
}

@Suite struct `Results with sections` {
  private static let request = FetchRequest<Entry>(sort: ["title"], sectionBy: "priority")

  @MainActor private func rows(_ results: SectionedFetchedResults<Entry>) -> [String] {
    results.map { section in
      section.section.title + ":" + section.objects.map { $0.wrappedValue?.title ?? "-" }.joined()
    }
  }

  @MainActor private func elements(_ results: SectionedFetchedResults<Entry>) -> String {
    results.elements.map { element in
      switch element {
      case .head(let section): "<\(section.title)"
      case .object(let object): object.wrappedValue?.title ?? "-"
      case .foot(let section): "\(section.title)>"
      }
    }
    .joined(separator: " ")
  }

  private func insert(_ client: Client, _ tasks: [(String, Int)]) async throws -> [WrappedID] {
    var changes = SaveRequest()
    let values = try tasks.map { title, priority in
      try changes.insert { Entry(id: $0, title: title, priority: priority) }
    }
    let ids = try await client.save(changes).ids
    return try values.map { try #require(ids[$0.id]) }
  }

  @Test @MainActor func `are one list with ranges`() async throws {
    try await withService { _, client in
      let ids = try await insert(client, [("a", 1), ("b", 1), ("c", 2)])
      let results = SectionedFetchedResults(
        .fetchRequest(client.objects(Entry.self)),
        request: Self.request
      )
      try await wait { results.rows.count == 3 }
      #expect(rows(results) == ["1:ab", "2:c"])
      #expect(results.sections.map(\.range) == [0..<2, 2..<3])
      #expect(elements(results) == "<1 a b 1> <2 c 2>")
      #expect(results.change == .initial)

      // The move leaves the order of the rows, and is one change.
      var changes = results.changes.makeAsyncIterator()
      let update: JSONValue = ["id": .string(ids[1].description), "values": ["priority": 2]]
      _ = try await client.call(SaveCall(["update": [update]]))
      _ = await changes.next(isolation: #isolation)
      #expect(rows(results) == ["1:a", "2:bc"])
      #expect(elements(results) == "<1 a 1> <2 b c 2>")

      let former = results.elements
      try await client.delete(ids[0].description)
      try await wait { results.sections.count == 1 }
      // A view may still show the rows of before.
      #expect(former.map(\.id).last == .foot(.integer(2)) && former.count == 7)
      #expect(elements(results) == "<2 b c 2>")
      results.request = FetchRequest(sort: ["title"])
      try await wait { results.change == .replaced }
      #expect(results.isEmpty && elements(results) == "b c")
    }
  }

  @Test @MainActor func `come from mocks too`() async throws {
    func mock(_ title: String, _ priority: Int) -> AnyConvertibleValueObject<Entry> {
      Mock(Entry(id: .string(title), title: title, priority: priority)).eraseToAny()
    }
    let mocks = MockObjects(sections: [
      MockSection(name: .integer(1), objects: [mock("a", 1), mock("b", 1)]),
      MockSection(name: .integer(2), objects: []),
    ])
    let results = SectionedFetchedResults(.mockObjects(mocks))
    try await wait { results.rows.count == 2 }
    #expect(elements(results) == "<1 a b 1> <2 2>")
    mocks.updateSections { sections in
      sections[1].objects.append(sections[0].objects.removeFirst())
    }
    try await wait { rows(results) == ["1:b", "2:a"] }
    mocks.insert(mock("c", 1), at: 1)
    try await wait { rows(results) == ["1:bc", "2:a"] }
    mocks.remove(.string("a"))
    try await wait { rows(results) == ["1:bc"] }
    let ids = results.elements.map(\.id)
    #expect(ids.first == .head(.integer(1)) && ids[1] == .object(.string("b")))
  }
}
