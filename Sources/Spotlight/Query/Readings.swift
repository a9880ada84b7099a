import CSpotlight
import CUnicode
import Dispatch
import Synchronization

/// The texts of which a typed word may be a reading: pinyin of Chinese characters, romaji of kana,
/// or the first letters of Korean syllables.
///
/// The index stores no readings, so that indexing costs nothing for them. A query contains the
/// characters with a reading instead.
enum Readings {
  /// The maximum number of alternatives of one query's readings.
  static let alternativesMax = 8000
  /// The maximum number of ways to divide a word into syllables.
  private static let divisionsMax = 4
  /// The maximum count of letters in a word that is treated as a reading.
  private static let lettersMax = 32

  /// Returns the phrases of which a word may be a reading.
  ///
  /// - Parameters:
  ///   - term: A term of a query.
  ///   - room: The count of alternatives that the query may still have, which the method reduces.
  ///   - known: The letters that documents may have; nil to keep all letters, and to accept words
  ///     for kana that are no syllables.
  /// - Returns: The phrases; `SPOTLIGHT_TOKEN_OR` joins the alternatives at one offset.
  static func phrases(
    of term: SearchQuery.Term,
    room: inout Int,
    known: KnownLetters? = nil
  ) -> [SearchQuery.Term.Form] {
    guard !term.isQuoted else { return [] }
    var found: [[[String]]] = []
    let wholes = Tokens.wholes(term.text)
    if wholes.count == 1, let word = wholes.first?.text, word.utf8.count <= lettersMax,
      word.utf8.allSatisfy({ (0x61...0x7A).contains($0) })
    {
      if known.map({ $0.hasIdeographs && Pinyin.maySyllables(word) }) ?? true {
        found += Pinyin.shared.characters(word, isPrefix: term.isPrefix, max: divisionsMax)
      }
      if known.map({ $0.hasKana && Romaji.maySyllables(word) }) ?? true,
        let kana = romaji.kana(word), known == nil || Romaji.isSyllables(word, kana)
      {
        found.append(kana.map { [$0] })
      }
    } else if let tokens = term.phrases.first, tokens.count <= lettersMax {
      let places = tokens.compactMap { syllables(initial: $0) }
      if places.count == tokens.count { found.append(places) }
    }
    return found.compactMap { places in
      let places = known.map { known in places.map { $0.filter(known.contains) } } ?? places
      let count = places.reduce(0) { $0 + $1.count }
      guard !places.isEmpty, places.allSatisfy({ !$0.isEmpty }), count <= room else { return nil }
      room -= count
      return SearchQuery.Term.Form(
        tokens: places.map { $0.joined(separator: alternative) },
        mistakes: 1,
        kind: .reading,
        label: term.text
      )
    }
  }

  /// The separator between alternatives.
  static let alternative = String(UnicodeScalar(UInt8(SPOTLIGHT_TOKEN_OR)))

  /// Returns the Korean syllables that begin with a letter, or nil for another token.
  private static func syllables(initial token: String) -> [String]? {
    let scalars = token.unicodeScalars
    guard scalars.count == 1, let letter = scalars.first?.value, (0x1100...0x1112).contains(letter)
    else { return nil }
    let first = 0xAC00 + (letter - 0x1100) * 588
    return (first..<first + 588).compactMap { UnicodeScalar($0).map(String.init) }
  }

  private static let romaji = Romaji()
}

/// The letters of scripts without spaces that documents may have.
struct KnownLetters {
  private let words: WordList
  /// Whether a document may have an ideograph, and whether it may have kana, as the index has them.
  let hasIdeographs, hasKana: Bool

  /// Takes the letters from the words of the index.
  init(_ words: WordList) {
    func hasLetter(_ range: ClosedRange<Unicode.Scalar>) -> Bool {
      words.parts.contains { words in
        let index = words.firstIndex(from: String(range.lowerBound).utf8)
        guard index < words.count, let first = words.text(index).unicodeScalars.first else {
          return false
        }
        return range.contains(first)
      }
    }
    self.words = words
    hasIdeographs = hasLetter("\u{4E00}"..."\u{9FFF}")
    hasKana = hasLetter("\u{30A1}"..."\u{30FE}")
    if hasIdeographs { Pinyin.prepare() }
  }

  func contains(_ letter: String) -> Bool { words.contains(letter.utf8) }
}

