import CordialService
import CordialValues
import Foundation
import Glibc
import Indexing
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight
import Synchronization
import TestStores
import Testing

@Suite struct `The index follows the log` {
  private func commit(_ index: TestIndex, _ number: Int64, _ title: String?) {
    index.commit([number: title.map { (body: nil, title: $0) }])
  }

  @Test func `updates replace and deletes remove documents in any batches`() async throws {
    for step in [1, 2, 100] {
      let index = try TestIndex()
      let history: [(Int64, String?)] = [
        (1, "milk"), (2, "bread"), (1, "oat milk"), (3, "milk"), (2, nil), (3, nil), (3, "eggs"),
        (2, "bread milk"), (9, nil),
      ]
      for (place, (number, title)) in history.enumerated() {
        commit(index, number, title)
        if place % step == 0 { #expect(await index.catchUp()) }
      }
      #expect(await index.catchUp())
      #expect(try index.found("milk") == [1, 2])
      #expect(try index.found("bread") == [2])
      #expect(try index.found("eggs") == [3])
      #expect(index.index.status.documents == 3)
      #expect(index.index.status.state == .ready)
      #expect(index.index.status.token?.number == index.library.newest)
    }
  }

  // Evidence: P-095c
  @Test func `former documents are dead until a rebuild`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    #expect(index.index.deadFraction == 0)
    for title in ["a", "b", "c", nil] {
      commit(index, 1, title)
      commit(index, 2, "milk")
      #expect(await index.catchUp())
    }
    // Of each object three documents, and one that is alive.
    #expect(index.index.status.documents == 1 && index.index.deadFraction > 0.8)
    try await index.rebuild()
    #expect(index.index.deadFraction == 0)
  }

  /// Otherwise the commit of one document would write the whole index again.
  // Evidence: P-095b
  @Test func `a rebuilt index is a part of a high level`() async throws {
    let index = try TestIndex()
    // A part of one page would be moved to the level of the next one.
    let notes = (1...1000 as ClosedRange<Int64>).map { ($0, (body: "word\($0)", title: "milk")) }
    index.commit(Dictionary(uniqueKeysWithValues: notes).mapValues { .some($0) })
    #expect(await index.catchUp())
    for _ in 0..<2 {
      try await index.rebuild()
      #expect(try parts(index).levels >= 4)
      // What raises it is no document and no word of one.
      #expect(try index.result("smallpart").missing == ["smallpart"])
      #expect(try index.result("small", prefix: true).total == 0)
      #expect(try index.suggestions("sma", entities: nil, limit: 5).isEmpty)
      #expect(index.index.status.documents == 1000 && index.index.deadFraction == 0)
    }
    for number in 1..<60 as Range<Int64> {
      commit(index, number, "changed")
      #expect(await index.catchUp())
    }
    #expect(try parts(index).levels >= 4)
    #expect(try index.found("word60") == [60] && index.found("word59") == [])
    #expect(try index.result("changed").total == 59)
    commit(index, 1001, "smallpart")
    #expect(await index.catchUp())
    #expect(try index.found("smallpart") == [1001])
    #expect(try index.suggestions("sma", entities: nil, limit: 5).map(\.text) == ["smallpart"])
  }

  /// The numbers of the levels of the index and of its parts.
  private func parts(_ index: TestIndex) throws -> (levels: Int, parts: Int) {
    let connection = try ForeignConnection(index.folder.path + "/index.sqlite")
    let levels = try connection.values(
      "SELECT hex(substr(block, 5, 1)) FROM text_data WHERE id = 10"
    )
    let parts = try connection.values("SELECT count(DISTINCT segid) FROM text_idx")
    return (
      try #require(levels.first.flatMap { Int($0.description, radix: 16) }),
      try #require(parts.first.flatMap { Int($0.description) })
    )
  }

  /// Has the index attempt to read the log, until an attempt has nothing more to merge.
  private func awaitMerge(of index: TestIndex) async throws {
    var attempts = 0
    while try parts(index).levels < 4, attempts < 1000 {
      attempts += 1
      let outcome = await withCheckedContinuation { continuation in
        index.index.execute(.write) { continuation.resume(returning: $0) }
      }
      _ = try outcome.get()
    }
  }

