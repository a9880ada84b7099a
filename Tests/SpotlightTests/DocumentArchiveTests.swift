import CordialValues
import Foundation
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

@Suite struct `Documents in a few values` {
  private static func documents(
    _ random: inout SplitMix64,
    boostCount: Int
  ) -> [DocumentTable.AddedDocument] {
    var number: Int64 = 0
    return (0..<random.below(400)).map { _ in
      number += Int64(1 + random.below(random.oneIn(9) ? 10_000 : 2))
      return DocumentTable.AddedDocument(
        number: number,
        key: ObjectKey(entity: random.below(300), object: Int64(truncatingIfNeeded: random.next())),
        length: Int64(random.below(random.oneIn(9) ? 4_000_000_000 : 200)),
        titleLength: Int64(random.below(256)),
        boosts: (0..<boostCount).map { _ in
          random.oneIn(3) ? nil : Double(bitPattern: random.next() & ~(0x7FF << 52))
        }
      )
    }
  }

  private static func view(
    _ documents: [DocumentTable.AddedDocument],
    boostCount: Int
  ) -> DocumentTable.View {
    var view = DocumentTable.View(boostCount: boostCount)
    for document in documents { view.add(document) }
    return view
  }

  private static func read(
    _ parts: [[UInt8]],
    boostCount: Int,
    numbersEnd: Int64 = .max
  ) -> DocumentTable.View? {
    var view = DocumentTable.View(boostCount: boostCount)
    for part in parts {
      let isWhole = DocumentArchive.add(
        part.span,
        to: &view,
        numbersEnd: numbersEnd,
        boostCount: boostCount
      )
      guard isWhole else { return nil }
    }
    return view
  }

  private static func all(_ view: DocumentTable.View) -> [DocumentTable.AddedDocument] {
    var documents: [DocumentTable.AddedDocument] = []
    view.eachDocument { documents.append($0) }
    return documents
  }

  private static func text(_ documents: [DocumentTable.AddedDocument]) -> [String] {
    documents.map { document in
      "\(document.number) \(document.key) \(document.length) \(document.titleLength) "
        + "\(document.boosts.map { $0?.bitPattern })"
    }
  }

