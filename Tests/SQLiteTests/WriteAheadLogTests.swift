import Foundation
import SQLite
import TestSeeds
import TestStores
import Testing

@Suite struct `A write-ahead log that other programs change` {
  private let folder: TestFolder
  private var path: String { folder.path + "/test.sqlite" }
  private var log: String { path + "-wal" }

  init() throws {
    folder = try TestFolder()
  }

  private func open(_ isReadOnly: Bool = false) throws -> SQLiteQueue {
    var options = SQLiteQueue.Options()
    options.isReadOnly = isReadOnly
    options.busySecondsMax = 0
    return try SQLiteQueue(path: path, options)
  }

  private func written() throws -> SQLiteQueue {
    let queue = try open()
    try queue.write { db in
      try db.execute("CREATE TABLE item(number INTEGER PRIMARY KEY, value BLOB)")
    }
    for _ in 0..<5 {
      try queue.write { db in try db.execute("INSERT INTO item(value) VALUES (randomblob(3000))") }
    }
    return queue
  }

  /// A way to change the log.
  enum Change: CaseIterable {
    case empty, shorten, magic, header, headerSum, lastFrame, lastPage, everything
  }

  private func apply(_ change: Change) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: log))
    defer { do { try file.close() } catch {} }
    let size = try file.seekToEnd()
    let content = try Data(contentsOf: URL(fileURLWithPath: log))
    switch change {
    case .empty: try file.truncate(atOffset: 0)
    case .shorten: try file.truncate(atOffset: size - 1)
    case .magic: try overwrite(file, content, 0..<1)
    case .header: try overwrite(file, content, 16..<17)
    case .headerSum: try overwrite(file, content, 24..<25)
    case .lastPage: try overwrite(file, content, Int(size) - 1..<Int(size))
    case .lastFrame:
      let frame = Int(size) - (24 + 4096)
      try overwrite(file, content, frame + 20..<frame + 21)
    case .everything: try overwrite(file, content, 0..<Int(size))
    }
  }

  private func overwrite(_ file: FileHandle, _ content: Data, _ range: Range<Int>) throws {
    try file.seek(toOffset: UInt64(range.lowerBound))
    try file.write(contentsOf: Data(content[range].map { ~$0 }))
  }

  @Test(arguments: Change.allCases)
  func `is refused by each transaction that writes, and kept`(change: Change) throws {
    let queue = try written()
    let database = try Data(contentsOf: URL(fileURLWithPath: path))
    try apply(change)
    let changed = try Data(contentsOf: URL(fileURLWithPath: log))
    for _ in 0..<2 {
      let error = #expect(throws: SQLiteError.self) {
        try queue.write { db in try db.execute("DELETE FROM item") }
      }
      #expect(error?.code == .corrupt)
      let refused = #expect(throws: SQLiteError.self) {
        try queue.use { db in try db.checkpoint() }
      }
      #expect(refused?.code == .corrupt)
      #expect(try queue.use { db in db.isInTransaction } == false)
    }
    try queue.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == database)
    #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == changed)
  }

  @Test func `is found by the paths of the files`() throws {
    for suffix in ["", "-wal", "-shm"] {
      for change in ["remove", "replace", "empty"] where suffix != "-wal" || change != "empty" {
        try FileManager.default.removeItem(atPath: folder.path)
        try FileManager.default.createDirectory(
          atPath: folder.path,
          withIntermediateDirectories: false
        )
        let queue = try written()
        let files = OpenedFiles(path)
        #expect(files.changedPath == nil)
        #expect(files.sharesLog)
        let changed = path + suffix
        let content = try Data(contentsOf: URL(fileURLWithPath: changed))
        if change == "empty" {
          #expect(unsafe truncate(changed, 0) == 0)
        } else {
          // Otherwise the new file may get the number of the removed one.
          try FileManager.default.moveItem(atPath: changed, toPath: folder.path + "/moved")
        }
        if change == "replace" { try content.write(to: URL(fileURLWithPath: changed)) }
        #expect(files.changedPath == changed)
        #expect(files.isCurrent == (suffix != "" || change == "empty"))
        #expect(files.sharesLog == (suffix != "-shm" || change == "remove"))
        if change == "empty", suffix == "-shm" {
          // SQLite has mapped the file, and reads it when it is closed.
          #expect(unsafe truncate(changed, off_t(content.count)) == 0)
        }
        withExtendedLifetime(queue) {}
      }
    }
  }

  /// Another process makes the file as long as it was, so that nothing but its content differs.
  @Test(arguments: [(0, 5), (4096, 5), (16384, 5), (32768, 6000)])
  func `is found where the shared file lost a part`(length: Int, frames: Int) throws {
    let queue = try written()
    try queue.use { db in try db.execute("PRAGMA wal_autocheckpoint=0") }
    if frames > 5 {
      try queue.write { db in
        try db.execute("INSERT INTO item(value) VALUES (randomblob(?))", [Int64(frames * 4096)])
      }
    }
    let files = OpenedFiles(path)
    #expect(files.changedPath == nil)
    let shared = path + "-shm"
    let size = try Data(contentsOf: URL(fileURLWithPath: shared)).count
    #expect(size == (frames > 5 ? 65536 : 32768))
    #expect(unsafe truncate(shared, off_t(length)) == 0)
    #expect(unsafe truncate(shared, off_t(size)) == 0)
    #expect(files.changedPath == nil)
    // SQLite itself rebuilds an index without a header.
    if length == 0 {
      try queue.write { db in try db.execute("DELETE FROM item") }
    } else {
      let error = #expect(throws: SQLiteError.self) {
        try queue.write { db in try db.execute("DELETE FROM item") }
      }
      #expect(error?.code == .corrupt)
    }
  }

  /// A row changes the first pages of the file, and the table's last one.
  @Test func `is found where the file lost pages, of which the log has the first`() throws {
    let queue = try written()
    #expect(try queue.use { db in try db.emptyLog() })
    try queue.write { db in try db.execute("INSERT INTO item(value) VALUES (randomblob(3000))") }
    try queue.write { db in try db.execute("UPDATE item SET value = NULL WHERE number = 6") }
    #expect(unsafe truncate(path, 4096) == 0)
    let error = try #require(throws: SQLiteError.self) {
      try queue.write { db in try db.execute("DELETE FROM item") }
    }
    #expect(error.code == .corrupt)
  }

  /// A file that grows between the looks of two threads was not shortened.
  @Test func `is not found where the shared file grows`() async throws {
    let queue = try written()
    try queue.use { db in try db.execute("PRAGMA wal_autocheckpoint=0") }
    let files = OpenedFiles(path)
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<20_000 { try #require(files.sharesLog) }
        }
      }
      for _ in 0..<12 {
        try queue.write { db in
          try db.execute("INSERT INTO item(value) VALUES (randomblob(?))", [Int64(4096 * 4096)])
        }
      }
      try await group.waitForAll()
    }
    let size = try Data(contentsOf: URL(fileURLWithPath: path + "-shm")).count
    #expect(size > 8 * 32768)
    #expect(files.changedPath == nil)
  }

  @Test func `is found once and always`() throws {
    let queue = try written()
    let moved = folder.path + "/moved"
    for suffix in ["", "-wal", "-shm"] {
      let files = OpenedFiles(path)
      try FileManager.default.moveItem(atPath: path + suffix, toPath: moved)
      #expect(files.changedPath == path + suffix)
      #expect(files.lacksOnlyLog == (suffix == "-wal"))
      try FileManager.default.moveItem(atPath: moved, toPath: path + suffix)
      #expect(files.changedPath == path + suffix)
      #expect(!files.lacksOnlyLog)
    }
    withExtendedLifetime(queue) {}
  }

  @Test func `is found beside the file to which a symbolic link leads`() throws {
    let queue = try written()
    let link = folder.path + "/link.sqlite"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let files = OpenedFiles(link)
    #expect(files.changedPath == nil)
    try FileManager.default.removeItem(atPath: log)
    #expect(files.changedPath?.hasSuffix("test.sqlite-wal") == true)
    withExtendedLifetime(queue) {}
  }

  /// Whatever SQLite's connections do with the log, none of them takes it for a changed one.
  @Test(arguments: Seeds.first(30))
  func `differs from one that connections write, empty and begin again`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let pageBytes = [512, 1024, 4096, 32768, 65536][random.below(5)]
    let first = try open()
    try first.use { db in
      try db.execute("PRAGMA journal_mode=DELETE; PRAGMA page_size=\(pageBytes); VACUUM")
      try db.execute("PRAGMA journal_mode=WAL")
      try db.execute("CREATE TABLE item(number INTEGER PRIMARY KEY, value BLOB)")
    }
    var queues = [first, try open(), try open(true)]
    // Otherwise no log has so many frames that its index has several parts.
    if random.oneIn(2) {
      for queue in queues { try queue.use { db in try db.execute("PRAGMA wal_autocheckpoint=0") } }
    }
    var expected: Int64 = 0
    for _ in 0..<120 {
      let index = random.below(2)
      let queue = queues[index]
      do {
        switch random.below(11) {
        case 0: try queue.use { db in try db.execute("PRAGMA wal_checkpoint(PASSIVE)") }
        case 1: try queue.use { db in try db.execute("PRAGMA wal_checkpoint(RESTART)") }
        case 2: try queue.use { db in try db.checkpoint() }
        case 3: try queue.use { db in try db.execute("VACUUM") }
        case 4:
          // The cache is too small for the pages, which go to the log before the rollback.
          try queue.use { db in
            try db.execute("PRAGMA cache_size=5")
            try db.begin(.immediate)
            for _ in 0..<40 {
              try db.execute("INSERT INTO item(value) VALUES (randomblob(?))", [Int64(3000)])
            }
            try db.rollback()
          }
        case 5:
          queues[index] = try open()
          try queue.close()
        case 6:
          try queues[2].use { db in
            try db.begin(.deferred)
            #expect(try db.integer("SELECT count(*) FROM item") == expected)
            try queue.write { db in try db.execute("INSERT INTO item(value) VALUES ('')") }
            expected += 1
            // The reader keeps it from the newest pages.
            try queue.use { db in try db.execute("PRAGMA wal_checkpoint(PASSIVE)") }
            try queue.write { db in
              try db.execute("INSERT INTO item(value) VALUES (randomblob(?))", [Int64(200_000)])
            }
            expected += 1
            try db.rollback()
          }
        case 7:
          // Pages at the end of the file are new and free at once.
          try queue.write { db in
            try db.execute("INSERT INTO item(number, value) VALUES (-1, randomblob(100000))")
            try db.execute("DELETE FROM item WHERE number = -1")
          }
        case 8:
          try queue.write { db in
            try db.execute("DELETE FROM item WHERE number % 7 = 0")
            expected = try db.integer("SELECT count(*) FROM item") ?? -1
          }
        default:
          let bytes = Int64(random.below(20_000))
          let count = 1 + random.below(20)
          try queue.write { db in
            for _ in 0..<count {
              try db.execute("INSERT INTO item(value) VALUES (randomblob(?))", [bytes])
            }
          }
          expected += Int64(count)
        }
      } catch let error as SQLiteError where error.code == .busy || error.code == .locked {
        continue
      }
    }
    for queue in queues {
      #expect(
        try queue.use { db in try db.integer("SELECT count(*) FROM item") } == expected,
        "\(Seeds.repeating(seed))"
      )
    }
  }
}
