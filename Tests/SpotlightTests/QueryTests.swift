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
      9: (body: nil, title: nil), 10: (body: "C++入門、F#基礎", title: nil),
    ])
    #expect(await index.catchUp())
  }

  static let rows: [(String, [Int64])] = [
    // Words, all of which must match.
    ("milk", [1, 2]), ("MILK", [1, 2]), ("milk buy", [1]), ("buy", [1, 3]), ("milk book", []),
    ("straße", [5]), ("strasse", [5]), ("koln", [5]), ("KÖLN die", [5]), ("данные", [8]),
    ("ｍｉｌｋ", [1, 2]), ("mil", []), ("c++", [4, 10]), ("C#", [4]), ("c", [4, 6, 10]),
    ("C++入門", [10]), ("入門 f#", [10]), ("f", [10]),
    // Phrases.
    (#""milk chocolate""#, [2]), (#""chocolate milk""#, []), (#""buy milk" oat"#, [1]),
    (#""oat milk"#, [1]), (#""""#, []), (#"" ""#, []), (#"milk"chocolate"#, [2]),
    // Not.
    ("milk -chocolate", [1]), ("-milk", []), ("-milk -buy", []), (#"milk -"oat milk""#, [2]),
    ("milk - chocolate", [2]), ("-chocolate milk", [1]), ("milk -zebra", [1, 2]), ("-", []),
    // A minus inside other text excludes nothing.
    ("milk --chocolate", [2]), ("milk -[chocolate]", [2]), (#""buy"-milk"#, [1]),
    ("milk (-buy", [1]),
    ("milk -\u{1F44D}", [1, 2]),
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
      Array("한국어를공부하"), Array("漢汉語语臺台"),
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
      let expected = texts.filter { has(folded($0.value), folded(piece)) }.keys.sorted()
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

  /// Replaces hiragana by katakana, and the traditional characters above by the simplified ones.
  private func folded(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    let pairs: [Unicode.Scalar: Unicode.Scalar] = [
      "あ": "ア", "い": "イ", "う": "ウ", "漢": "汉", "語": "语", "臺": "台", "東": "东", "學": "学",
    ]
    return scalars.map { pairs[$0] ?? $0 }
  }

  private func has(_ text: [Unicode.Scalar], _ piece: [Unicode.Scalar]) -> Bool {
    guard text.count >= piece.count else { return false }
    return (0...text.count - piece.count).contains {
      Array(text[$0..<$0 + piece.count]) == piece
    }
  }
}

@Suite struct `Parts and wholes of words` {
  private let index: TestIndex

  init() async throws {
    index = try TestIndex()
    index.commit([
      1: (body: nil, title: "HTTPServer2 starts"), 2: (body: nil, title: "my iPhone15Pro"),
      3: (body: nil, title: "iphone 15"), 4: (body: nil, title: "don't use node.js"),
      5: (body: nil, title: "mail john.doe@example.com"), 6: (body: nil, title: "release v1.2.3"),
      7: (body: nil, title: "a #BuyMilk tag, @ann"), 8: (body: nil, title: "buymilk ann"),
      9: (body: nil, title: "see /usr/share/doc/x"), 10: (body: nil, title: "한국어를 공부"),
      11: (body: nil, title: "資料庫 ひらがな"), 12: (body: nil, title: "family 👩‍👩‍👧 🇩🇪"),
      13: (body: nil, title: "node js"), 14: (body: nil, title: "snake_case_name"),
    ])
    #expect(await index.catchUp())
  }

  static let rows: [(String, [Int64])] = [
    ("httpserver2", [1]), ("HTTPServer", [1]), ("server", [1]), ("http server", [1]),
    (#""http server""#, [1]), ("2", [1, 6]), ("tpserver", []),
    ("iphone15", [2, 3]), ("iPhone15", [2, 3]), ("phone", [2]), ("15pro", [2]), ("iphone", [2, 3]),
    (#""my iphone15pro""#, [2]),
    ("dont", [4]), ("don’t", [4]), ("nodejs", [4]), ("node.js", [4, 13]), ("node-js", [4, 13]),
    ("john.doe@example.com", [5]), ("example.com", [5]), ("doe", [5]), ("doe@example", [5]),
    ("1.2.3", [6]), ("v1", [6]), ("1.3", []),
    ("#buymilk", [7]), ("#BuyMilk", [7]), ("buymilk", [7, 8]), ("milk", [7]), ("@ann", [7]),
    ("ann", [7, 8]), (#""@ann""#, [7]), ("-#buymilk ann", [8]), ("#buy", []),
    ("/usr/share/doc", [9]), ("share/doc", [9]), ("/share", [9]),
    ("한국어", [10]), ("국어", [10]), ("한국를", []), ("资料库", [11]), ("料庫", [11]),
    ("ヒラガナ", [11]), ("らが", [11]), ("👩‍👩‍👧", [12]), ("👩", []), ("🇩🇪", [12]),
    ("snake_case_name", [14]), ("snakeCaseName", [14]), ("snakecasename", [14]),
    ("case_name", [14]), ("caseName", [14]),
  ]

  // Evidence: P-092c, P-092d, P-092e
  @Test func `find one another`() throws {
    for (query, expected) in Self.rows {
      #expect(try index.found(query) == expected, "\(query)")
    }
  }

  @Test func `find a whole by its beginning`() throws {
    for (query, expected) in [
      ("httpse", [1]), ("HTTPSe", [1]), ("iphone1", [2, 3]), ("#buym", [7]), ("#b", [7]),
      ("john.d", [5]), ("nodej", [4]), ("snakeca", [14]),
    ] as [(String, [Int64])] {
      #expect(try index.found(query, prefix: true) == expected, "\(query)")
    }
  }

  @Test func `rank a whole before its parts`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: nil, title: "use node js"), 2: (body: nil, title: "use node.js"),
      3: (body: nil, title: "use milk"), 4: (body: nil, title: "use bread"),
    ])
    #expect(await index.catchUp())
    #expect(try index.result("node.js").hits.map(\.key.object) == [2, 1])
  }

  @Test func `are highlighted as they match`() throws {
    func marked(_ text: String, _ query: String) throws -> [String] {
      let ranges = try index.result(query).highlighter.ranges(in: text, column: "title")
      return ranges.map { range in
        String(decoding: Array(text.utf16)[range], as: UTF16.self)
      }
    }
    #expect(try marked("my HTTPServer2 runs", "server") == ["Server"])
    #expect(try marked("my HTTPServer2 runs", "httpserver") == ["HTTPServer"])
    #expect(try marked("my HTTPServer2 runs", "httpserver2") == ["HTTPServer2"])
    #expect(try marked("don't, dont", "dont") == ["don't", "dont"])
    #expect(try marked("write john.doe@example.com", "doe@example") == ["doe@example"])
    #expect(try marked("a #tag here", "tag") == ["tag"])
    #expect(try marked("한국어를", "국어") == ["국어"])
    #expect(try marked("資料庫", "资料") == ["資料"])
  }
}
