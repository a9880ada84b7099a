import CWords
import Glibc
import JSON

/// `words`: the documents of `cordial import` into an FTS5 table that keeps no text, by the words of
/// ICU alone.
enum WordIndex {
  static func run(_ options: Options) throws -> Report {
    let path = try options.text("file")
    for suffix in ["", "-journal"] { unsafe unlink(path + suffix) }
    let lines = try Files.lines(of: options.text("documents"))
    var documents = try lines.map { line -> (title: String, body: String) in
      let bytes = Array(line.utf8)
      let values = try JSONParser.parse(bytes.span)["values"]
      guard let title = values?["title"]?.string, let body = values?["body"]?.string else {
        throw BenchmarkError("A document has no title or no body")
      }
      return (title, body)
    }
    let byteCount = documents.reduce(0) { $0 + $1.title.utf8.count + $1.body.utf8.count }
    let database = try Database(path)
    try unsafe database.extend { unsafe words_register($0) }

    let start = ContinuousClock.now
    try database.execute(
      """
      BEGIN;
      CREATE VIRTUAL TABLE document USING
        fts5(title, body, content = '', tokenize = 'icu_words')
      """
    )
    let insert = try database.prepare("INSERT INTO document(rowid, title, body) VALUES (?, ?, ?)")
    for index in documents.indices {
      insert.bind(Int64(index + 1), at: 1)
      insert.bind(&documents[index].title, at: 2)
      insert.bind(&documents[index].body, at: 3)
      try insert.run()
    }
    try database.execute("COMMIT")
    let elapsed = ContinuousClock.now - start

    let size =
      try database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size")
    var report = Report()
    report.add("textBytes", Double(byteCount))
    report.add("bytes", Double(size))
    report.add("megabytesPerSecond", Double(byteCount) / 1e6 / elapsed.seconds)
    return report
  }
}
