import Glibc

/// `raw-insert`: the floor of the import, the rows alone through SQLite's C API in one process.
enum RawInsert {
  static func run(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let batch = try options.number("batch", default: 1_000)
    let path = try options.text("file")
    for suffix in ["", "-wal", "-shm"] { unsafe unlink(path + suffix) }
    var items = Item.make(count)
    let database = try Database(path)
    try database.execute("PRAGMA journal_mode = WAL")
    try database.execute("PRAGMA synchronous = FULL")
    try database.execute("CREATE TABLE Item (id INTEGER PRIMARY KEY, \(Item.columns))")
    let insert = try database.prepare(
      "INSERT INTO Item (name, count, size, done, weight, text) VALUES (?, ?, ?, ?, ?, ?)"
    )

    let start = ContinuousClock.now
    for batchStart in stride(from: 0, to: count, by: batch) {
      try database.execute("BEGIN IMMEDIATE")
      for index in batchStart..<min(batchStart + batch, count) {
        insert.bind(&items[index].name, at: 1)
        insert.bind(items[index].count, at: 2)
        insert.bind(Int64(items[index].size), at: 3)
        insert.bind(items[index].done ? 1 as Int64 : 0, at: 4)
        insert.bind(items[index].weight, at: 5)
        insert.bind(&items[index].text, at: 6)
        try insert.run()
      }
      try database.execute("COMMIT")
    }
    let elapsed = ContinuousClock.now - start

    var report = Report()
    report.add("count", Double(count))
    report.add("seconds", elapsed.seconds)
    report.add("rowsPerSecond", Double(count) / elapsed.seconds)
    return report
  }
}
