import CordialValues
import Spotlight
import TestSeeds
import Testing

@Suite struct `A search query` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: "two litres of oat milk", title: "Buy milk"),
      2: (body: nil, title: "Milk chocolate"),
      3: (body: "buy nothing and rest", title: "Read book"),
      4: (body: "templates", title: "C++ and C#"), 5: (body: "", title: "Die Straße nach Köln"),
      6: (body: "see http://example.org/a?b=c now", title: "Link"),
      7: (body: "東京都に住む", title: "ภาษาไทยง่าย"), 8: (body: nil, title: "Данные, ДАННЫЕ"),
      9: (body: nil, title: nil),
    ])
    #expect(await index.catchUp())
  }

  static let rows: [(String, [Int64])] = [
    // Words, all of which must match.
    ("milk", [1, 2]), ("MILK", [1, 2]), ("milk buy", [1]), ("buy", [1, 3]), ("milk book", []),
    ("straße", [5]), ("strasse", [5]), ("koln", [5]), ("KÖLN die", [5]), ("данные", [8]),
    ("ｍｉｌｋ", [1, 2]), ("mil", []), ("c++", [4]), ("C#", [4]), ("c", [4, 6]),
    // Phrases.
    (#""milk chocolate""#, [2]), (#""chocolate milk""#, []), (#""buy milk" oat"#, [1]),
    (#""oat milk"#, [1]), (#""""#, []), (#"" ""#, []), (#"milk"chocolate"#, [2]),
    // Not.
    ("milk -chocolate", [1]), ("-milk", []), ("-milk -buy", []), (#"milk -"oat milk""#, [2]),
    ("milk - chocolate", [2]), ("-chocolate milk", [1]), ("milk -zebra", [1, 2]), ("-", []),
    // OR binds its two neighbours, tighter than the spaces.
    ("chocolate OR book", [2, 3]), ("buy milk OR book", [1, 3]), ("milk OR book buy", [1, 3]),
    ("chocolate OR book OR templates", [2, 3, 4]), ("OR milk", [1, 2]), ("milk OR", [1, 2]),
    ("OR", []), ("milk or chocolate", []), (#""read book" OR "milk chocolate""#, [2, 3]),
    ("milk OR book -oat", [2, 3]),
    // Fields; an unknown name is text.
    ("title:buy", [1]), ("body:buy", [3]), ("title:milk body:oat", [1]),
    (#"title:"milk chocolate""#, [2]),
    ("milk -title:chocolate", [1]), ("title:buy OR body:buy", [1, 3]), ("title: milk", []),
    ("http://example.org", [6]), ("http:", [6]), ("nothing:milk", []), ("Title:buy", []),
    ("name:milk", []),
    // Beginnings.
    ("mil*", [1, 2]), ("cho*", [2]), ("MIL* buy", [1]), ("*", []), ("title:rea*", [3]),
    ("-cho* milk", [1]),
    ("дан*", [8]), ("* milk", [1, 2]),
    // Scripts without spaces.
    ("東京", [7]), ("京都", [7]), ("東都", []), ("東 都", [7]), ("ไทย", [7]), ("ยง่", [7]), ("ษไ", []),
    // Nothing to look for.
    ("", []), ("   ", []), ("!?", []), ("()", []), ("\u{0}", []), ("mi\u{0}lk", []),
    // FTS5's own words are words.
    ("milk AND chocolate", []), ("book AND rest", [3]), ("milk NOT chocolate", []),
    ("NEAR(milk chocolate)", []), ("{title} : milk", []), ("milk^", [1, 2]), ("title : milk", []),
    ("+milk", [1, 2]), ("milk;--", [1, 2]),
  ]

  // Evidence: P-091a, P-091b
  @Test func `a query finds the objects that match it`() throws {
    for (query, expected) in Self.rows {
      #expect(try index.found(query) == expected, "\(query)")
    }
  }

  // Evidence: P-091c
  @Test func `the last word may be unfinished`() throws {
    for (query, expected) in [
      ("mil", [1, 2]), ("buy mi", [1]), ("buy mi ", []), ("mi buy", []), (#""oat mi"#, [1]),
      (#""oat mi""#, []), ("title:cho", [2]), ("milk OR boo", [1, 2, 3]), ("milk -cho", [1, 2]),
      ("東", [7]), ("", []), ("стр OR дан", [8]),
    ] as [(String, [Int64])] {
      #expect(try index.found(query, prefix: true) == expected, "\(query)")
    }
  }

  @Test func `words that no document contains are reported`() throws {
    for (query, expected) in [
      ("zebra", ["zebra"]), ("milk zebra", ["zebra"]), ("zebra quagga", ["zebra", "quagga"]),
      ("milk book", []), ("milk", []), ("milk OR zebra", ["zebra"]), ("milk -zebra", []),
    ] {
      #expect(try index.result(query).missing == expected, "\(query)")
    }
  }

  // Evidence: P-094c
  @Test func `a search applies window and entities and skips deleted objects`() async throws {
    index.library.commit([
      (TestIndex.card(1), ["milk"]), (TestIndex.card(2), ["milk card"]),
    ])
    #expect(await index.catchUp())
    let all = try index.result("milk").hits.map(\.key)
    #expect(all.count == 4)
    for offset in 0...5 {
      for limit in 0...5 {
        let result = try index.result("milk", offset: offset, limit: limit)
        #expect(result.hits.map(\.key) == Array(all.dropFirst(offset).prefix(limit)))
        #expect(result.total == 4)
      }
    }
    #expect(try index.result("milk", entities: [3]).hits.allSatisfy { $0.key.entity == 3 })
    #expect(try index.result("milk", entities: [3]).total == 2)
    #expect(try index.result("milk", entities: []).total == 0)
    let rest = try index.result("milk", without: [all[1], TestIndex.note(77)])
    #expect(rest.total == 3 && rest.hits.map(\.key) == [all[0], all[2], all[3]])
  }

  /// Any text is a valid query: 50 seeds of 100.
  // Evidence: P-091b
  @Test(arguments: Seeds.first(50))
  func `any text is a valid query`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let pieces = [
      "milk", "title:", "body:", "name:", "nothing:", "\"", "'", "(", ")", "{", "}", "[", "]", "*",
      "^", "-", "+", ":", ",", ";", "OR", "AND", "NOT", "NEAR", "NEAR(a b, 2)", " ", " ", "\t",
      "\n",
      "\r\n", "\u{0}", "\u{301}", "\u{200D}", "\u{FE0F}", "\u{3000}", "\u{A0}", "日", "本", "ไ", "ี",
      "👍", "🇩", "é", "\\", "%", "--", "/*", "C++", "c#", "rank", "rowid", "\u{202E}", "\u{FFFF}",
      "text", "cordial_hit",
    ]
    for _ in 0..<100 {
      var query = ""
      for _ in 0..<random.below(14) {
        query.unicodeScalars.append(contentsOf: random.pick(pieces).unicodeScalars)
      }
      if random.oneIn(20) { query = String(repeating: query, count: 30) }
      #expect(throws: Never.self, "\(query.debugDescription); \(Seeds.repeating(seed))") {
        let result = try index.result(query, prefix: random.oneIn(2))
        _ = result.highlighter.ranges(in: query, column: "title")
      }
    }
  }
}

@Suite struct `Scripts without spaces` {
  /// Every piece of up to four characters of every text finds exactly the texts that have it.
  // Evidence: P-092b
  @Test(
    arguments: [
      Array("日本語学東京都大人口"), ["ก", "ั", "ง", "า", "ไ", "ท", "ย", "่"], Array("あいうアイ漢字ー"),
    ],
    Seeds.first(5)
  )
  func `any substring finds its texts`(alphabet: [Character], seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    var texts: [Int64: [Unicode.Scalar]] = [:]
    for number in 1...12 as ClosedRange<Int64> {
      texts[number] = (0..<1 + random.below(12)).flatMap { _ in random.pick(alphabet).unicodeScalars
      }
    }
    index.commit(texts.mapValues { (body: nil, title: string($0)) })
    #expect(await index.catchUp())
    var pieces: Set<[Unicode.Scalar]> = []
    for text in texts.values {
      for start in text.indices {
        for end in start + 1...min(start + 4, text.count) where end <= text.count {
          pieces.insert(Array(text[start..<end]))
        }
      }
    }
    for piece in pieces {
      let expected = texts.filter { has($0.value, piece) }.keys.sorted()
      #expect(
        try index.found(string(piece)) == expected,
        "\(string(piece)) in \(texts.mapValues(string)); \(Seeds.repeating(seed))"
      )
    }
  }

  private func string(_ scalars: [Unicode.Scalar]) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  private func has(_ text: [Unicode.Scalar], _ piece: [Unicode.Scalar]) -> Bool {
    guard text.count >= piece.count else { return false }
    return (0...text.count - piece.count).contains {
      Array(text[$0..<$0 + piece.count]) == piece
    }
  }
}
