import CordialValues
import Interruptions
import Spotlight
import Synchronization
import TestSeeds
import Testing

@Suite struct `A search that is stopped` {
  /// The second pass of a search, after its predicate was evaluated, reads enough to notice.
  // Evidence: P-017a
  @Test(arguments: ["milk", "milk oat", "mi*", "milk OR oat"])
  func `ends in the middle of its documents, and the next one succeeds`(query: String) async throws
  {
    let index = try TestIndex()
    let numbers = Array(1...3000 as ClosedRange<Int64>)
    for part in stride(from: 0, to: numbers.count, by: 1000) {
      let notes = numbers[part..<part + 1000].map {
        ($0, (body: nil as String?, title: "milk oat"))
      }
      index.commit(Dictionary(uniqueKeysWithValues: notes).mapValues { .some($0) })
    }
    #expect(await index.catchUp())
    let interruption = Interruption()
    let evaluations = Mutex(0)
    let filter = ObjectFilter(
      matchesMax: 10,
      matching: { _ in [] },
      all: {
        evaluations.withLock { $0 += 1 }
        interruption.stop(.cancelled)
        return [1: numbers]
      }
    )
    #expect(throws: Interrupted(.cancelled)) {
      try index.result(query, filter: filter, interruption: interruption)
    }
    #expect(evaluations.withLock { $0 } == 1)
    #expect(throws: Interrupted(.cancelled)) {
      try index.result(query, interruption: interruption)
    }
    #expect(try index.result(query, limit: 1, interruption: Interruption()).total == 3000)
  }
}

@Suite struct `A search with a predicate` {
  /// The window, the total and all hits are those of the whole search without what the predicate
  /// leaves out, whichever of the two is evaluated first.
  @Test(arguments: Seeds.first(10))
  func `is the search without the other objects`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    let words = ["milk", "oat", "cow", "shop", "note"]
    var notes: [Int64: (body: String?, title: String?)?] = [:]
    for number in 1...60 as ClosedRange<Int64> {
      let text = (0..<1 + random.below(6)).map { _ in random.pick(words) }
      notes[number] = (body: text.joined(separator: " "), title: random.pick(words))
    }
    index.commit(notes)
    index.library.commit((1...9).map { (TestIndex.card($0), [random.pick(words)]) })
    #expect(await index.catchUp())
    for _ in 0..<40 {
      let kept = Set((1...60 as ClosedRange<Int64>).filter { _ in random.oneIn(3) })
      let query = (0..<1 + random.below(2)).map { _ in random.pick(words) }.joined(separator: " ")
      let (offset, limit) = (random.below(8), random.below(8))
      let whole = try index.result(query).hits.map(\.key)
      let expected = whole.filter { $0.entity == 1 && kept.contains($0.object) }
      let omit = try expected.isEmpty ? totalsWithoutOne(query, of: index, kept) : []
      for matchesMax: Int64 in [0, 10_000] {
        let filter = ObjectFilter(
          matchesMax: matchesMax,
          matching: { keys in Set(keys.filter { $0.entity == 1 && kept.contains($0.object) }) },
          all: { [1: kept.sorted()] }
        )
        for wantsAll in [false, true] {
          let result = try index.result(
            query,
            offset: offset,
            limit: limit,
            filter: filter,
            wantsAll: wantsAll
          )
          let note: Comment = "\(query) \(matchesMax) \(wantsAll); \(Seeds.repeating(seed))"
          #expect(result.total == expected.count, note)
          #expect(
            result.hits.map(\.key) == Array(expected.dropFirst(offset).prefix(limit)),
            note
          )
          #expect(result.all == (wantsAll ? expected : []), note)
          #expect(result.omit.map(\.word) == omit.map(\.word), note)
          #expect(result.omit.map(\.total) == omit.map(\.total), note)
        }
      }
    }
  }

  /// The numbers of objects that a query of two words has without each of them.
  private func totalsWithoutOne(
    _ query: String,
    of index: TestIndex,
    _ kept: Set<Int64>
  ) throws -> [(word: String, total: Int64)] {
    let words = query.split(separator: " ").map(String.init)
    guard words.count == 2 else { return [] }
    let without = try [(words[0], words[1]), (words[1], words[0])].map { word, other in
      let keys = try index.result(other).hits.map(\.key)
      return (word: word, total: keys.filter { $0.entity == 1 && kept.contains($0.object) }.count)
    }
    var named: Set<String> = []
    return without.filter { $0.total > 0 && named.insert($0.word).inserted }
      .map { ($0.word, Int64($0.total)) }
  }

  // Evidence: P-090g
  @Test func `names the word without which there are hits`() async throws {
    let index = try TestIndex()
    index.commit([1: (body: "milk", title: nil), 2: (body: "oat milk", title: nil)])
    #expect(await index.catchUp())
    let filter = ObjectFilter(matching: { Set($0.filter { $0.object == 1 }) }, all: { [1: [1]] })
    let result = try index.result("oat milk", filter: filter)
    #expect(result.total == 0 && result.omit.map(\.word) == ["oat"])
    #expect(result.omit.map(\.total) == [1] && result.missing.isEmpty)
  }

  @Test func `passes on an error of the store`() async throws {
    let index = try TestIndex()
    index.commit([1: (body: "milk", title: nil)])
    #expect(await index.catchUp())
    for matchesMax: Int64 in [0, 10_000] {
      let filter = ObjectFilter(
        matchesMax: matchesMax,
        matching: { _ in throw Library.Failure() },
        all: { throw Library.Failure() }
      )
      #expect(throws: Library.Failure.self) { _ = try index.result("milk", filter: filter) }
    }
    #expect(try index.result("milk").total == 1)
  }
}

