import CordialValues
import Spotlight
import TestSeeds
import Testing

@Suite struct `An explanation` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: "oat milk and milk", title: "Buy milk"), 2: (body: "bread", title: "Milk"),
      3: (body: "cheese", title: "Mild"), 4: (body: "", title: nil), 5: (body: "old", title: nil),
    ])
    #expect(await index.catchUp())
    index.commit([5: nil])
    #expect(await index.catchUp())
  }

  @Test func `has the shares of the terms, which add up to the score`() throws {
    let hit = try #require(try index.result("milk OR oat buy", explains: true).hits.first)
    #expect(hit.explanation.map(\.term) == ["milk", "oat", "buy"])
    #expect(hit.explanation.map(\.count) == [3, 1, 1])
    #expect(hit.explanation.map(\.documents) == [2, 1, 1])
    #expect(hit.explanation.allSatisfy { $0.share > 0 && $0.share < $0.bound })
    #expect(abs(hit.explanation.reduce(0) { $0 + $1.share } - hit.score) < 1e-9)
    #expect(try index.result("milk").hits.allSatisfy { $0.explanation.isEmpty })
    let parts = try #require(try index.result("mi*", explains: true).hits.first)
    #expect(parts.explanation.map(\.term) == ["mi*"])
    let mistaken = try index.result("milk", fuzzy: true, explains: true).hits
    #expect(mistaken.map(\.key.object) == [2, 1, 3])
    #expect(mistaken.last?.explanation.map(\.term) == ["mild"])
    #expect(try index.result("milk", explains: true).postings.read >= 2)
  }

  private func verdict(
    _ number: Int64,
    _ query: String,
    fuzzy: Bool = false,
    entities: Set<Int>? = nil,
    filter: ObjectFilter? = nil
  ) throws -> String {
    switch try index.verdict(
      on: TestIndex.note(number),
      query,
      fuzzy: fuzzy,
      entities: entities,
      filter: filter
    ) {
    case .found(let rank, let hit, _):
      #expect(abs(hit.explanation.reduce(0) { $0 + $1.share } - hit.score) < 1e-9)
      return "found \(rank)"
    case .notIndexed: return "not indexed"
    case .missingWord(let word, let nearest):
      return "missing \(word): \(nearest.joined(separator: " "))"
    case .excludedWord(let word): return "excluded \(word)"
    case .filtered: return "filtered"
    }
  }

  @Test func `tells why an object is found, or why it is not`() throws {
    #expect(try verdict(1, "milk") == "found 2" && verdict(2, "milk") == "found 1")
    #expect(try verdict(3, "milk") == "missing milk: mild")
    #expect(try verdict(3, "milk", fuzzy: true) == "found 3")
    #expect(try verdict(1, "mlik oat") == "missing mlik: milk")
    #expect(try verdict(1, "milk zebra") == "missing zebra: ")
    #expect(try verdict(1, "zebra OR bred") == "missing zebra OR bred: ")
    #expect(try verdict(1, "milk -oat") == "excluded oat")
    #expect(try verdict(1, #""milk oat""#) == "missing milk oat: ")
    #expect(try verdict(1, "title:oat") == "missing title:oat: ")
    #expect(try verdict(1, "mil") == "missing mil: milk")
    #expect(try verdict(2, "mil*") == "found 1" && verdict(2, "mik*") == "missing mik: milk")
    #expect(try verdict(4, "milk") == "not indexed" && verdict(5, "milk") == "not indexed")
    #expect(try verdict(1, "milk", entities: [3]) == "filtered")
    let none = ObjectFilter(matching: { _ in [] }, all: { [:] })
    #expect(try verdict(1, "milk", filter: none) == "filtered")
    #expect(try verdict(1, "") == "missing : ")
  }

  /// The verdict is found, at the place that the search has, exactly for the hits.
  @Test(arguments: Seeds.first(10))
  func `agrees with the search`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let words = ["milk", "mild", "oat", "tea", "milky", "東京"]
    let index = try TestIndex()
    func text() -> String {
      (0..<random.below(4)).map { _ in random.pick(words) }.joined(separator: " ")
    }
    index.commit(
      Dictionary(uniqueKeysWithValues: (1...20).map { (Int64($0), (text(), text())) })
        .mapValues { (body: $0.0, title: $0.1) }
    )
    #expect(await index.catchUp())
    for _ in 0..<30 {
      var query = "\(random.pick(words)) \(random.pick(["", "OR ", "-"]))\(random.pick(words))"
      if random.oneIn(3) { query += "*" }
      let fuzzy = random.oneIn(3)
      let hits = try index.result(query, fuzzy: fuzzy).hits
      for number in 1...20 as ClosedRange<Int64> {
        let place = hits.firstIndex { $0.key == TestIndex.note(number) }
        let note: Comment = "\(query) \(number); \(Seeds.repeating(seed))"
        switch try index.verdict(on: TestIndex.note(number), query, fuzzy: fuzzy) {
        case .found(let rank, let hit, _):
          #expect(place.map { $0 + 1 } == rank && hit.score == hits[rank - 1].score, note)
        case .filtered: Issue.record(note)
        default: #expect(place == nil, note)
        }
      }
    }
  }
}
