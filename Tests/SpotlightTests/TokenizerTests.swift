import CSpotlight
import Foundation
import TestSeeds
import Testing

@Suite struct `Text is split into words` {
  /// A text and its words; a word behind `=` stands at the place of the one before it.
  static let rows: [(String, [String])] = [
    ("Hello, World!", ["hello", "world"]), ("", []), (" \t\r\n.,;", [".,;"]),
    ("don't e-mail", ["don", "=dont", "t", "e", "=email", "mail"]),
    ("don’t", ["don", "=dont", "t"]), ("3.14", ["3", "=314", "14"]),
    ("a1b2", ["a", "=a1b2", "1", "b", "2"]),
    ("Crème BRÛLÉE", ["creme", "brulee"]), ("Cre\u{300}me", ["creme"]),
    ("Straße STRASSE", ["strasse", "strasse"]), ("İstanbul", ["istanbul"]),
    ("Æther œuvre", ["æther", "œuvre"]), ("Ｍｉｌｋ１２", ["milk", "=milk12", "12"]),
    ("ﬁne ① Ⅷ m² ℌ", ["fine", "1", "viii", "m2", "h"]), ("co\u{AD}op", ["coop"]),
    ("a\u{200D}b \u{FEFF}c", ["ab", "c"]),
    ("Ёжик И Й", ["ежик", "и", "и"]), ("Київ", ["киів"]),
    ("ΟΔΟΣ οδός", ["οδοσ", "οδοσ"]), ("Ὀδυσσεύς", ["οδυσσευσ"]),
    ("مُحَمَّد محمد", ["محمد", "محمد"]), ("שָׁלוֹם", ["שלום"]),
    ("日本語", ["日", "本", "语"]), ("東京tower2号", ["东", "京", "tower", "=tower2", "2", "号"]),
    ("がか", ["ガ", "カ"]), ("か\u{3099}ゝ", ["ガ", "ヽ"]), ("テ\u{3099}ータ", ["デ", "ー", "タ"]),
    ("データ", ["デ", "ー", "タ"]),
    ("ﾃﾞｰﾀ ﾊﾟ", ["デ", "ー", "タ", "パ"]), ("㌔", ["キ", "ロ"]), ("𠮷野家", ["𠮷", "野", "家"]),
    ("ﷺ", ["صلى", "الله", "عليه", "وسلم"]), ("xﷻ!", ["x", "جل", "جلاله"]),
    ("ไทย", ["ไ", "ท", "ย"]), ("ที่", ["ท", "\u{E35}", "\u{E48}"]),
    ("한국어 공부", ["한", "국", "어", "공", "부"]), ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("a👍b", ["a", "👍", "b"]), ("👩‍👩‍👧", ["👩‍👩‍👧"]), ("👍🏽", ["👍"]),
    ("👩👧", ["👩", "👧"]), ("❤️‍🔥❤️", ["❤‍🔥", "❤"]), ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
    ("C++ and C#", ["c", "=c++", "and", "c", "=c#"]), ("c++11", ["c", "11"]),
    ("foo-c++", ["foo", "c", "=c++"]), ("C++👍", ["c", "=c++", "👍"]),
    ("#tag +1", ["tag", "=#tag", "1"]), ("a+b", ["a", "b"]), ("a#b", ["a", "b"]),
    ("@Ann, #東京!", ["ann", "=@ann", "东", "=#东京", "京"]),
    ("#BuyMilk #to_do", ["buy", "=#buymilk", "=buymilk", "milk", "to", "=#todo", "=todo", "do"]),
    ("## #! #", ["##", "=#!", "=#"]),
    ("€ 5 → 6€, a≠b", ["5", "=€", "=→", "6", "=€", "a", "=≠", "b"]),
    ("+ a + , + b + +", ["a", "=+", "=,", "b", "=+"]),
    ("x => y; (z) -- “w”", ["x", "==>", "y", "z", "=--", "w"]),
    ("a \u{3D}\u{338} b ￥ ⋾", ["a", "=≠", "b", "=¥", "=⋾"]), ("\u{301} \u{200D}", []),
    ("snake_case", ["snake", "=snakecase", "case"]),
    ("camelCase", ["camel", "=camelcase", "case"]),
    ("HTTPServer2", ["http", "=httpserver", "=httpserver2", "server", "2"]),
    ("iPhone15Pro", ["i", "=iphone", "=iphone15", "=iphone15pro", "phone", "15", "pro"]),
    ("v1.2.3", ["v", "=v1", "=v123", "1", "2", "3"]), ("URLs", ["urls"]),
    ("МосБиржа", ["мос", "=мосбиржа", "биржа"]), ("3f2a9b1c8d", ["3f2a9b1c8d"]),
    ("a.b.c.d.e.f.g.h.i", ["a", "b", "c", "d", "e", "f", "g", "h", "i"]),
    ("user@example.org", ["user", "=userexampleorg", "example", "org"]),
    ("ab\u{0}cd", ["ab", "cd"]), ("ab\u{FFFD}cd", ["ab", "cd"]),
  ]

