import CordialValues
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

@Suite struct `A search of a past commit` {
  private static let words = ["milk", "oat", "rye", "soy", "tea", "东京都", "京都", "camelCase"]

  private static func note(_ random: inout SplitMix64) -> (body: String?, title: String?)? {
    guard random.below(5) > 0 else { return nil }
    func text() -> String {
      (0...random.below(4)).map { _ in words[random.below(words.count)] }.joined(separator: " ")
    }
    return (text(), random.below(3) == 0 ? nil : text())
  }

  /// A hit without the number of its document.
  private struct Hit: Equatable {
    let key: ObjectKey
    let score: Double
    let terms: [TermShare]
  }

  private func hits(_ result: SearchResult) -> [Hit] {
    result.hits.map { Hit(key: $0.key, score: $0.score, terms: $0.explanation) }
  }

  /// The index reads several commits at a time, so that objects change more than once in a batch.
  /// Every commit has to answer as an index does that was built from the objects of that commit.
  // Evidence: P-090b
  @Test(arguments: Seeds.first(12))
  func `answers as an index of that commit`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let index = try TestIndex()
    #expect(await index.catchUp())
    for _ in 0..<40 {
      for _ in 0...random.below(4) {
        var notes: [Int64: (body: String?, title: String?)?] = [:]
        for _ in 0...random.below(3) {
          notes[Int64(1 + random.below(8))] = .some(Self.note(&random))
        }
        index.commit(notes)
      }
      index.library.state.withLock { $0.changesMax = 1 + random.below(6) }
      #expect(await index.catchUp())
    }
    for commit in [0, 1] + (0..<8).map({ _ in random.below(Int(index.library.newest) + 1) }) {
      let former = Library()
      let objects = index.library.state.withLock { $0.pasts[commit] }
      former.commit(objects.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
      let fresh = try TestIndex(former)
      #expect(await fresh.catchUp())
      for query in ["milk", "oat tea", "京都", "mi*", "\"oat tea\"", "milk -tea", "case OR rye"] {
        let wanted = try fresh.result(query, limit: 3, explains: true)
        let found = try index.result(query, limit: 3, explains: true, asOf: commit)
        #expect(found.total == wanted.total, "\(query) at \(commit)")
        #expect(hits(found) == hits(wanted), "\(query) at \(commit)")
        #expect(found.missing == wanted.missing)
        #expect(found.omit.map(\.word) == wanted.omit.map(\.word))
      }
    }
  }

  @Test func `reaches back to the last rebuild`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    index.commit([1: ("milk", nil)])
    #expect(await index.catchUp())
    #expect(try index.result("milk", asOf: 0).total == 0)
    #expect(try index.result("milk", asOf: 1).total == 1)
    try await index.rebuild()
    #expect(throws: SpotlightError.self) { try index.result("milk", asOf: 0) }
    #expect(try index.result("milk", asOf: 1).total == 1)
    index.commit([1: nil])
    #expect(await index.catchUp())
    #expect(try index.result("milk").total == 0)
    #expect(try index.result("milk", asOf: 1).total == 1)
  }

  @Test func `finds an object that lived between two readings of the log`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    index.commit([1: ("milk", nil)])
    index.commit([1: nil])
    #expect(await index.catchUp())
    #expect(try index.result("milk", asOf: 1).hits.map(\.key) == [TestIndex.note(1)])
    #expect(try index.result("milk", asOf: 2).total == 0)
  }
}

@Suite struct `The activity of an index` {
  // Evidence: P-095c
  @Test func `counts the processor time of its thread`() async throws {
    let index = try TestIndex()
    #expect(await index.catchUp())
    let first = try await index.restingActivity()
    #expect(first.oldest?.number == 0)
    index.commit([1: ("milk", nil)])
    #expect(await index.catchUp())
    let second = try await index.restingActivity()
    #expect(second.processorMicroseconds > first.processorMicroseconds)
  }
}
