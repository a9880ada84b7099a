/// `search-model`, `search-fill`: a store of notes for the rows about search, and the same texts in
/// an FTS5 table of SQLite's own.
enum SearchCorpus {
  /// The number of words that stand in few notes each.
  private static let rareCount = 100_000

  /// Writes the model of the store.
  static func model(_ options: Options) throws -> Report {
    let text = """
      {"name": "Searching", "entities": [
        {"name": "Note", "attributes": [
           {"name": "title", "type": "string"}, {"name": "body", "type": "string"},
           {"name": "kind", "type": "int64"}, {"name": "part", "type": "int64"},
           {"name": "count", "type": "int64"}],
         "indexes": [["part"]],
         "spotlight": {"displayName": "title", "attributes": {"title": 2, "body": 1}}}]}

      """
    try Files.write(text, to: options.text("file"))
    return Report()
  }

  /// A word of few notes.
  static func rareWord(_ number: Int) -> String {
    var random = SeededRandom(seed: UInt64(number))
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    let word = (0..<6 + number % 4).map { _ in String(letters[random.below(26)]) }.joined()
    return word + String(letters[number % 26])
  }

  /// Fills the store, which nobody serves, and the table of the peer.
  static func fill(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let store = try Database(options.text("file"))
    let peer = try Database(options.text("peer"))
    try peer.execute(
      """
      PRAGMA synchronous=OFF; BEGIN;
      CREATE VIRTUAL TABLE note USING fts5(title, body, content='', tokenize='unicode61')
      """
    )
    try store.execute("PRAGMA synchronous=OFF; BEGIN")
    let insert = try store.prepare(
      "INSERT INTO Note(title, body, kind, part, count) VALUES (?, ?, ?, ?, 0)"
    )
    let other = try peer.prepare("INSERT INTO note(rowid, title, body) VALUES (?, ?, ?)")
    var sample = SampleText(seed: 7)
    var bytes = 0
    for number in 0..<count {
      var title = sample.title(wordCount: 2) + " " + rareWord(number % rareCount)
      var body = sample.sentences(byteCount: 200)
      if number % 4 == 0 { body += " quarterly" }
      bytes += title.utf8.count + body.utf8.count
      insert.bind(&title, at: 1)
      insert.bind(&body, at: 2)
      insert.bind(Int64(number % 7), at: 3)
      insert.bind(Int64(number % 100), at: 4)
      try insert.run()
      other.bind(Int64(number + 1), at: 1)
      other.bind(&title, at: 2)
      other.bind(&body, at: 3)
      try other.run()
    }
    try store.execute("COMMIT")
    try peer.execute("COMMIT")
    var report = Report()
    report.add("bytes", Double(bytes))
    return report
  }

  /// The queries of a kind.
  ///
  /// - Parameters:
  ///   - kind: `two`: words that some note has; `quarter`: a word of every fourth note; `common` and
  ///     `or`: two of the most common words; `letter` and `three`: the beginning of a word; `fuzzy`:
  ///     two words with a mistake each.
  ///   - count: Their number.
  ///   - notes: The number of notes.
  /// - Returns: The texts of the queries.
  /// - Throws: `BenchmarkError` for another kind.
  static func queries(
    _ kind: String,
    count: Int,
    notes: Int = .max
  ) throws -> [String] {
    var sample = SampleText(seed: 11)
    var random = SeededRandom(seed: 13)
    func mistyped(_ number: Int) -> String {
      var letters = Array(rareWord(number))
      letters.swapAt(2, 3)
      return String(letters)
    }
    return try (0..<count).map { index in
      switch kind {
      case "two": sample.title(wordCount: 2).lowercased()
      case "quarter": "quarterly"
      case "common": "\(sample.commonWord()) \(sample.commonWord())"
      case "or": "\(sample.commonWord()) OR \(sample.commonWord())"
      case "letter": String(Array("abcdefghijklmnopqrstuvwxyz")[index % 26])
      case "three": String(rareWord(random.below(rareCount)).prefix(3))
      // Every fourth note has the other word.
      case "fuzzy": "\(mistyped(4 * random.below(min(rareCount, notes) / 4))) quartrely"
      default: throw BenchmarkError("No kind of query is called \(kind)")
      }
    }
  }
}
