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
    #expect(fold("ﾊﾟ") == Array("パ".utf8))
  }
}
