import CordialValues
import Foundation
import Spotlight
import TestSeeds
import TestStores
import Testing

/// The translations of Debian's packages coreutils and dpkg.
private struct Catalogue: Sendable, CustomTestStringConvertible {
  let language: String
  let package: String

  var path: String { "/usr/share/locale/\(language)/LC_MESSAGES/\(package).mo" }
  var testDescription: String { language }

  static let all = [
    Catalogue(language: "zh_CN", package: "coreutils"),
    Catalogue(language: "zh_TW", package: "coreutils"),
    Catalogue(language: "ja", package: "coreutils"),
    Catalogue(language: "ko", package: "coreutils"),
    Catalogue(language: "th", package: "dpkg"),
    Catalogue(language: "km", package: "dpkg"),
  ].filter { FileManager.default.fileExists(atPath: $0.path) }

  /// Languages with spaces between words.
  static let spaced = ["de", "fr", "ru", "es"].map { Catalogue(language: $0, package: "dpkg") }
    .filter { FileManager.default.fileExists(atPath: $0.path) }

  /// The translated texts: a table of lengths and offsets, as gettext documents the format.
  func texts() throws -> [String] {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    func number(_ offset: Int) throws -> Int {
      try #require(bytes.indices.contains(offset + 3))
      return (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    try #require(try number(0) == 0x9504_12DE)
    let (count, table) = (try number(8), try number(16))
    return try (1..<count).map { index in
      let (length, offset) = (try number(table + 8 * index), try number(table + 8 * index + 4))
      try #require(offset + length <= bytes.count)
      return String(decoding: bytes[offset..<offset + length], as: UTF8.self)
    }
  }
}

@Suite(.enabled(if: !Catalogue.all.isEmpty, "Needs the translations of coreutils and dpkg"))
struct `The texts of real catalogues` {
  /// Whether a character belongs to a script without spaces, or is a Korean syllable.
  private static func isDense(_ character: Character) -> Bool {
    character.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 0x0E01...0x0E30, 0x0E32...0x0E33, 0x0E40...0x0E46, 0x3041...0x3096, 0x30A1...0x30FA,
        0x4E00...0x9FFF, 0xAC00...0xD7A3, 0x1780...0x17D3:
        true
      default: false
      }
    }
  }

  /// A text as a search compares it: its words in their folded form, without what separates them,
  /// as in a phrase.
  private static func folded(_ text: String) -> String {
    tokenize(text).filter { !$0.isColocated }.map(\.unmarked.text).joined()
  }

  /// A folded text without the signs of Thai vowels and tones.
  private static func withoutSigns(_ text: String) -> String {
    folded(String(String.UnicodeScalarView(text.unicodeScalars.filter { !isThaiSign($0) })))
  }

  private static func isThaiSign(_ scalar: Unicode.Scalar) -> Bool {
    [0x0E31...0x0E31, 0x0E34...0x0E3A, 0x0E47...0x0E4E].contains { $0.contains(scalar.value) }
  }

  /// Any substring finds its text, and every text that is found has it.
  // Evidence: P-092b
  @Test(arguments: Catalogue.all)
  fileprivate func `are found by any substring, and no others`(catalogue: Catalogue) async throws {
    var random = SplitMix64(seed: 7)
    let texts = Array(try catalogue.texts().filter { $0.count < 600 }.prefix(700))
    #expect(texts.count > 200)
    let index = try TestIndex()
    var notes: [Int64: (body: String?, title: String?)?] = [:]
    for (number, text) in texts.enumerated() { notes[Int64(number + 1)] = (body: text, title: nil) }
    index.commit(notes)
    #expect(await index.catchUp())
    let folds = texts.map(Self.folded)
    let bare = texts.map(Self.withoutSigns)
    var queries = 0
    for _ in 0..<4000 where queries < 400 {
      let number = random.below(texts.count)
      let characters = Array(texts[number])
      let length = 2 + random.below(5)
      guard characters.count > length else { continue }
      let start = random.below(characters.count - length)
      let window = characters[start..<start + length]
      guard window.allSatisfy(Self.isDense) else { continue }
      queries += 1
      let query = String(window)
      let found = try index.result(query, limit: 1000).hits.map { Int($0.key.object) - 1 }
      #expect(found.contains(number), "\(query) of \(texts[number])")
      let forgiven = try index.result(query, match: .forgiving, fuzzy: true, limit: 1000)
      let asTyped = forgiven.hits.filter { $0.hitClass == .exact }.map { Int($0.key.object) - 1 }
      #expect(asTyped.sorted() == found.sorted(), "\(query)")
      let fold = Self.folded(query)
      guard catalogue.language == "th" else {
        #expect(
          found.sorted() == folds.indices.filter { folds[$0].utf8.contains(fold.utf8) },
          "\(query)"
        )
        continue
      }
      // A Thai letter may be found with a sign that the query does not have, because a substring
      // may end between the two.
      let exact = texts.indices.filter { texts[$0].utf8.contains(query.utf8) }
      let loose = Self.withoutSigns(query)
      #expect(Set(exact).isSubset(of: found), "\(query)")
      #expect(found.allSatisfy { bare[$0].utf8.contains(loose.utf8) }, "\(query)")
    }
    #expect(queries > 200)
  }

  /// The words of a text that follow each other find the text, as a phrase and without quotes.
  // Evidence: P-091a, P-091f
  @Test(arguments: Catalogue.spaced)
  fileprivate func `are found by their phrases`(catalogue: Catalogue) async throws {
    var random = SplitMix64(seed: 11)
    let texts = Array(try catalogue.texts().filter { $0.count < 600 }.prefix(700))
    let index = try TestIndex()
    var notes: [Int64: (body: String?, title: String?)?] = [:]
    for (number, text) in texts.enumerated() { notes[Int64(number + 1)] = (body: text, title: nil) }
    index.commit(notes)
    #expect(await index.catchUp())
    var queries = 0
    for _ in 0..<4000 where queries < 300 {
      let number = random.below(texts.count)
      let words = texts[number].split(whereSeparator: \.isWhitespace)
      let count = 2 + random.below(4)
      guard words.count >= count else { continue }
      let start = random.below(words.count - count + 1)
      let phrase = words[start..<start + count]
      guard phrase.allSatisfy({ $0.allSatisfy(\.isLetter) }) else { continue }
      queries += 1
      let query = phrase.joined(separator: " ")
      for text in [query, "\"\(query)\""] {
        for isPrefix in [false, true] {
          let result = try index.result(
            text,
            match: .forgiving,
            prefix: isPrefix,
            fuzzy: true,
            limit: 1000
          )
          let hit = result.hits.first { $0.key.object == Int64(number + 1) }
          #expect(hit?.hitClass == .exact, "\(text) of \(texts[number])")
        }
      }
    }
    #expect(queries > 200)
  }
}
