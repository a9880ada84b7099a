import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let notes = """
  {"name":"Notes","entities":[
    {"name":"Note","attributes":[
      {"name":"text","type":"string","optional":true},
      {"name":"size","type":"int32","optional":true}]}]}
  """

/// A result that the store hands to a completion.
private func value<Answer: Sendable>(
  _ body: (@escaping @Sendable (Result<Answer, StoreError>) -> Void) -> Void
) async throws -> Answer {
  try await withCheckedThrowingContinuation { continuation in
    body { continuation.resume(with: $0) }
  }
}

@Suite struct `The log is retained for its followers` {
  private let store: TestStore
  private static let day: Int64 = 86_400_000

  init() throws {
    store = try TestStore(notes)
  }

  private func fill(_ count: Int) async throws -> [StoreToken] {
    var tokens: [StoreToken] = []
    for number in 0..<count {
      let text = #"{"insert":[{"entity":"Note","values":{"size":\#(number)}}]}"#
      tokens.append(try await store.outcome(text).token)
    }
    return tokens
  }

  private func register(
    _ name: String,
    since: StoreToken? = nil,
    silence: Int64 = day
  )
    async throws -> StoreToken
  {
    let persistent = store.store
    return try await value { completion in
      persistent.register(follower: name, since: since, silence: silence, completion)
    }
  }

  // Evidence: P-128e
  @Test func `the maximum is a thousand followers`() async throws {
    let token = try await register("known")
    try store.foreign(
      """
      WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO cordial_follower SELECT 'f' || i, 0, 9000000000000 FROM n
      """
    )
    let error = await #expect(throws: StoreError.self) { try await register("one too many") }
    #expect(error?.code == .limitExceeded)
    #expect(error?.data.contains { $0.name == "max" && $0.value == 1000 } == true)
    #expect(try await register("known") == token)
  }

  private func acknowledge(
    _ name: String,
    _ token: StoreToken,
    silence: Int64 = day
  )
    async throws -> StoreToken
  {
    let persistent = store.store
    return try await value { completion in
      persistent.acknowledge(follower: name, token, silence: silence, completion)
    }
  }

  private func purge(to number: Int64) async throws -> Int {
    let persistent = store.store
    return try await value { completion in
      persistent.purge(to: number, silence: Self.day, ownLease: "", completion)
    }
  }