  /// Commits batches of a thousand notes, each with a word of its own.
  private func commitLargeBatches(_ count: Int64, _ index: TestIndex) async {
    for batch in 0..<count {
      let notes = (1...1000 as ClosedRange<Int64>).map { number in
        (batch * 1000 + number, (body: "word\(batch)x\(number)", title: "milk"))
      }
      index.commit(Dictionary(uniqueKeysWithValues: notes).mapValues { .some($0) })
      #expect(await index.catchUp())
    }
  }

  /// A process that ends before it has merged leaves the work to the next one.
  @Test func `many parts are merged after a start`() async throws {
    let first = try TestIndex()
    #expect(await first.catchUp())
    for number in 1...12 as ClosedRange<Int64> {
      let words = (0..<800).map { "word\(number)x\($0)" }.joined(separator: " ")
      first.commit([number: (body: words, title: nil)])
      #expect(await first.catchUp())
    }
    let before = try parts(first).parts
    #expect(before >= 8)
    first.index.stop()
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    try await awaitMerge(of: second)
    #expect(try parts(second).parts < before)
    #expect(try second.found("word7x5") == [7])
  }

  /// Searches until the index is not built any more: a reader notices later than the rebuild that
  /// the file which it opened was removed, and a search then fails until the index is there again.
  private func foundWhenBuilt(_ word: String, _ index: TestIndex) async throws -> [Int64] {
    for _ in 1...1000 {
      // As a search of a client does: it waits for the file at the path, and reports damage.
      index.index.follow(to: index.library.newest)
      #expect(await index.catchUp())
      do {
        let found = try index.found(word)
        if index.index.status.state == .ready { return found }
      } catch let error as SpotlightError {
        // A file that is removed while it is opened cannot be opened.
        #expect([.busy, .damaged, .failed].contains(error.code), "\(error)")
        if error.code == .damaged { index.index.startRebuild() }
      }
    }
    return try index.found(word)
  }

  /// The connection that an index opens after a rebuild is that of a file which is there.
  // Evidence: P-095a
  @Test(arguments: [[""], ["-wal"], ["", "-wal", "-shm"]])
  func `files that are removed during a rebuild are built again`(suffixes: [String]) async throws {
    let index = try TestIndex()
    for number in 1...6 as ClosedRange<Int64> { commit(index, number, "milk") }
    #expect(await index.catchUp())
    let path = index.folder.path + "/index.sqlite"
    let isRemoved = Mutex(false)
    index.library.state.withLock { state in
      state.whileReading = { _ in
        let isFirst = isRemoved.withLock { isRemoved in
          defer { isRemoved = true }
          return !isRemoved
        }
        guard isFirst else { return }
        for suffix in suffixes { _ = unsafe unlink(path + suffix) }
      }
    }
    // The order may fail; the index does not.
    _ = await withCheckedContinuation { continuation in
      index.index.execute(.rebuild) { continuation.resume(returning: $0) }
    }
    #expect(isRemoved.withLock { $0 })
    commit(index, 7, "milk bread")
    #expect(try await foundWhenBuilt("milk", index) == [1, 2, 3, 4, 5, 6, 7])
    // The loss of the log may be noticed only now.
    #expect(try await foundWhenBuilt("bread", index) == [7])
    #expect(index.index.status.state == .ready)
    let again = try TestIndex(index.library, in: index.folder)
    #expect(await again.catchUp())
    #expect(try again.found("milk") == [1, 2, 3, 4, 5, 6, 7])
  }

  // Evidence: P-086c
  @Test(arguments: [["", "-wal", "-shm"], [""]])
  func `a wait for all followers ends when removed files are built again`(
    suffixes: [String]
  ) async throws {
    let index = try TestIndex()
    for number in 1...6 as ClosedRange<Int64> { commit(index, number, "milk") }
    #expect(await index.catchUp())
    let path = index.folder.path + "/index.sqlite"
    for suffix in suffixes { _ = unsafe unlink(path + suffix) }
    let token = try #require(index.index.position)
    let error = await withCheckedContinuation { continuation in
      _ = index.index.reach(token, for: 1) { continuation.resume(returning: $0) }
    }
    #expect(error == nil)
    #expect(try index.found("milk") == [1, 2, 3, 4, 5, 6])
  }

