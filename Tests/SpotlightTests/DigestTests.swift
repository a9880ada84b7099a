import CordialValues
import Foundation
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

@Suite struct `The digest of a document` {
  private func expected(_ index: TestIndex) -> [ObjectKey: DocumentDigest] {
    index.library.state.withLock { $0.objects }.reduce(into: [:]) { digests, object in
      digests[object.key] = index.index.layout.digest(
        of: object.key.entity,
        DocumentContent(texts: object.value)
      )
    }
  }

  private func digests(_ index: TestIndex) throws -> [ObjectKey: DocumentDigest] {
    try index.index.makeSearcher().snapshot { try $0.digests() }
  }

  @Test(arguments: Seeds.first(10))
  func `is that of the texts, whatever has happened`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let words = [
      "milk", "HTTPServer2", "#tag", "don't", "a-b-a", "東京都", "한국어", "👍🏽", "café", "x x x", "\n",
      "john.doe@example.com", "ไทย", "+", "→", "->",
    ]
    let index = try TestIndex()
    for _ in 0..<8 {
      var notes: [Int64: (body: String?, title: String?)?] = [:]
      func text() -> String? {
        random.oneIn(5)
          ? nil : (0..<random.below(5)).map { _ in random.pick(words) }.joined(separator: " ")
      }
      for _ in 0..<5 {
        let note = random.oneIn(5) ? nil : (body: text(), title: text())
        notes.updateValue(note, forKey: Int64(1 + random.below(12)))
      }
      index.commit(notes)
      #expect(await index.catchUp())
    }
    #expect(try digests(index) == expected(index), "\(Seeds.repeating(seed))")
    // Each portion reads the whole index, and has the words of its documents only.
    for portionMax in 1...4 {
      let found = try index.index.makeSearcher().snapshot { try $0.digests(portionMax: portionMax) }
      #expect(found == expected(index), "\(Seeds.repeating(seed))")
    }
    try await index.rebuild()
    #expect(try digests(index) == expected(index), "\(Seeds.repeating(seed))")
  }

  @Test func `tells words, places and columns apart`() throws {
    let layout = try TestIndex().index.layout
    let texts: [[String?]] = [
      ["milk", nil], ["milks", nil], [nil, "milk"], ["milk oat", nil], ["oat milk", nil],
      ["milk milk", nil], ["oat oat", nil], ["milk", "milk"], [nil, nil], ["milk oat oat", nil],
      ["oat milk oat", nil],
    ]
    for (first, one) in texts.enumerated() {
      for (second, other) in texts.enumerated() {
        let digests = [one, other].map { layout.digest(of: 1, DocumentContent(texts: $0)) }
        #expect((digests[0] == digests[1]) == (first == second))
      }
    }
  }

  /// What searches for each word, each beginning and some phrases find; nil for a damaged index.
  private func answers(_ index: TestIndex) throws -> [String]? {
    let words = "oat milk from the shop buy http server httpserver2 2 東 京".split(separator: " ")
    let queries =
      words.map { "\($0)" } + words.map { "\($0)*" }
      + [#""oat milk""#, #""from the shop""#, "title:milk", "body:milk", "milk -oat", "mlik"]
    do {
      return try queries.map { query in
        let result = try index.result(query, fuzzy: true)
        return "\(result.hits.map { "\($0.key) \($0.score)" }) \(result.total)"
      }
    } catch let error as SpotlightError where error.code == .damaged {
      return nil
    }
  }

  /// Every byte of the pages with words and their places is changed, one at a time.
  // Evidence: P-095c
  @Test func `shows each wrong byte that changes an answer`() async throws {
    let index = try TestIndex()
    index.commit([
      1: (body: "oat milk from the shop", title: "Buy milk"), 2: (body: "HTTPServer2", title: "東京"),
      3: (body: nil, title: "milk"),
    ])
    #expect(await index.catchUp())
    let (right, expected) = (try digests(index), expected(index))
    #expect(right == expected)
    let connection = try ForeignConnection(index.folder.path + "/index.sqlite")
    // The first two rows describe the segments and count words, which no search reads.
    let pages = try connection.rows("SELECT id, block FROM text_data WHERE id > 10")
    #expect(!pages.isEmpty)
    let before = try answers(index)
    var shown = 0
    for page in pages {
      guard case .integer(let id) = page[0], case .blob(let block) = page[1] else {
        Issue.record("A page is no blob with a number")
        continue
      }
      for offset in block.indices {
        var wrong = block
        wrong[offset] ^= 0x01
        try set(wrong, id, connection)
        do {
          guard try digests(index) == expected else {
            shown += 1
            continue
          }
          // FTS5 does not read some bytes while it searches, as the flags of deleted words.
          #expect(try answers(index) == before, "page \(id), byte \(offset)")
        } catch let error as SpotlightError {
          #expect(error.code == .damaged)
          shown += 1
        }
      }
      #expect(shown > block.count * 3 / 4)
      try set(block, id, connection)
    }
    #expect(try digests(index) == expected)
    // A document that the index has forgotten, and a posting that is missing.
    try connection.execute("DELETE FROM document WHERE number = 2")
    #expect(try digests(index) != expected)
  }

  private func set(_ block: [UInt8], _ id: Int64, _ connection: ForeignConnection) throws {
    let digits = block.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    try connection.execute("UPDATE text_data SET block = x'\(digits)' WHERE id = \(id)")
  }
}