  // Evidence: P-092a
  @Test(arguments: rows)
  func `text of every script is split into words`(row: (String, [String])) {
    let tokens = tokenize(row.0).map(\.unmarked)
    #expect(tokens.map { ($0.isColocated ? "=" : "") + $0.text } == row.1, "\(row.0)")
  }

  /// The words are those of ICU's dictionaries; a Korean run is one word.
  // Evidence: P-093c
  @Test(arguments: [
    ("東京都に住んでいます", ["东京", "都", "ニ", "住", "ンデ", "イ", "マス"]),
    ("中华人民共和国国歌", ["中华", "人民", "共和国", "国歌"]), ("東京tower東京", ["东京", "东京"]),
    ("ภาษาไทย", ["ภาษา", "ไทย"]), ("한국어를 배우다", ["한국어를", "배우다"]), ("データ、データ", ["データ", "データ"]),
    ("ﾃﾞｰﾀ", ["データ"]), ("no word of these", []),
  ])
  func `the words of a script without spaces begin with a token of their own`(
    row: (text: String, words: [String])
  ) {
    var words: [String] = []
    for token in tokenize(row.text) where spotlightIsSingle(token.unmarked) {
      if token.isStart || words.isEmpty { words.append("") }
      words[words.count - 1] += token.unmarked.text
    }
    #expect(words == row.words)
  }

