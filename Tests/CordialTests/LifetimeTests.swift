import Cordial
import CordialValues
import Synchronization
import Testing

/// A way around the compiler, which refuses to send a context to another actor.
private enum Leak {
  nonisolated(unsafe) static var context: Context?
}

@Suite struct `Results and contexts that end` {
  @Test @MainActor func `leave no subscription and no memory`() async throws {
    try await withService(groups: ["a", "b"]) { host, client in
      for _ in 0..<20 {
        var results: [FetchedResults<TodoGroup>] = []
        weak var first: FetchedResults<TodoGroup>?
        weak var object: AnyConvertibleValueObject<TodoGroup>?
        for number in 0..<50 {
          results.append(
            FetchedResults(
              .fetchRequest(client.objects(TodoGroup.self)),
              request: FetchRequest(sort: ["title"], limit: 1 + number % 2)
            )
          )
        }
        first = results[0]
        // Some are dropped before their first rows have arrived.
        results.removeSubrange(10...)
        try await wait { results.allSatisfy { !$0.isEmpty } }
        object = results[0][0]
        #expect(first != nil)
        results = []
        try await wait { first == nil && object == nil }
      }
      try await wait { try await host.subscriptionCount(client) == 0 }
    }
  }

  @Test @MainActor func `may be released inside their own notification`() async throws {
    let mocks = MockObjects([TodoGroup.sample])
    var results: FetchedResults<TodoGroup>? = FetchedResults(.mockObjects(mocks))
    weak let released = results
    let changes = try #require(results?.changes)
    var count = 0
    for await _ in changes {
      count += 1
      results = nil
      mocks.insert(Mock(TodoGroup(id: .integer(count), title: "x", taskCount: 0)).eraseToAny())
    }
    // The sequence ends with the result.
    #expect(count == 1)
    try await wait { released == nil }
  }

  @Test func `trap outside of their actor, where they are strict`() async {
    await #expect(processExitsWith: .failure) {
      let client = try await ServiceHost().client()
      await MainActor.run { unsafe Leak.context = Context(client, strict: true) }
      _ = unsafe Leak.context?.insert { TodoGroup(id: $0, title: "x", taskCount: 0) }
    }
  }
}
