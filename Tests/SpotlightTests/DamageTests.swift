import CordialValues
import Foundation
import ObjectModel
import Spotlight
import Synchronization
import TestStores
import Testing

// Evidence: P-095c
@Suite struct `A damaged file of an index` {
  private final class Reasons: Sendable {
    let texts = Mutex<[String]>([])
  }

  /// What an index answers after it has followed its library, and why it removed a file.
  private struct Followed: Equatable {
    var state: IndexStatus.State
    var milk: [Int64]
    var reasons: [String]
  }

  /// Opens the index of a folder, has it follow, searches, and stops it.
  private func follow(_ library: Library, in folder: TestFolder) async throws -> Followed {
    let reasons = Reasons()
    let index = SearchIndex(
      path: folder.path + "/index.sqlite",
      model: try ModelDocument.parse(Array(TestIndex.model.utf8).span),
      buildMilliseconds: 0,
      whenDamaged: { reason in reasons.texts.withLock { $0.append(reason) } },
      makeSource: { LibraryReader(library) }
    )
    defer { index.stop() }
    index.follow()
    let isReached = await withCheckedContinuation { continuation in
      _ = index.whenReached(library.newest) { continuation.resume(returning: $0) }
    }
    #expect(isReached)
    let request = SearchRequest(
      query: "milk",
      entities: nil,
      isPrefix: false,
      offset: 0,
      limit: 10_000,
      wordsMax: 64
    )
    let result = try index.makeSearcher().snapshot { try $0.search(request, without: []) }
    return Followed(
      state: index.status.state,
      milk: result.hits.map(\.key.object).sorted(),
      reasons: reasons.texts.withLock { $0 }
    )
  }

  /// Makes the file of an index with this number of notes.
  private func make(_ count: Int64, in folder: TestFolder) async throws -> Library {
    let library = Library()
    library.commit(
      (1...count).map { number in (TestIndex.note(number), ["milk \(number)", "note"]) }
    )
    library.commit([(TestIndex.note(1), ["bread", nil]), (TestIndex.card(5000), ["a card"])])
    let followed = try await follow(library, in: folder)
    try #require(followed.milk == Array(2...count) && followed.reasons.isEmpty)
    return library
  }

  private func change(_ folder: TestFolder, _ sql: String) throws {
    try ForeignConnection(folder.path + "/index.sqlite").execute(sql)
  }

  private static let position = "UPDATE state SET value = substr(value, 1, instr(value, ' ')) || "

  /// Each of these ended the process, needed all memory, or failed at every start.
  private static let statements = [
    "UPDATE document SET entity = 65535 WHERE number = 3",
    "UPDATE document SET entity = 2 WHERE number = 3",
    "UPDATE document SET entity = -1 WHERE number = 3",
    "UPDATE document SET entity = 9223372036854775807 WHERE number = 3",
    "UPDATE document SET number = -5 WHERE number = 3",
    "UPDATE document SET number = 0 WHERE number = 3",
    "UPDATE document SET number = 9223372036854775807 WHERE number = 3",
    "UPDATE document SET number = 4611686018427387904 WHERE number = 3",
    "UPDATE document SET lengths = -1",
    "UPDATE document SET lengths = 9223372036854775807",
    position + "'9223372036854775807 2' WHERE name = 'position'",
    position + "'1 9223372036854775807' WHERE name = 'position'",
    position + "'1 0' WHERE name = 'position'",
    position + "'1 4611686018427387903' WHERE name = 'position'; "
      + "UPDATE document SET number = 4611686018427387902 WHERE number = 3",
    "UPDATE state SET value = 'x' WHERE name = 'position'",
    "DELETE FROM state WHERE name = 'position'", "DELETE FROM state WHERE name = 'built'",
    "DROP TABLE document", "DROP TABLE word", "DROP TABLE archive",
    "DROP TABLE text_config; CREATE TABLE text_config(k PRIMARY KEY, v) WITHOUT ROWID",
    "UPDATE text_config SET v = 3 WHERE k = 'version'",
    "CREATE TRIGGER other AFTER INSERT ON document BEGIN DELETE FROM document; END",
  ]

  @Test(arguments: statements)
  func `is replaced at the start, which is reported once`(sql: String) async throws {
    let folder = try TestFolder()
    let library = try await make(20, in: folder)
    try change(folder, sql)
    library.commit([(TestIndex.note(2), ["bread", nil])])
    let followed = try await follow(library, in: folder)
    #expect(followed.state == .ready && followed.milk == Array(3...20))
    #expect(followed.reasons.count == 1, "\(followed.reasons)")
    #expect(followed.reasons.allSatisfy { !$0.isEmpty })
    let again = try await follow(library, in: folder)
    #expect(again == Followed(state: .ready, milk: Array(3...20), reasons: []))
  }

  /// Changes the header of the file, which SQLite reads before any statement.
  @Test(arguments: [(18, 9), (19, 9), (47, 9), (0, 0), (16, 1), (21, 1)] as [(Int, UInt8)])
  func `whose header is wrong is replaced`(offset: Int, byte: UInt8) async throws {
    let folder = try TestFolder()
    let library = try await make(20, in: folder)
    let path = folder.path + "/index.sqlite"
    try change(folder, "PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[offset] = byte
    try bytes.write(to: URL(fileURLWithPath: path))
    let followed = try await follow(library, in: folder)
    #expect(followed.state == .ready && followed.milk == Array(2...20))
    #expect(followed.reasons.count == 1, "\(followed.reasons)")
  }

  @Test func `is not replaced where its rows are sound and its archive is not`() async throws {
    let folder = try TestFolder()
    let library = try await make(1200, in: folder)
    try change(folder, "UPDATE archive SET documents = zeroblob(length(documents))")
    let followed = try await follow(library, in: folder)
    #expect(followed == Followed(state: .ready, milk: Array(2...1200), reasons: []))
  }

  // MARK: Archives

  private func read(
    _ documents: [(number: Int64, entity: Int)],
    indexed: [Bool]
  ) -> [Int64]? {
    var view = DocumentTable.View(boostCount: 0)
    var parts: [[UInt8]] = []
    for (number, entity) in documents {
      var one = DocumentTable.View(boostCount: 0)
      one.add(
        DocumentTable.AddedDocument(
          number: number,
          key: ObjectKey(entity: entity, object: 1),
          length: 3,
          titleLength: 1,
          boosts: []
        )
      )
      parts += DocumentArchive.parts(of: one)
    }
    for part in parts {
      let isWhole = DocumentArchive.add(
        part.span,
        to: &view,
        numbersEnd: 100,
        boostCount: 0,
        indexed: indexed
      )
      guard isWhole else { return nil }
    }
    var numbers: [Int64] = []
    view.eachDocument { numbers.append($0.number) }
    return numbers
  }

  @Test func `has no archive with another entity, or with a number twice`() {
    let indexed = [false, true, false, true]
    #expect(read([(1, 1), (2, 3)], indexed: indexed) == [1, 2])
    for entity in [0, 2, 4, 65_535] {
      #expect(read([(1, 1), (2, entity)], indexed: indexed) == nil, "\(entity)")
    }
    #expect(read([(5, 1), (5, 1)], indexed: indexed) == nil)
    #expect(read([(5, 1), (4, 1)], indexed: indexed) == [4, 5])
  }
}
