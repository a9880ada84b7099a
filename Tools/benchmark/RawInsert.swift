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
    let insert = try database.prepare(Item.insertion)

    let start = ContinuousClock.now
    for batchStart in stride(from: 0, to: count, by: batch) {
      try database.execute("BEGIN IMMEDIATE")
      for index in batchStart..<min(batchStart + batch, count) {
        insert.bind(&items[index])
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

extension Item {
  /// Inserts an object's attributes into SQLite, which numbers the rows.
  static let insertion =
    "INSERT INTO Item (name, count, size, done, weight, text) VALUES (?, ?, ?, ?, ?, ?)"
}

extension Database.Statement {
  /// Binds what `Item.insertion` inserts.
  func bind(_ item: inout Item) {
    bind(&item.name, at: 1)
    bind(item.count, at: 2)
    bind(Int64(item.size), at: 3)
    bind(item.done ? 1 as Int64 : 0, at: 4)
    bind(item.weight, at: 5)
    bind(&item.text, at: 6)
  }
}
