import CordialValues
import Foundation
import Interruptions
import ObjectModel
import Spotlight
import Synchronization
import TestStores

/// What the index follows in a test: objects by key and the commits that changed them.
final class Library: Sendable {
  struct State {
    var generation: UInt32 = 1
    /// The keys that each commit changed; commit 0 made the library.
    var commits: [[ObjectKey]] = [[]]
    var objects: [ObjectKey: [String?]] = [:]
    /// The domains of objects that have one.
    var domains: [ObjectKey: String] = [:]
    /// The values that change the scores of objects that have them.
    var boosts: [ObjectKey: [Double?]] = [:]
    /// The objects after each commit.
    var pasts: [[ObjectKey: [String?]]] = [[:]]
    var wholeReadings = 0
    var batches = 0
    /// The number of documents in all batches.
    var documents = 0
    /// How many of the next readings fail.
    var failures = 0
    /// What happens while one fails.
    var whileFailing: (@Sendable () -> Void)?
    var changesMax = Int.max
    /// Called before each portion of a whole reading, with the number of objects before it.
    var whileReading: (@Sendable (Int) -> Void)?
  }

  let state = Mutex(State())

  struct Failure: Error {}

  /// Commits texts of objects, nil for those that go.
  func commit(_ changes: [(ObjectKey, [String?]?)]) {
    state.withLock { state in
      for (key, texts) in changes { state.objects[key] = texts }
      state.commits.append(changes.map(\.0))
      state.pasts.append(state.objects)
    }
  }

  var newest: Int64 { state.withLock { Int64($0.commits.count - 1) } }

  static func token(_ number: Int, _ state: State) -> StoreToken {
    StoreToken(
      generation: state.generation,
      number: Int64(number),
      mark: UInt32(number) &* 2_654_435_761 &+ state.generation
    )
  }
}

/// One connection to a library.
final class LibraryReader: DocumentSource {
  private let library: Library

  init(_ library: Library) {
    self.library = library
  }

  func batch(after token: StoreToken) throws -> IndexBatch? {
    let (fails, meanwhile) = library.state.withLock { state in
      defer { state.failures = max(0, state.failures - 1) }
      return (state.failures > 0, state.whileFailing)
    }
    if fails {
      meanwhile?()
      throw Library.Failure()
    }
    return library.state.withLock { state in
      let from = Int(token.number)
      guard state.commits.indices.contains(from), Library.token(from, state) == token else {
        return nil
      }
      state.batches += 1
      var through = from
      var keys: [ObjectKey: ClosedRange<Int64>] = [:]
      while through + 1 < state.commits.count, keys.count < state.changesMax {
        through += 1
        let commit = Int64(through)
        for key in state.commits[through] {
          keys[key] = (keys[key]?.lowerBound ?? commit)...commit
        }
      }
      state.documents += keys.count
      return IndexBatch(
        through: Library.token(through, state),
        remainingCommits: Int64(state.commits.count - 1 - through),
        documents: keys.sorted {
          ($0.value.upperBound, $0.key) < ($1.value.upperBound, $1.key)
        }.map { key, commits in
          IndexedDocument(
            key: key,
            content: state.objects[key].map {
              DocumentContent(
                texts: $0,
                boosts: state.boosts[key] ?? [],
                domain: state.domains[key]
              )
            },
            isNew: false,
            commits: commits
          )
        }
      )
    }
  }

  func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken {
    let (documents, token) = library.state.withLock { state in
      state.wholeReadings += 1
      let commit = Int64(state.commits.count - 1)
      return (
        state.objects.sorted { $0.key < $1.key }.map {
          IndexedDocument(
            key: $0.key,
            content: DocumentContent(
              texts: $0.value,
              boosts: state.boosts[$0.key] ?? [],
              domain: state.domains[$0.key]
            ),
            isNew: true,
            commits: commit...commit
          )
        }, Library.token(state.commits.count - 1, state)
      )
    }
    for start in stride(from: 0, to: documents.count, by: 3) {
      library.state.withLock { $0.whileReading }?(start)
      try body(Array(documents[start..<min(start + 3, documents.count)]))
    }
    return token
  }
}

/// One that starts over when it is first asked, and reads everything backwards.
final class BackwardsReader: DocumentSource {
  private let reader: LibraryReader
  private var hasStarted = false

  init(_ library: Library) {
    reader = LibraryReader(library)
  }