  private func spotlightIsSingle(_ token: TokenizedWord) -> Bool {
    unsafe token.bytes.withUnsafeBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let address = characters.baseAddress else { return false }
        return unsafe spotlight_is_single(address, Int32(characters.count))
      }
    }
  }

  @Test func `composed and decomposed Korean are one`() {
    for text in ["한국어", "값어치", "abc한def", "힣"] {
      let composed = text.precomposedStringWithCanonicalMapping
      let decomposed = text.decomposedStringWithCanonicalMapping
      #expect(tokenize(composed).map(\.text) == tokenize(decomposed).map(\.text), "\(text)")
    }
  }

  @Test(arguments: [
    ("น\u{E38}\u{E48}ก", "น\u{E48}\u{E38}ก"), ("ກ\u{EB8}\u{EC8}ນ", "ກ\u{EC8}\u{EB8}ນ"),
    ("น\u{E38}\u{E48}\u{E49}", "น\u{E48}\u{E49}\u{E38}"),
  ])
  func `marks of Thai and Lao are in canonical order`(texts: (String, String)) {
    #expect(texts.0.unicodeScalars.elementsEqual(texts.1.unicodeScalars) == false)
    for isQuery in [false, true] {
      let first = tokenize(texts.0, isQuery: isQuery).map(\.text)
      #expect(first == tokenize(texts.1, isQuery: isQuery).map(\.text))
      #expect(first.count == texts.0.unicodeScalars.count)
    }
  }

  /// The iota below is a mark when it is written behind, and a letter when it is written within.
  @Test func `polytonic Greek is one word, composed or not`() {
    for text in ["τῷ", "ᾧ", "ᾳ", "ῌ"] {
      let composed = tokenize(text.precomposedStringWithCanonicalMapping).map(\.text)
      #expect(
        composed == tokenize(text.decomposedStringWithCanonicalMapping).map(\.text),
        "\(text)"
      )
    }
  }

  /// What follows decides whether `#` ends the word, however it is composed.
  @Test func `C# before a letter with an accent`() {
    for text in ["C#é", "c++élan", "C#Ж", "C#한"] {
      let composed = tokenize(text.precomposedStringWithCanonicalMapping).map(\.text)
      #expect(
        composed == tokenize(text.decomposedStringWithCanonicalMapping).map(\.text),
        "\(text)"
      )
    }
  }

  @Test func `a query with a sign is not one without it`() {
    #expect(tokenize("#tag", isQuery: true).map(\.text) == ["#tag"])
    #expect(tokenize("@東京", isQuery: true).map(\.text) == ["@东京", "京"])
  }

  @Test func `traditional characters, hiragana and katakana are as their counterparts`() {
    for (first, second) in [("漢語資料庫", "汉语资料库"), ("ひらがな", "ヒラガナ"), ("ｶﾞｯｺｳ", "がっこう")] {
      let tokens = tokenize(first).map(\.unmarked).map(\.text)
      #expect(tokens == tokenize(second).map(\.unmarked).map(\.text))
    }
  }

  // Evidence: P-092h
  @Test func `a query for C++ is not one for C`() {
    #expect(tokenize("C++", isQuery: true).map(\.text) == ["c++"])
    #expect(tokenize("c#", isQuery: true).map(\.text) == ["c#"])
    #expect(tokenize("c", isQuery: true).map(\.text) == ["c"])
  }

  @Test(arguments: [
    [0x61, 0x62, 0xFF, 0x63, 0x64], [0x61, 0x62, 0xC3, 0x20, 0x63, 0x64],
    [0x61, 0x62, 0xE2, 0x82, 0x63, 0x64], [0x61, 0x62, 0x00, 0x63, 0x64],
    [0x61, 0x62, 0xED, 0xA0, 0x80, 0x63, 0x64], [0x61, 0x62, 0xC0, 0x80, 0x63, 0x64],
    [0x80, 0x61, 0x62, 0xF5, 0x80, 0x63, 0x64, 0xC3],
  ])
  func `what is not UTF-8 separates words`(bytes: [UInt8]) {
    #expect(tokenize(bytes).map(\.text) == ["ab", "cd"])
  }

  /// A word may be as long as a text; a query for it is cut at the same places.
  @Test(arguments: ["a", "é", "ß", "한", "я", "\u{1112}\u{1161}\u{11AB}", "०"])
  func `very long words`(letter: String) {
    let text = String(repeating: letter, count: 3000)
    let tokens = tokenize(text).map(\.unmarked)
    #expect(tokens == tokenize(text, isQuery: true))
    #expect(tokens.first?.start == 0)
    #expect(tokens.last?.end == text.utf8.count)
    for token in tokens { #expect(String(validating: token.bytes, as: UTF8.self) != nil) }
    // Nothing of it is lost.
    let folded = tokenize(letter).first?.unmarked.bytes.count ?? 0
    let one = letter == "\u{1112}\u{1161}\u{11AB}" ? tokenize("한")[0].unmarked.bytes.count : folded
    #expect(tokens.reduce(0) { $0 + $1.bytes.count } == 3000 * one)
  }
}

@Suite struct `Any bytes are split into words` {
  private static let alphabets: [[String]] = [
    ["a", "B", "7", " ", "_", "+", "#", "++", ".", "é", "e\u{301}", "ß", "ﬁ"],
    ["日", "本", "ー", "か", "\u{3099}", "が", "ｶ", "ﾞ", "。", "𠮷"],
    ["ท", "ี", "่", "ไ", "ย", " "], ["한", "\u{1112}", "\u{1161}", "\u{11AB}", "국", " "],
    ["Ж", "й", "σ", "ς", "Σ", "ά", "م", "ُ", "ש", "ָ", "\u{200D}", "\u{AD}"],
    ["👍", "🏽", "👩", "\u{200D}", "\u{FE0F}", "1", "\u{20E3}", "🇩🇪"],
    ["\u{0}", "\u{FFFD}", "\u{FEFF}", "\u{202E}", "\n", "\"", "'", "*"],
  ]

