import Foundation

/// A forgiving search over the words of documents, from the clauses P-091f to P-091i.
///
/// The words are of lower-case ASCII letters, so that each is one token.
struct ForgivingModel {
  /// The words of each column of the documents, by number.
  let documents: [Int64: [[String]]]

  /// What a word of the query matches.
  private struct Word {
    let text: String
    let isOpen: Bool
    var joined: [String] = []
  }

  private func columns(with matches: ([String]) -> Bool) -> Set<Int64> {
    Set(documents.filter { $0.value.contains(where: matches) }.keys)
  }

  private func numbers(with matches: (String) -> Bool) -> Set<Int64> {
    columns(with: { $0.contains(where: matches) })
  }

  private var words: Set<String> { Set(documents.values.joined().joined()) }

  /// Returns the numbers of the documents of each class.
  func classes(_ query: [String]) -> [Set<Int64>] {
    let typed = query.enumerated().map { Word(text: $1, isOpen: $0 == query.count - 1) }
    let first = all(typed.map(exact))
    var replaced = typed.flatMap { word in
      let parts = replacement(word)
      return parts.enumerated().map { index, part in
        Word(text: part, isOpen: word.isOpen && index == parts.count - 1)
      }
    }
    for count in 2...3 where count <= replaced.count {
      for start in 0...replaced.count - count {
        let text = replaced[start..<start + count].map(\.text).joined()
        guard words.contains(where: { $0.hasPrefix(text) }) else { continue }
        for index in start..<start + count { replaced[index].joined.append(text) }
      }
    }
    let formed = replaced.map { union(forms($0)) }
    let mistaken = replaced.map { union(mistakes($0)) }
    let second = all(replaced.indices.map { exact(replaced[$0]).union(formed[$0]) })
    let third = all(
      replaced.indices.map { exact(replaced[$0]).union(formed[$0]).union(mistaken[$0]) }
    )
    let classes = [first, second.subtracting(first), third.subtracting(first).subtracting(second)]
    let found = first.union(second).union(third)
    return classes + [query.count > 1 ? most(replaced, found: found) : []]
  }

  private func most(_ words: [Word], found: Set<Int64>) -> Set<Int64> {
    var weights: [Double] = []
    var matches: [Set<Int64>] = []
    for word in words {
      let typed = exact(word)
      let others = forms(word) + mistakes(word)
      let count = typed.isEmpty ? others.map(\.count).max() ?? 0 : typed.count
      let all = Double(documents.count), part = Double(count)
      let frequency = ((all - part + 0.5) / (part + 0.5)).logarithm
      weights.append(count == 0 ? 0 : max(0.01, frequency))
      matches.append(typed.count >= 10 ? typed : typed.union(union(others)))
    }
    let least = weights.reduce(0, +) / 2
    guard least > 0 else { return [] }
    return Set(
      documents.keys.filter { number in
        let sum = zip(weights, matches).reduce(0) { $1.1.contains(number) ? $0 + $1.0 : $0 }
        return sum >= least && !found.contains(number)
      }
    )
  }

  private func all(_ sets: [Set<Int64>]) -> Set<Int64> {
    sets.dropFirst().reduce(sets.first ?? []) { $0.intersection($1) }
  }

  private func union(_ sets: [Set<Int64>]) -> Set<Int64> { sets.reduce([]) { $0.union($1) } }

  private func exact(_ word: Word) -> Set<Int64> {
    numbers { word.isOpen ? $0.hasPrefix(word.text) : $0 == word.text }
  }

  /// Returns the documents of each form of a word.
  private func forms(_ word: Word) -> [Set<Int64>] {
    let text = word.text
    var sets: [Set<Int64>] = []
    if text.count >= 3, !word.isOpen { sets.append(numbers { $0.hasPrefix(text) }) }
    sets.append(numbers { Self.areInflected(text, $0) })
    if text.count >= 4 { sets.append(numbers { $0.dropFirst().contains(text) }) }
    for split in splits(text).prefix(3) {
      sets.append(
        columns { column in
          column.indices.contains { column[$0...].prefix(split.count).elementsEqual(split) }
        }
      )
    }
    let spellings = Self.spellings(text).subtracting([text])
    sets.append(numbers { spellings.contains($0) })
    for joined in word.joined { sets.append(numbers { $0.hasPrefix(joined) }) }
    return sets
  }

