import CordialValues
import Foundation
import Glibc
import PersistentHistory
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

/// A reader whose log has nothing for the connection that has read all objects.
private final class ForgetfulReader: DocumentSource {
  private let reader: LibraryReader
  private var hasReadAll = false

  init(_ library: Library) { reader = LibraryReader(library) }

  func batch(after token: StoreToken) throws -> IndexBatch? {
    hasReadAll ? nil : try reader.batch(after: token)
  }

  func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken {
    hasReadAll = true
    return try reader.eachObject(body)
  }
}

// Evidence: P-095b
@Suite struct `A new index beside the old one` {
  /// Waits until the index has ended an attempt to read the log.
  private func waitForAttempt(_ index: SearchIndex) async throws {
    index.follow()
    // The first order is done before the attempt reads the log, and the second one after it.
    for _ in 0..<2 {
      let outcome = await withCheckedContinuation { continuation in
        index.execute(.write) { continuation.resume(returning: $0) }
      }
      _ = try outcome.get()
    }
  }

  /// What a client sees while a new index is built.
  private struct Sight: Equatable {
    var state: IndexStatus.State
    var commit: Int64?
    var milk: [Int64]
  }

  private func sight(_ index: SearchIndex) throws -> Sight {
    let request = SearchRequest(
      query: "milk",
      entities: nil,
      isPrefix: false,
      offset: 0,
      limit: 100,
      wordsMax: 64
    )
    let result = try index.makeSearcher().snapshot { try $0.search(request, without: []) }
    let status = index.status
    return Sight(
      state: status.state,
      commit: status.token?.number,
      milk: result.hits.map(\.key.object).sorted()
    )
  }

  /// Runs a body before each portion of the next whole readings.
  private func whileReading(_ library: Library, _ body: @escaping @Sendable (Int) -> Void) {
    library.state.withLock { $0.whileReading = body }
  }

  private func makeIndex(isForgetful: Bool = false) async throws -> TestIndex {
    let library = Library()
    let index =
      isForgetful
      ? try TestIndex(library) { ForgetfulReader(library) } : try TestIndex(library)
    for number in 1...9 as ClosedRange<Int64> { index.commit([number: (body: "milk", title: nil)]) }
    #expect(await index.catchUp())
    return index
  }

  /// Commits an object while a new index is built, and notes what is seen after the next portion.
  private func rebuildWhileCommitting(_ index: TestIndex) async throws -> [Result<Sight, any Error>]
  {
    let sights = Mutex<[Result<Sight, any Error>]>([])
    let (library, opened) = (index.library, index.index)
    whileReading(library) { start in
      if start == 3 {
        library.commit([(TestIndex.note(1), ["bread", nil]), (TestIndex.note(20), ["milk", nil])])
        opened.follow()
      } else if start == 6 {
        sights.withLock { $0.append(Result { try sight(opened) }) }
      }
    }
    try await index.rebuild()
    library.state.withLock { $0.whileReading = nil }
    return sights.withLock { $0 }
  }

  private static let milk: [Int64] = [2, 3, 4, 5, 6, 7, 8, 9, 20]