  func batch(after token: StoreToken) throws -> IndexBatch? {
    defer { hasStarted = true }
    return hasStarted ? try reader.batch(after: token) : nil
  }

  func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken {
    var documents: [IndexedDocument] = []
    let token = try reader.eachObject { documents += $0 }
    try body(documents.reversed())
    return token
  }
}

/// An index of a library, in a folder of its own.
final class TestIndex {
  /// Notes with a body and a title, and cards with a name; titles count twice.
  static let model = """
    {"name": "Notes", "version": "1", "entities": [
      {"name": "Note", "attributes": [
        {"name": "body", "type": "string", "optional": true},
        {"name": "title", "type": "string", "optional": true}],
       "spotlight": {"displayName": "title", "attributes": {"title": 2, "body": 1}}},
      {"name": "Plain", "attributes": [{"name": "title", "type": "string", "optional": true}]},
      {"name": "Card", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "spotlight": {"displayName": "name"}},
      {"name": "Label", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "spotlight": {"displayName": "name"}}]}
    """

  /// Notes have two values that change scores, cards one, and labels none.
  static let boostedModel = """
    {"name": "Notes", "version": "1", "entities": [
      {"name": "Note", "attributes": [
        {"name": "body", "type": "string", "optional": true},
        {"name": "title", "type": "string", "optional": true},
        {"name": "views", "type": "int64", "optional": true},
        {"name": "stars", "type": "int64", "optional": true}],
       "spotlight": {"displayName": "title", "attributes": {"title": 2, "body": 1},
         "boost": {"views": 0.3, "stars": 1}}},
      {"name": "Plain", "attributes": [{"name": "title", "type": "string", "optional": true}]},
      {"name": "Card", "attributes": [
        {"name": "name", "type": "string", "optional": true},
        {"name": "views", "type": "int64", "optional": true}],
       "spotlight": {"displayName": "name", "boost": {"views": 0.3}}},
      {"name": "Label", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "spotlight": {"displayName": "name"}}]}
    """

  let folder: TestFolder
  let library: Library
  let index: SearchIndex
  private var searcher: IndexSearcher?

  init(
    _ library: Library = Library(),
    model: String = TestIndex.model,
    in folder: TestFolder? = nil,
    keepsDocuments: Bool = true,
    leaseWaitMax: Int = 60_000,
    makeSource: (@Sendable () throws -> any DocumentSource)? = nil
  ) throws {
    let folder = try folder ?? TestFolder()
    self.folder = folder
    self.library = library
    index = SearchIndex(
      path: folder.path + "/index.sqlite",
      model: try ModelDocument.parse(Array(model.utf8).span),
      use: keepsDocuments ? .searches : .fewSearches,
      leaseWaitMax: leaseWaitMax,
      buildMilliseconds: 0,
      makeSource: makeSource ?? { LibraryReader(library) }
    )
  }

  deinit {
    index.stop()
  }

  static func note(_ number: Int64) -> ObjectKey { ObjectKey(entity: 1, object: number) }

  static func label(_ number: Int64) -> ObjectKey { ObjectKey(entity: 4, object: number) }

  static func card(_ number: Int64) -> ObjectKey { ObjectKey(entity: 3, object: number) }

  /// Commits notes by number: body and title.
  func commit(_ notes: [Int64: (body: String?, title: String?)?]) {
    library.commit(
      notes.sorted { $0.key < $1.key }.map { number, note in
        (Self.note(number), note.map { [$0.body, $0.title] })
      }
    )
  }

  /// Has the index follow, and answers whether it came up to the newest commit.
  @discardableResult
  func catchUp() async -> Bool {
    index.follow()
    return await SpotlightTests.catchUp(index, with: library)
  }

  /// The activity between two attempts.
  ///
  /// `catchUp` returns during the attempt that reaches the newest commit, before that attempt ends.
  ///
  /// - Throws: A ``RestlessIndex`` where the index is in an attempt however often it is asked.
  func restingActivity() async throws -> IndexActivity {
    for _ in 0..<60_000 {
      let activity = index.activity
      if activity.step == nil { return activity }
      try await ContinuousClock().sleep(for: .milliseconds(1))
    }
    throw RestlessIndex()
  }

  struct RestlessIndex: Error {}

