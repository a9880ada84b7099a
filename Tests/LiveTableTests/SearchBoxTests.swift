import JSON
import LiveTable
import TestSeeds
import Testing

@Suite struct `The keys of a terminal` {
  private func keys(_ text: String) -> [Key] {
    var reader = KeyReader()
    return reader.keys(Array(text.utf8))
  }

  @Test func `are characters, and keys that edit and move`() {
    #expect(keys("mi") == [.text("mi")])
    #expect(
      keys("m\u{7F}\u{8}\u{15}\u{17}é") == [
        .text("m"), .backspace, .backspace, .deleteAll, .deleteWord, .text("é"),
      ]
    )
    #expect(keys("\u{1B}[A\u{1B}OB\u{1B}[1;5Aa") == [.up, .down, .up, .text("a")])
    #expect(keys("\r\n\u{4}\u{E}\u{10}\t") == [.enter, .enter, .end, .down, .up, .tab])
    #expect(keys("\u{1B}") == [.escape])
    // A key with Alt has no meaning here.
    #expect(keys("\u{1B}xy") == [.text("y")])
    #expect(keys("\u{1B}\u{1B}[A") == [.escape, .up])
    // Control keys behind a sequence that does not end.
    #expect(keys("a\u{1B}[\u{15}\u{4}") == [.text("a"), .deleteAll, .end])
    // Keys without a meaning here: F5, delete, Control-A.
    #expect(keys("\u{1B}[15~\u{1B}[3~\u{1}") == [])
  }

  @Test func `come whole, however the bytes come`() {
    let text = "東京 é\u{1B}[Ax\u{1B}[B👩‍👩‍👧"
    var reader = KeyReader()
    let single = Array(text.utf8).flatMap { reader.keys([$0]) }
    // An escape alone at the end is the key; here the others follow later.
    let expected: [Key] = ["東", "京", " ", "é"].map { .text($0) }
    #expect(Array(single.prefix(4)) == expected)
    var whole = KeyReader()
    #expect(
      whole.keys(Array(text.utf8)) == [
        .text("東京 é"), .up, .text("x"), .down, .text("👩‍👩‍👧"),
      ]
    )
  }

  @Test(arguments: Seeds.first(20))
  func `of any bytes are read without end or trap`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var reader = KeyReader()
    for _ in 0..<200 {
      let bytes = (0..<random.below(12)).map { _ in
        random.pick([0x1B, 0x5B, 0x4F, 0x41, 0xE6, 0x9D, 0xB1, 0xFF, UInt8(random.below(256))])
      }
      _ = reader.keys(bytes)
    }
    // Nothing of former bytes swallows what is typed long after.
    _ = reader.keys(Array(repeating: 0x41, count: 40))
    #expect(reader.keys(Array("z".utf8)) == [.text("z")], "\(Seeds.repeating(seed))")
  }
}

@Suite struct `A search box` {
  private func hit(_ id: String, _ title: String, _ snippet: String? = nil) -> JSONValue {
    let text = snippet ?? title
    return [
      "id": .string(id), "title": .string(title),
      "snippet": ["property": "title", "text": .string(text), "highlights": [[0, 2]]],
    ]
  }

  private func answer(_ hits: [JSONValue]) -> JSONValue {
    [
      "total": .integer(Int64(hits.count)), "hits": .array(hits),
      "facets": ["entities": ["Task": .integer(Int64(hits.count))]],
    ]
  }

  private func texts(_ box: SearchBox, height: Int = 10) -> [String] {
    box.lines(height: height, marks: ("<", ">")).map { ($0.isSelected ? "* " : "  ") + $0.text }
  }

  @Test func `asks for a search where a key changes the query`() {
    var box = SearchBox(query: "oat")
    #expect(box.press(.text(" milk")) == .search && box.query == "oat milk")
    #expect(box.press(.backspace) == .search && box.query == "oat mil")
    #expect(box.press(.deleteWord) == .search && box.query == "oat ")
    #expect(box.press(.deleteWord) == .search && box.query == "")
    #expect(box.press(.backspace) == nil)
    #expect(box.press(.text("é")) == .search)
    #expect(box.press(.deleteAll) == .search && box.query == "")
    #expect(box.press(.enter) == nil)
    #expect(box.press(.escape) == .quit)
  }

