import PersistentHistory
import PersistentStore
import SQLite
import TestStores
import Testing

@Suite struct `The tables of an earlier commit` {
  private static func reader(of store: TestStore) throws -> SQLiteQueue {
    var options = SQLiteQueue.Options()
    options.isReadOnly = true
    return try SQLiteQueue(path: store.store.container.storePath, options)
  }

  /// A scan of all changed rows for each row of a large table takes minutes.
  //
  // Evidence: P-057c
  @Test func `find the changed rows by their keys`() async throws {
    let store = try TestStore(TestModels.todo)
    let former = try store.snapshot { $0.head }
    try await store.save(
      #"{"insert":[{"id":"Task/t1","values":{"labels":["Label/t1"]}},{"id":"Label/t1"}]}"#
    )
    let newest = try store.snapshot { $0.head }
    let queue = try Self.reader(of: store)
    try queue.use { db in
      let past = PastTables(db, model: store.store.model)
      try past.hide(after: former.lastChange, of: newest)
      func plan(_ sql: String) throws -> [String] {
        try db.rows("EXPLAIN QUERY PLAN " + sql) { $0.text(3) }
      }
      let views = try db.rows(
        "SELECT name FROM temp.sqlite_master WHERE type = 'view' AND name <> 'cordial_change'"
      ) { $0.text(0) }
      // Two entities, and the links between them.
      #expect(views.count == 3)
      for view in views {
        let all = try plan("SELECT * FROM \"\(view)\"")
        #expect(all.contains { $0.hasPrefix("SEARCH c USING PRIMARY KEY") }, "\(all)")
        let key = view == "Task" || view == "Label" ? "_id" : "source"
        let one = try plan("SELECT * FROM \"\(view)\" WHERE \"\(key)\" = 1")
        let former = one.filter { $0.contains(" temp.cordial_former ") }
        #expect(former.count == 1 && former[0].hasPrefix("SEARCH"), "\(one)")
      }
      try past.showAll()
    }
    try queue.close()
  }

  /// SQLite rolls back a reading transaction after an error of the disk, and its views with it.
  //
  // Evidence: P-057c
  @Test func `are made again after a rollback`() async throws {
    let store = try TestStore(TestModels.todo)
    try await store.save(#"{"insert":[{"id":"Task/t1","values":{"title":"old"}}]}"#)
    let former = try store.snapshot { $0.head }
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"new"}}]}"#)
    let newest = try store.snapshot { $0.head }
    let queue = try Self.reader(of: store)
    try queue.use { db in
      let past = PastTables(db, model: store.store.model)
      func title() throws -> String? { try db.text("SELECT title FROM Task") }
      for _ in 1...2 {
        try db.begin(.deferred)
        try past.hide(after: former.lastChange, of: newest)
        #expect(try title() == "old")
        try db.rollback()
        past.transactionEnded()
        #expect(try title() == "new")
      }
      try past.showAll()
      #expect(!past.isHiding)
    }
    try queue.close()
  }
}
