import CordialValues
import Spotlight
import Synchronization
import TestSeeds
import TestStores
import Testing

@Suite struct `The domains of an index` {
  private func execute(_ order: IndexOrder.Kind, _ test: TestIndex) async throws {
    _ = try await withCheckedThrowingContinuation { continuation in
      test.index.execute(order) { continuation.resume(with: $0) }
    }
  }

  /// Commits notes with a text and a domain each.
  private func commit(_ test: TestIndex, _ notes: [Int64: (text: String, domain: String?)]) {
    test.library.state.withLock { state in
      for (number, note) in notes { state.domains[TestIndex.note(number)] = note.domain }
    }
    test.commit(notes.mapValues { .some((body: nil, title: $0.text)) })
  }

  @Test func `are left out once they are deleted, in other processes too`() async throws {
    let test = try TestIndex()
    commit(test, [1: ("milk", "work"), 2: ("milk", "home"), 3: ("milk", nil)])
    #expect(await test.catchUp())
    let other = try TestIndex(test.library, in: test.folder)
    #expect(await other.catchUp())
    let before = Int(test.library.newest)
    try await execute(.deleteDomains(["work", "none"]), test)
    #expect(try test.found("milk") == [2, 3])
    #expect(test.index.status.documents == 2)
    #expect(try other.found("milk") == [2, 3])

    // One that comes to the domain leaves, and one that leaves it comes.
    commit(test, [1: ("milk", "home"), 2: ("milk", "work"), 4: ("milk", "work")])
    #expect(await other.catchUp())
    #expect(await test.catchUp())
    for index in [test, other] { #expect(try index.found("milk") == [1, 3]) }
    try await test.rebuild()
    #expect(try test.found("milk") == [1, 3])

    try await execute(.restoreDomains(["work"]), test)
    #expect(try test.found("milk") == [1, 2, 3, 4])
    #expect(await other.catchUp())
    #expect(try other.found("milk") == [1, 2, 3, 4])
    #expect(before < Int(test.library.newest))
  }

  @Test func `are in no search of an earlier commit once they are deleted`() async throws {
    let test = try TestIndex()
    #expect(await test.catchUp())
    commit(test, [1: ("milk", "work")])
    #expect(await test.catchUp())
    let former = Int(test.library.newest)
    commit(test, [2: ("milk", "home")])
    #expect(await test.catchUp())
    try await execute(.deleteDomains(["work"]), test)
    let error = #expect(throws: SpotlightError.self) { try test.result("milk", asOf: former) }
    #expect(error?.code == .expired)
    let newest = Int(test.library.newest)
    #expect(try test.result("milk", asOf: newest).hits.map(\.key.object) == [2])
    #expect(try test.found("milk") == [2])
    #expect(test.index.activity.oldest?.number == Int64(newest))
  }

  @Test func `are in the digest of a document`() throws {
    let test = try TestIndex()
    let digests = [nil, "work", "home", ""].map { domain in
      test.index.layout.digest(of: 1, DocumentContent(texts: ["milk", nil], domain: domain))
    }
    for (index, digest) in digests.enumerated() {
      #expect(digests.firstIndex(of: digest) == index)
    }
  }

  /// Whatever comes, the index has the notes whose domain is not deleted.
  @Test(arguments: Seeds.first(8))
  func `follow random commits and orders`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let test = try TestIndex()
    let other = try TestIndex(test.library, in: test.folder)
    let domains = ["work", "home", "away"]
    var (notes, deleted): ([Int64: String?], Set<String>) = ([:], [])
    for _ in 0..<40 {
      let actor = random.oneIn(2) ? test : other
      switch random.below(6) {
      case 0:
        let domain = random.pick(domains)
        try await execute(.deleteDomains([domain]), actor)
        deleted.insert(domain)
      case 1:
        let domain = random.pick(domains)
        try await execute(.restoreDomains([domain]), actor)
        deleted.remove(domain)
      case 2: try await actor.rebuild()
      default:
        let (number, domain) = (Int64(1 + random.below(6)), random.pick(domains + [nil, nil]))
        notes[number] = .some(domain)
        commit(actor, [number: ("milk", domain)])
      }
      for index in random.oneIn(2) ? [test, other] : [other, test] {
        #expect(await index.catchUp())
        let wanted = notes.filter { $0.value.map { !deleted.contains($0) } ?? true }.keys.sorted()
        #expect(try index.found("milk") == wanted, "\(Seeds.repeating(seed))")
      }
    }
  }
}
