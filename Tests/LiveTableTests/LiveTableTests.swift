import JSON
import LiveTable
import Testing

private func row(_ id: String, _ title: String) -> JSONValue {
  ["id": .string(id), "version": 1, "values": ["title": .string(title)]]
}

private func changes(_ update: JSONValue, more: Bool = false) -> JSONValue {
  more
    ? ["from": "a", "more": true, "updates": [update]]
    : ["from": "a", "token": "b", "updates": [update]]
}

@Suite struct `A live table` {
  private func result() -> LiveResult {
    var result = LiveResult()
    result.begin([
      "token": "a", "fresh": true,
      "result": [
        "objects": [row("T/p1", "one"), row("T/p2", "two"), row("T/p3", "three")], "count": 3,
        "sections": [
          ["name": "x", "offset": 0, "count": 1], ["name": nil, "offset": 1, "count": 2],
        ],
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
    #expect(result.change(changes(update)) == nil)
    #expect(result.token == "b")
    #expect(
      lines(result) == [
        "T", "  id    title", "- T/p1  one", "~ T/p2  zwei", "- T/p3  three", "+ T/p4  four",
      ]
    )
    #expect(result.change(changes(["subscription": "s1", "count": 2])) == nil)
    #expect(lines(result) == ["T", "  id    title", "  T/p2  zwei", "  T/p4  four"])
  }

  @Test func `joins the parts of an update before it applies them`() {
    var result = result()
    let first: JSONValue = ["subscription": "s1", "remove": [["offset": 2, "id": "T/p3"]]]
    let second: JSONValue = [
      "subscription": "s1", "remove": [["offset": 1, "id": "T/p2"]],
      "insert": [["offset": 0, "id": "T/p4", "object": row("T/p4", "four")]],
    ]
    #expect(result.change(changes(first, more: true)) == nil)
    #expect(result.rows.count == 3 && result.token == "a")
    #expect(result.change(changes(second)) == nil)
    #expect(result.rows.map(\.id) == ["T/p4", "T/p1"])
  }

  @Test func `starts over from a fresh result`() {
    var result = result()
    let fresh: JSONValue = [
      "subscription": "s1", "fresh": true, "why": "larger",
      "result": ["objects": [row("T/p2", "zwei"), row("T/p9", "nine")], "count": 2],
    ]
    #expect(result.change(changes(fresh)) == nil)
    #expect(result.rows.map(\.id) == ["T/p2", "T/p9"])
    #expect(result.rows.map(\.mark) == [.changed, .inserted])
    #expect(result.removed.map(\.row.id) == ["T/p1", "T/p3"])
  }

  @Test func `has the difference after it resumes`() {
    var result = result()
    result.begin([
      "token": "c", "fresh": false,
      "update": [
        "remove": [], "insert": [], "update": [["offset": 1, "object": row("T/p2", "b")]],
      ],
    ])
    #expect(result.token == "c" && result.rows.map(\.mark) == [nil, .changed, nil])
  }

  @Test func `resumes a search from the position of the index`() {
    var search = LiveResult()
    #expect(search.resumption == nil)
    let hit: JSONValue = ["id": "T/p1", "title": "milk", "score": 1]
    search.begin([
      "token": "t9", "fresh": true,
      "result": ["token": "t7", "storeToken": "t7", "hits": [hit], "count": 1, "total": 1],
    ])
    #expect(search.token == "t9" && search.resumption == "t7")
    let update: JSONValue = [
      "subscription": "s1", "remove": [["offset": 0, "id": "T/p1"]], "insert": [], "index": "t8",
    ]
    #expect(search.change(["from": "t9", "token": "t10", "updates": [update]]) == nil)
    #expect(search.token == "t10" && search.resumption == "t8")
    var fetch = result()
    #expect(fetch.resumption == "a")
    #expect(fetch.change(changes(["subscription": "s1", "count": 3])) == nil)
    #expect(fetch.resumption == "b")
  }

  @Test func `shows a number, and IDs alone`() {
    var counted = LiveResult()
    counted.begin(["token": "a", "result": ["count": 5]])
    #expect(lines(counted) == ["T", "5"])
    #expect(counted.change(changes(["subscription": "s1", "count": 6])) == nil)
    #expect(lines(counted) == ["T", "6"])
    var ids = LiveResult()
    ids.begin(["token": "a", "result": ["ids": ["T/p1", "T/p2"], "count": 2]])
    #expect(lines(ids) == ["T", "  id", "  T/p1", "  T/p2"])
  }

  @Test func `reports the end of the subscription`() {
    var result = result()
    let error = result.change(changes(["subscription": "s1", "error": ["message": "too long"]]))
    #expect(error?["message"] == "too long")
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
    result.begin(["token": "a", "result": ["objects": .array(rows), "count": 5]])
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
