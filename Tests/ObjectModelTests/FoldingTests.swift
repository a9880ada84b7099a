import CUnicode
import ObjectModel
import Testing

@Suite struct `Folding of case` {
  private static let ranges: [ClosedRange<UInt32>] = [
    0x3041...0x3096, 0x30A1...0x30FC, 0x4E00...0x9FFF, 0xAC00...0xD7A3,
  ]

  /// A text of such letters alone is not given to ICU.
  @Test(arguments: ranges)
  func `of kana, Chinese and Korean is that of ICU`(range: ClosedRange<UInt32>) {
    let letters = range.compactMap(Unicode.Scalar.init).map(String.init)
    for start in stride(from: 0, to: letters.count, by: 100) {
      let text = letters[start..<min(start + 100, letters.count)].joined()
      // A Greek letter has ICU fold the whole text.
      let whole = Folding.fold(text + "Σ", flags: Int32(UNICODE_FOLD_CASE))
      #expect(Folding.fold(text, flags: Int32(UNICODE_FOLD_CASE)) + "σ" == whole)
      #expect(
        Folding.fold(text, flags: Int32(UNICODE_FOLD_CASE)).utf8.elementsEqual(
          whole.utf8.dropLast(2)
        )
      )
    }
  }

  @Test func `composes letters that come apart`() {
    let fold = { (text: String) in Array(Folding.fold(text, flags: Int32(UNICODE_FOLD_CASE)).utf8) }
    #expect(fold("か\u{3099}") == Array("が".utf8))
    #expect(fold("가\u{11A8}") == Array("각".utf8))
    #expect(fold("e\u{301}") == Array("é".utf8))
  }

  // Evidence: P-052q
  @Test(arguments: [
    // Full case folding, of canonically equivalent texts alike.
    ("Straße", "STRASSE", true), ("ﬁ", "FI", true), ("ΟΔΟΣ", "οδος", true), ("Ǆ", "ǆ", true),
    ("É", "e\u{301}", true), ("\u{212B}", "å", true), ("\u{1E9E}", "ss", true),
    ("\u{1F80}", "\u{1F00}\u{3B9}", true), ("ᾳ", "ΑΙ", true),
    ("\u{3B1}\u{345}\u{301}", "ά\u{3B9}", true), ("İ", "i\u{307}", true),
    // Neither compatibility forms, nor joiners, nor marks.
    ("①", "1", false), ("ｶ", "カ", false), ("Ａ", "a", false), ("a\u{200D}b", "ab", false),
    ("a\u{AD}b", "ab", false), ("²", "2", false), ("é", "e", false), ("I", "ı", false),
  ])
  func `is full and canonical`(one: String, other: String, isEqual: Bool) {
    let fold = { (text: String) in Array(Folding.fold(text, flags: Int32(UNICODE_FOLD_CASE)).utf8) }
    #expect((fold(one) == fold(other)) == isEqual)
  }

  // Evidence: P-052q
  @Test(arguments: [
    ("ΟΔΟΣ", "οδος"), ("ΣΑΣ Σ", "σας σ"), ("ΑΣ.", "ας."), ("İ", "i\u{307}"), ("ß", "ß"), ("", ""),
    ("A\u{0}B", "a\u{0}b"),
  ])
  func `lower case has final sigmas`(text: String, lower: String) {
    #expect(Array(Folding.lower(text).utf8) == Array(lower.utf8))
  }
}