  // Evidence: P-095a
  @Test func `a comparison of an index whose log was removed leaves its transaction`() async throws
  {
    let index = try TestIndex()
    for number in 1...6 as ClosedRange<Int64> { commit(index, number, "milk") }
    #expect(await index.catchUp())
    let searcher = try index.index.makeSearcher()
    #expect(try searcher.snapshot { try $0.digests().count } == 6)
    _ = unsafe unlink(index.folder.path + "/index.sqlite-wal")
    commit(index, 7, "milk")
    #expect(await index.catchUp())
    for _ in 1...2 {
      // Whatever the connection reads, it is of one commit, or an error of the index.
      do {
        let count = try searcher.snapshot { try $0.digests().count }
        #expect([6, 7].contains(count))
      } catch let error as SpotlightError {
        #expect([.damaged, .busy].contains(error.code))
      }
    }
    #expect(try index.found("milk").count == 7)
  }

  // Evidence: P-095f
  @Test func `the next commits are awaited longer after commits that index nothing`() async throws {
    let index = try TestIndex()
    #expect(index.index.pauseMilliseconds == 20)
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    #expect(index.index.pauseMilliseconds == 20)
    // An attempt that reads no commit tells nothing about the next ones.
    index.index.follow()
    #expect(await index.catchUp())
    #expect(index.index.pauseMilliseconds == 20)
    index.library.commit([])
    #expect(await index.catchUp())
    #expect(index.index.pauseMilliseconds == 250)
    commit(index, 1, "oat")
    #expect(await index.catchUp())
    #expect(index.index.pauseMilliseconds == 20)
  }

  /// A search looks for each word in each part.
  // Evidence: P-095b
  @Test func `the parts of large batches are merged afterwards`() async throws {
    let index = try TestIndex()
    let (batches, size) = (8 as Int64, 1000 as Int64)
    await commitLargeBatches(batches, index)
    try await awaitMerge(of: index)
    let (levels, parts) = try parts(index)
    #expect(levels >= 4 && parts < 4)
    #expect(try index.result("milk").total == batches * size)
    for batch in 0..<batches {
      #expect(try index.found("word\(batch)x7") == [batch * size + 7])
    }
    commit(index, 7, "changed")
    #expect(await index.catchUp())
    #expect(try index.found("word0x7") == [] && index.found("changed") == [7])
    let before = try index.result("mi", prefix: true).total
    try await index.rebuild()
    #expect(try index.result("mi", prefix: true).total == before)
  }

  /// The number of the commit in the index file.
  private func written(_ index: TestIndex) throws -> Int64? {
    let text = try ForeignConnection(index.folder.path + "/index.sqlite")
      .values("SELECT value FROM state WHERE name = 'position'").first?.description
    return text?.split(separator: " ").first.flatMap { StoreToken(String($0)) }?.number
  }

  private func token(_ index: TestIndex) throws -> Int64 {
    try index.index.makeSearcher().snapshot { $0.token.number }
  }