/// The Chinese characters by their pinyin syllables without tones.
package struct Pinyin: Sendable {
  /// The shared table; its creation at the first use takes half a second.
  package static let shared = Pinyin()

  private static let isPrepared = Atomic(false)

  /// Begins to create the shared table, so that the first search of a reading waits less.
  static func prepare() {
    guard !isPrepared.exchange(true, ordering: .relaxed) else { return }
    DispatchQueue.global(qos: .utility).async { _ = shared }
  }

  /// Returns whether pinyin syllables may spell a word, without reading the table.
  ///
  /// The last syllable may be unfinished.
  ///
  /// A syllable has a consonant, zh, ch, sh or neither; vowels; and n, ng, r or neither. Few have
  /// no vowel.
  package static func maySyllables(_ word: String) -> Bool {
    let letters = Array(word.utf8)
    // The offsets at which a syllable may begin.
    var starts: Set<Int> = [0]
    for start in letters.indices where starts.contains(start) {
      func begins(_ text: String, at offset: Int) -> Bool {
        letters[offset...].starts(with: text.utf8)
      }
      for syllable in withoutVowels where begins(syllable, at: start) {
        starts.insert(start + syllable.utf8.count)
      }
      for initial in 0...2 where start + initial <= letters.count {
        let consonants = String(decoding: letters[start..<start + initial], as: UTF8.self)
        guard !consonants.utf8.contains(where: vowels.contains),
          initial < 2 || ["zh", "ch", "sh", "hn"].contains(consonants)
        else { continue }
        var end = start + initial
        if end == letters.count { return true }
        while end < letters.count, vowels.contains(letters[end]) {
          end += 1
          starts.insert(end)
          for final in ["n", "ng", "r"] where begins(final, at: end) {
            starts.insert(end + final.utf8.count)
          }
        }
      }
    }
    return starts.contains(letters.count)
  }

  private static let vowels = Array("aeiouv".utf8)
  private static let withoutVowels = ["hm", "hng", "m", "n", "ng"]

  package private(set) var characters: [String: [String]] = [:]
  private var longest = 0

  private init() {
    guard let latin = Transliterator("Han-Latin; Latin-ASCII; Lower") else { return }
    // A character that folding replaces by a different character has no token of its own.
    let all = (0x4E00...0x9FFF as ClosedRange<UInt32>).compactMap(UnicodeScalar.init).map(
      String.init
    )
    .filter { Tokens.unmarked($0).first?.text == $0 }
    let readings = latin.transliterate(all.joined(separator: "\n")).split(
      separator: "\n",
      omittingEmptySubsequences: false
    )
    guard readings.count == all.count else { return }
    for (character, reading) in zip(all, readings) {
      let letters = reading.filter { $0.isASCII && $0.isLetter }
      guard !letters.isEmpty, letters.utf8.count == reading.utf8.count else { continue }
      characters[String(letters), default: []].append(character)
      longest = max(longest, letters.utf8.count)
    }
  }

  /// Returns the ways to divide a word into syllables, with the characters of each syllable.
  ///
  /// Ways with longer first syllables come first.
  ///
  /// - Parameters:
  ///   - word: Letters from a to z.
  ///   - isPrefix: Whether the last syllable may be unfinished.
  ///   - max: The maximum number of ways.
  /// - Returns: The ways; empty for a word that does not consist of syllables.
  func characters(_ word: String, isPrefix: Bool, max: Int) -> [[[String]]] {
    // Keyboards use v for ü.
    let letters = Array(word.utf8.map { $0 == UInt8(ascii: "v") ? UInt8(ascii: "u") : $0 })
    var ways: [[[String]]] = []
    // For each index: whether the letters from this index on cannot be divided into syllables.
    var isDead = Array(repeating: false, count: letters.count + 1)
    func divide(_ start: Int, _ before: [[String]]) {
      guard ways.count < max else { return }
      guard start < letters.count else { return ways.append(before) }
      guard !isDead[start] else { return }
      let count = ways.count
      for length in stride(from: min(longest, letters.count - start), to: 0, by: -1) {
        let syllable = String(decoding: letters[start..<start + length], as: UTF8.self)
        if let found = characters[syllable] { divide(start + length, before + [found]) }
      }
      if isPrefix, start > 0 || letters.count > 1 {
        let rest = String(decoding: letters[start...], as: UTF8.self)
        let found = characters.filter { $0.key.hasPrefix(rest) && $0.key != rest }
        if !found.isEmpty, ways.count < max {
          ways.append(before + [found.sorted { $0.key < $1.key }.flatMap(\.value)])
        }
      }
      if ways.count == count { isDead[start] = true }
    }
    divide(0, [])
    return ways
  }
}

/// A converter from Latin letters to kana.
private final class Romaji: Sendable {
  private let transliterator = Mutex(Transliterator("Latin-Hiragana"))

  /// Returns whether a word ends like romaji and has no letter that romaji lacks.
  static func maySyllables(_ word: String) -> Bool {
    guard let last = word.last, "aeioun".contains(last) else { return false }
    return !word.contains { "lqvx".contains($0) }
  }

  /// Returns whether a word has a vowel for each of its kana but ん and っ, so that it was meant as
  /// romaji.
  static func isSyllables(_ word: String, _ kana: [String]) -> Bool {
    let vowels = word.count { "aeiou".contains($0) }
    let withVowel = kana.count { !["ン", "ッ", "ャ", "ュ", "ョ", "ー"].contains($0) }
    return kana.count > 1 && vowels == withVowel
  }

  /// Returns the tokens of a word in kana, or nil if the word is not romaji.
  func kana(_ word: String) -> [String]? {
    let kana = transliterator.withLock { $0?.transliterate(word) }
    guard let kana, !kana.isEmpty, kana.unicodeScalars.allSatisfy({ $0.value >= 0x3040 }) else {
      return nil
    }
    return Tokens.phrases(kana).first
  }
}

/// A transliteration of ICU, which one thread uses at a time.
@safe private final class Transliterator: @unchecked Sendable {
  // Callers hold a lock, or use the instance on one thread only.
  private let pointer: OpaquePointer

  /// Opens a transliteration, or returns nil if ICU has no transliteration of this name.
  init?(_ name: String) {
    guard let pointer = unsafe unicode_transliterator_open(name) else { return nil }
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe unicode_transliterator_close(pointer)
  }

  /// Returns a text in the other script, or an empty text if memory is short.
  func transliterate(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let address = characters.baseAddress else { return "" }
        var out = Array(repeating: CChar(0), count: 8 * characters.count + 64)
        let count = unsafe unicode_transliterate(
          pointer,
          address,
          Int32(characters.count),
          &out,
          Int32(out.count)
        )
        guard count > 0, count <= out.count else { return "" }
        return String(decoding: out.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
    }
  }
}
