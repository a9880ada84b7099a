import CSpotlight
import Glibc

/// `fts`: Latin text into an FTS5 table that keeps no text, by one tokenizer.
enum FullText {
  static func run(_ options: Options) throws -> Report {
    let tokenizer = options.text("tokenizer", default: "unicode61")
    guard tokenizer.allSatisfy({ $0.isLetter || $0.isNumber }) else {
      throw BenchmarkError("No tokenizer is called \(tokenizer)")
    }
    let path = try options.text("file")
    for suffix in ["", "-journal"] { unsafe unlink(path + suffix) }
    var documents = documents(byteCount: try options.number("megabytes", default: 20) * 1_000_000)
    let byteCount = documents.reduce(0) { $0 + $1.utf8.count }
    let database = try Database(path)
    // Waiting for the disk is the same for every tokenizer and would hide their difference.
    try database.execute("PRAGMA synchronous = OFF")
    // A writer of the index also collects the words of its documents.
    guard let words = unsafe spotlight_words_create() else {
      throw BenchmarkError("There is no memory for words")
    }
    defer { unsafe spotlight_words_free(words) }
    try unsafe database.extend { unsafe spotlight_register($0, words) }
    try database.execute(
      "CREATE VIRTUAL TABLE document USING fts5(text, content = '', tokenize = '\(tokenizer)')"
    )
    let insert = try database.prepare("INSERT INTO document (rowid, text) VALUES (?, ?)")

    let start = ContinuousClock.now
    try database.execute("BEGIN IMMEDIATE")
    for index in documents.indices {
      insert.bind(Int64(index + 1), at: 1)
      insert.bind(&documents[index], at: 2)
      try insert.run()
    }
    try database.execute("COMMIT")
    let elapsed = ContinuousClock.now - start

    var report = Report()
    report.add("bytes", Double(byteCount))
    report.add("seconds", elapsed.seconds)
    report.add("megabytesPerSecond", Double(byteCount) / 1e6 / elapsed.seconds)
    return report
  }

  private static func documents(byteCount: Int) -> [String] {
    var sample = SampleText(seed: 3)
    var documents: [String] = []
    var total = 0
    while total < byteCount {
      documents.append(sample.sentences(byteCount: 190))
      total += documents[documents.count - 1].utf8.count
    }
    return documents
  }
}