  // Evidence: P-095f
  @Test func `commits that index nothing are followed, and written only now and then`()
    async throws
  {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    let first = try #require(try written(index))
    for _ in 0..<5 {
      index.library.commit([])
      #expect(await index.catchUp())
    }
    #expect(try written(index) == first && token(index) == first + 5)
    #expect(index.index.status.token?.number == first + 5 && index.index.status.state == .ready)
    #expect(index.index.retention?.number == first + 5)
    #expect(try index.found("milk") == [1])
    // A later start reads them again.
    let again = try TestIndex(index.library, in: index.folder)
    #expect(await again.catchUp())
    #expect(try token(again) == first + 5 && written(again) == first)
    #expect(index.library.state.withLock { $0.wholeReadings } == 1)
    // Another process writes a document, which this one then has.
    commit(again, 2, "milk")
    #expect(await again.catchUp())
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1, 2] && token(index) == first + 6)
    for _ in 0..<1000 { index.library.commit([]) }
    #expect(await index.catchUp())
    #expect(try written(index) == first + 1006 && token(index) == first + 1006)
    #expect(await again.catchUp())
    #expect(try again.found("milk") == [1, 2] && token(again) == first + 1006)
  }

  // Evidence: P-095f
  @Test(arguments: [IndexOrder.Kind.pause, .write])
  func `the position is written where it has to stay`(order: IndexOrder.Kind) async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    index.library.commit([])
    #expect(await index.catchUp())
    let outcome = await withCheckedContinuation { continuation in
      index.index.execute(order) { continuation.resume(returning: $0) }
    }
    #expect(try outcome.get().token?.number == index.library.newest)
    #expect(try written(index) == index.library.newest)
    #expect(try token(index) == index.library.newest)
  }

  @Test func `a large batch is read in portions, each after the previous one`() async throws {
    let index = try TestIndex()
    commit(index, 1, "first")
    #expect(await index.catchUp())
    index.library.state.withLock { $0.changesMax = 7 }
    for number in 2...100 as ClosedRange<Int64> { commit(index, number, "word\(number % 10)") }
    #expect(await index.catchUp())
    #expect(try index.found("word3").count == 10)
    index.library.state.withLock { state in
      #expect(state.wholeReadings == 1)
      #expect(state.batches >= 14)
    }
  }

  @Test func `stopping ends a rebuild after a portion, and the next start repeats it`() async throws
  {
    let folder = try TestFolder()
    let library = Library()
    let first = try TestIndex(library, in: folder)
    for number in 1...300 as ClosedRange<Int64> { commit(first, number, "word") }
    let read = Mutex<[Int]>([])
    let stopped = DispatchSemaphore(value: 0)
    let index = first.index
    library.state.withLock { state in
      state.whileReading = { start in
        read.withLock { $0.append(start) }
        guard start == 3 else { return }
        beginStop(index) { stopped.signal() }
      }
    }
    index.follow()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        stopped.wait()
        continuation.resume()
      }
    }
    #expect(read.withLock { $0 } == [0, 3])
    library.state.withLock { $0.whileReading = nil }
    let second = try TestIndex(library, in: folder)
    #expect(await second.catchUp())
    #expect(try second.found("word").count == 300)
  }

  @Test func `words of deleted documents find nothing`() async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    commit(index, 1, "bread")
    #expect(await index.catchUp())
    let result = try index.result("milk")
    #expect(result.total == 0)
    #expect(result.missing == ["milk"])
  }

  @Test func `an unknown position makes the index rebuild`() async throws {
    let index = try TestIndex()
    for number in 1...5 as ClosedRange<Int64> { commit(index, number, "old") }
    #expect(await index.catchUp())
    // The store was put back from a copy: other commits under the same numbers.
    index.library.state.withLock { state in
      state.generation += 1
      state.commits = [[]]
      state.objects = [:]
    }
    for _ in 1...6 { commit(index, 2, "new") }
    #expect(await index.catchUp())
    #expect(try index.found("old") == [])
    #expect(try index.found("new") == [2])
    #expect(index.index.status.documents == 1)
  }

  @Test func `a rebuild and a stop empty SQLite's log, beside connections of searches`()
    async throws
  {
    let index = try TestIndex()
    let log = index.folder.path + "/index.sqlite-wal"
    func size() throws -> Int {
      try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? 0
    }
    for number in 1...5 as ClosedRange<Int64> { commit(index, number, "milk") }
    #expect(await index.catchUp())
    commit(index, 5, "oat milk")
    #expect(await index.catchUp())
    #expect(try index.found("milk").count == 5)
    #expect(try size() > 0)
    try await index.rebuild()
    #expect(try size() == 0)
    commit(index, 6, "milk")
    #expect(await index.catchUp())
    #expect(try index.found("milk").count == 6)
    #expect(try size() > 0)
    index.index.stop()
    #expect(try size() == 0)
  }

  @Test func `a reopened index continues at its position`() async throws {
    let first = try TestIndex()
    for number in 1...5 as ClosedRange<Int64> { commit(first, number, "milk") }
    #expect(await first.catchUp())
    first.index.stop()
    commit(first, 3, nil)
    commit(first, 6, "milk bread")
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    #expect(try second.found("milk") == [1, 2, 4, 5, 6])
    #expect(second.library.state.withLock { $0.wholeReadings } == 1)
    #expect(second.index.status.documents == 5)
  }

  /// The words of a dead document stay in the index under its number.
  @Test func `a reopened index reuses no document number`() async throws {
    let first = try TestIndex()
    commit(first, 1, "milk")
    commit(first, 2, "bread")
    #expect(await first.catchUp())
    commit(first, 2, nil)
    #expect(await first.catchUp())
    first.index.stop()
    let second = try TestIndex(first.library, in: first.folder)
    commit(second, 3, "eggs")
    #expect(await second.catchUp())
    #expect(try second.found("eggs") == [3])
    #expect(try second.found("bread") == [])
    #expect(try second.found("milk") == [1])
    #expect(second.library.state.withLock { $0.wholeReadings } == 1)
  }

  @Test func `an index that another process rebuilt is read again at the same position`()
    async throws
  {
    let index = try TestIndex()
    for (number, title) in [(1, "milk"), (2, "bread"), (3, "eggs")] as [(Int64, String)] {
      commit(index, number, title)
    }
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1])
    let library = index.library
    let other = SearchIndex(
      path: index.folder.path + "/index.sqlite",
      model: try ModelDocument.parse(Array(TestIndex.model.utf8).span),
      makeSource: { BackwardsReader(library) }
    )
    // The index is at the newest commit as soon as it has opened the file, before it builds anew.
    other.follow()
    #expect(await catchUp(other, with: library))
    // The attempt that builds may execute the first order before it builds; the second order waits
    // for the next attempt.
    for _ in 1...2 {
      let written = await withCheckedContinuation { continuation in
        other.execute(.write) { continuation.resume(returning: $0) }
      }
      _ = try written.get()
    }
    #expect(other.status.state == .ready)
    #expect(library.state.withLock { $0.wholeReadings } == 2)
    other.stop()
    #expect(try index.found("milk") == [1])
    #expect(try index.found("eggs") == [3])
    commit(index, 1, "oats")
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [])
    #expect(try index.found("eggs") == [3])
    #expect(try index.found("oats") == [1])
  }

  // Evidence: P-088a
  @Test func `an advance of another process is one of this process too`() async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    let other = try TestIndex(index.library, in: index.folder)
    #expect(await other.catchUp())
    let tokens = Mutex<[Int64?]>([])
    let opened = index.index
    let number = opened.whenAdvanced { tokens.withLock { $0.append(opened.status.token?.number) } }
    commit(index, 2, "milk")
    #expect(await other.catchUp())
    // The other one has indexed the commit; this one reads it.
    #expect(await index.catchUp())
    #expect(tokens.withLock { $0.contains(index.library.newest) })
    opened.endAdvances(number)
    let count = tokens.withLock { $0.count }
    commit(index, 3, "milk")
    #expect(await index.catchUp())
    #expect(tokens.withLock { $0.count } == count)
  }

  @Test func `another model rebuilds the index`() async throws {
    let first = try TestIndex()
    commit(first, 1, "milk")
    #expect(await first.catchUp())
    first.index.stop()
    let library = first.library
    let model = TestIndex.model.replacing(#""title": 2"#, with: #""title": 3"#)
    let second = SearchIndex(
      path: first.folder.path + "/index.sqlite",
      model: try ModelDocument.parse(Array(model.utf8).span),
      makeSource: { LibraryReader(library) }
    )
    second.follow()
    let reached = await withCheckedContinuation { continuation in
      _ = second.whenReached(1) { continuation.resume(returning: $0) }
    }
    #expect(reached)
    #expect(library.state.withLock { $0.wholeReadings } == 2)
    second.stop()
  }

  /// The words of the old index are those of another version; most of them are the same.
  // Evidence: P-095b
  @Test func `an index of another tokenizer or ICU answers until a new one is built`() async throws
  {
    let first = try TestIndex()
    for number in 1...5 as ClosedRange<Int64> { commit(first, number, "milk") }
    #expect(await first.catchUp())
    first.index.stop()
    let connection = try ForeignConnection(first.folder.path + "/index.sqlite")
    try connection.execute("UPDATE state SET value = '1 71.1' WHERE name = 'words'")
    #expect(connection.changes == 1)
    try connection.close()
    commit(first, 6, "milk")

    let second = try TestIndex(first.library, in: first.folder)
    let statuses = Mutex<[IndexStatus]>([])
    let totals = Mutex<[Result<Int64, any Error>]>([])
    let request = SearchRequest(
      query: "milk",
      entities: nil,
      isPrefix: false,
      offset: 0,
      limit: 10,
      wordsMax: 64
    )
    first.library.state.withLock { [index = second.index] state in
      state.whileReading = { _ in
        let total = Result {
          try index.makeSearcher().snapshot { try $0.search(request, without: []).total }
        }
        totals.withLock { $0.append(total) }
        statuses.withLock { $0.append(index.status) }
      }
    }
    #expect(await second.catchUp())
    let answers = totals.withLock { $0 }
    #expect(try answers.map { try $0.get() } == [5, 5])
    let known = statuses.withLock { $0 }
    #expect(known.map(\.state) == [.rebuilding, .rebuilding])
    #expect(known.map { $0.token?.number } == [5, 5])
    #expect(try second.found("milk") == [1, 2, 3, 4, 5, 6])
    #expect(second.library.state.withLock { $0.wholeReadings } == 2)

    // The new index is of this version.
    second.index.stop()
    first.library.state.withLock { $0.whileReading = nil }
    let third = try TestIndex(first.library, in: first.folder)
    #expect(await third.catchUp())
    #expect(third.library.state.withLock { $0.wholeReadings } == 2)
  }

  // MARK: Damage

  // Evidence: P-095a
  @Test(arguments: ["no database", "", "half", "middle"])
  func `a damaged file is rebuilt`(damage: String) async throws {
    let first = try TestIndex()
    for number in 1...400 as ClosedRange<Int64> { commit(first, number, "milk word\(number)") }
    #expect(await first.catchUp())
    first.index.stop()
    let path = first.folder.path + "/index.sqlite"
    try intoOneFile(path)
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    switch damage {
    case "half": data = data.prefix(data.count / 2)
    case "middle": data.replaceSubrange(4096..<data.count, with: Data(count: data.count - 4096))
    default: data = Data(String(repeating: damage, count: 1000).utf8)
    }
    try data.write(to: URL(fileURLWithPath: path))
    commit(first, 1, "bread")
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    #expect(try second.found("milk").count == 399)
    #expect(try second.found("bread") == [1])
  }

  /// Brings what stands in the log into the file itself.
  private func intoOneFile(_ path: String) throws {
    try ForeignConnection(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
  }

  /// What a killed process leaves is what its files held at that moment.
  @Test func `a copy of the files at any moment catches up`() async throws {
    let first = try TestIndex()
    var copies: [TestFolder] = []
    for round in 1...5 as ClosedRange<Int64> {
      for number in 1...10 as ClosedRange<Int64> {
        commit(first, number, (number + round) % 4 == 0 ? nil : "milk round\(round)")
      }
      #expect(await first.catchUp())
      let copy = try TestFolder()
      for name in try FileManager.default.contentsOfDirectory(atPath: first.folder.path)
      where !name.hasSuffix("-shm") {
        try FileManager.default.copyItem(
          atPath: first.folder.path + "/" + name,
          toPath: copy.path + "/" + name
        )
      }
      copies.append(copy)
    }
    commit(first, 1, "last")
    #expect(await first.catchUp())
    let expected = try first.result("milk OR last").hits.map(\.key)
    for copy in copies {
      let other = try TestIndex(first.library, in: copy)
      #expect(await other.catchUp())
      #expect(try other.result("milk OR last").hits.map(\.key) == expected)
      #expect(other.index.status.documents == first.index.status.documents)
    }
    #expect(first.library.state.withLock { $0.wholeReadings } == 1)
  }

  @Test func `the next attempt continues after a failure`() async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    index.library.state.withLock { $0.failures = 1000 }
    commit(index, 2, "milk")
    #expect(await !index.catchUp())
    #expect(index.index.status.state == .failed)
    #expect(index.index.status.failure != nil)
    // What was indexed is still found.
    #expect(try index.found("milk") == [1])
    index.library.state.withLock { $0.failures = 0 }
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1, 2])
    #expect(index.index.status.state == .ready)
  }

  @Test func `a waiter that registers during a failed attempt waits for the next`() async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    commit(index, 2, "milk")
    let (opened, newest) = (index.index, index.library.newest)
    let late = AsyncStream<Bool>.makeStream()
    index.library.state.withLock { state in
      state.failures = 1
      state.whileFailing = {
        _ = opened.whenReached(newest) { late.continuation.yield($0) }
      }
    }
    opened.follow()
    var outcomes = late.stream.makeAsyncIterator()
    #expect(await outcomes.next() == true)
    #expect(try index.found("milk") == [1, 2])
  }

  @Test func `a failure ends no wait that begins during an attempt scheduled before it`()
    async throws
  {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    commit(index, 2, "milk")
    let (opened, newest) = (index.index, index.library.newest)
    let late = AsyncStream<Bool>.makeStream()
    let attempts = Mutex(0)
    index.library.state.withLock { state in
      state.failures = 2
      state.whileFailing = {
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        if attempt == 1 {
          opened.follow()
        } else {
          _ = opened.whenReached(newest) { late.continuation.yield($0) }
        }
      }
    }
    opened.follow()
    var outcomes = late.stream.makeAsyncIterator()
    #expect(await outcomes.next() == true)
    #expect(try index.found("milk") == [1, 2])
  }

  // Evidence: P-094b
  @Test func `damage found during an attempt is repaired before any wait ends`() async throws {
    let index = try TestIndex()
    for number in 1...5 { commit(index, Int64(number), "milk") }
    #expect(await index.catchUp())
    let (opened, newest, library) = (index.index, index.library.newest, index.library)
    let path = index.folder.path + "/index.sqlite"
    let damaged = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    let readings = AsyncStream<Int>.makeStream()
    library.state.withLock { state in
      state.whileReading = { start in
        // While the first rebuild runs, a search reports damage, and another one waits.
        guard start > 0 else { return }
        library.state.withLock { $0.whileReading = nil }
        opened.startRebuild()
        #expect(opened.status.token == nil)
        _ = opened.whenReached(newest) { _ in
          readings.continuation.yield(library.state.withLock { $0.wholeReadings })
        }
      }
    }
    try await index.rebuild()
    var waits = readings.stream.makeAsyncIterator()
    #expect(await waits.next() == 3)
    let repaired = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    #expect(repaired != damaged)
    #expect(try index.index.makeSearcher().isCurrent)
    #expect(index.index.status.documents == 5)
  }

  // Evidence: P-095a
  @Test func `a file without its log is rebuilt`() async throws {
    let index = try TestIndex()
    for number in 1...5 {
      commit(index, Int64(number), "milk")
      #expect(await index.catchUp())
    }
    // The writer goes on with the removed files, which no other connection sees.
    for suffix in ["-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: index.folder.path + "/index.sqlite" + suffix)
    }
    commit(index, 6, "milk")
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1, 2, 3, 4, 5, 6])
    #expect(index.library.state.withLock { $0.wholeReadings } == 2)
  }

  // Evidence: P-094b
  @Test func `a connection for searches cannot be opened before the file exists`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    // An attempt that has not ended would make the file again.
    _ = try await index.restingActivity()
    let path = index.folder.path + "/index.sqlite"
    try FileManager.default.removeItem(atPath: path)
    let error = #expect(throws: SpotlightError.self) { _ = try index.index.makeSearcher() }
    #expect(error?.code == .busy)
    // A file that is there and cannot be opened is a different case. The index may be building anew.
    var attempts = 0
    while attempts < 10_000, unsafe mkdir(path, 0o700) != 0 {
      attempts += 1
      _ = unsafe unlink(path)
    }
    let other = #expect(throws: SpotlightError.self) { _ = try index.index.makeSearcher() }
    #expect(other?.code == .failed && other?.message.contains("cannot be opened") == true)
  }

  @Test func `a waiter is notified when the index stops or the wait is cancelled`() async throws {
    let index = try TestIndex()
    commit(index, 1, "milk")
    #expect(await index.catchUp())
    let opened = index.index
    let given = await withCheckedContinuation { continuation in
      let waiter = opened.whenReached(99) { continuation.resume(returning: $0) }
      if let waiter { opened.cancelWait(waiter) }
    }
    #expect(!given)
    let reached = await withCheckedContinuation { continuation in
      _ = opened.whenReached(99) { continuation.resume(returning: $0) }
      opened.stop()
    }
    #expect(!reached)
    let late = await withCheckedContinuation { continuation in
      _ = opened.whenReached(99) { continuation.resume(returning: $0) }
    }
    #expect(!late)
  }
}

