import SQLite
import TestStores
import Testing

/// SQLite reads bytes, and a quote is a byte, whatever character Swift sees in it.
@Suite struct `Texts and names in SQL` {
  private static let texts = [
    "", "plain", "'", "\"", "''", "it's", "a\"b", "'\u{301}", "\"\u{301}", "x'\u{200D}y",
    "x\"\u{200D}y\"", "'\u{FE0F}\"\u{20E3}", "'\u{301} OR 1 --", "\r\n'", "a\\'",
  ]

  @Test(arguments: texts)
  func `are the same texts and names after SQLite has read them`(text: String) throws {
    let folder = try TestFolder()
    let queue = try SQLiteQueue(path: folder.path + "/test.sqlite", SQLiteQueue.Options())
    try queue.use { db in
      let read = try db.text("SELECT \(SQLNames.literal(text))")
      #expect(read.map { Array($0.utf8) } == Array(text.utf8))
      guard !text.isEmpty else { return }
      try db.execute("CREATE TABLE item(\(SQLNames.quoted(text)) TEXT)")
      let name = try db.text("SELECT name FROM pragma_table_info('item')")
      #expect(name.map { Array($0.utf8) } == Array(text.utf8))
    }
  }
}
