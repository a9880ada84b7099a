import CordialValues
import Spotlight
import TestSeeds
import TestStores
import Testing

@Suite struct `Typing mistakes` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: "oat milk from the shop", title: "Buy milk"), 2: (body: "mild cheese", title: nil),
      3: (body: "milky way", title: "The #milkshake"), 4: (body: "кофе молоко", title: "café"),
      5: (body: "recieve 1234567 letters", title: "iPhone15"), 6: (body: "東京都 한국어", title: nil),
      7: (body: "mlik by another name", title: nil), 8: (body: "mulk", title: nil),
      9: (body: "receiver", title: nil),
    ])
    #expect(await index.catchUp())
    // The words of dead documents must not be found.
    index.commit([8: nil, 7: nil])
    #expect(await index.catchUp())
  }

  private func found(
    _ query: String,
    prefix: Bool = false,
    entities: Set<Int>? = nil
  ) throws -> [Int64] {
    let result = try index.result(query, entities: entities, prefix: prefix, fuzzy: true)
    #expect(result.total == Int64(result.hits.count) && !result.isAtLeast, "\(query)")
    let scores = result.hits.map(\.score)
    #expect(scores == scores.sorted(by: >) && scores.allSatisfy { $0 > 0 }, "\(query)")
    return result.hits.map(\.key.object)
  }

  // Evidence: P-091d
  @Test func `are tolerated in words from four letters, and rank last`() throws {
    for (query, expected) in [
      // One from four letters on, of each kind.
      ("mlik", [1]), ("milkk", [1, 3]), ("mil", []), ("milc", [1, 2]), ("molk", [1]),
      ("milk", [1, 2, 3]), ("mild", [2, 1]), ("mmlk", [1]), ("oatt", [1]), ("lmik", []),
      // Two from eight on.
      ("milksahke", [3]), ("mlikshakee", [3]), ("imlkshaek", [3]), ("imlkshaeek", []),
      ("recievre", [9, 5]), ("receiver", [9, 5]), ("reciever", [9, 5]),
      // None in numbers, in quotes, in excluded words, in three letters of a script without spaces.
      ("1234576", []), ("iphone14", []), (#""mlik""#, []), ("shop -mlik", [1]), ("東京者", []),
      ("한국말", []), (#""東京市内""#, []),
      // Of a longer run of letters, either half may be meant, or two letters exchanged.
      ("東京市内", [6]), ("市内東京", [6]), ("한국말을", [6]), ("市東内京", []),
      // A word that the index lacks is divided, and its parts are as they are typed or near.
      ("mlik-sohp", [1]), ("milk-shop", [1]), ("iphnoe15", [5]), ("iphnoe14", []),
      ("cheese-mlid", [2]), ("한국mlik", []), ("oat東京市内", []), ("iphnoe-lettres-15", [5]),
      ("mLik", [1]),
      // Each word may have some; letters count, not bytes.
      ("mlik sohp", [1]), ("mlik OR wya", [1]), ("кофй молако", [4]), ("caef", [4]), ("cofe", [4]),
      ("title:mlik", [1]), ("body:mlik", [1]), ("title:mild", [1]), ("body:cefa", []),
      // A sign is no letter.
      ("#milkshkae", [3]), ("#milk", []), ("@milkshake", []), ("zebra", []), ("", []),
    ] as [(String, [Int64])] {
      #expect(try found(query) == expected, "\(query)")
    }
    #expect(try index.result("mlik").total == 0)
  }

  @Test func `are tolerated in the beginning of a word`() throws {
    for (query, expected) in [
      ("mlik", [1, 3]), ("milksah", [3]), ("mikl", [1, 3]), ("buy mlik", [1]), ("recei", [9, 5]),
      ("mul", []), ("milkshakf", [3]),
    ] as [(String, [Int64])] {
      let found = try found(query, prefix: true)
      #expect(expected.allSatisfy { found.contains($0) }, "\(query): \(found)")
    }
    // What begins as it was typed comes first.
    #expect(try found("milk", prefix: true).prefix(2).sorted() == [1, 3])
  }

  /// Similar words in the same object, or in its title, change nothing.
  // Evidence: P-091d
  @Test func `change no score of an object with the words as they were typed`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "milk and mild", title: "Mild"), 2: (body: "milk", title: "Cheese"),
      3: (body: "oat", title: "Milk"), 4: (body: "mild milk mulk", title: "milk mulk"),
      5: (body: "mild", title: "other"), 6: (body: "none of them", title: "nothing"),
    ])
    #expect(await index.catchUp())
    for query in ["milk", "milk OR oat", "milk cheese", "milk mild"] {
      let (plain, fuzzy) = (try index.result(query), try index.result(query, fuzzy: true))
      let first = fuzzy.hits.prefix(plain.hits.count)
      #expect(first.map(\.key) == plain.hits.map(\.key), "\(query)")
      #expect(first.map(\.score) == plain.hits.map(\.score), "\(query)")
      #expect(fuzzy.total >= plain.total, "\(query)")
    }
    #expect(try index.result("milk", fuzzy: true).total == 5)
  }

  @Test func `are marked in the texts`() throws {
    let highlighter = try index.result("mlik sohp", fuzzy: true).highlighter
    #expect(highlighter.ranges(in: "oat milk from the shop", column: "body") == [4..<8, 18..<22])
  }

  // Evidence: P-090i
  @Test func `are named in an answer without hits`() throws {
    func instead(_ query: String, entities: Set<Int>? = nil, fuzzy: Bool = false) throws -> [String]
    {
      try index.result(query, entities: entities, fuzzy: fuzzy).instead.map { word, nearest in
        "\(word): \(nearest.joined(separator: " "))"
      }
    }
    #expect(try instead("mlik") == ["mlik: milk mild milky"])
    #expect(try instead("mlik shpo") == ["mlik: milk mild milky", "shpo: shop"])
    #expect(try instead("wya") == ["wya: way"])
    #expect(try instead("milk") == [] && instead("mlik OR milk") == [])
    #expect(try instead("mlik", entities: [3]) == [])
    #expect(try instead("mlik zebra", fuzzy: true) == ["mlik: milk mild milky"])
    #expect(try instead("123457") == [] && instead(#""mlik""#) == [])
  }

  @Test func `give the same answer after a rebuild`() async throws {
    let queries = ["mlik", "milk", "mulk", "recieve", "mlik sohp", "milc"]
    func answers() throws -> [String] {
      try queries.map { query in
        let result = try index.result(query, fuzzy: true)
        return "\(result.hits.map { "\($0.key) \($0.score)" }) \(result.instead) \(result.missing)"
      }
    }
    let before = try answers()
    try await index.rebuild()
    #expect(try answers() == before)
    index.commit([10: (body: "milc", title: nil)])
    #expect(await index.catchUp())
    #expect(try found("mlic") == [10])
    #expect(try found("milc") == [10, 1, 2])
  }

  @Test func `are searched for so many words at most, which the answer says`() async throws {
    var notes: [Int64: (body: String?, title: String?)?] = [:]
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    for first in letters {
      for second in letters where !["xy", "yx"].contains("\(first)\(second)") {
        notes[Int64(100 + notes.count)] = (body: "\(first)\(second)zwv", title: nil)
      }
    }
    index.commit(notes)
    #expect(await index.catchUp())
    let result = try index.result("xyzwv", fuzzy: true)
    // 25 words with another first letter and 25 with another second one, and no more.
    #expect(result.total == 50 && !result.isAtLeast)
    index.commit([90: (body: "xyzw xyzwva", title: nil), 91: (body: "xyzwvb", title: nil)])
    #expect(await index.catchUp())
    #expect(try index.result("xyzwv", fuzzy: true).isAtLeast)
    let many = Array(repeating: "xyzwvabc", count: 64).joined(separator: " ")
    #expect(try index.result(many, fuzzy: true).total == 2)
  }
}

