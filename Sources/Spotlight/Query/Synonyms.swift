import CSpotlight
import ObjectModel

/// The words and phrases for which a forgiving search also finds others.
struct Synonyms: Sendable {
  /// A word or phrase that is also found.
  struct Target: Sendable {
    let phrases: [[String]]
    /// The columns in which it is found; nil for all.
    let columns: [String]?
  }

  /// The targets by their source: its words in the form of the index, with a space between them.
  private var targets: [String: [Target]] = [:]
  /// The greatest count of words of a source.
  private(set) var longest = 0

  /// The greatest count of words of a source; a longer phrase is found by none.
  static let sourceWordsMax = 8

  /// Adds a list.
  ///
  /// - Parameters:
  ///   - list: The words and phrases.
  ///   - columns: The columns in which they are found; nil for all.
  mutating func add(_ list: SynonymList, columns: [String]?) {
    let found = list.to.map { (key: Self.key($0), phrases: Tokens.phrases($0)) }
    for source in list.from {
      guard let key = Self.key(source) else { continue }
      let others = found.filter { $0.key != key && !$0.phrases.isEmpty }
      guard !others.isEmpty else { continue }
      longest = max(longest, key.utf8.count { $0 == UInt8(ascii: " ") } + 1)
      targets[key, default: []] += others.map { Target(phrases: $0.phrases, columns: columns) }
    }
  }

  /// Returns what a search of successive words also finds, in the order of the lists.
  func targets(of words: [String]) -> [Target] {
    targets[words.joined(separator: " ")] ?? []
  }

  /// Returns the words of a text in the form of the index; nil for a text of no words or too many.
  private static func key(_ text: String) -> String? {
    let words = Tokens.wholes(text).map(\.text)
    return words.isEmpty || words.count > sourceWordsMax ? nil : words.joined(separator: " ")
  }
}

/// The reader of a file of synonyms.
///
/// A line has one list: words and phrases with commas between them, each of which finds the others;
/// or `tv, telly => television`, where those before the arrow find those behind it. A line that
/// begins with `#` is a comment.
enum SynonymFile {
  /// The greatest size of a file in bytes.
  static let bytesMax = 32 << 20

  /// A fault of a file.
  struct Fault: Error {
    /// The message, which is one sentence.
    let message: String
  }

  /// Returns the lists of a file.
  static func lists(_ bytes: [UInt8]) throws(Fault) -> [SynonymList] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Fault(message: "The file is not UTF-8")
    }
    var lists: [SynonymList] = []
    var number = 0
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      number += 1
      let line = trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let sides = line.split(separator: "=>", omittingEmptySubsequences: false)
      guard sides.count <= 2 else { throw Fault(message: "Line \(number) has two arrows") }
      let words = sides.map { side in
        side.split(separator: ",", omittingEmptySubsequences: false).map { String(trimmed($0)) }
      }
      for side in words {
        if let objection = SynonymList.objection(to: side) {
          throw Fault(message: "Line \(number): \(objection)")
        }
      }
      guard words.count == 2 || words[0].count > 1 else {
        throw Fault(message: "Line \(number) has a single word; put its synonyms behind commas")
      }
      guard lists.count < SynonymList.listsMax else {
        throw Fault(message: "The file has more than \(SynonymList.listsMax) lists")
      }
      lists.append(SynonymList(from: words[0], to: words[words.count - 1]))
    }
    return lists
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    // The first line may have a byte order mark.
    while let first = text.first, first.isWhitespace || first == "\u{FEFF}" { text.removeFirst() }
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return text
  }
}