  private func code(_ body: () async throws -> Void) async -> StoreError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? StoreError)?.code
    }
  }

  // Evidence: P-128a, P-128b
  @Test func `the position of a follower never decreases`() async throws {
    let tokens = try await fill(5)
    #expect(try await register("mirror") == tokens[4])
    #expect(try await register("late", since: tokens[1]) == tokens[1])
    #expect(try await acknowledge("late", tokens[3]) == tokens[3])
    #expect(try await acknowledge("late", tokens[2]) == tokens[3])
    // Registered again, it is where it was.
    #expect(try await register("late") == tokens[3])
    let followers = try store.snapshot { try $0.followers() }
    #expect(followers.map(\.name) == ["late", "mirror"])
    #expect(followers.map(\.number) == [4, 5])
    #expect(await code { _ = try await acknowledge("nobody", tokens[0]) } == .invalidRequest)
  }

  // Evidence: P-128d
  @Test func `a follower that was silent for too long may register again`() async throws {
    let tokens = try await fill(3)
    _ = try await register("lost", since: tokens[0])
    _ = try await fill(20)
    #expect(
      await code { _ = try await acknowledge("lost", tokens[2], silence: 5) } == .historyExpired
    )
    #expect(await code { _ = try await register("lost", silence: 5) } == .historyExpired)
    let again = try await register("lost", since: tokens[2], silence: 5)
    #expect(again == tokens[2])
    #expect(try await acknowledge("lost", tokens[2]) == tokens[2])
  }

  // Evidence: P-129a, P-129f
  @Test func `a purge removes the oldest commits and leaves the rest readable`() async throws {
    let tokens = try await fill(40)
    let rest = try store.snapshot { snapshot in
      try snapshot.log.transactions(after: 30, through: 40, limit: 100).map(\.changes.count)
    }
    #expect(try await purge(to: 30) == 30)
    #expect(try store.rows("SELECT min(number), count(*) FROM cordial_transaction") == ["30|11"])
    // One change stays behind them, from whose number the next ones count on.
    #expect(try store.rows("SELECT count(*) FROM cordial_change") == ["11"])
    #expect(try store.snapshot { try $0.oldest() } == tokens[29])
    #expect(throws: StoreError.self) { try store.snapshot { try $0.position(of: tokens[28]) } }
    #expect(try store.snapshot { try $0.position(of: tokens[29]) } == 30)
    #expect(try store.snapshot { try $0.log.changeSet(from: 29, through: 40) } == nil)
    #expect(try store.snapshot { try $0.log.changeSet(from: 30, through: 40) }?.changes.count == 10)
    let now = try store.snapshot { snapshot in
      try snapshot.log.transactions(after: 30, through: 40, limit: 100).map(\.changes.count)
    }
    #expect(now == rest)
    #expect(try await purge(to: 30) == 0)
  }

  @Test func `one large commit is purged in steps`() async throws {
    let inserts = Array(repeating: #"{"entity":"Note"}"#, count: 9000).joined(separator: ",")
    try await store.save(#"{"insert":[\#(inserts)]}"#)
    _ = try await fill(1)
    #expect(try await purge(to: 1) == 1)
    #expect(try store.rows("SELECT count(*) FROM cordial_change") == ["2"])
    #expect(try store.ids(#"{"entity":"Note"}"#).count == 9001)
  }

  @Test func `a completely purged log continues its numbers`() async throws {
    let tokens = try await fill(5)
    #expect(try await purge(to: 5) == 5)
    #expect(try store.snapshot { try $0.oldest() } == tokens[4])
    store.store.close()
    let again = try TestStore(nil, in: store.folder)
    let saved = try await again.outcome(#"{"insert":[{"entity":"Note"}]}"#)
    #expect(saved.token.number == 6)
    #expect(try again.rows("SELECT lastChange FROM cordial_transaction WHERE number = 6") == ["6"])
    try again.foreign("UPDATE Note SET size = 9 WHERE _id = 6")
    #expect(try await again.seal() == 7)
    #expect(try await again.save(#"{"undo":1,"author":"external"}"#)["undone"] == 1)
    #expect(try again.rows("SELECT size FROM Note WHERE _id = 6") == ["null"])
    let problems = try again.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
    #expect(problems == [])
  }

  @Test func `a log that lost its end continues its numbers`() async throws {
    _ = try await fill(5)
    store.store.close()
    try store.foreign("DELETE FROM cordial_change")
    let again = try TestStore(nil, in: store.folder)
    try await again.save(#"{"update":[{"id":"Note/p1","values":{"size":9}}]}"#)
    #expect(try again.rows("SELECT max(number) FROM cordial_change") == ["6"])
    #expect(try again.rows("SELECT max(number) FROM cordial_transaction") == ["6"])
  }

  @Test func `a follower registered during a purge stops it`() async throws {
    let tokens = try await fill(10)
    _ = try await register("late", since: tokens[5])
    #expect(try await purge(to: 9) == 6)
    #expect(try store.snapshot { try $0.oldest() } == tokens[5])
  }

  @Test func `purge goals determine commits`() async throws {
    _ = try await fill(20)
    func commit(_ goal: HistoryPurgeGoal) throws -> Int64 {
      try store.snapshot { try $0.commit(of: goal) }
    }
    #expect(try commit(.transactions(5)) == 15)
    #expect(try commit(.transactions(100)) == 0)
    #expect(try commit(.time(0)) == 0)
    #expect(try commit(.time(Int64.max)) == 20)
    let time = try #require(
      try store.rows("SELECT time FROM cordial_transaction WHERE number = 7").first
    )
    #expect(try commit(.time(try #require(Int64(time)))) == 6)
    #expect(try commit(.bytes(Int64.max)) == 0)
    // A change without values before is counted with 24 bytes.
    #expect(try commit(.bytes(24 * 5)) == 15)
    #expect(try commit(.bytes(0)) == 20)
  }

  // Evidence: P-130
  @Test func `properties older than the log count as changed by others`() async throws {
    _ = try await fill(1)
    for size in 1...4 {
      try await store.save(#"{"update":[{"id":"Note/p1","values":{"size":\#(size)}}]}"#)
    }
    _ = try await purge(to: 4)
    func save(_ policy: String) -> String {
      """
      {"update":[{"id":"Note/p1","version":1,"values":{"text":"mine"}}],
       "mergePolicy":"\(policy)"}
      """
    }
    #expect(try await store.refusal(save("overwrite"))?.code == "historyExpired")
    let refused = try await store.refusal(save("error"))
    #expect(refused?.data["conflicts"]?.array?.map { $0["property"] } == ["text"])
    #expect(try await store.save(save("storeTrump"))["merged"]?.array?.count == 1)
    #expect(try store.lines("Note text size") == ["Note/p1 v5 text=null size=4"])
    try await store.save(save("objectTrump"))
    #expect(try store.lines("Note text size") == ["Note/p1 v6 text=mine size=4"])
  }

  @Test func `undo ends at the beginning of the log`() async throws {
    _ = try await fill(5)
    _ = try await purge(to: 4)
    #expect(try await store.save(#"{"undo":5}"#)["undone"] == 1)
    let refused = try await store.refusal(#"{"undo":1}"#)
    #expect(refused?.code == "historyExpired")
    #expect(refused?.data["oldest"] != nil)
    // What was undone can be done again.
    #expect(try await store.save(#"{"redo":1}"#)["undone"] == 1)
  }
}
