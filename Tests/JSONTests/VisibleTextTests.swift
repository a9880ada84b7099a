import JSON
import TestSeeds
import Testing

// Evidence: P-133c
@Suite struct `A text for a person` {
  @Test(arguments: [
    ("", ""), ("plain ~ text", "plain ~ text"),
    // Texts of scripts and emoji that need joiners and marks.
    ("é e\u{301} 東京 👩\u{200D}👩\u{200D}👧 می\u{200C}خواهم a\u{200E}b\u{200F}c\u{61C}", nil),
    // A format character that has a form: the Arabic end of a verse.
    ("\u{6DD}1", nil),
    ("\u{0}\u{7}\u{8}\u{B}\u{C}\u{1B}[31m", #"\u0000\u0007\u0008\u000b\u000c\u001b[31m"#),
    ("\u{7F}\u{80}\u{85}\u{9B}31m\u{9F}", #"\u007f\u0080\u0085\u009b31m\u009f"#),
    ("a\u{202A}\u{202E}b\u{202C}\u{2066}c\u{2069}", #"a\u202a\u202eb\u202c\u2066c\u2069"#),
    ("a\u{AD}b\u{200B}c\u{FEFF}", #"a\u00adb\u200bc\ufeff"#),
    ("\u{E0041}\u{FFFF}", #"\udb40\udc41\uffff"#),
    ("\r", #"\r"#), ("a\rb", #"a\rb"#), ("\r\r\n.", #"\r ."#),
    ("a\nb\tc\r\nd\u{2028}e\u{2029}f", "a b c d e f"),
    // A combining mark does not hide the character before it.
    ("\u{1B}\u{301}\n\u{301}", #"\u001b"# + "\u{301} \u{301}"),
  ])
  func `shows what controls a terminal`(text: String, expected: String?) {
    let line = VisibleText.line(text)
    #expect(line.unicodeScalars.elementsEqual((expected ?? text).unicodeScalars), "\(line)")
    #expect(!line.unicodeScalars.contains(where: VisibleText.isHidden))
  }

  @Test func `keeps its lines and tabs`() {
    #expect(VisibleText.lines("a\r\n\tb\u{1B}c\u{2028}\n") == "a\n\tb\\u001bc\\u2028\n")
  }

  @Test(arguments: Seeds.first(20))
  func `is JSON of the same value where it was JSON`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let scalars: [Unicode.Scalar] = [
      "\u{1B}", "\u{9B}", "\u{7F}", "\u{85}", "\u{202E}", "\u{2028}", "\u{E0041}", "\u{AD}", "\r",
      "\n", "\t", "\"", "\\", "a", "é", "\u{301}", "\u{200D}",
    ]
    for _ in 0..<200 {
      var text = String.UnicodeScalarView()
      for _ in 0..<random.below(12) { text.append(random.pick(scalars)) }
      let value: JSONValue = ["name": .string(String(text)), "list": [.string(String(text)), 1]]
      let shown = VisibleText.lines(value.text)
      #expect(!shown.unicodeScalars.contains(where: VisibleText.isHidden))
      #expect(try JSONParser.parse(shown) == value, "\(Seeds.repeating(seed))")
    }
  }
}
