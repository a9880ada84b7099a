import Foundation
import TestStores
import Testing

/// The tests of Unicode Standard Annex #29 for words, from Debian's package unicode-data.
private enum WordBreaks {
  static let path = "/usr/share/unicode/auxiliary/WordBreakTest.txt"

  /// The segments of each test.
  static func tests() throws -> [[String]] {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return text.split(whereSeparator: \.isNewline).compactMap { line in
      let fields = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      guard fields.contains("÷") else { return nil }
      var segments: [String] = []
      var segment = String.UnicodeScalarView()
      for field in fields {
        switch field {
        case "÷":
          if !segment.isEmpty { segments.append(String(segment)) }
          segment = String.UnicodeScalarView()
        case "×": break
        default:
          guard let scalar = UInt32(field, radix: 16).flatMap(Unicode.Scalar.init) else {
            return nil
          }
          segment.append(scalar)
        }
      }
      return segments
    }
  }

  /// Whether a segment has a letter or a digit, so that it is a word.
  static func isWord(_ segment: String) -> Bool {
    segment.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .decimalNumber, .letterNumber:
        true
      default: false
      }
    }
  }
}

@Suite(
  .enabled(if: FileManager.default.fileExists(atPath: WordBreaks.path), "Needs unicode-data")
)
struct `Unicode's words` {
  /// A mark that repeats kana in vertical text; Unicode divides it from letters, the tokenizer does
  /// not.
  private static let repeatMark: Unicode.Scalar = "\u{3031}"

  /// The tokenizer divides more than Unicode does: at connectors, at a change of case, between
  /// letters and digits, and between ideographs. It never joins what Unicode divides, except
  /// `repeatMark`, and two regional indicators, which are a flag only next to each other.
  // Evidence: P-092c
  @Test func `are never joined, and none is lost`() throws {
    let tests = try WordBreaks.tests()
    #expect(tests.count > 1800)
    for segments in tests {
      let text = segments.joined()
      let scalars = text.unicodeScalars.map { String($0.value, radix: 16) }
      var bounds: [Int] = [0]
      for segment in segments { bounds.append(bounds[bounds.count - 1] + segment.utf8.count) }
      let tokens = tokenize(text)
      #expect(tokens.allSatisfy { $0.start < $0.end && $0.end <= text.utf8.count })
      let deviates = text.unicodeScalars.contains { scalar in
        scalar == Self.repeatMark || (0x1F1E6...0x1F1FF).contains(scalar.value)
      }
      if !deviates {
        // Several signs on their own are one token.
        let signs = Set("#@:;,.'\"_!?*+-/&%=<>()[]{}|~^$".utf8)
        for token in tokens where !token.isColocated && !signs.isSuperset(of: token.bytes) {
          let isJoined = bounds.contains { $0 > token.start && $0 < token.end }
          #expect(!isJoined, "\(scalars): \(token.start)..<\(token.end) of \(bounds)")
        }
      }
      for (index, segment) in segments.enumerated() where WordBreaks.isWord(segment) {
        let isFound = tokens.contains { $0.start < bounds[index + 1] && $0.end > bounds[index] }
        #expect(isFound, "\(scalars): the word \(index) is lost")
      }
    }
  }
}