@Suite struct `The index of a store` {
  private static let model = """
    {"name": "Notes", "version": "1", "entities": [
      {"name": "Note", "attributes": [
        {"name": "title", "type": "string", "optional": true},
        {"name": "body", "type": "string", "optional": true},
        {"name": "secret", "type": "string", "optional": true},
        {"name": "count", "type": "int64", "optional": true}],
       "spotlight": {"displayName": "title", "attributes": {"body": 0.5}}},
      {"name": "Hidden", "attributes": [{"name": "title", "type": "string", "optional": true}]}]}
    """
  private let store: TestStore
  private let index: SearchIndex

  init() throws {
    let store = try TestStore(Self.model)
    self.store = store
    let opened = store.store
    index = SearchIndex(
      path: opened.container.indexPath(),
      model: opened.model,
      makeSource: { try StoreDocuments(opened, IndexRules()) }
    )
  }

  /// The IDs that a query finds once the index has the newest commit.
  private func found(_ query: String) async throws -> [String] {
    let newest = try store.snapshot { $0.head.number }
    index.follow()
    let reached = await withCheckedContinuation { continuation in
      _ = index.whenReached(newest) { continuation.resume(returning: $0) }
    }
    #expect(reached)
    let result = try index.makeSearcher().snapshot { snapshot in
      #expect(snapshot.token.number == newest)
      return try snapshot.search(
        SearchRequest(
          query: query,
          entities: nil,
          isPrefix: false,
          offset: 0,
          limit: 100,
          wordsMax: 64
        ),
        without: []
      )
    }
    return try store.snapshot { snapshot in
      try result.hits.map { try snapshot.wrappedID($0.key).description }
    }
  }