  private func mistakes(_ word: Word) -> [Set<Int64>] {
    guard exact(word).count < 10 else { return [] }
    let most = Self.mistakesMax(word.text)
    return (1...2).map { count in
      guard count <= most else { return [] }
      return numbers { Self.distance(word.text, $0, isPrefix: word.isOpen) == count }
    }
  }

  /// Returns the words that replace a word, or the word alone.
  private func replacement(_ word: Word) -> [String] {
    let text = word.text
    let begins = text.count >= 3 || word.isOpen
    let isKnown = words.contains { begins ? $0.hasPrefix(text) : $0 == text }
    let most = Self.mistakesMax(text)
    let isNear = words.contains {
      (1...2).contains(Self.distance(text, $0, isPrefix: word.isOpen)) && most > 0
        && Self.distance(text, $0, isPrefix: word.isOpen) <= most
    }
    guard !isKnown, !isNear, let split = splits(text).first else { return [text] }
    return split
  }

  /// Returns the ways to split a word, the best first.
  private func splits(_ text: String) -> [[String]] {
    guard text.count >= 6 else { return [] }
    for count in 2...3 {
      let ways = Self.divisions(text, count).filter { $0.allSatisfy(words.contains) }
      guard !ways.isEmpty else { continue }
      func weight(_ way: [String]) -> Int {
        let rarest = way.map { part in numbers { $0 == part }.count }.min() ?? 0
        let shortest = way.map(\.count).min() ?? 0
        return rarest * shortest * shortest
      }
      return ways.sorted { first, second in
        weight(first) != weight(second)
          ? weight(first) > weight(second) : first.lexicographicallyPrecedes(second)
      }
    }
    return []
  }

  private static func divisions(_ text: String, _ count: Int) -> [[String]] {
    guard count > 1 else { return text.count >= 3 ? [[text]] : [] }
    guard text.count >= 3 * count else { return [] }
    return (3...text.count - 3 * (count - 1)).flatMap { length in
      divisions(String(text.dropFirst(length)), count - 1).map {
        [String(text.prefix(length))] + $0
      }
    }
  }

  /// Returns the spellings of a word with some of `ae`, `oe` and `ue` as one letter.
  private static func spellings(_ text: String) -> Set<String> {
    guard let first = text.first else { return [""] }
    let rest = spellings(String(text.dropFirst())).map { String(first) + $0 }
    guard "aou".contains(first), text.dropFirst().first == "e" else { return Set(rest) }
    return Set(rest + spellings(String(text.dropFirst(2))).map { String(first) + $0 })
  }

  static func mistakesMax(_ word: String) -> Int {
    word.count >= 8 ? 2 : word.count >= 4 ? 1 : 0
  }

  private static func areInflected(_ word: String, _ other: String) -> Bool {
    let shared = zip(word, other).prefix { $0 == $1 }.count
    guard shared < word.count else { return false }
    func length(_ text: String) -> Int {
      let ending = text.dropFirst(shared)
      let isDoubled = ending.count > 1 && ending.first == text.prefix(shared).last
      return ending.count - (isDoubled ? 1 : 0)
    }
    let (typed, found) = (length(word), length(other))
    guard typed <= 3, found <= 3, typed + found <= 4 else { return false }
    return shared >= 4 || other.count == shared && shared == 3
  }

  /// The count of typing mistakes between two words, or between a word and a beginning of the
  /// other word; no letter has two mistakes.
  static func distance(_ word: String, _ other: String, isPrefix: Bool) -> Int {
    let (first, second) = (Array(word), Array(other))
    var rows = [Array(0...first.count)]
    for (row, letter) in second.enumerated() {
      var next = [row + 1]
      for (column, wanted) in first.enumerated() {
        var cost = min(rows[row][column] + (wanted == letter ? 0 : 1), rows[row][column + 1] + 1)
        cost = min(cost, next[column] + 1)
        if row > 0, column > 0, first[column - 1] == letter, wanted == second[row - 1] {
          cost = min(cost, rows[row - 1][column - 1] + 1)
        }
        next.append(cost)
      }
      rows.append(next)
    }
    guard isPrefix else { return rows[second.count][first.count] }
    // The shortest beginning that is near enough stands for all words with it.
    let costs = rows.dropFirst().map { $0[first.count] }
    return costs.first { $0 <= mistakesMax(word) } ?? costs.min() ?? first.count
  }
}

extension Double {
  /// The natural logarithm.
  fileprivate var logarithm: Double { Foundation.log(self) }
}