  @Test(arguments: Seeds.first(40))
  func `are read as they were written`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let boostCount = random.below(3)
    let documents = Self.documents(&random, boostCount: boostCount)
    let view = Self.view(documents, boostCount: boostCount)
    #expect(Self.text(Self.all(view)) == Self.text(documents), "\(Seeds.repeating(seed))")
    let found = Self.read(DocumentArchive.parts(of: view), boostCount: boostCount)
    #expect(
      found.map { Self.text(Self.all($0)) } == Self.text(documents),
      "\(Seeds.repeating(seed))"
    )
    #expect(found?.aliveCount == view.aliveCount && found?.aliveTokens == view.aliveTokens)
  }

  @Test func `are many parts where they are many`() {
    var view = DocumentTable.View(boostCount: 0)
    for number in 1...150_000 as ClosedRange<Int64> {
      view.add(
        DocumentTable.AddedDocument(
          number: number,
          key: ObjectKey(entity: 1, object: number),
          length: 30,
          titleLength: 3,
          boosts: []
        )
      )
    }
    let parts = DocumentArchive.parts(of: view)
    #expect(parts.count == 3 && parts.allSatisfy { $0.count < 500_000 })
    #expect(Self.read(parts, boostCount: 0)?.aliveCount == 150_000)
  }

  @Test(arguments: Seeds.first(10))
  func `are refused where a byte is wrong, or some are missing`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var documents: [DocumentTable.AddedDocument] = []
    while documents.isEmpty { documents = Self.documents(&random, boostCount: 1) }
    let part = try #require(DocumentArchive.parts(of: Self.view(documents, boostCount: 1)).first)
    for _ in 0..<200 {
      var wrong = part
      wrong[random.below(wrong.count)] ^= UInt8(1 << random.below(8))
      #expect(Self.read([wrong], boostCount: 1) == nil, "\(Seeds.repeating(seed))")
      let short = Array(part.prefix(random.below(part.count)))
      #expect(Self.read([short], boostCount: 1) == nil, "\(Seeds.repeating(seed))")
    }
    let last = try #require(documents.last?.number)
    #expect(Self.read([part], boostCount: 1, numbersEnd: last) == nil)
    #expect(Self.read([part], boostCount: 1, numbersEnd: last + 1) != nil)
  }

  private func makeIndex() async throws -> TestIndex {
    let index = try TestIndex()
    let notes = (1...1200 as ClosedRange<Int64>).map { number in
      (TestIndex.note(number), ["milk word\(number)", nil] as [String?]?)
    }
    index.library.commit(notes)
    #expect(await index.catchUp())
    return index
  }

  private func change(_ index: TestIndex, _ sql: String) throws {
    let connection = try ForeignConnection(index.folder.path + "/index.sqlite")
    try connection.execute(sql)
    #expect(connection.changes > 0)
  }

  /// What is removed here from the rows shows from where the documents were read.
  private static let removal = "DELETE FROM document WHERE number <= 100"

  // Evidence: P-095a
  @Test func `are written by a stop and read by the next start`() async throws {
    let first = try await makeIndex()
    first.index.stop()
    try change(first, Self.removal)
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    #expect(second.index.status.documents == 1200)
    #expect(try second.result("milk").total == 1200)
    #expect(try second.found("word7") == [7])
  }

  @Test func `of another position are not read`() async throws {
    let first = try await makeIndex()
    first.index.stop()
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    second.library.commit([(TestIndex.note(2000), ["milk", nil])])
    #expect(await second.catchUp())
    // A copy of the file is what a process leaves that is killed.
    let copy = try TestFolder()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: first.folder.path + "/index.sqlite" + suffix,
        toPath: copy.path + "/index.sqlite" + suffix
      )
    }
    let third = try TestIndex(first.library, in: copy)
    try change(third, Self.removal)
    #expect(await third.catchUp())
    #expect(third.index.status.documents == 1101)
  }

  @Test(arguments: [
    "UPDATE archive SET documents = zeroblob(length(documents))", "DELETE FROM archive",
    "UPDATE state SET value = value || '1' WHERE name = 'archive'",
  ])
  func `that are damaged are not read`(sql: String) async throws {
    let first = try await makeIndex()
    first.index.stop()
    try change(first, sql)
    try change(first, Self.removal)
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    #expect(second.index.status.documents == 1100)
  }

  private func archive(_ index: TestIndex) throws -> [ForeignConnection.Value] {
    try ForeignConnection(index.folder.path + "/index.sqlite").values(
      "SELECT documents FROM archive UNION ALL SELECT count(*) FROM archive"
    )
  }

  /// Numbers of rows are lengths and positions of the archive.
  @Test(arguments: [
    "lengths = -5", "number = -5", "entity = 65535", "number = 1 << 40", "number = 4",
  ])
  func `that a process keeps none of are checked by its stop`(change: String) async throws {
    let library = Library()
    let notes = (1...1200 as ClosedRange<Int64>).map { number in
      (TestIndex.note(number), ["milk word\(number)", nil] as [String?]?)
    }
    library.commit(notes)
    let counted = try TestIndex(library, keepsDocuments: false)
    #expect(await counted.catchUp())
    try self.change(counted, "UPDATE document SET \(change) WHERE number = 3")
    counted.index.stop()
    let reopened = try TestIndex(library, in: counted.folder)
    #expect(await reopened.catchUp())
    #expect(reopened.index.status.documents == 1200)
    #expect(try reopened.result("milk").total == 1200)
  }

  /// Entities have different numbers of boosts; a part has the greatest number for each document.
  @Test(arguments: [true, false])
  func `of several entities are read by the next start`(isKept: Bool) async throws {
    let library = Library()
    library.state.withLock { state in
      for number in 1...400 as ClosedRange<Int64> {
        state.boosts[TestIndex.note(number)] = [Double(number), number % 3 == 0 ? nil : 2]
        state.boosts[TestIndex.card(number)] = [number % 2 == 0 ? 7 : nil]
      }
    }
    let texts = ["milk", nil] as [String?]
    library.commit(
      (1...400 as ClosedRange<Int64>).flatMap { number in
        [
          (TestIndex.note(number), texts), (TestIndex.card(number), ["milk"]),
          (TestIndex.label(number), ["milk"]),
        ] as [(ObjectKey, [String?]?)]
      }
    )
    let first = try TestIndex(library, model: TestIndex.boostedModel, keepsDocuments: isKept)
    #expect(await first.catchUp())
    first.index.stop()
    try change(first, Self.removal)
    let second = try TestIndex(library, model: TestIndex.boostedModel, in: first.folder)
    #expect(await second.catchUp())
    #expect(second.index.status.documents == 1200)
    #expect(try second.result("milk").total == 1200)
  }

  // Evidence: P-095a
  @Test(arguments: Seeds.first(3))
  func `are the same where a process keeps none`(seed: UInt64) async throws {
    let library = Library()
    let (kept, counted) = (try TestIndex(library), try TestIndex(library, keepsDocuments: false))
    var random = SplitMix64(seed: seed)
    var live: Set<Int64> = []
    for _ in 0..<12 {
      var notes: [(ObjectKey, [String?]?)] = []
      for number in Set((0..<400).map { _ in Int64(random.below(2000) + 1) }).sorted() {
        let isGone = random.below(8) == 0
        if isGone { live.remove(number) } else { live.insert(number) }
        notes.append((TestIndex.note(number), isGone ? nil : ["milk word\(number % 7)", nil]))
      }
      library.commit(notes)
      #expect(await kept.catchUp())
      #expect(await counted.catchUp())
      #expect(counted.index.status.documents == Int64(live.count), "\(Seeds.repeating(seed))")
      #expect(counted.index.deadFraction == kept.index.deadFraction, "\(Seeds.repeating(seed))")
      #expect(try counted.found("word3") == (try kept.found("word3")), "\(Seeds.repeating(seed))")
    }
    #expect(counted.index.documentBytes == 0 && kept.index.documentBytes > 0)
    try await counted.rebuild()
    try await kept.rebuild()
    #expect(counted.index.status.documents == Int64(live.count), "\(Seeds.repeating(seed))")
    #expect(try counted.found("word5") == (try kept.found("word5")), "\(Seeds.repeating(seed))")
    #expect(counted.index.documentBytes == 0)
    kept.index.stop()
    counted.index.stop()
    #expect(try archive(counted) == (try archive(kept)), "\(Seeds.repeating(seed))")
    #expect(try archive(counted).count == 2, "an archive")
    let reopened = try TestIndex(library, in: counted.folder, keepsDocuments: false)
    #expect(await reopened.catchUp())
    #expect(reopened.index.status.documents == Int64(live.count), "\(Seeds.repeating(seed))")
    #expect(try reopened.result("milk").total == Int64(live.count), "\(Seeds.repeating(seed))")
  }
}

extension DocumentArchive {
  /// Returns the parts of the documents of a view.
  static func parts(of view: DocumentTable.View) -> [[UInt8]] {
    var writer = DocumentArchive.Writer(boostCount: view.boostCount)
    var parts: [[UInt8]] = []
    view.eachDocument { document in
      if let part = writer.add(document) { parts.append(part) }
    }
    if let part = writer.end() { parts.append(part) }
    return parts
  }
}
