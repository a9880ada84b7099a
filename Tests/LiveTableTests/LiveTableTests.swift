import JSON
import LiveTable
import Testing

private func row(_ id: String, _ title: String) -> JSONValue {
  ["id": .string(id), "version": 1, "values": ["title": .string(title)]]
}

@Suite struct `A live table` {
  private func result() -> LiveResult {
    var result = LiveResult()
    result.replace([
      "objects": [row("T/p1", "one"), row("T/p2", "two"), row("T/p3", "three")], "count": 3,
      "sections": [
        ["name": "x", "offset": 0, "count": 1], ["name": nil, "offset": 1, "count": 2],
      ],
    ])
    return result
  }

  private func lines(_ result: LiveResult, width: Int = 40, height: Int = 20) -> [String] {
    TableLines(result, width: width, height: height).lines(title: "T").map(\.text)
  }

  @Test func `shows rows in their sections`() {
    #expect(
      lines(result()) == [
        "T", "  id    title", "── x (1)", "  T/p1  one", "──  (2)", "  T/p2  two", "  T/p3  three",
      ]
    )
  }

  @Test func `marks what the last update changed`() {
    var result = result()
    let update: JSONValue = [
      "subscription": "s1", "remove": [["offset": 2, "id": "T/p3"], ["offset": 0, "id": "T/p1"]],
      "insert": [["offset": 1, "id": "T/p4", "object": row("T/p4", "four")]],
      "update": [["offset": 0, "id": "T/p2", "object": row("T/p2", "zwei")]], "count": 2,
      "sections": [],
    ]
    result.apply(update)
    #expect(
      lines(result) == [
        "T", "  id    title", "- T/p1  one", "~ T/p2  zwei", "- T/p3  three", "+ T/p4  four",
      ]
    )
    result.apply(["subscription": "s1", "count": 2])
    #expect(lines(result) == ["T", "  id    title", "  T/p2  zwei", "  T/p4  four"])
  }

  @Test func `starts over from a fresh result`() {
    var result = result()
    result.replace(["objects": [row("T/p2", "zwei"), row("T/p9", "nine")], "count": 2])
    #expect(result.rows.map(\.id) == ["T/p2", "T/p9"])
    #expect(result.rows.map(\.mark) == [.changed, .inserted])
    #expect(result.removed.map(\.row.id) == ["T/p1", "T/p3"])
  }

  @Test func `has the difference after it resumes`() {
    var result = result()
    result.apply([
      "remove": [], "insert": [], "update": [["offset": 1, "object": row("T/p2", "b")]],
    ])
    #expect(result.rows.map(\.mark) == [nil, .changed, nil])
  }

  @Test func `shows a number, and IDs alone`() {
    var counted = LiveResult()
    counted.replace(["count": 5])
    #expect(lines(counted) == ["T", "5"])
    counted.apply(["subscription": "s1", "count": 6])
    #expect(lines(counted) == ["T", "6"])
    var ids = LiveResult()
    ids.replace(["ids": ["T/p1", "T/p2"], "count": 2])
    #expect(lines(ids) == ["T", "  id", "  T/p1", "  T/p2"])
  }

  @Test(arguments: 1...60)
  func `fits any width and height`(width: Int) {
    var result = LiveResult()
    let texts = ["日本語のテキスト", "e\u{301}te\u{301}", "👩‍👩‍👧 family", "a\u{1B}[31mb\nc", "plain"]
    let rows = texts.enumerated().map { index, text -> JSONValue in
      [
        "id": .string("T/p\(index)"),
        "values": ["a": .string(text), "b": .integer(Int64(index)), "c": .string(text + text)],
      ]
    }
    result.replace(["objects": .array(rows), "count": 5])
    for height in 1...8 {
      let lines = TableLines(result, width: width, height: height).lines(title: "日本\nwhere x")
      #expect(lines.count <= height)
      for line in lines {
        #expect(CellText.width(line.text) <= width)
        #expect(!line.text.unicodeScalars.contains { $0.properties.generalCategory == .control })
      }
    }
    let short = TableLines(result, width: 60, height: 5).lines(title: "T").map(\.text)
    #expect(short.last == "  … 3 more")
  }

  @Test func `measures characters as terminals do`() {
    #expect(CellText.width("abc") == 3)
    #expect(CellText.width("日本") == 4)
    #expect(CellText.width("e\u{301}") == 1)
    #expect(CellText.width("👩‍👩‍👧") == 2)
    #expect(CellText.fitted("日本語", to: 4) == "日… ")
    #expect(CellText.fitted("ab", to: 4) == "ab  ")
  }
}
