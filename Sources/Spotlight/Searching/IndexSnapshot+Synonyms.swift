import Interruptions
import SQLite

/// The synonyms of a query's words that a forgiving search also finds.
extension IndexSnapshot {
  /// The greatest count of synonyms of one word or of successive words, and of words in all
  /// synonyms of a query.
  private static let (synonymsMax, wordsMax) = (50, 1000)

  /// Adds the synonyms of each word and of successive words.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - plain: The offsets of the terms without an operator.
  ///   - words: The words of the index.
  ///   - statements: The statements that find documents.
  /// - Throws: `SQLiteError`; `Interrupted`.
  func addSynonyms(
    to query: inout SearchQuery,
    _ plain: [Int],
    _ words: WordList,
    _ statements: [PreparedStatement]
  ) throws {
    let longest = synonyms.synonyms.longest
    guard longest > 0 else { return }
    let typed = query.required.map { $0.count == 1 ? Tokens.wholes($0[0].text).map(\.text) : [] }
    var room = Self.wordsMax
    for (place, first) in plain.enumerated() {
      var run: [String] = []
      for (offset, index) in plain[place...].enumerated() {
        run += typed[index]
        guard index == first + offset, run.count <= longest else { break }
        let forms = try forms(of: run, words, statements, count: offset + 1, &room)
        for index in first...index where !forms.isEmpty { query.add(forms, to: index) }
      }
    }
  }

  /// Returns whether a document has a synonym of successive words.
  func hasSynonyms(
    _ typed: [String],
    _ words: WordList,
    _ statements: [PreparedStatement]
  ) throws -> Bool {
    var room = Self.wordsMax
    return try !forms(of: typed, words, statements, count: 1, &room).isEmpty
  }

  /// Returns the forms of the first synonyms that documents have.
  ///
  /// - Parameters:
  ///   - typed: The successive words.
  ///   - words: The words of the index.
  ///   - statements: The statements that find documents.
  ///   - count: The count of terms to which the forms are added.
  ///   - room: The count of words that synonyms of the query may still have, which the method
  ///     reduces.
  /// - Returns: The forms; the synonyms of one word are one form.
  /// - Throws: `SQLiteError`; `Interrupted`.
  private func forms(
    of typed: [String],
    _ words: WordList,
    _ statements: [PreparedStatement],
    count: Int,
    _ room: inout Int
  ) throws -> [SearchQuery.Term.Form] {
    var single: [(columns: [String]?, tokens: [String])] = []
    var forms: [SearchQuery.Term.Form] = []
    var found = 0
    for target in synonyms.synonyms.targets(of: typed) where found < Self.synonymsMax {
      try interruption?.check()
      var isFound = false
      for phrase in Tokens.phrases(target.key) where phrase.count * count <= room {
        // The documents that a past snapshot adds may have words that the list lacks.
        let mayOccur = phrase.allSatisfy { word in
          !Tokens.isCollected(word) || words.contains(word.utf8)
        }
        guard firstAdded != nil || mayOccur else { continue }
        let form = form(phrase, target.columns)
        guard try isAlive(SearchQuery.expression(form), statements) else { continue }
        isFound = true
        room -= phrase.count * count
        if phrase.count > 1 || Tokens.start(of: phrase[0]) != nil {
          forms.append(form)
        } else if let index = single.firstIndex(where: { $0.columns == target.columns }) {
          single[index].tokens.append(phrase[0])
        } else {
          single.append((target.columns, [phrase[0]]))
        }
      }
      if isFound { found += 1 }
    }
    return forms
      + single.map { columns, tokens in
        var form = form([tokens.joined(separator: Readings.alternative)], columns)
        form.label = typed.joined(separator: " ") + "~"
        return form
      }
  }

  private func form(_ tokens: [String], _ columns: [String]?) -> SearchQuery.Term.Form {
    SearchQuery.Term.Form(tokens: tokens, mistakes: 1, kind: .synonym, columns: columns)
  }
}