  @Test func `shows the hits with counts by entity, and selects one`() {
    var box = SearchBox(query: "mi")
    box.show(answer: answer([hit("T/p1", "Milk"), hit("T/p10", "Buy", "milk and oats")]))
    #expect(
      texts(box) == [
        "  Search: mi▏", "  2 found: Task 2", "* T/p1   <Mi>lk", "  T/p10  Buy",
        "         <mi>lk and oats",
      ]
    )
    #expect(box.press(.down) == nil && box.press(.down) == nil)
    #expect(box.selected == 1)
    #expect(box.press(.enter) == .open(id: "T/p10"))
    box.show(object: "T/p10", [JSONMember("title", "Buy"), JSONMember("note", "a\nb\u{1B}[2J")])
    #expect(texts(box).suffix(3) == ["  T/p10", "    title: Buy", #"    note: a b\u001b[2J"#])
    #expect(box.press(.text("x")) == nil && box.query == "mi")
    #expect(box.press(.escape) == nil)
    #expect(texts(box).count == 5)
    #expect(box.press(.up) == nil && box.selected == 0)
    box.show(object: "T/p9", nil)
    #expect(texts(box)[1] == "  T/p9 no longer exists")
  }

  @Test func `says what all hits lack, and is strict after a key`() {
    func missing(_ id: String, _ words: [String]) -> JSONValue {
      var members = hit(id, "Convert").members ?? []
      members += [JSONMember("class", 4), JSONMember("missing", .array(words.map { .string($0) }))]
      return .object(members)
    }
    var box = SearchBox(query: "how do I convert")
    box.show(answer: answer([missing("T/p1", ["how", "do"]), missing("T/p2", ["do", "I"])]))
    #expect(
      texts(box)[1] == "  2 found: Task 2; without: do; Tab: only the words as typed"
    )
    #expect(!box.isStrict && box.press(.tab) == .search && box.isStrict)
    box.show(answer: ["total": 0, "hits": []])
    #expect(texts(box)[1] == "  0 found; Tab: similar words too")
    box.show(answer: answer([hit("T/p1", "Milk")]))
    #expect(texts(box)[1] == "  1 found: Task 1; Tab: similar words too")
    #expect(box.press(.tab) == .search && !box.isStrict)
    #expect(texts(box)[1] == "  1 found: Task 1")
  }

  @Test func `keeps the selected hit on a low screen`() {
    var box = SearchBox(query: "m")
    box.show(answer: answer((1...20).map { hit("T/p\($0)", "m\($0)", "other m") }))
    for step in 0..<20 {
      for height in 0...7 {
        let lines = box.lines(height: height, marks: nil)
        #expect(lines.count <= height)
        if height >= 4 { #expect(lines.filter(\.isSelected).count == 2, "\(step) \(height)") }
      }
      _ = box.press(.down)
    }
    // Fewer hits than the selected one.
    box.show(answer: answer([hit("T/p1", "m")]))
    #expect(box.selected == 0 && box.press(.enter) == .open(id: "T/p1"))
  }

  @Test func `says why there is no hit`() {
    var box = SearchBox(query: "mlik")
    #expect(texts(box)[1].contains("Type words"))
    box.show(answer: [
      "total": 0, "hits": [], "missing": ["mlik"], "instead": ["mlik": ["milk", "mild"]],
      "omit": ["oat": 12],
    ])
    #expect(texts(box)[1] == "  0 found; instead of mlik: milk, mild; without oat: 12")
    box.show(answer: ["total": 0, "hits": []])
    #expect(texts(box)[1] == "  0 found")
    box.show(message: "The index is paused")
    #expect(texts(box)[1] == "  The index is paused")
    box.show(answer: nil)
    #expect(texts(box)[1].contains("Type words"))
  }
}
