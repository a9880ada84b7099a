import CordialValues
import Foundation
import Spotlight
import TestSeeds
import Testing

@Suite struct `Hits are ordered by score, then by ID` {
  private struct Document {
    let key: ObjectKey
    /// Each with its weight.
    let fields: [(words: [String], weight: Double)]
    let title: [String]

    var length: Int { fields.reduce(0) { $0 + $1.words.count } }
  }

  /// The factor of a document whose title has words of the query, or begins with it.
  private func factor(_ groups: [[String]], _ title: [String]) -> Double {
    let covered = title.count { word in groups.contains { $0.contains(word) } }
    guard covered > 0 else { return 1 }
    let begins =
      title.count >= groups.count && zip(groups, title).allSatisfy { $0.contains($1) }
    let isWhole = begins && covered >= title.count
    return 1 + 0.5 * min(1, Double(covered) / Double(title.count)) + (begins ? 0.5 : 0)
      + (isWhole ? 2 : 0)
  }

  /// BM25 with the contract's factors, over every document.
  private func ranked(_ groups: [[String]], _ documents: [Document]) -> [(ObjectKey, Double)] {
    let words = groups.flatMap { $0 }
    let all = Double(documents.count)
    let average = Double(documents.reduce(0) { $0 + $1.length }) / all
    let frequencies = words.map { word in
      let count = Double(
        documents.count { document in document.fields.contains { $0.words.contains(word) } }
      )
      return max(0.01, log((all - count + 0.5) / (count + 0.5)))
    }
    let hits = documents.filter { document in
      groups.allSatisfy { group in
        group.contains { word in document.fields.contains { $0.words.contains(word) } }
      }
    }
    return hits.map { document in
      let norm = 1.2 * (1 - 0.75 + 0.75 * Double(document.length) / average)
      var total = 0.0
      for (word, frequency) in zip(words, frequencies) {
        let weighted = document.fields.reduce(0) { sum, field in
          sum + field.weight * Double(field.words.count { $0 == word })
        }
        if weighted > 0 { total += frequency * weighted * (1.2 + 1) / (weighted + norm) }
      }
      var matched: [(word: String, frequency: Double)] = []
      var start = 0
      for group in groups {
        let found = group.indices.first { index in
          document.fields.contains { $0.words.contains(group[index]) }
        }
        if let found { matched.append((group[found], frequencies[start + found])) }
        start += group.count
      }
      for (first, second) in zip(matched, matched.dropFirst()) {
        guard let apart = nearest(first.word, second.word, document) else { continue }
        total += 0.25 * min(first.frequency, second.frequency) / Double(apart)
      }
      return (document.key, total * factor(groups, document.title))
    }.sorted { $0.1 == $1.1 ? $0.0 < $1.0 : $0.1 > $1.1 }
  }

  /// The least number of places between two words, one more in the wrong order; nil where no field
  /// has both.
  private func nearest(_ first: String, _ second: String, _ document: Document) -> Int? {
    guard first != second else { return repeated(first, document) }
    return document.fields.compactMap { field in
      field.words.indices.filter { field.words[$0] == first }.flatMap { place in
        field.words.indices.filter { field.words[$0] == second }.map { other in
          other > place ? other - place : place - other + 1
        }
      }.min()
    }.min()
  }

  /// The least number of places between two occurrences of a word.
  private func repeated(_ word: String, _ document: Document) -> Int? {
    document.fields.compactMap { field in
      let places = field.words.indices.filter { field.words[$0] == word }
      return zip(places, places.dropFirst()).map { $1 - $0 + 1 }.min()
    }.min()
  }

  @Test(arguments: Seeds.first(20))
  func `scores use the statistics of all documents`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let vocabulary = ["a", "b", "c", "d", "e", "f", "g", "h"]
    func words(_ count: Int) -> [String] {
      (0..<random.below(count)).map { _ in
        vocabulary[min(random.below(8), random.below(8))]
      }
    }
    let index = try TestIndex()
    var documents: [ObjectKey: Document] = [:]
    for _ in 0..<6 {
      var changes: [(ObjectKey, [String?]?)] = []
      for _ in 0..<12 {
        let isNote = random.oneIn(2)
        let number = Int64(1 + random.below(25))
        let key = isNote ? TestIndex.note(number) : TestIndex.card(number)
        guard !changes.contains(where: { $0.0 == key }) else { continue }
        if random.oneIn(5) {
          documents[key] = nil
          changes.append((key, nil))
          continue
        }
        let fields =
          isNote
          ? [(words: words(10), weight: 1.0), (words: words(4), weight: 2.1)]
          : [(words: words(5), weight: 1.05)]
        documents[key] = Document(
          key: key,
          fields: fields,
          title: isNote ? fields[1].words : fields[0].words
        )
        changes.append((key, fields.map { $0.words.joined(separator: " ") }))
      }
      index.library.commit(changes)
      if random.oneIn(2) { #expect(await index.catchUp()) }
    }
    #expect(await index.catchUp())
    let all = documents.values.sorted { $0.key < $1.key }
    for _ in 0..<20 {
      let groups = (0..<1 + random.below(3)).map { _ in
        (0..<1 + random.below(2)).map { _ in random.pick(vocabulary) }
      }
      let query = groups.map { $0.joined(separator: " OR ") }.joined(separator: " ")
      let expected = ranked(groups, all)
      let result = try index.result(query)
      let note: Comment = "\(query); \(Seeds.repeating(seed))"
      #expect(result.total == expected.count, note)
      #expect(result.hits.map(\.key) == expected.map(\.0), note)
      for (hit, (_, score)) in zip(result.hits, expected) {
        #expect(abs(hit.score - score) < 1e-9, note)
      }
    }
  }