  @Test func `the old index follows the log meanwhile`() async throws {
    let index = try await makeIndex()
    let sights = try await rebuildWhileCommitting(index).map { try $0.get() }
    #expect(sights == [Sight(state: .rebuilding, commit: 10, milk: Self.milk)])
    #expect(await index.catchUp())
    #expect(try sight(index.index) == Sight(state: .ready, commit: 10, milk: Self.milk))
    #expect(try index.found("bread") == [1])
    #expect(index.library.state.withLock { $0.wholeReadings } == 2)
    // The document of the changed object is the only dead one.
    #expect(abs(index.index.deadFraction - 1 / 11) < 0.001)
    index.library.commit([(TestIndex.note(1), ["milk", nil]), (TestIndex.note(3), nil)])
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1, 2, 4, 5, 6, 7, 8, 9, 20])
    let again = try TestIndex(index.library, in: index.folder)
    #expect(await again.catchUp())
    #expect(try again.found("milk") == [1, 2, 4, 5, 6, 7, 8, 9, 20])
  }

  // Evidence: P-007a
  @Test func `a build ends with an error where the service is stopping`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let starts = Mutex<[Int]>([])
    whileReading(library) { start in
      starts.withLock { $0.append(start) }
      if start == 3 { opened.endBuilds() }
    }
    for _ in 1...2 {
      await #expect(throws: SpotlightError.stopping) { try await index.rebuild() }
    }
    #expect(starts.withLock { $0 } == [0, 3])
    #expect(opened.lateness("it") as? SpotlightError == .stopping)
    // The old index goes on, also in the next process, which removes what the build has left.
    library.state.withLock { $0.whileReading = nil }
    library.commit([(TestIndex.note(1), ["bread", nil]), (TestIndex.note(20), ["milk", nil])])
    #expect(await index.catchUp())
    #expect(try sight(opened) == Sight(state: .ready, commit: 10, milk: Self.milk))
    opened.stop()
    let again = try TestIndex(index.library, in: index.folder)
    #expect(await again.catchUp())
    #expect(try again.found("milk") == Self.milk)
    try await again.rebuild()
    #expect(try again.found("milk") == Self.milk)
  }

  // Evidence: P-007a
  @Test func `a refused build ends no other order`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let builds = Mutex(0)
    let outcomes = Mutex<[String]>([])
    let (ended, end) = AsyncStream<Void>.makeStream()
    whileReading(library) { start in
      guard start == 0 else { return }
      guard
        builds.withLock({
          $0 += 1; return $0
        }) == 1
      else { return opened.endBuilds() }
      // The next attempt takes these together.
      for (name, kind) in [
        ("pause", IndexOrder.Kind.pause), ("rebuild", .rebuild), ("write", .write),
      ] {
        opened.execute(kind) { outcome in
          let text =
            switch outcome {
            case .success(let status): "\(status.state)"
            case .failure(let error as SpotlightError): error.code.rawValue
            case .failure(let error): "\(error)"
            }
          let count = outcomes.withLock { outcomes in
            outcomes.append("\(name): \(text)")
            return outcomes.count
          }
          if count == 3 { end.finish() }
        }
      }
    }
    try await index.rebuild()
    for await _ in ended {}
    #expect(builds.withLock { $0 } == 2)
    let expected = ["pause: paused", "rebuild: stopping", "write: paused"]
    #expect(outcomes.withLock { $0 } == expected)
    #expect(try index.found("milk").count == 9)
  }

  // Evidence: P-095c, P-007a
  @Test func `many dead documents build no index where the service is stopping`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let numbers = Int64(1)...10_001
    library.commit(numbers.map { (TestIndex.note($0), ["oat", nil]) })
    #expect(await index.catchUp())
    opened.endBuilds()
    library.commit(numbers.map { (TestIndex.note($0), ["rye", nil]) })
    #expect(await index.catchUp())
    try await waitForAttempt(opened)
    #expect(opened.deadFraction > 0.5)
    #expect(library.state.withLock { $0.wholeReadings } == 1)
    #expect(opened.status.state == .ready)
    opened.stop()
    let again = try TestIndex(library, in: index.folder)
    again.commit([1: (body: "milk", title: nil)])
    #expect(await again.catchUp())
    try await waitForAttempt(again.index)
    #expect(library.state.withLock { $0.wholeReadings } == 2)
    #expect(again.index.deadFraction == 0)
    #expect(try again.found("milk") == [1])
  }

  @Test func `a wait for a commit ends before the build`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let ended = Mutex<[Int]>([])
    let current = Mutex(0)
    whileReading(library) { start in
      current.withLock { $0 = start }
      guard start == 0 else { return }
      library.commit([(TestIndex.note(20), ["milk", nil])])
      _ = opened.whenReached(library.newest) { reached in
        guard reached else { return }
        ended.withLock { $0.append(current.withLock { $0 }) }
      }
      opened.follow()
    }
    try await index.rebuild()
    #expect(ended.withLock { $0 } == [0])
  }

  @Test func `the log is kept from where the build began`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let retained = Mutex<[Int64?]>([])
    whileReading(library) { start in
      library.commit([(TestIndex.note(20), ["milk", nil])])
      opened.follow()
      retained.withLock { $0.append(opened.retention?.number) }
    }
    try await index.rebuild()
    let (first, others) = retained.withLock { ($0.first, Array($0.dropFirst())) }
    #expect(first == 9 && others == [9, 9])
    #expect(await index.catchUp())
    #expect(opened.retention?.number == library.newest)
  }

  @Test func `a paused index stays where it is`() async throws {
    let index = try await makeIndex()
    for kind in [IndexOrder.Kind.pause, .rebuild] {
      let outcome = await withCheckedContinuation { continuation in
        index.index.execute(kind) { continuation.resume(returning: $0) }
      }
      #expect(try outcome.get().state == .paused)
    }
    let sights = try await rebuildWhileCommitting(index).map { try $0.get() }
    #expect(sights.map(\.commit) == [9])
    #expect(sights.map(\.state) == [.paused])
    #expect(index.index.status.state == .paused)
  }

  @Test func `commits that index nothing are followed too`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    let tokens = Mutex<[Int64?]>([])
    whileReading(library) { start in
      if start == 3 {
        library.commit([])
        opened.follow()
      }
      tokens.withLock { $0.append(opened.status.token?.number) }
    }
    try await index.rebuild()
    #expect(tokens.withLock { $0 } == [9, 9, 10])
    #expect(opened.status.token?.number == 10)
    #expect(try index.found("milk").count == 9)
  }

  /// After a power failure a store may lack its newest commits, and the index has them.
  @Test(arguments: [false, true])
  func `an index of commits that the store has lost is replaced`(isAsked: Bool) async throws {
    let index = try await makeIndex()
    index.library.state.withLock { state in
      state.commits.removeLast(3)
      state.pasts.removeLast(3)
      state.objects = state.pasts[6]
    }
    if isAsked { try await index.rebuild() }
    try await waitForAttempt(index.index)
    #expect(index.index.status.token?.number == 6)
    #expect(index.index.status.state == .ready)
    #expect(try index.found("milk") == [1, 2, 3, 4, 5, 6])
  }

  /// The documents of the old index may have been of other objects.
  // Evidence: P-090b
  @Test func `no client resumes from a commit of the old index`() async throws {
    let index = try await makeIndex()
    _ = try await rebuildWhileCommitting(index)
    index.commit([30: (body: "milk", title: nil)])
    #expect(await index.catchUp())
    let searcher = try index.index.makeSearcher()
    let tokens = index.library.state.withLock { state in
      (9...11).map { Library.token($0, state) }
    }
    for token in tokens {
      try searcher.snapshot(asOf: token) { #expect($0.token == token) }
    }
    for token in tokens.dropLast() {
      #expect(throws: SpotlightError.self) {
        try searcher.snapshot(asOf: token, isResuming: true) { _ in }
      }
    }
    try searcher.snapshot(asOf: tokens[2], isResuming: true) { #expect($0.token == tokens[2]) }
  }

  @Test func `a stop between its transactions leaves the old index`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    whileReading(library) { start in
      library.commit([(TestIndex.note(20), ["milk", nil])])
      opened.follow()
      guard start == 6 else { return }
      beginStop(opened) {}
    }
    await #expect(throws: (any Error).self) { try await index.rebuild() }
    library.state.withLock { $0.whileReading = nil }
    let again = try TestIndex(library, in: index.folder)
    #expect(await again.catchUp())
    #expect(library.state.withLock { $0.wholeReadings } == 2)
    #expect(try again.found("milk") == [1, 2, 3, 4, 5, 6, 7, 8, 9, 20])
  }

  @Test func `domains that are restored are those of later commits too`() async throws {
    let index = try await makeIndex()
    let (library, opened) = (index.library, index.index)
    func execute(_ kind: IndexOrder.Kind) async throws {
      let outcome = await withCheckedContinuation { continuation in
        opened.execute(kind) { continuation.resume(returning: $0) }
      }
      _ = try outcome.get()
    }
    library.state.withLock { state in
      for number in [1, 2, 20] as [Int64] { state.domains[TestIndex.note(number)] = "work" }
    }
    library.commit([1, 2].map { (TestIndex.note($0), ["milk", nil]) })
    // A deletion concerns what is indexed before it.
    #expect(await index.catchUp())
    try await execute(.deleteDomains(["work"]))
    #expect(try index.found("milk") == [3, 4, 5, 6, 7, 8, 9])
    whileReading(library) { start in
      guard start == 3 else { return }
      library.commit([(TestIndex.note(20), ["milk", nil]), (TestIndex.note(21), ["milk", nil])])
      opened.follow()
    }
    try await execute(.restoreDomains(["work"]))
    #expect(await index.catchUp())
    #expect(try index.found("milk") == [1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21])
  }

  @Test func `a log that lacks later commits makes the build begin again`() async throws {
    let index = try await makeIndex(isForgetful: true)
    let whole = index.library.state.withLock { $0.wholeReadings }
    _ = try await rebuildWhileCommitting(index)
    #expect(index.library.state.withLock { $0.wholeReadings } == whole + 2)
    #expect(await index.catchUp())
    #expect(try sight(index.index) == Sight(state: .ready, commit: 11, milk: Self.milk))
    #expect(index.index.status.documents == 10)
  }

  /// The copy of the file is what a process leaves that is killed.
  @Test func `tables that a process leaves are removed`() async throws {
    let index = try await makeIndex()
    let (library, opened, path) = (index.library, index.index, index.folder.path)
    let copy = try TestFolder()
    whileReading(library) { start in
      if start == 0 { opened.follow() }
      guard start == 6 else { return }
      for suffix in ["", "-wal"] {
        #expect(throws: Never.self) {
          try FileManager.default.copyItem(
            atPath: path + "/index.sqlite" + suffix,
            toPath: copy.path + "/index.sqlite" + suffix
          )
        }
      }
    }
    try await index.rebuild()
    library.state.withLock { $0.whileReading = nil }
    func tables(_ folder: TestFolder) throws -> [String] {
      try ForeignConnection(folder.path + "/index.sqlite").values(
        "SELECT name FROM sqlite_master WHERE name LIKE '%~_next%' ESCAPE '~'"
      ).map(\.description)
    }
    #expect(try tables(copy).count > 5)
    #expect(try tables(index.folder) == [])
    let other = try TestIndex(library, in: copy)
    other.commit([20: (body: "milk", title: nil)])
    #expect(await other.catchUp())
    #expect(try tables(copy) == [])
    #expect(try other.found("milk") == [1, 2, 3, 4, 5, 6, 7, 8, 9, 20])
    #expect(library.state.withLock { $0.wholeReadings } == 2)
  }

  private static let words = ["milk", "oat", "rye", "soy", "tea", "东京都", "京都", "camelCase"]

  private static func note(_ random: inout SplitMix64) -> [String?]? {
    guard random.below(5) > 0 else { return nil }
    func text() -> String {
      (0...random.below(4)).map { _ in words[random.below(words.count)] }.joined(separator: " ")
    }
    return [text(), random.below(3) == 0 ? nil : text()]
  }

  private static func commit(_ library: Library, _ random: inout SplitMix64) {
    library.commit(
      (0...random.below(4)).map { _ in (TestIndex.note(Int64(1 + random.below(30))), note(&random))
      }
    )
  }

  /// Every commit between the build and its end can be searched afterwards, as in an index that was
  /// built from the objects of that commit.
  // Evidence: P-090b
  @Test(arguments: Seeds.first(6))
  func `answers as an index of each commit`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    for _ in 0..<10 { Self.commit(index.library, &random) }
    #expect(await index.catchUp())
    let (library, opened) = (index.library, index.index)
    for _ in 0..<3 {
      let shared = Mutex(SplitMix64(seed: random.next()))
      let first = library.newest
      library.state.withLock { $0.changesMax = 1 + random.below(8) }
      whileReading(library) { _ in
        shared.withLock { random in
          for _ in 0..<random.below(4) { Self.commit(library, &random) }
        }
        opened.follow()
      }
      try await index.rebuild()
      library.state.withLock { $0.whileReading = nil }
      #expect(await index.catchUp())
      for commit in Int(first)...Int(library.newest) {
        let former = Library()
        let objects = library.state.withLock { $0.pasts[commit] }
        former.commit(objects.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let fresh = try TestIndex(former)
        #expect(await fresh.catchUp())
        for query in ["milk", "oat tea", "京都", "milk -tea", "case OR rye"] {
          let wanted = try fresh.result(query)
          let found = try index.result(query, asOf: commit)
          let message = "\(query) at \(commit), \(Seeds.repeating(seed))"
          #expect(found.total == wanted.total, "\(message)")
          #expect(found.hits.map(\.key) == wanted.hits.map(\.key), "\(message)")
          #expect(found.hits.map(\.score) == wanted.hits.map(\.score), "\(message)")
        }
      }
    }
  }
}
