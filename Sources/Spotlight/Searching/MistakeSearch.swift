import CSpotlight

/// A search for the words that a person may have meant.
///
/// A mistake is an extra letter, a missing letter, a wrong letter, or two adjacent letters in the
/// wrong order. No letter has two mistakes.
package struct MistakeSearch {
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

  package init(_ word: String, mistakesMax: Int, isPrefix: Bool) {
    letters = word.unicodeScalars.map(\.value)
    self.mistakesMax = mistakesMax
    self.isPrefix = isPrefix
  }

  /// Returns the words with mistakes, by the count of mistakes, then in the order of their code
  /// points.
  package func near(_ words: WordList) -> [NearWord] {
    guard mistakesMax > 0, letters.count <= SPOTLIGHT_WORD_LETTERS_MAX else { return [] }
    var near: [NearWord] = []
    for (number, words) in words.parts.enumerated() {
      let known = Set(isPrefix && number > 0 ? near.map(\.text) : [])
      for found in self.found(words) {
        let bytes = words.word(found.index).prefix(found.size)
        let word = NearWord(text: String(decoding: bytes, as: UTF8.self), mistakes: found.mistakes)
        // Several lists can have words with the same beginning.
        if !known.contains(word.text) { near.append(word) }
      }
    }
    let sign = Self.sign(letters.first)
    return
      near
      .filter { word in
        let scalars = word.text.unicodeScalars
        // A letter of a script without spaces is no word of its own.
        return Self.sign(scalars.first?.value) == sign
          && (scalars.count > 1 || Tokens.start(of: word.text) == nil)
      }
      .sorted { first, second in
        first.mistakes != second.mistakes
          ? first.mistakes < second.mistakes
          : first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
      }
  }

  /// Returns the words with mistakes of one list, as an index, the count of compared bytes, and the
  /// count of mistakes.
  private func found(_ words: SortedWords) -> [(index: Int, size: Int, mistakes: Int)] {
    var found: [(index: Int, size: Int, mistakes: Int)] = []
    unsafe words.withVocabulary { vocabulary in
      unsafe withUnsafeMutablePointer(to: &found) { found in
        unsafe spotlight_near_words(
          vocabulary,
          letters,
          Int32(letters.count),
          Int32(mistakesMax),
          isPrefix,
          found
        ) { context, index, size, mistakes in
          let list = unsafe context?.assumingMemoryBound(
            to: [(index: Int, size: Int, mistakes: Int)].self
          )
          unsafe list?.pointee.append((Int(index), Int(size), Int(mistakes)))
        }
      }
    }
    return found
  }

  /// Returns the letter if it is the sign before a tag or a name, which no mistake changes.
  private static func sign(_ letter: UInt32?) -> UInt32? {
    letter == 0x23 || letter == 0x40 ? letter : nil
  }
}

/// A word of the index that differs from a typed word by typing mistakes, or the beginning of such
/// words.
package struct NearWord: Sendable, Equatable {
  package let text: String
  package let mistakes: Int
}

/// Words of live documents that differ from a typed word by typing mistakes.
struct NearWords: Sendable {
  var words: [NearWord] = []
  /// Whether these are all such words.
  var isComplete = true
}
