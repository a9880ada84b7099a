import CSpotlight
package import ObjectModel

extension SortedWords {
  /// Returns the index of the first word that does not precede some bytes.
  func firstIndex(from bytes: some Collection<UInt8>) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if word(middle).lexicographicallyPrecedes(bytes) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  func contains(_ word: some Collection<UInt8>) -> Bool {
    let index = firstIndex(from: word)
    return index < count && self.word(index).elementsEqual(word)
  }

  func text(_ index: Int) -> String { String(decoding: word(index), as: UTF8.self) }

  /// Returns the indices of the words that have a part after their first letter, the shorter words
  /// first, then in the order of their bytes.
  fileprivate func containing(_ part: String) -> [Int] {
    var part = part
    let found = part.withUTF8 { part in
      unsafe part.withMemoryRebound(to: CChar.self) { part in
        unsafe withVocabulary { vocabulary in
          unsafe [Int64](unsafeUninitializedCapacity: count) { found, foundCount in
            foundCount = unsafe Int(
              spotlight_words_containing(
                vocabulary,
                part.baseAddress,
                Int32(part.count),
                found.baseAddress,
                Int64(count)
              )
            )
          }
        }
      }
    }
    return found.map(Int.init)
  }
}

/// Words that resemble a typed word, found in the list alone.
extension WordList {
  /// Returns the words that have a part after their first letter, the shorter words first, then in
  /// the order of their bytes.
  package func containing(_ part: String) -> some Sequence<String> {
    let found = parts.map { words in words.containing(part).map { words.word($0) } }
    var all = found[0]
    if found.count > 1, !found[1].isEmpty {
      all = (all + found[1]).sorted { first, second in
        first.count != second.count
          ? first.count < second.count : first.lexicographicallyPrecedes(second)
      }
    }
    return all.lazy.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the words that differ from a word by a short ending, without those that begin with the
  /// word, in the order of their bytes.
  ///
  /// Both words have the same beginning: at least four letters, or the whole of the shorter word.
  /// Each ending has at most three letters, and both together have four, where a doubled letter at
  /// the beginning of an ending does not count.
  package func inflections(of word: String) -> [String] {
    let letters = Array(word.unicodeScalars)
    let least = max(Self.stemMin, letters.count - Self.endingMax - 1)
    guard letters.count >= Self.stemMin else { return [] }
    var stem = String.UnicodeScalarView()
    stem.append(contentsOf: letters.prefix(least))
    let beginning = Array(String(stem).utf8)
    var found: [String] = []
    for words in parts {
      var index = words.firstIndex(from: beginning)
      while index < words.count, words.word(index).starts(with: beginning) {
        // A word of many more bytes has too long an ending.
        if words[index].count <= word.utf8.count + 4 * Self.endingMax {
          let other = words.text(index)
          if Self.areInflected(letters, Array(other.unicodeScalars)) { found.append(other) }
        }
        index += 1
      }
    }
    return parts.count > 1
      ? found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } : found
  }

  /// Returns the words with the same stem as a word, in the order of their bytes.
  ///
  /// The method compares the words that begin like the stem, without the two letters at its end
  /// that a language may change.
  package func inflections(of word: String, _ stemmer: Stemmer) -> [String] {
    let stem = stemmer.stem(word.utf8)
    let letters = Array(word.unicodeScalars)
    let same = zip(letters, String(decoding: stem, as: UTF8.self).unicodeScalars).prefix(while: ==)
    var start = String.UnicodeScalarView()
    start.append(contentsOf: letters.prefix(max(same.count - 2, min(2, letters.count))))
    let beginning = Array(String(start).utf8)
    var found: [String] = []
    for words in parts {
      var index = words.firstIndex(from: beginning)
      while index < words.count, words.word(index).starts(with: beginning) {
        if stemmer.hasStem(words.word(index), stem) { found.append(words.text(index)) }
        index += 1
      }
    }
    found.removeAll { $0 == word }
    return parts.count > 1 ? found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } : found
  }

  private static let (stemMin, endingMax, endingsMax) = (3, 3, 4)

  private static func areInflected(_ word: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Bool {
    var shared = 0
    while shared < word.count, shared < other.count, word[shared] == other[shared] { shared += 1 }
    guard shared < word.count, shared >= stemMin else { return false }
    func ending(_ letters: [Unicode.Scalar]) -> Int {
      let isDoubled = shared < letters.count - 1 && letters[shared] == letters[shared - 1]
      return letters.count - shared - (isDoubled ? 1 : 0)
    }
    let (typed, found) = (ending(word), ending(other))
    guard typed <= endingMax, found <= endingMax, typed + found <= endingsMax else { return false }
    return found == 0 || shared > stemMin
  }

  /// Returns the ways to divide a word into successive words of the list.
  ///
  /// - Parameters:
  ///   - word: The word.
  ///   - parts: The count of words.
  ///   - least: The least count of letters of a part.
  /// - Returns: The ways, those with shorter first words first.
  func divisions(of word: String, into parts: Int, least: Int) -> [[String]] {
    let letters = Array(word.unicodeScalars)
    var ways: [[String]] = []
    func text(_ range: Range<Int>) -> String {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: letters[range])
      return String(view)
    }
    func divide(_ start: Int, _ before: [String]) {
      let left = parts - before.count
      if left == 1 {
        let last = text(start..<letters.count)
        if contains(last.utf8) { ways.append(before + [last]) }
        return
      }
      var end = start + least
      while end + (left - 1) * least <= letters.count {
        let part = text(start..<end)
        if contains(part.utf8) { divide(end, before + [part]) }
        end += 1
      }
    }
    if letters.count >= parts * least, letters.count <= SPOTLIGHT_WORD_LETTERS_MAX {
      divide(0, [])
    }
    return ways
  }
}
