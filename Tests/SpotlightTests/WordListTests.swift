import ObjectModel
import Spotlight
import TestSeeds
import Testing

/// The words of an index in memory, compared with plain searches of an array.
@Suite struct `Words of an index in memory` {
  /// Returns a random word of few different letters, of one, two and four bytes.
  private static func word(_ random: inout SplitMix64) -> String {
    let letters: [Character] = ["a", "b", "c", "é", "𝐋"]
    let count = Int.random(in: 1...9, using: &random)
    return String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" })
  }

  /// Returns a list to which the words were added in portions.
  private static func list(_ words: [String], _ random: inout SplitMix64) -> WordList {
    let shuffled = words.shuffled(using: &random)
    let first = Int.random(in: 0...shuffled.count, using: &random)
    let sorted = shuffled.prefix(first).map { Array($0.utf8) }
      .sorted { $0.lexicographicallyPrecedes($1) }
    var list = WordList(SortedWords(sorted))
    var rest = shuffled.dropFirst(first)
    while !rest.isEmpty {
      let portion = rest.prefix(Int.random(in: 1...700, using: &random))
      // A portion may have words that are known.
      let known = shuffled.prefix(3)
      list.add((portion + known).map { Array($0.utf8) })
      rest = rest.dropFirst(portion.count)
    }
    return list
  }

  @Test(arguments: Seeds.first(3))
  func `are found as in an array, however they were added`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let count = [0, 1, 127, 128, 129, 500, 4000].randomElement(using: &random) ?? 0
    let words = Array(Set((0..<count).map { _ in Self.word(&random) })).sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    let list = Self.list(words, &random)
    #expect(list.parts.map(\.count).reduce(0, +) == words.count, "\(Seeds.repeating(seed))")
    for _ in 0..<200 {
      let typed = Self.word(&random)
      #expect(
        list.contains(typed.utf8) == words.contains(typed),
        "\(typed). \(Seeds.repeating(seed))"
      )
      let containing = words.filter { word in
        Array(word.utf8).dropFirst().firstRange(of: Array(typed.utf8)) != nil
      }
      .sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
      #expect(Set(list.containing(typed)) == Set(containing), "\(typed). \(Seeds.repeating(seed))")
      #expect(
        list.containing(typed).map(\.utf8.count) == containing.map(\.utf8.count),
        "\(typed). \(Seeds.repeating(seed))"
      )
      #expect(
        list.inflections(of: typed)
          == WordList(SortedWords(words.map { Array($0.utf8) })).inflections(of: typed),
        "\(typed). \(Seeds.repeating(seed))"
      )
    }
  }

  @Test(arguments: Seeds.first(3))
  func `differ by as many mistakes as the distance says`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let words = Array(Set((0..<1500).map { _ in Self.word(&random) }))
    let list = Self.list(words, &random)
    for _ in 0..<20 {
      let typed = Self.word(&random)
      let mistakesMax = Int.random(in: 1...2, using: &random)
      let search = MistakeSearch(typed, mistakesMax: mistakesMax, isPrefix: false)
      let distances = words.map { ($0, Self.distance(Array($0), Array(typed))) }
      let expected = distances.filter { (1...mistakesMax).contains($0.1) }.map(\.0)
      #expect(
        Set(search.near(list).map(\.text)) == Set(expected),
        "\(typed). \(Seeds.repeating(seed))"
      )
      // With a prefix, a word's beginning counts, and no beginning occurs twice.
      let near = MistakeSearch(typed, mistakesMax: mistakesMax, isPrefix: true).near(list)
      #expect(Set(near.map(\.text)).count == near.count, "\(typed). \(Seeds.repeating(seed))")
      for word in words {
        let least = (0...word.count).map { Self.distance(Array(word.prefix($0)), Array(typed)) }
          .min()
        let isNear = near.contains { word.hasPrefix($0.text) }
        #expect(
          isNear == ((least ?? 9) <= mistakesMax),
          "\(typed), \(word). \(Seeds.repeating(seed))"
        )
      }
    }
  }

  /// Returns the least number of letters that are added, removed, replaced or exchanged with the
  /// next one, no letter twice.
  private static func distance(_ first: [Character], _ second: [Character]) -> Int {
    var rows = [Array(0...second.count)]
    for (row, letter) in first.enumerated() {
      var costs = [row + 1]
      for (column, other) in second.enumerated() {
        var cost = min(
          rows[row][column] + (letter == other ? 0 : 1),
          rows[row][column + 1] + 1,
          costs[column] + 1
        )
        if row > 0, column > 0, first[row - 1] == other, letter == second[column - 1] {
          cost = min(cost, rows[row - 1][column - 1] + 1)
        }
        costs.append(cost)
      }
      rows.append(costs)
    }
    return rows[first.count][second.count]
  }

  // Evidence: P-091g
  @Test(arguments: Seeds.first(3))
  func `have the inflections that the stems of all words name`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let language = random.pick(["english", "de", "fr", "russian", "nl", "tr"])
    let stemmer = try #require(Stemmer(language: language))
    let endings = ["", "s", "es", "ies", "y", "ing", "en", "er", "ement", "lar", "ами", "ой", "t"]
    let beginnings = ["work", "fl", "haus", "chang", "boek", "kita", "книг", "l", "stud", "run"]
    let words = Array(
      Set((0..<400).map { _ in random.pick(beginnings) + random.pick(endings) })
    )
    let list = Self.list(words, &random)
    for typed in words {
      let stem = stemmer.stem(typed.utf8)
      let letters = Array(typed.unicodeScalars)
      let shared = zip(letters, String(decoding: stem, as: UTF8.self).unicodeScalars)
        .prefix { $0 == $1 }.count
      let beginning = letters.prefix(max(shared - 2, 2))
      let expected = words.filter { word in
        word != typed && stemmer.stem(word.utf8) == stem
          && word.unicodeScalars.starts(with: beginning)
      }
      #expect(
        list.inflections(of: typed, stemmer) == expected.sorted(),
        "\(typed) in \(language). \(Seeds.repeating(seed))"
      )
    }
  }

  // Evidence: P-091e
  @Test func `may be pinyin wherever the table has a way to divide them`() {
    let syllables = Pinyin.shared.characters.keys.sorted()
    #expect(syllables.count > 350)
    for first in syllables {
      for second in syllables {
        let word = first + second
        #expect(Pinyin.maySyllables(word), "\(word)")
        #expect(Pinyin.maySyllables(String(word.dropLast())), "\(word)")
      }
    }
    for word in ["wrod", "string", "tools", "stream", "the", "table", "class"] {
      #expect(!Pinyin.maySyllables(word), "\(word)")
    }
  }
}