@Suite struct `The words of the index` {
  private func words(_ index: TestIndex) throws -> Set<String> {
    let connection = try ForeignConnection(index.folder.path + "/index.sqlite")
    return Set(try connection.values("SELECT text FROM word").map(\.description))
  }

  @Test func `are all words of two letters and more, without digits`() async throws {
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    var all: [String] = []
    for first in letters {
      for second in letters {
        all.append("\(first)\(second)")
        for third in letters { all.append("\(first)\(second)\(third)") }
      }
    }
    let long = (1...40).flatMap { count in
      ["a", "ab", "äz", "я"].map { String(repeating: $0, count: count) }
    }
    let index = try TestIndex()
    let texts = (all + long + ["a1", "1", "x"]).joined(separator: " ")
    index.commit([1: (body: texts, title: nil)])
    #expect(await index.catchUp())
    let folded = long.map { $0.replacing("ä", with: "a") }.filter { (2...64).contains($0.count) }
    #expect(try words(index) == Set(all + folded))
    // A rebuild collects them again.
    try await index.rebuild()
    #expect(try words(index) == Set(all + folded))
  }
}

@Suite struct `Typing mistakes of random words` {
  /// The fewest insertions, deletions, replacements and exchanges of two adjacent letters, by the
  /// definition: no letter is changed twice.
  private func mistakes(_ first: [Character], _ second: [Character]) -> Int {
    var costs = Array(
      repeating: Array(repeating: 0, count: second.count + 1),
      count: first.count + 1
    )
    for i in 0...first.count {
      for j in 0...second.count {
        guard i > 0, j > 0 else {
          costs[i][j] = i + j
          continue
        }
        var options = [
          costs[i - 1][j] + 1, costs[i][j - 1] + 1,
          costs[i - 1][j - 1] + (first[i - 1] == second[j - 1] ? 0 : 1),
        ]
        if i > 1, j > 1, first[i - 1] == second[j - 2], first[i - 2] == second[j - 1] {
          options.append(costs[i - 2][j - 2] + 1)
        }
        costs[i][j] = options.min() ?? 0
      }
    }
    return costs[first.count][second.count]
  }