  /// Text of whole letters: a mark that follows none has no place of its own.
  private static let letters: [[String]] = [
    ["a", "B", "7", " ", ".", "é", "e\u{301}", "Ǻ", "ﬁ"], ["日", "ー", "か", "が", "ﾃﾞ", "ﾊﾟ", " "],
    ["ท", "ไ", "ย", "ที่", "\u{E38}", "\u{E48}", " "], ["한", "국", "값", " "],
    ["Ж", "й", "σ", "ά", "مُ", "שָ", " "],
    ["क़", "लि", "ড়", " "],
  ]

  private func text(_ random: inout SplitMix64, of alphabets: [[String]] = alphabets) -> String {
    var text = ""
    var alphabet = random.pick(alphabets)
    for _ in 0..<random.below(40) {
      if random.oneIn(8) { alphabet = random.pick(alphabets) }
      text.unicodeScalars.append(contentsOf: random.pick(alphabet).unicodeScalars)
    }
    return text
  }

  /// The tokens at each place.
  private func positions(_ tokens: [TokenizedWord]) -> [[String]] {
    var positions: [[String]] = []
    for token in tokens {
      if token.isColocated, !positions.isEmpty {
        positions[positions.count - 1].append(token.text)
      } else {
        positions.append([token.text])
      }
    }
    return positions
  }