  func result(
    _ query: String,
    match: SearchRequest.Match = .all,
    entities: Set<Int>? = nil,
    prefix: Bool = false,
    fuzzy: Bool = false,
    readings: Bool = false,
    offset: Int = 0,
    limit: Int = 1000,
    without excluded: Set<ObjectKey> = [],
    filter: ObjectFilter? = nil,
    wantsAll: Bool = false,
    explains: Bool = false,
    asOf commit: Int? = nil,
    interruption: Interruption? = nil
  ) throws -> SearchResult {
    let searcher = try self.searcher ?? index.makeSearcher()
    self.searcher = searcher
    let (past, texts) = library.state.withLock { state in
      (commit.map { Library.token($0, state) }, state.pasts[commit ?? 0])
    }
    return try searcher.snapshot(asOf: past, interruption: interruption) { snapshot in
      let unknown = snapshot.unknown.compactMap { key in
        texts[key].map { (key: key, content: DocumentContent(texts: $0)) }
      }
      return try snapshot.adding(unknown) { snapshot in
        try snapshot.search(
          SearchRequest(
            query: query,
            match: match,
            entities: entities,
            isPrefix: prefix,
            isFuzzy: fuzzy,
            hasReadings: readings,
            offset: offset,
            limit: limit,
            wordsMax: 64,
            wantsAll: wantsAll,
            explains: explains
          ),
          without: excluded,
          filter: filter
        )
      }
    }
  }

  /// Tells why a query finds an object, or why it does not.
  func verdict(
    on key: ObjectKey,
    _ query: String,
    match: SearchRequest.Match = .all,
    fuzzy: Bool = false,
    entities: Set<Int>? = nil,
    filter: ObjectFilter? = nil
  ) throws -> SearchVerdict {
    let texts = library.state.withLock { $0.objects[key] ?? [] }
    let request = SearchRequest(
      query: query,
      match: match,
      entities: entities,
      isPrefix: match == .forgiving,
      isFuzzy: fuzzy || match == .forgiving,
      offset: 0,
      limit: 1000,
      wordsMax: 64,
      wantsAll: true
    )
    return try index.makeSearcher().snapshot { snapshot in
      try snapshot.verdict(
        on: key,
        texts: texts.compactMap(\.self),
        request,
        without: [],
        filter: filter
      ).verdict
    }
  }

  /// Builds the index anew from its library.
  func rebuild() async throws {
    let outcome = await withCheckedContinuation { continuation in
      index.execute(.rebuild) { continuation.resume(returning: $0) }
    }
    _ = try outcome.get()
  }

  func suggestions(
    _ query: String,
    entities: Set<Int>?,
    limit: Int
  ) throws -> [Suggestion] {
    let request = Self.suggesting(query, entities: entities, limit: limit)
    return try snapshot { try $0.suggestions(request, without: []) }
  }

  func snapshot<Result>(_ body: (IndexSnapshot) throws -> Result) throws -> Result {
    try index.makeSearcher().snapshot(body)
  }

  static func suggesting(
    _ query: String,
    entities: Set<Int>? = nil,
    limit: Int = 10
  ) -> SearchRequest {
    SearchRequest(
      query: query,
      entities: entities,
      isPrefix: false,
      offset: 0,
      limit: limit,
      wordsMax: 64
    )
  }

  /// The numbers of the notes that a query finds, ascending; the total has to say the same.
  func found(_ query: String, prefix: Bool = false) throws -> [Int64] {
    let result = try result(query, prefix: prefix)
    guard result.total == result.hits.count else { throw Library.Failure() }
    return result.hits.filter { $0.key.entity == 1 }.map(\.key.object).sorted()
  }
}

/// Waits until an index has come up to the newest commit of a library, and answers whether it did.
func catchUp(_ index: SearchIndex, with library: Library) async -> Bool {
  let newest = library.newest
  return await withCheckedContinuation { continuation in
    _ = index.whenReached(newest) { continuation.resume(returning: $0) }
  }
}

/// Begins to stop an index while it reads its library; returns once the index begins nothing more.
///
/// The stop refuses orders that wait before it waits itself for the end of the reading.
///
/// - Parameters:
///   - index: The index, whose thread calls this function.
///   - ended: Called at the end of the stop, on another thread.
func beginStop(_ index: SearchIndex, _ ended: @escaping @Sendable () -> Void) {
  let refused = DispatchSemaphore(value: 0)
  index.execute(.rebuild) { _ in refused.signal() }
  Thread.detachNewThread {
    index.stop()
    ended()
  }
  refused.wait()
}
