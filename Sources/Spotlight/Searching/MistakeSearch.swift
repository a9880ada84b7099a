import CSpotlight

/// A search for the words that a person may have meant.
///
/// A mistake is an extra letter, a missing letter, a wrong letter, or two adjacent letters in the
/// wrong order. No letter has two mistakes.
struct MistakeSearch {
  /// The code points of the typed word.
  private let letters: [UInt32]
  private let mistakesMax: Int
  /// Whether the beginnings of words are compared.
  private let isPrefix: Bool

  /// Returns the maximum count of mistakes for a word: one from four letters, two from eight.
  static func mistakesMax(of word: String) -> Int {
    let count = word.unicodeScalars.count
    return count >= 8 ? 2 : count >= 4 ? 1 : 0
  }

  init(_ word: String, mistakesMax: Int, isPrefix: Bool) {
    letters = word.unicodeScalars.map(\.value)
    self.mistakesMax = mistakesMax
    self.isPrefix = isPrefix
  }

  /// Returns the words with mistakes, by the count of mistakes, then in the order of their code
  /// points.
  ///
  /// The search keeps the costs of a word's beginnings, and reuses them if the next word has the
  /// same beginning. It skips all words whose common beginning has too many mistakes.
  func near(_ words: SortedWords) -> [NearWord] {
    guard mistakesMax > 0, letters.count <= SPOTLIGHT_WORD_LETTERS_MAX else { return [] }
    var found: [NearWord] = []
    var costs = Costs(letters, depthMax: letters.count + mistakesMax)
    var index = 0
    while index < words.count {
      let word = words[index]
      costs.keep(beginningOf: word, words)
      var next: Int?
      while next == nil {
        let offset = costs.byteCount
        if costs.depth > 0, costs.total <= mistakesMax, isPrefix {
          found.append(costs.nearWord(word, words))
          next = words.end(of: index, prefix: offset)
        } else if costs.leastPossible > mistakesMax {
          next = words.end(of: index, prefix: offset)
        } else if offset == word.count {
          if !isPrefix, costs.total > 0, costs.total <= mistakesMax {
            found.append(costs.nearWord(word, words))
          }
          next = index + 1
        } else if !costs.advance(word, words) {
          next = words.end(of: index, prefix: offset)
        }
      }
      index = next ?? words.count
    }
    let sign = Self.sign(letters.first)
    return found.filter { Self.sign($0.text.unicodeScalars.first?.value) == sign }
      .sorted { first, second in
        first.mistakes != second.mistakes
          ? first.mistakes < second.mistakes
          : first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
      }
  }

  /// Returns the letter if it is the sign before a tag or a name, which no mistake changes.
  private static func sign(_ letter: UInt32?) -> UInt32? {
    letter == 0x23 || letter == 0x40 ? letter : nil
  }
}

/// The counts of mistakes between each beginning of a typed word and each beginning of a listed
/// word.
private struct Costs {
  private let letters: [UInt32]
  private let depthMax: Int
  /// The costs of each beginning of the typed word, for each beginning of the listed word.
  private var rows: [UInt8]
  /// The code points of the listed word, and the offset after each code point.
  private var path: [UInt32] = []
  private var ends: [Int] = []
  /// The offset of the listed word in the bytes of the list.
  private var start = 0

  init(_ letters: [UInt32], depthMax: Int) {
    self.letters = letters
    self.depthMax = depthMax
    rows = (0...letters.count).map { UInt8($0) }
  }

  private var width: Int { letters.count + 1 }

  /// The count of code points of the listed word that were compared.
  var depth: Int { path.count }

  /// The count of bytes of the listed word that were compared.
  var byteCount: Int { ends.last ?? 0 }

  /// The cost of the whole typed word.
  var total: Int { Int(rows[rows.count - 1]) }

  /// The lowest cost that a longer beginning of the listed word can have.
  var leastPossible: Int {
    let last = rows.count - width
    var least = Int(rows[last..<rows.count].min() ?? 0)
    // An exchange of two letters adds to the cost of the beginning before these letters.
    if depth > 0 { least = min(least, Int(rows[last - width..<last].min() ?? 0) + 1) }
    return least
  }

  /// Keeps the costs of the beginning that the next word shares with the present word.
  mutating func keep(beginningOf word: Range<Int>, _ words: SortedWords) {
    var shared = 0
    let most = min(byteCount, word.count)
    while shared < most, words.bytes[start + shared] == words.bytes[word.lowerBound + shared] {
      shared += 1
    }
    start = word.lowerBound
    while let end = ends.last, end > shared {
      ends.removeLast()
      path.removeLast()
      rows.removeLast(width)
    }
  }

  /// Compares the next code point of the word, and returns false if the word is too long.
  mutating func advance(_ word: Range<Int>, _ words: SortedWords) -> Bool {
    guard depth < depthMax else { return false }
    let at = word.lowerBound + byteCount
    let lead = words.bytes[at]
    let size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
    var letter = UInt32(size == 1 ? lead : lead & (0x7F >> size))
    for offset in 1..<max(size, 1) where at + offset < word.upperBound {
      letter = letter << 6 | UInt32(words.bytes[at + offset] & 0x3F)
    }
    let last = rows.count - width
    rows.append(UInt8(clamping: depth + 1))
    for index in 1..<width {
      let isEqual = letters[index - 1] == letter
      var cost = rows[last + index - 1] + (isEqual ? 0 : 1)
      cost = min(cost, rows[last + index] + 1, rows[rows.count - 1] + 1)
      if index > 1, depth > 0, letters[index - 2] == letter, letters[index - 1] == path[depth - 1] {
        cost = min(cost, rows[last - width + index - 2] + 1)
      }
      rows.append(cost)
    }
    path.append(letter)
    ends.append(min(at + size, word.upperBound) - word.lowerBound)
    return true
  }

  /// Returns the beginning that was compared, with the cost of the whole typed word.
  func nearWord(_ word: Range<Int>, _ words: SortedWords) -> NearWord {
    let bytes = words.bytes[word.lowerBound..<word.lowerBound + byteCount]
    return NearWord(text: String(decoding: bytes, as: UTF8.self), mistakes: total)
  }
}

/// A word of the index that differs from a typed word by typing mistakes, or the beginning of such
/// words.
struct NearWord: Sendable, Equatable {
  let text: String
  let mistakes: Int
}
