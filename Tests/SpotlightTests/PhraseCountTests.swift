import CordialValues
import Spotlight
import Synchronization
import TestSeeds
import Testing

@Suite struct `Counts that earlier searches have read` {
  private static let words = ["milk", "oat", "rye", "tea", "京都", "oatmeal"]
  private static let queries = [
    "milk oat", "milk OR tea", "oat -rye milk", "oa* milk", "body:milk oat", "京都 tea",
    "\"milk oat\" tea", "none milk",
  ]

  private struct Hit: Equatable {
    let key: ObjectKey
    let score: Double
  }

  private func hits(_ result: SearchResult) -> [Hit] {
    result.hits.map { Hit(key: $0.key, score: $0.score) }
  }

  @Test func `are as many as the entries that are not read again`() async throws {
    let index = try TestIndex()
    for number in 1...30 as ClosedRange<Int64> {
      let words = Self.words.enumerated().filter { number % Int64($0.offset + 1) == 0 }
      index.commit([number: (body: words.map(\.element).joined(separator: " "), title: nil)])
    }
    #expect(await index.catchUp())
    for query in ["milk oat", "oat rye tea", "oa* milk", "京都 tea", "\"milk oat\" tea"] {
      let first = try index.result(query, explains: true).postings
      let second = try index.result(query, explains: true).postings
      #expect(first.skipped == 0 && second.skipped > 0, "\(query)")
      #expect(first.read == second.read + second.skipped, "\(query)")
    }
  }

  /// Any of several words are ranked word by word, or document by document where something is
  /// excluded.
  @Test(arguments: Seeds.first(6))
  func `do not change the scores of either way of ranking`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    func text() -> String {
      (0...random.below(6)).map { _ in random.pick(Self.words) }.joined(separator: " ")
    }
    for number in 1...60 as ClosedRange<Int64> {
      index.commit([number: (body: text(), title: text())])
    }
    #expect(await index.catchUp())
    let queries = [
      "milk", "oa*", "milk OR oat", "oa* OR milk", "oat OR oatmeal OR rye", "title:oat OR tea",
      "京都 OR milk", "\"milk oat\" OR tea*", "milk OR milk",
    ]
    for query in queries {
      let byWord = hits(try index.result(query))
      #expect(byWord == hits(try index.result(query + " -nonexistent")), "\(query)")
      #expect(!byWord.isEmpty || query.contains("\""), "\(query), \(Seeds.repeating(seed))")
    }
  }

  /// The second of two equal searches does not count again.
  private func expectPostings(
    _ index: TestIndex,
    _ query: String,
    _ second: Postings
  ) throws {
    let matching = try index.result(query).total
    #expect(second == (try index.result(query, explains: true).postings))
    // Of one word, or any of several, all documents are read to rank them.
    if query.contains(" OR ") {
      #expect(second.skipped == 0)
    } else if matching > 0 {
      #expect(second.skipped > 0)
    }
    // It still reads what matches, dead documents too.
    #expect(second.read >= matching)
  }

  /// After each commit, searches have the scores of an index that has never searched, whichever
  /// searches came before, and also those that are explained or of the past.
  // Evidence: P-093a
  @Test(arguments: Seeds.first(6))
  func `are those of the position of the search`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    func text() -> String {
      (0...random.below(4)).map { _ in random.pick(Self.words) }.joined(separator: " ")
    }
    for _ in 0..<12 {
      var notes: [Int64: (body: String?, title: String?)?] = [:]
      for _ in 0...random.below(6) {
        notes[Int64(1 + random.below(20))] = random.oneIn(5) ? .some(nil) : .some((text(), text()))
      }
      index.commit(notes)
      #expect(await index.catchUp())
      let former = Library()
      let objects = index.library.state.withLock { $0.objects }
      former.commit(objects.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
      for query in Self.queries + Self.queries.reversed() {
        let fresh = try TestIndex(former)
        #expect(await fresh.catchUp())
        let wanted = hits(try fresh.result(query))
        #expect(hits(try index.result(query)) == wanted, "\(query), \(Seeds.repeating(seed))")
        let past = Int(index.library.newest)
        #expect(hits(try index.result(query, asOf: past)) == wanted)
        let explained = try index.result(query, explains: true)
        #expect(hits(explained) == wanted)
        try expectPostings(index, query, explained.postings)
      }
    }
  }
}