@Suite struct `A snippet` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([1: (body: "milk", title: nil)])
    #expect(await index.catchUp())
  }

  private func snippet(_ query: String, _ texts: [(String, String)]) throws -> Snippet? {
    try index.result(query).highlighter.snippet(of: texts.map { (property: $0.0, text: $0.1) })
  }

  /// The words of a snippet that are marked.
  private func marked(_ snippet: Snippet) -> [String] {
    snippet.highlights.map { range in
      String(decoding: Array(snippet.text.utf16)[range], as: UTF16.self)
    }
  }

  @Test func `is a whole short text`() throws {
    let found = try #require(try snippet("oat milk", [("body", "Buy oat milk")]))
    #expect(found.text == "Buy oat milk" && marked(found) == ["oat", "milk"])
    #expect(try snippet("zebra", [("body", "Buy oat milk")]) == nil)
    #expect(try snippet("milk", []) == nil && snippet("milk", [("body", "")]) == nil)
  }

  @Test func `shows the most different words, closest together`() throws {
    let far = "milk " + String(repeating: "and on ", count: 60)
    let text = far + "then the oat is beside the milk " + String(repeating: "and on ", count: 60)
    let found = try #require(try snippet("milk oat", [("body", text)]))
    #expect(marked(found) == ["oat", "milk"])
    #expect(found.text.hasPrefix("…") && found.text.hasSuffix("…"))
    #expect(found.text.contains("the oat is beside the milk"))
    // Another text with more words is better; of equal ones, the first is taken.
    let texts = [("title", "milk"), ("body", "oat milk"), ("note", "oat milk")]
    #expect(try snippet("milk oat", texts)?.property == "body")
  }

  @Test func `works in every script, for parts and beginnings`() throws {
    let long = String(repeating: "这是一段很长的文字。", count: 40)
    for (query, text, words) in [
      ("资料库", long + "我們的資料庫很大。" + long, ["資料庫"]),
      ("국어", String(repeating: "공부 ", count: 100) + "한국어를", ["국어"]),
      ("server", String(repeating: "x ", count: 200) + "HTTPServer2", ["Server"]),
      ("mil*", "the milkman", ["milkman"]), ("👩‍👩‍👧", "we 👩‍👩‍👧 go", ["👩‍👩‍👧"]),
    ] {
      let found = try #require(try snippet(query, [("body", text)]), "\(query)")
      #expect(marked(found) == words, "\(query): \(found)")
    }
  }

  @Test(arguments: Seeds.first(20))
  func `is a part of its text, bounded and cut between words`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let words = ["milk", "oat", "é", "東京", "한국", "👍", "a-b", "x", "\n", "naïve", "ไทย"]
    for _ in 0..<50 {
      let text = (0..<random.below(120)).map { _ in random.pick(words) }.joined(separator: " ")
      let query = "\(random.pick(words)) \(random.pick(words))"
      guard let found = try snippet(query, [("body", text)]) else { continue }
      let note: Comment = "\(query) in \(text); \(Seeds.repeating(seed))"
      var part = found.text
      if part.hasPrefix("…") { part.removeFirst() }
      if part.hasSuffix("…") { part.removeLast() }
      #expect(text.contains(part) && part.utf8.count <= 240, note)
      #expect(!found.highlights.isEmpty, note)
      #expect(found.highlights.allSatisfy { $0.upperBound <= found.text.utf16.count }, note)
      let highlighted = try index.result(query).highlighter.ranges(in: found.text, column: "body")
      #expect(found.highlights == highlighted, note)
    }
  }
}
