import CordialValues
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

/// Whether others still write.
private final class Writing: Sendable {
  let isOn = Atomic(true)
}

@Suite struct `A forgiving search` {
  private static let base = [
    "convert", "frame", "work", "library", "progress", "bread", "milk", "number", "display",
    "server",
    "print", "run", "story", "text",
  ]

  private static func word(_ random: inout SplitMix64) -> String {
    switch random.below(8) {
    case 0: random.pick(base) + random.pick(base)
    case 1: random.pick(base) + random.pick(["s", "ed", "ing", "er", "ning"])
    case 2: String(random.pick(base).dropLast(1 + random.below(2)))
    case 3: damaged(random.pick(base), &random)
    default: random.pick(base)
    }
  }

  private static func damaged(_ word: String, _ random: inout SplitMix64) -> String {
    var letters = Array(word)
    let place = random.below(letters.count)
    switch random.below(4) {
    case 0: letters.remove(at: place)
    case 1: letters.insert(random.pick(["a", "e", "x"]), at: place)
    case 2: letters[place] = random.pick(["a", "o", "z"])
    default: if place > 0 { letters.swapAt(place - 1, place) }
    }
    return letters.isEmpty ? "x" : String(letters)
  }

  /// The index reads each commit by itself, so that it knows all words of every commit.
  // Evidence: P-091f, P-091g, P-091h, P-091i, P-090b
  @Test(arguments: Seeds.first(12))
  func `finds the classes of the contract, now and in the past`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    #expect(await index.catchUp())
    for _ in 0..<(10 + random.below(60)) {
      let number = Int64(1 + random.below(30))
      guard random.below(8) > 0 else {
        let gone: (body: String?, title: String?)? = nil
        index.commit([number: gone])
        continue
      }
      func text() -> String {
        (0...random.below(5)).map { _ in Self.word(&random) }.joined(separator: " ")
      }
      index.commit([number: (text(), random.oneIn(3) ? nil : text())])
      #expect(await index.catchUp())
    }
    #expect(await index.catchUp())
    let pasts = index.library.state.withLock(\.pasts)
    for step in 0..<60 {
      let commit = step < 40 ? pasts.count - 1 : random.below(pasts.count)
      var documents: [Int64: [[String]]] = [:]
      for (key, texts) in pasts[commit] {
        documents[key.object] = texts.map { ($0 ?? "").split(separator: " ").map(String.init) }
      }
      let query = (0...random.below(3)).map { _ in
        random.oneIn(3) ? Self.damaged(Self.word(&random), &random) : Self.word(&random)
      }
      let result = try index.result(
        query.joined(separator: " "),
        match: .forgiving,
        prefix: true,
        fuzzy: true,
        readings: true,
        asOf: commit == pasts.count - 1 ? nil : commit
      )
      let wanted = ForgivingModel(documents: documents).classes(query)
      let note: Comment = "\(query) at \(commit) of \(pasts.count); \(Seeds.repeating(seed))"
      for (offset, numbers) in wanted.enumerated() {
        let found = result.hits.filter { $0.hitClass.rawValue == offset + 1 }.map(\.key.object)
        let differing = numbers.symmetricDifference(found).compactMap { documents[$0] }
        try #require(Set(found) == numbers, "class \(offset + 1) of \(note): \(differing)")
      }
      try #require(
        result.hits.map(\.hitClass.rawValue) == result.hits.map(\.hitClass.rawValue).sorted()
      )
      try #require(result.totals.map(\.total) == wanted.map { Int64($0.count) }, note)
    }
  }

  // Evidence: P-091b, P-091f, P-092i
  @Test func `answers any text`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "convert → text", title: nil), 2: (body: "cafe\u{301} 東京", title: nil),
      3: (
        body: String(repeating: "word ", count: 1000), title: String(repeating: "x", count: 4000)
      ),
    ])
    #expect(await index.catchUp())
    func found(_ query: String) throws -> [Int64] {
      let result = try index.result(
        query,
        match: .forgiving,
        prefix: true,
        fuzzy: true,
        readings: true
      )
      #expect(result.total == Int64(result.hits.count), "\(query.prefix(80))")
      return result.hits.map(\.key.object)
    }
    #expect(try found("→") == [1])
    for nothing in [
      "\u{301}", "\u{200D}", "\u{200C}", "\u{FE0F}", "\u{0}", "\u{FFFD}", "\"", "-", "--", "OR",
      "*",
      "-*", "\"\"", ":", "body:", "()", " \n\t", "\u{E000}", "\u{10FFFF}",
    ] {
      #expect(try found(nothing) == [], "\(nothing.debugDescription)")
    }
    #expect(try found("→ \u{301} convert \u{200D}") == [1])
    #expect(try found("cafe\u{301}\u{200D}") == [2])
    // Words beyond the limit are not looked up.
    let many = (0..<10_000).map { "w\($0)" }.joined(separator: " ")
    #expect(try found(many) == [] && found("convert text " + many) == [1])
    #expect(try found(Array(repeating: "word", count: 10_000).joined(separator: " ")) == [3])
    // A word of a megabyte, and words of all lengths around the limits of words.
    for letters in Array(1...140) + [1000, 4000, 4004, 1 << 20] {
      let word = String(repeating: "x", count: letters)
      // A long word is indexed in pieces, so that a longer one may resemble it.
      #expect(try found(word) == [3] || letters > 4000, "\(letters)")
      #expect(try found(word + "東京").allSatisfy { [2, 3].contains($0) }, "\(letters)")
      #expect(try found(String(repeating: "text", count: letters / 4 + 2)).count <= 1, "\(letters)")
    }
  }

  // Evidence: P-091g, P-111f
  @Test func `finds the inflections of a text's language`() async throws {
    let model = TestIndex.model.replacing(
      #""body", "type": "string""#,
      with: #""body", "type": "string", "language": "en""#
    )
    let index = try TestIndex(model: model)
    index.commit([
      1: (body: "the memory flies", title: nil), 2: (body: nil, title: "the memory flies"),
      3: (body: "studies", title: "universities"), 4: (body: "universe", title: "flying"),
      5: (body: "relational", title: nil), 6: (body: nil, title: "converted"),
      7: (body: "fly", title: nil),
    ])
    #expect(await index.catchUp())
    func found(_ query: String) throws -> [String] {
      try index.result(query, match: .forgiving, fuzzy: true).hits.map {
        "\($0.key.object) \($0.hitClass.rawValue)"
      }
    }
    // Only the body has a language, and only there is a stem enough.
    #expect(try found("fly") == ["7 1", "1 2"])
    #expect(try found("memories") == ["2 2", "1 2"])
    #expect(try found("memory fly") == ["1 2", "7 4"])
    #expect(try found("relate") == ["5 2"])
    // Without a language, the ending decides.
    #expect(try found("university") == ["3 2", "4 2"])
    #expect(try found("converts") == ["6 2"])
    #expect(try found("body:fly") == ["7 1"])
  }

  /// Searches on other threads have the classes of the commit that their snapshot names.
  // Evidence: P-091f, P-094b
  @Test(arguments: Seeds.first(6))
  func `finds the classes of a commit while others write`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    let (library, searched) = (index.library, index.index)
    #expect(await index.catchUp())
    let writing = Writing()
    let readers = (0..<2).map { reader in SplitMix64(seed: seed &* 31 &+ UInt64(reader)) }
    let checked = try await withThrowingTaskGroup(of: Int.self) { group in
      for reader in readers {
        group.addTask {
          var random = reader
          var checked = 0
          let searcher = try searched.makeSearcher()
          while writing.isOn.load(ordering: .relaxed) || checked < 5 {
            let query = (0...random.below(3)).map { _ in
              random.oneIn(3) ? Self.damaged(Self.word(&random), &random) : Self.word(&random)
            }
            let request = SearchRequest(
              query: query.joined(separator: " "),
              match: .forgiving,
              entities: nil,
              isPrefix: true,
              isFuzzy: true,
              hasReadings: true,
              offset: 0,
              limit: 1000,
              wordsMax: 64
            )
            let (commit, result) = try searcher.snapshot { index in
              (Int(index.token.number), try index.search(request, without: []))
            }
            let texts = library.state.withLock { $0.pasts[commit] }
            let documents = texts.map { key, texts in
              (
                key.object,
                texts.map { ($0 ?? "").split(separator: " ").map(String.init) }
              )
            }
            let model = ForgivingModel(documents: Dictionary(uniqueKeysWithValues: documents))
            let wanted = model.classes(query)
            let note: Comment = "\(query) at \(commit); \(Seeds.repeating(seed))"
            for (offset, numbers) in wanted.enumerated() {
              let found = result.hits.filter { $0.hitClass.rawValue == offset + 1 }
              try #require(
                Set(found.map(\.key.object)) == numbers,
                "class \(offset + 1) of \(note)"
              )
            }
            checked += 1
            await Task.yield()
          }
          return checked
        }
      }
      for _ in 0..<80 {
        let number = Int64(1 + random.below(20))
        let gone: (body: String?, title: String?)? = nil
        let text = (0...random.below(5)).map { _ in Self.word(&random) }.joined(separator: " ")
        index.commit([number: random.oneIn(6) ? gone : (text, random.oneIn(3) ? nil : text)])
        #expect(await index.catchUp())
      }
      writing.isOn.store(false, ordering: .relaxed)
      return try await group.reduce(0, +)
    }
    #expect(checked >= 10)
  }

  /// A page has the hits that a longer page has at these places.
  // Evidence: P-091f, P-093a
  @Test(arguments: Seeds.first(12))
  func `has the same hits page by page`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    for number in 1...40 as ClosedRange<Int64> {
      let text = (0...random.below(6)).map { _ in Self.word(&random) }.joined(separator: " ")
      index.commit([number: (text, nil)])
    }
    #expect(await index.catchUp())
    for _ in 0..<20 {
      let query = "\(Self.word(&random)) \(Self.word(&random))"
      func search(offset: Int, limit: Int) throws -> SearchResult {
        try index.result(
          query,
          match: .forgiving,
          prefix: true,
          fuzzy: true,
          offset: offset,
          limit: limit
        )
      }
      let all = try search(offset: 0, limit: 1000)
      #expect(!all.isAtLeast)
      for offset in stride(from: 0, to: all.hits.count, by: 3) {
        let page = try search(offset: offset, limit: 3)
        let note: Comment = "\(query) from \(offset); \(Seeds.repeating(seed))"
        let wanted = all.hits.dropFirst(offset).prefix(3)
        #expect(page.hits.map(\.key) == wanted.map(\.key), note)
        #expect(page.hits.map(\.score) == wanted.map(\.score), note)
        #expect(page.totals.elementsEqual(all.totals.prefix(page.totals.count), by: ==), note)
        #expect(page.isAtLeast == (page.totals.count < 4), note)
      }
    }
  }

  // Evidence: P-091f
  @Test func `leaves operators as they are`() async throws {
    let index = try TestIndex()
    index.commit([1: ("frameworks of bread", "milk"), 2: ("frame bread", nil), 3: ("brea", nil)])
    #expect(await index.catchUp())
    func found(_ query: String) throws -> [Int64] {
      try index.result(query, match: .forgiving, prefix: true, fuzzy: true).hits.map(\.key.object)
    }
    #expect(try found("\"frame\"") == [2] && found("frame -milk") == [2])
    #expect(try found("frame*") == [2, 1] && found("\"framewrk\"") == [])
    #expect(try found("title:milk bred") == [1] && found("title:mlik") == [])
    #expect(try found("framewrk OR frame") == [2, 1])
    #expect(try found("\"bread\" frame") == [2, 1])
  }

  /// The rank and the score of an explanation are those of the search, in each class.
  // Evidence: P-090k
  @Test func `explains each class with the rank and the score of the search`() async throws {
    let index = try TestIndex()
    let long = String(repeating: "rye soy ", count: 40)
    index.commit([
      1: ("frame convert " + long, nil), 2: ("mainframe convert", nil), 3: ("frane convert", nil),
      4: ("convert", nil), 5: ("frames convert " + long, nil),
    ])
    #expect(await index.catchUp())
    let hits = try index.result(
      "frame convert",
      match: .forgiving,
      prefix: true,
      fuzzy: true
    ).hits
    #expect(hits.count == 4 && Set(hits.map(\.hitClass)).count > 1)
    for (place, hit) in hits.enumerated() {
      guard
        case .found(let rank, let found, _) = try index.verdict(
          on: hit.key,
          "frame convert",
          match: .forgiving
        )
      else {
        Issue.record("\(hit) is not found")
        continue
      }
      #expect(rank == place + 1 && found.score == hit.score && found.hitClass == hit.hitClass)
    }
  }

  /// Documents that were deleted change nothing.
  // Evidence: P-091i
  @Test func `weighs words by the documents that live`() async throws {
    let index = try TestIndex()
    index.commit([1: ("x € y", nil), 2: ("foo z", nil)])
    for number in 3...6 as ClosedRange<Int64> { index.commit([number: ("alone rye", nil)]) }
    #expect(await index.catchUp())
    let before = try index.result("foo€ alone", match: .forgiving).hits.map(\.key)
    index.commit([7: ("foo € dead", nil)])
    #expect(await index.catchUp())
    let gone: (body: String?, title: String?)? = nil
    index.commit([7: gone])
    #expect(await index.catchUp())
    #expect(try index.result("foo€ alone", match: .forgiving).hits.map(\.key) == before)
  }

  // Evidence: P-091e, P-091g
  @Test func `finds readings of the letters that documents have`() async throws {
    let index = try TestIndex()
    index.commit([1: ("latin words", nil), 2: ("すしを食べる", nil)])
    #expect(await index.catchUp())
    func found(_ query: String) throws -> [Int64] {
      try index.result(query, match: .forgiving, prefix: true, fuzzy: true, readings: true)
        .hits.map(\.key.object)
    }
    #expect(try found("beijing") == [] && found("sushi") == [2] && found("sshi") == [])
    index.commit([3: ("北京", nil)])
    #expect(await index.catchUp())
    #expect(try found("beijing") == [3] && found("beij") == [3] && found("\"beijing\"") == [])
  }

  /// A symbol is found by itself, and beside words; punctuation only where a query has no words.
  // Evidence: P-092i
  @Test func `finds symbols`() async throws {
    let index = try TestIndex()
    index.commit([
      1: ("100 €, or €5", nil), 2: ("a → b", nil), 3: ("if (x != y) -> z", "U+1F41A"),
      4: ("x ≠ y", nil), 5: ("100 $", nil), 6: ("🐚 0x1f41a", nil), 7: ("wait ... what?", nil),
    ])
    #expect(await index.catchUp())
    func found(_ query: String, _ match: SearchRequest.Match = .all) throws -> [Int64] {
      try index.result(query, match: match).hits.map(\.key.object).sorted()
    }
    #expect(try found("€") == [1] && found("100 €") == [1])
    #expect(try found("100€") == [1])
    #expect(try found("\"100 €\"") == [1] && found("\"100 $\"") == [5])
    #expect(try found("100") == [1, 5])
    #expect(try found("→") == [2] && found("!=") == [3] && found("->") == [3])
    #expect(try found("≠") == [4] && found("=\u{338}") == [4] && found("...") == [7])
    #expect(try found("x -> y") == [3, 4] && found("-€") == [] && found("100 -€") == [5])
    #expect(try found("🐚", .forgiving) == [3, 6] && found("u+1f41a", .forgiving) == [3, 6])
    #expect(try found("\u{301}") == [] && found("\u{200D}") == [] && found("\"") == [])
  }
}