  private func allowed(_ word: String) -> Int { word.count >= 8 ? 2 : word.count >= 4 ? 1 : 0 }

  private func matches(_ typed: String, _ word: String, isPrefix: Bool) -> Bool {
    let letters = Array(word)
    guard isPrefix else { return mistakes(Array(typed), letters) <= allowed(typed) }
    return (0...letters.count).contains { length in
      mistakes(Array(typed), Array(letters.prefix(length))) <= allowed(typed)
    }
  }

  @Test(arguments: Seeds.first(20))
  func `find what a comparison with every word finds`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("abcäя")
    func word(_ count: Int) -> String { String((0..<count).map { _ in random.pick(letters) }) }
    let index = try TestIndex()
    var notes: [Int64: [String]] = [:]
    for _ in 0..<4 {
      var changes: [Int64: (body: String?, title: String?)?] = [:]
      for _ in 0..<12 {
        let number = Int64(1 + random.below(30))
        let words = (0..<1 + random.below(3)).map { _ in word(2 + random.below(9)) }
        notes[number] = random.oneIn(5) ? nil : words
        changes[number] = notes[number].map { (body: $0.joined(separator: " "), title: nil) }
        if notes[number] == nil { changes.updateValue(nil, forKey: number) }
      }
      index.commit(changes)
      #expect(await index.catchUp())
    }
    func folded(_ word: String) -> String { word.replacing("ä", with: "a") }
    for _ in 0..<40 {
      let isPrefix = random.oneIn(3)
      let typed = (0..<1 + random.below(2)).map { _ in
        random.oneIn(2) ? word(2 + random.below(9)) : random.pick(notes.values.flatMap { $0 })
      }
      let query = typed.joined(separator: " ")
      let result = try index.result(query, prefix: isPrefix, fuzzy: true)
      func isFound(_ note: [String], _ test: (String, String, Bool) -> Bool) -> Bool {
        typed.enumerated().allSatisfy { number, typed in
          note.contains {
            test(
              folded(typed),
              folded($0),
              isPrefix && number == query.split(separator: " ").count - 1
            )
          }
        }
      }
      let note: Comment = "\(query) \(isPrefix) in \(notes); \(Seeds.repeating(seed))"
      let expected = notes.filter { isFound($0.value) { matches($0, $1, isPrefix: $2) } }
      guard !result.isAtLeast else { continue }
      #expect(Set(result.hits.map(\.key.object)) == Set(expected.keys), note)
      let exact = expected.filter { isFound($0.value) { $2 ? $1.hasPrefix($0) : $0 == $1 } }
      #expect(Set(result.hits.prefix(exact.count).map(\.key.object)) == Set(exact.keys), note)
      let scores = result.hits.map(\.score)
      #expect(scores == scores.sorted(by: >), note)
    }
  }
}