  // Evidence: P-093a
  @Test func `equal hits are ordered by entity and number in every window`() async throws {
    let index = try TestIndex()
    var keys: [ObjectKey] = []
    for number in [30, 4, 12, 7, 1, 25, 9] as [Int64] {
      keys += [TestIndex.label(number), TestIndex.card(number)]
    }
    for key in keys {
      index.library.commit([(key, ["same"])])
      #expect(await index.catchUp())
    }
    #expect(try index.result("same").hits.map(\.key) == keys.sorted())
    for limit in 1...14 {
      #expect(
        try index.result("same", limit: limit).hits.map(\.key) == Array(keys.sorted().prefix(limit))
      )
    }
  }

  @Test func `a title counts more than a body, a rare word more than a common one`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "milk bread", title: "one"), 2: (body: "one bread", title: "milk"),
      3: (body: "eggs bread", title: "two"), 4: (body: "salt bread", title: "three"),
      5: (body: "pepper bread", title: "four"),
    ])
    #expect(await index.catchUp())
    #expect(try index.result("milk").hits.map(\.key.object) == [2, 1])
    #expect(try index.result("eggs OR bread").hits.first?.key.object == 3)
  }

  // Evidence: P-093c
  @Test func `a title that is the query is before others that have it more often`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "jackd and jackd", title: "libjack jackd"),
      2: (body: "the audio connection kit and its server", title: "jackd"),
      3: (body: "of jackd", title: "jackd tools"), 4: (body: "a program", title: "sudo"),
      5: (body: "another one", title: "milk"), 6: (body: nil, title: "bread and milk"),
      7: (body: nil, title: "milk and bread"), 8: (body: nil, title: "salt"),
      9: (body: nil, title: "milky"),
    ])
    #expect(await index.catchUp())
    #expect(try index.result("jackd").hits.first?.key.object == 2)
    #expect(try index.result("jac", prefix: true).hits.first?.key.object == 2)
    #expect(try index.result("milk", prefix: true).hits.first?.key.object == 5)
    #expect(try index.result("milk and").hits.map(\.key.object) == [7, 6])
    #expect(try index.result("jacdk", fuzzy: true).hits.first?.key.object == 2)
  }

  // Evidence: P-093c
  @Test func `a word counts more where a word of the object begins, in scripts without spaces`()
    async throws
  {
    let index = try TestIndex()
    index.commit([
      1: (body: "東京都庁", title: nil), 2: (body: "京都寺院", title: nil),
      3: (body: "외국어", title: nil), 4: (body: "국어가", title: nil),
      5: (body: "ภาษาไทย", title: nil), 6: (body: "ไทยภาษา", title: nil),
      7: (body: "milk", title: nil), 8: (body: "bread", title: nil),
    ])
    #expect(await index.catchUp())
    #expect(try index.result("京都").hits.map(\.key.object) == [2, 1])
    #expect(try index.result("京都", prefix: true).hits.map(\.key.object) == [2, 1])
    #expect(try index.result("국어").hits.map(\.key.object) == [4, 3])
    let thai = try index.result("ไทย", explains: true)
    #expect(thai.hits.map(\.key.object) == [5, 6])
    #expect(thai.hits.allSatisfy { $0.explanation.count == 2 })
    #expect(try index.suggestions("^", entities: nil, limit: 5).isEmpty)
  }
}

@Suite struct `Matches are highlighted` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([1: (body: nil, title: "x")])
    #expect(await index.catchUp())
  }

  static let rows: [(query: String, text: String, ranges: [Range<Int>])] = [
    ("milk", "milk", [0..<4]), ("milk", "Buy Milk, MILK", [4..<8, 10..<14]), ("milk", "milks", []),
    ("milk", "👍 milk", [3..<7]), ("milk", "𝄞𝄞milk 👩‍👩‍👧 milk", [4..<8, 18..<22]),
    ("creme", "Crème brûlée", [0..<5]), ("creme", "👍Cre\u{300}me", [2..<8]),
    ("strasse", "die Straße", [4..<10]), (#""oat milk""#, "oat milk oat", [0..<8]),
    ("oat milk", "oat milk oat", [0..<3, 4..<8, 9..<12]), ("mi*", "milk mint tea", [0..<4, 5..<9]),
    ("本語", "日本語 本", [1..<3]), ("日", "日日本", [0..<2]), ("👍", "a👍b", [1..<3]),
    ("milk -oat", "oat milk", [4..<8]), ("title:milk", "milk", [0..<4]), ("body:milk", "milk", []),
    ("c++", "C++ C c#", [0..<3]), ("c", "C++ C", [0..<1, 4..<5]), ("milk", "", []),
    ("\u{1112}\u{1161}\u{11AB}", "👍 한 a", [3..<4]), ("デ", "𝄞 ﾃﾞ", [3..<5]),
    ("milk OR oat", "oat milk", [0..<3, 4..<8]),
  ]

  /// In code units of UTF-16 from the start of the value.
  // Evidence: P-093b
  @Test func `highlights are UTF-16 ranges, also after an emoji`() throws {
    for (query, text, ranges) in Self.rows {
      let highlighter = try index.result(query).highlighter
      #expect(highlighter.ranges(in: text, column: "title") == ranges, "\(query) in \(text)")
    }
  }
}
