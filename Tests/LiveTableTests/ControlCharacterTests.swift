import JSON
import LiveTable
import Testing

/// What a terminal gets of texts that a store, another process or a person has written.
// Evidence: P-133c
@Suite struct `Control characters on a terminal` {
  /// A color, a title of the window, a C1 sequence, a bell, deletions and a change of direction.
  private static let hostile =
    "\u{1B}[31mred\u{1B}]0;title\u{7}\u{9B}2J\u{7F}\u{8}\rx\u{202E}y\u{2066}z"
  private static let shown =
    #"\u001b[31mred\u001b]0;title\u0007\u009b2J\u007f\u0008\rx\u202ey\u2066z"#

  private func check(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    for line in lines {
      let isSent = line.unicodeScalars.contains { scalar in
        scalar.properties.generalCategory == .control
          || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
      }
      #expect(!isSent, "\(line.debugDescription)", sourceLocation: sourceLocation)
    }
  }

  @Test func `are shown in a cell, of a text and of a list`() {
    #expect(CellText.text(.string(Self.hostile)) == Self.shown)
    check([CellText.text([.string(Self.hostile), ["\u{9B}": "\u{7F}"]])])
    #expect(CellText.text("two\r\nlines\tand a tab") == "two lines and a tab")
    #expect(CellText.marked("a\u{9B}b", [0..<1], ("<", ">")) == #"<a>\u009bb"#)
  }

  @Test func `are shown in every line of a live table`() {
    let text = JSONValue.string(Self.hostile)
    var result = LiveResult()
    result.replace([
      "objects": [["id": text, "values": .object([JSONMember(Self.hostile, text)])]],
      "count": 1, "sections": [["name": text, "offset": 0, "count": 1]],
    ])
    let lines = TableLines(result, width: 400, height: 10).lines(title: Self.hostile).map(\.text)
    #expect(lines.count == 4)
    check(lines)
    for line in lines { #expect(line.contains(Self.shown), "\(line.debugDescription)") }
  }

  @Test func `are shown in a search, its counts, its hits and its object`() {
    let text = JSONValue.string(Self.hostile)
    var box = SearchBox(query: Self.hostile)
    box.show(answer: [
      "total": 1,
      "hits": [
        [
          "id": text, "title": text,
          "snippet": [
            "property": "a", "text": .string("s" + Self.hostile), "highlights": [[0, 1]],
          ],
        ]
      ],
      "facets": ["entities": .object([JSONMember(Self.hostile, 1)])],
    ])
    check(box.lines(height: 10, marks: ("<", ">")).map(\.text))
    #expect(box.lines(height: 10, marks: nil).count == 4)
    box.show(object: Self.hostile, [JSONMember(Self.hostile, text)])
    let opened = box.lines(height: 10, marks: nil).map(\.text)
    check(opened)
    #expect(opened.last == "  \(Self.shown): \(Self.shown)")
    box.show(message: Self.hostile)
    check(box.lines(height: 10, marks: nil).map(\.text))
    box.show(answer: [
      "total": 0, "hits": [], "instead": .object([JSONMember(Self.hostile, [text])]),
      "omit": .object([JSONMember(Self.hostile, 1)]),
    ])
    check(box.lines(height: 10, marks: nil).map(\.text))
  }
}
