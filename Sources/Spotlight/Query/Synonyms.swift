import CSpotlight
import ObjectModel

/// The words and phrases for which a forgiving search also finds others.
struct Synonyms: Sendable {
  /// A word or phrase that is also found.
  struct Target: Hashable, Sendable {
    /// Its words in the form of the index, with a space between them.
    let key: String
    /// The columns in which it is found; nil for all.
    let columns: [String]?
  }

  private var lists: [(to: [String], columns: [String]?)] = []
  /// The offsets of the lists, by the words of a source in the form of the index.
  private var sources: [String: [Int32]] = [:]
  /// The greatest count of words of a source.
  private(set) var longest = 0

  /// The greatest count of words of a source and of a target; a longer phrase is found by none and
  /// finds none.
  private static let wordsMax = 16
  /// The greatest count of targets of successive words that are read.
  private static let targetsMax = 10_000

  /// Adds a list.
  ///
  /// - Parameters:
  ///   - list: The words and phrases.
  ///   - columns: The columns in which they are found; nil for all.
  mutating func add(_ list: SynonymList, columns: [String]?) {
    let offset = Int32(lists.count)
    lists.append((list.to, columns))
    for source in list.from {
      guard let key = Self.key(source), sources[key]?.last != offset else { continue }
      longest = max(longest, key.utf8.count { $0 == UInt8(ascii: " ") } + 1)
      sources[key, default: []].append(offset)
    }
  }

  /// Returns what a search of successive words also finds, each once, in the order of the lists.
  func targets(of words: [String]) -> [Target] {
    let source = words.joined(separator: " ")
    guard let offsets = sources[source] else { return [] }
    var known: Set<Target> = []
    var targets: [Target] = []
    for offset in offsets {
      let list = lists[Int(offset)]
      for text in list.to {
        guard targets.count < Self.targetsMax else { return targets }
        guard let key = Self.key(text), key != source else { continue }
        let target = Target(key: key, columns: list.columns)
        if known.insert(target).inserted { targets.append(target) }
      }
    }
    return targets
  }

  /// Returns the words of a text in the form of the index; nil for a text of no words or too many.
  private static func key(_ text: String) -> String? {
    let words = Tokens.wholes(text).map(\.text)
    return words.isEmpty || words.count > wordsMax ? nil : words.joined(separator: " ")
  }
}

/// The reader of a file of synonyms.
///
/// A line is one list. Commas separate its words and phrases, and each one finds the others. In
/// `tv, telly => television`, the words before the arrow find the words behind it. A line that
/// begins with `#` is a comment.
enum SynonymFile {
  /// The greatest size of a file in bytes.
  static let bytesMax = 16 << 20

  /// A fault of a file.
  struct Fault: Error {
    /// The message, which is one sentence.
    let message: String
    /// Whether the file may be read later as it is.
    var isPassing = false
  }

  /// Returns the lists of a file.
  static func lists(_ bytes: [UInt8]) throws(Fault) -> [SynonymList] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Fault(message: "The file is not UTF-8")
    }
    var lists: [SynonymList] = []
    var (number, count) = (0, 0)
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      number += 1
      let line = trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let list = try list(line, number)
      lists.append(list)
      count += list.from.count + list.to.count
      guard lists.count <= SynonymList.listsMax, count <= SynonymList.textsMax else {
        throw Fault(
          message: "Line \(number): A file has at most \(SynonymList.listsMax) lists and "
            + "\(SynonymList.textsMax) words and phrases"
        )
      }
    }
    return lists
  }

  private static func list(_ line: Substring, _ number: Int) throws(Fault) -> SynonymList {
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
    return SynonymList(from: words[0], to: words[words.count - 1])
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    // The first line may have a byte order mark.
    while let first = text.first, first.isWhitespace || first == "\u{FEFF}" { text.removeFirst() }
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return text
  }
}