  /// Whether a token consists of signs alone, as the standard library classifies them.
  private func isSymbol(_ bytes: [UInt8]) -> Bool {
    let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
    let first = scalars.first?.properties.generalCategory
    guard first != .nonspacingMark, first != .spacingMark else { return false }
    return scalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .currencySymbol, .mathSymbol, .modifierSymbol, .otherSymbol: true
      case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation: true
      case .initialPunctuation, .finalPunctuation, .otherPunctuation: true
      // Marks on a sign belong to it.
      case .nonspacingMark, .enclosingMark, .spacingMark: true
      default: false
      }
    }
  }

  @Test(arguments: Seeds.first(50))
  func `token offsets ascend within the text for any bytes`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      var bytes = Array(text(&random).utf8)
      for _ in 0..<random.below(4) where !bytes.isEmpty {
        bytes[random.below(bytes.count)] = UInt8(random.below(256))
      }
      for isQuery in [false, true] {
        var last = TokenizedWord(bytes: [], start: 0, end: 0, isColocated: false)
        for token in tokenize(bytes, isQuery: isQuery) {
          let note: Comment = "\(bytes): \(token); \(Seeds.repeating(seed))"
          try #require(0 <= token.start && token.start < token.end, note)
          try #require(token.end <= bytes.count && !token.bytes.isEmpty, note)
          try #require(String(validating: token.bytes, as: UTF8.self) != nil, note)
          if token.isColocated {
            // A symbol shares the position of a word, and keeps its place in the text.
            let isSymbol = isSymbol(token.bytes)
            try #require(isSymbol || token.start == last.start && !isQuery, note)
            // The position of a compound goes on with its parts.
            continue
          } else if isSymbol(token.bytes), last.bytes.isEmpty {
            // The first symbol of a text without words counts as a word.
            continue
          } else {
            try #require(
              token.start >= last.end
                // The words of a sign that stands for several all stand where it does.
                || (token.start, token.end) == (last.start, last.end),
              note
            )
          }
          last = token
        }
      }
    }
  }

  @Test(arguments: Seeds.first(50))
  func `a text finds itself as a query`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      let text = text(&random)
      let tokens = tokenize(text).map(\.unmarked)
      let queryTokens = tokenize(text, isQuery: true)
      // Symbols are the only tokens of a query that share a position.
      let symbols = queryTokens.filter(\.isColocated).map(\.text)
      let query = positions(queryTokens.filter { !$0.isColocated })
      let document = positions(tokens.filter { !symbols.contains($0.text) })
      let note: Comment = "\(text.debugDescription); \(Seeds.repeating(seed))"
      try #require(document.count == query.count, note)
      for (known, wanted) in zip(document, query) {
        try #require(wanted.count == 1 && known.contains(wanted[0]), note)
      }
      let found = tokens.map(\.text).filter { symbols.contains($0) }
      // A position has a symbol once.
      try #require(Set(symbols) == Set(found), note)
    }
  }

  /// Accents, width and ways to compose do not matter.
  @Test(arguments: Seeds.first(50))
  func `all normal forms of a text are split alike`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      let text = text(&random, of: Self.letters)
      let words = tokenize(text).map(\.text)
      for form in [
        text.precomposedStringWithCanonicalMapping, text.decomposedStringWithCanonicalMapping,
      ] {
        let note: Comment = "\(text.debugDescription) \(form.debugDescription)"
        try #require(tokenize(form).map(\.text) == words, "\(note); \(Seeds.repeating(seed))")
      }
    }
  }

  // Evidence: P-092a
  @Test(arguments: [
    "ทำงาน", "น้ำใจและกำลัง", "ຄຳສຳຄັນ", "㈱会社", "会社㈱", "㈠番", "⑴", "⒜ b", "½ cup", "㍿", "①号", "ﾊﾟﾝ",
  ])
  func `compatibility forms are split alike`(text: String) throws {
    let words = tokenize(text).map(\.text)
    #expect(!words.isEmpty)
    for form in [
      text.precomposedStringWithCompatibilityMapping,
      text.decomposedStringWithCompatibilityMapping,
    ] {
      #expect(tokenize(form).map(\.text) == words, "\(form.debugDescription)")
    }
  }

  @Test(arguments: Seeds.first(20))
  func `a text after a space is split as without the space`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      let first = text(&random)
      let second = "x" + text(&random)
      let both = tokenize(Array(first.utf8) + [0x20] + Array(second.utf8))
      let apart = tokenize(first) + tokenize(second)
      let note: Comment =
        "\(first.debugDescription) \(second.debugDescription); \(Seeds.repeating(seed))"
      // Symbols come before or after the first word.
      let (words, symbols) = (
        [both, apart].map { $0.filter { !isSymbol($0.bytes) }.map(\.text) },
        [both, apart].map { Set($0.filter { isSymbol($0.bytes) }.map(\.text)) }
      )
      try #require(words[0] == words[1] && symbols[0] == symbols[1], note)
    }
  }

  /// Code points whose folded forms have several times their length.
  @Test func `Words that grow while they are folded are cut at a letter`() throws {
    let scalars = (0x80...0x10FFFF).compactMap { Unicode.Scalar($0) }.filter { scalar in
      guard scalar.properties.generalCategory != .unassigned else { return false }
      let folded = String(scalar).precomposedStringWithCompatibilityMapping.lowercased()
      return folded.utf8.count > 2 * String(scalar).utf8.count
    }
    #expect(scalars.count > 50)
    for scalar in scalars {
      for text in [String(scalar), "a" + String(scalar), String(scalar) + "\u{300}\u{344}"] {
        let bytes = Array(String(repeating: text, count: 400).utf8)
        for isQuery in [false, true] {
          let tokens = tokenize(bytes, isQuery: isQuery)
          #expect(tokens == tokenize(bytes, isQuery: isQuery), "\(scalar.value)")
          for token in tokens {
            let word = String(validating: token.unmarked.bytes, as: UTF8.self)
            #expect(word != nil, "\(scalar.value): \(token.bytes.count) bytes")
            #expect(word?.contains { $0.isWhitespace || $0 == "\"" } == false, "\(scalar.value)")
            // A word of 512 bytes may end with one more letter.
            #expect(token.bytes.count <= 512 + 13, "\(scalar.value)")
          }
        }
      }
    }
  }
}