  // Evidence: P-094a, P-094b
  @Test func `a search finds saved objects with their current values`() async throws {
    #expect(try await found("milk") == [])
    try await store.save(
      """
      {"insert":[{"id":"Note/t1","values":{"title":"Milk","body":"oat","secret":"hush"}},
        {"id":"Note/t2","values":{"body":"milk"}},{"id":"Hidden/t1","values":{"title":"milk"}}]}
      """
    )
    #expect(try await found("milk") == ["Note/p1", "Note/p2"])
    #expect(try await found("hush") == [])
    try await store.save(#"{"update":[{"id":"Note/p1","values":{"title":"Bread","count":1}}]}"#)
    try await store.save(#"{"update":[{"id":"Note/p2","values":{"count":2}}]}"#)
    #expect(try await found("milk") == ["Note/p2"])
    #expect(try await found("bread oat") == ["Note/p1"])
    try store.foreign("UPDATE Note SET body = 'tea' WHERE _id = 2; DELETE FROM Note WHERE _id = 1")
    try await store.seal()
    #expect(try await found("milk OR bread") == [])
    #expect(try await found("tea") == ["Note/p2"])
    try await store.save(#"{"delete":["Note/p2"]}"#)
    #expect(try await found("tea") == [])
    #expect(index.status.documents == 0)
    index.stop()
  }

  @Test func `a row that replaces another is indexed again`() async throws {
    try await store.save(#"{"insert":[{"id":"Note/t1","values":{"title":"milk"}}]}"#)
    #expect(try await found("milk") == ["Note/p1"])
    try store.foreign("INSERT OR REPLACE INTO Note(_id, title) VALUES (1, 'bread')")
    try await store.seal()
    #expect(try await found("milk") == [])
    #expect(try await found("bread") == ["Note/p1"])
    index.stop()
  }

  @Test func `a row with the number of another row is found under it`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Note/t1","values":{"title":"milk"}},{"id":"Note/t2","values":{"title":"bread"}}]}"#
    )
    #expect(try await found("milk OR bread") == ["Note/p1", "Note/p2"])
    try store.foreign("UPDATE OR REPLACE Note SET _id = 1 WHERE _id = 2")
    try await store.seal()
    #expect(try await found("milk") == [])
    #expect(try await found("bread") == ["Note/p1"])
    #expect(index.status.documents == 1)
    index.stop()
  }
}
