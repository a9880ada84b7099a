import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Saves of one group` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  /// Gives the writer all of them before it answers any.
  private func saveAll(_ texts: [String]) async throws -> [Result<SaveOutcome, StoreError>] {
    try await saveAll(texts.map { SaveRequest(try JSONParser.parse($0)) })
  }

  private func saveAll(
    _ requests: [SaveRequest]
  ) async throws -> [Result<SaveOutcome, StoreError>] {
    let (stream, continuation) = AsyncStream.makeStream(
      of: (Int, Result<SaveOutcome, StoreError>).self
    )
    for (index, request) in requests.enumerated() {
      store.store.save(request) { continuation.yield((index, $0)) }
    }
    var outcomes: [Int: Result<SaveOutcome, StoreError>] = [:]
    for await (index, outcome) in stream {
      outcomes[index] = outcome
      if outcomes.count == requests.count { break }
    }
    return requests.indices.compactMap { outcomes[$0] }
  }

  // Evidence: P-134a
  @Test func `each save of a group is its own transaction in order of arrival`() async throws {
    let outcomes = try await saveAll(
      (1...300).map {
        #"{"insert":[{"id":"Task/t1","values":{"title":"\#($0)"}}],"author":"\#($0)"}"#
      }
    )
    let tokens = try outcomes.map { try $0.get().token }
    #expect(tokens.map(\.number) == Array(1...300))
    #expect(Set(tokens.map(\.mark)).count == 300)
    let lines = try store.lines("Task title")
    #expect(lines == (1...300).map { "Task/p\($0) v1 title=\($0)" })
    let transactions = try store.snapshot {
      try $0.log.transactions(after: 0, through: 300, limit: 1000)
    }
    #expect(transactions.map(\.author) == (1...300).map { "\($0)" })
    #expect(transactions.allSatisfy { $0.changes.count == 1 })
    try store.snapshot { (snapshot) throws in
      for token in tokens { #expect(try snapshot.position(of: token) == token.number) }
    }
  }

  // Evidence: P-134b
  @Test func `a group takes saves of each connection in turn`() async throws {
    let save = try JSONParser.parse(#"{"insert":[{"id":"Task/t1"}]}"#)
    let requests = (0..<2010).map { number in
      var request = SaveRequest(save)
      // All of the first one's come before those of the second.
      request.source = number < 2000 ? 1 : 2
      return request
    }
    let tokens = try await saveAll(requests).map { try $0.get().token.number }
    #expect(tokens[..<2000].elementsEqual(tokens[..<2000].sorted()))
    #expect(tokens[2000...].elementsEqual(tokens[2000...].sorted()))
    // The second one's do not wait for all that came before them.
    #expect(tokens[2009] < 1900, "\(tokens[2009])")
  }

  // Evidence: P-134c
  @Test func `a failed save does not affect the other saves of its group`() async throws {
    let texts = (1...200).map { number in
      switch number % 10 {
      case 3: #"{"insert":[{"id":"Task/t1"}],"update":[{"id":"Task/p99999","values":{}}]}"#
      case 7: #"{"insert":[{"id":"Task/t1","values":{"priority":"high"}}]}"#
      default: #"{"insert":[{"id":"Task/t1","values":{"title":"\#(number)"}}]}"#
      }
    }
    let outcomes = try await saveAll(texts)
    for (index, outcome) in outcomes.enumerated() {
      let fails = [3, 7].contains((index + 1) % 10)
      switch outcome {
      case .success: #expect(!fails, "\(index + 1)")
      case .failure(let error):
        #expect(fails, "\(index + 1)")
        #expect([.objectNotFound, .validationFailed].contains(error.code))
      }
    }
    let titles = try store.fetch(#"{"entity":"Task"}"#).map { $0["values"]?["title"]?.string ?? "" }
    #expect(titles == (1...200).filter { ![3, 7].contains($0 % 10) }.map { "\($0)" })
    #expect(try store.snapshot { $0.head.number } == 160)
  }

  @Test func `a save sees the earlier saves of its group`() async throws {
    let outcomes = try await saveAll(
      [#"{"insert":[{"id":"Task/t1"}]}"#]
        + (1...60).map {
          #"{"update":[{"id":"Task/p1","version":\#($0),"values":{"priority":\#($0)}}]}"#
        }
        + [#"{"delete":["Task/p1"]}"#, #"{"update":[{"id":"Task/p1","values":{}}]}"#]
    )
    for outcome in outcomes.dropLast() { _ = try outcome.get() }
    #expect(throws: StoreError.self) { _ = try outcomes.last?.get() }
  }

  @Test func `readers see whole saves while others write`() async throws {
    try await store.save(#"{"insert":[{"id":"Group/t1"}]}"#)
    let texts = (1...100).map { _ in
      """
      {"insert":[{"id":"Task/t1","values":{"group":"Group/p1"}},
        {"id":"Task/t2","values":{"group":"Group/p1"}}]}
      """
    }
    let requests = try texts.map { SaveRequest(try JSONParser.parse($0)) }
    let (stream, continuation) = AsyncStream.makeStream(of: Int64.self)
    for request in requests {
      store.store.save(request) { outcome in
        if case .success(let saved) = outcome { continuation.yield(saved.token.number) }
      }
    }
    for await number in stream {
      let (head, count) = try store.snapshot { snapshot in
        (
          snapshot.head.number,
          try snapshot.count(try snapshot.plan(FetchRequest(entity: "Task")))
        )
      }
      // What was acknowledged is visible, and nothing of a save is visible alone.
      #expect(head >= number)
      #expect(count == (head - 1) * 2)
      if number == 101 { break }
    }
  }
}

@Suite struct `A transaction that is sent twice` {
  private let store: TestStore
  private let name = "0f8fad5b-d9cb-469f-a165-70867728950e"

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  // Evidence: P-067b
  @Test func `changes nothing and returns the first result`() async throws {
    let save = """
      {"insert":[{"id":"Task/t1","values":{"title":"Milk"}},{"id":"Task/t2"}],
       "transaction":"\(name)"}
      """
    let first = try await store.outcome(save)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"Oat milk"}}]}"#)
    let second = try await store.outcome(save)
    #expect(second.body == first.body)
    #expect(second.token == first.token)
    #expect(
      try store.lines("Task title") == ["Task/p1 v2 title=Oat milk", "Task/p2 v1 title=null"]
    )
    #expect(try store.snapshot { $0.head.number } == 2)
  }

  @Test func `is known after the store was opened again`() async throws {
    let save = #"{"insert":[{"id":"Task/t1"}],"transaction":"\#(name)"}"#
    let first = try await store.outcome(save)
    store.store.close()
    let again = try TestStore(nil, in: store.folder)
    let second = try await again.outcome(save)
    #expect(second.body == first.body && second.token == first.token)
    #expect(try again.ids(#"{"entity":"Task"}"#) == ["Task/p1"])
  }

  // Evidence: P-060b
  @Test func `is recorded even if it changed nothing`() async throws {
    try await store.save(#"{"insert":[{"id":"Task/t1","values":{"title":"a"}}]}"#)
    let save = #"{"update":[{"id":"Task/p1","values":{"title":"a"}}],"transaction":"\#(name)"}"#
    let first = try await store.outcome(save)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"b"}}]}"#)
    let second = try await store.outcome(save)
    #expect(second.body == first.body && second.token == first.token)
    #expect(try store.lines("Task title") == ["Task/p1 v2 title=b"])
  }

  // Evidence: P-067d
  @Test func `may be repeated after a failure`() async throws {
    let save = #"{"update":[{"id":"Task/p1","values":{"title":"a"}}],"transaction":"\#(name)"}"#
    #expect(try await store.refusal(save)?.code == "objectNotFound")
    try await store.save(#"{"insert":[{"id":"Task/t1"}]}"#)
    #expect(try await store.refusal(save) == nil)
    #expect(try await store.refusal(save) == nil)
    #expect(try store.lines("Task title") == ["Task/p1 v2 title=a"])
  }

  @Test func `returns the same result within one group`() async throws {
    let request = SaveRequest(
      try JSONParser.parse(#"{"insert":[{"id":"Task/t1"}],"transaction":"\#(name)"}"#)
    )
    let opened = store.store
    async let first = twin(opened, request)
    async let second = twin(opened, request)
    let tokens = try await [first, second]
    #expect(tokens[0] == tokens[1])
    #expect(try store.ids(#"{"entity":"Task"}"#) == ["Task/p1"])
  }
}

/// Saves and answers with the token's text.
private func twin(_ store: PersistentStore, _ request: SaveRequest) async throws -> String {
  try await withCheckedThrowingContinuation { continuation in
    store.save(request) { continuation.resume(with: $0.map { "\($0.token)" }) }
  }
}
