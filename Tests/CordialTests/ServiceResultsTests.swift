import Cordial
import CordialValues
import Dispatch
import JSON
import Observation
import Synchronization
import Testing

@Suite struct `The results of a service` {
  private static let byTitle = FetchRequest<TodoGroup>(sort: ["title"])

  @MainActor private func titles(_ results: FetchedResults<TodoGroup>) -> [String] {
    results.map { $0.wrappedValue?.title ?? "-" }
  }

  @Test @MainActor func `follow the store`() async throws {
    try await withService(groups: ["b", "d"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: Self.byTitle
      )
      try await wait { results.count == 2 }
      #expect(results.change == .initial)
      #expect(titles(results) == ["b", "d"])
      try await client.insert(groups: ["c", "a"])
      try await wait { results.count == 4 && titles(results) == ["a", "b", "c", "d"] }
      #expect(results.change == .updated)
      try await client.delete("Group/p1")
      try await wait { results.count == 3 }
      #expect(titles(results) == ["a", "c", "d"])
      #expect(results.error == nil)
    }
  }

  @Test @MainActor func `notify only the object of a value that changes`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: FetchRequest()
      )
      try await wait { results.count == 2 }
      let object = results[0]
      var values = object.values.makeAsyncIterator()
      #expect(await values.next()??.title == "a")
      let sequence = results.changes
      try await client.rename("Group/p1", "x")
      #expect(await values.next()??.title == "x")
      #expect(object.version == 2)
      // A change of the sequence after it is the first one that is reported.
      try await client.insert(groups: ["c"])
      for await _ in sequence { break }
      #expect(titles(results).prefix(2) == ["x", "b"])
      #expect(results.count == 3)
    }
  }

  @Test @MainActor func `keep the last value of a deleted object that is held`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: Self.byTitle
      )
      try await wait { results.count == 2 }
      let object = results[0]
      #expect(object.wrappedValue?.title == "a")
      try await client.delete("Group/p1")
      for await value in object.values where value == nil { break }
      #expect(object.convertToValueType() == nil)
      #expect(object.lastValidValue?.title == "a")
    }
  }

  @Test @MainActor func `load the rows that are read, in batches`() async throws {
    let all = (0..<1000).map { "\($0 + 1000)" }
    try await withService(groups: all) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: Self.byTitle
      )
      try await wait { results.count == 1000 }
      #expect(results[0].wrappedValue?.title == "1000")
      #expect(results[700].wrappedValue == nil)
      let object = results[700]
      for await value in object.values where value != nil { break }
      #expect(object.wrappedValue?.title == "1700")
      #expect(results[730].wrappedValue?.title == "1730")
    }
  }

  @Test @MainActor func `replace the rows of another request in one step`() async throws {
    try await withService(groups: ["a", "b", "c"]) { _, client in
      let results = FetchedResults(.fetchRequest(client.objects(TodoGroup.self)))
      var counts: [Int] = []
      let changes = results.changes
      results.request = Self.byTitle
      for await _ in changes {
        counts.append(results.count)
        break
      }
      results.request = FetchRequest(predicate: "title > \("a")", sort: ["-title"])
      #expect(results.count == 3)
      for await _ in results.changes {
        counts.append(results.count)
        break
      }
      #expect(counts == [3, 2])
      #expect(results.change == .replaced)
      #expect(titles(results) == ["c", "b"])
      results.request = nil
      try await wait { results.isEmpty }
    }
  }

  @Test @MainActor func `continue after the connection has ended`() async throws {
    try await withService(groups: ["a"]) { host, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: Self.byTitle
      )
      try await wait { results.count == 1 }
      let other = try await host.client()
      for round in 0..<20 {
        if round % 3 == 0 { host.drop() }
        for await state in other.states where state == .connected { break }
        do {
          try await other.insert(groups: ["b\(round + 10)"])
        } catch let error as ClientError {
          #expect(error.code == .connectionEnded)
        }
      }
      var expected: [String] = []
      try await wait {
        do {
          expected = try await other.fetch(Self.byTitle).map(\.title)
          return true
        } catch let error as ClientError where error.code == .connectionEnded {
          return false
        }
      }
      try await wait { results.count == expected.count && titles(results) == expected }
      #expect(titles(results) == expected)
      other.close()
    }
  }

  @Test @MainActor func `end their subscriptions when they are released`() async throws {
    try await withService(groups: ["a", "b"]) { host, client in
      var object: AnyConvertibleValueObject<TodoGroup>?
      do {
        let results = FetchedResults(
          .fetchRequest(client.objects(TodoGroup.self)),
          request: Self.byTitle
        )
        try await wait { results.count == 2 }
        object = results[0]
        try await wait { try await host.subscriptionCount(client) == 2 }
      }
      // The object that is held stays live.
      try await wait { try await host.subscriptionCount(client) == 1 }
      try await client.rename("Group/p1", "x")
      try await wait { object?.wrappedValue?.title == "x" }
      object = nil
      try await wait { try await host.subscriptionCount(client) == 0 }
    }
  }

  @Test @MainActor func `report an error, and keep their rows`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: Self.byTitle
      )
      try await wait { results.count == 1 }
      results.request = FetchRequest(predicate: "titel == 1")
      try await wait { results.error != nil }
      #expect(results.error?.code == .unknownProperty)
      #expect(titles(results) == ["a"])
      try await client.rename("Group/p1", nil)
      results.request = Self.byTitle
      try await wait { results.error?.code == .valueMismatch }
      #expect(results.error?.message == "Group/p1: title: it is null, and String is not optional")
    }
  }

  @Test @MainActor func `have the object of a value`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let source = FetchDataSource.fetchRequest(client.objects(TodoGroup.self))
      let id = try #require(WrappedID("Group/p2"))
      let value = try #require(try await client.value(TodoGroup.self, with: id))
      let object = try #require(source.object(with: value.id))
      for await current in object.values where current != nil { break }
      #expect(object.wrappedValue == value)
      try await client.rename("Group/p2", "x")
      for await current in object.values where current?.title == "x" { break }
      #expect(source.object(with: .string("Group1")) == nil)
    }
  }

  @Test @MainActor func `take another request while a result waits for its actor`() async throws {
    try await withService(groups: ["a", "b"]) { host, client in
      let results = FetchedResults(.fetchRequest(client.objects(TodoGroup.self)))
      for title in ["a", "b"] {
        results.request = FetchRequest(predicate: "title == \(title)")
        // The rows and their values are observed; the result cannot take them in this turn.
        #expect(waitInTurn { try await host.subscriptionCount(client) == 2 })
        results.request = nil
        try await wait { try await host.subscriptionCount(client) == 0 }
      }
      results.request = Self.byTitle
      try await wait { titles(results) == ["a", "b"] }
    }
  }

  @Test @MainActor func `change no value while their actor reads`() async throws {
    try await withService(groups: ["a"]) { _, client in
      let source = FetchDataSource.fetchRequest(client.objects(TodoGroup.self))
      let results = FetchedResults(source, request: Self.byTitle)
      let id = try #require(WrappedID("Group/p1"))
      let single = try #require(source.object(with: id, isolation: MainActor.shared))
      let free = try #require(source.object(with: id, isolation: nil))
      try await wait { titles(results) == ["a"] && single.wrappedValue != nil }
      try await wait { free.wrappedValue != nil }
      let object = results[0]
      let isReported = Atomic(false)
      withObservationTracking {
        #expect(object.wrappedValue?.title == "a")
        #expect(single.wrappedValue?.title == "a")
        Task.detached { try await client.rename("Group/p1", "x") }
        // The change arrives between the read and the registration of the observer.
        #expect(waitInTurn { free.wrappedValue?.title == "x" })
        #expect(object.wrappedValue?.title == "a")
        #expect(single.wrappedValue?.title == "a")
      } onChange: {
        isReported.store(true, ordering: .relaxed)
      }
      try await wait { isReported.load(ordering: .relaxed) }
      try await wait { object.wrappedValue?.title == "x" && single.wrappedValue?.title == "x" }
    }
  }
}

/// Waits for a condition without leaving the turn of the actor.
///
/// - Parameter condition: Asked by a task beside the actor.
/// - Returns: Whether the condition holds.
private func waitInTurn(_ condition: @escaping @Sendable () async throws -> Bool) -> Bool {
  let holds = Atomic(false)
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    defer { ended.signal() }
    try await wait(until: condition)
    holds.store(true, ordering: .relaxed)
  }
  ended.wait()
  return holds.load(ordering: .relaxed)
}

@Suite struct `The calls of a client` {
  @Test func `fetch values, counts and single objects`() async throws {
    try await withService(groups: ["a", "b"]) { _, client in
      let groups = try await client.fetch(FetchRequest<TodoGroup>(sort: ["-title"]))
      #expect(groups.map(\.title) == ["b", "a"])
      #expect(groups.first?.id == WrappedID("Group/p2"))
      #expect(groups.first?.taskCount == 0)
      #expect(try await client.count(FetchRequest<TodoGroup>(predicate: "title == \("a")")) == 1)
      let missing = try #require(WrappedID("Group/p9"))
      #expect(try await client.value(TodoGroup.self, with: missing) == nil)
    }
  }

  @Test func `refuse the ID of a mock before it reaches the service`() async throws {
    try await withService { _, client in
      let error = await #expect(throws: ClientError.self) {
        try await client.value(TodoGroup.self, with: .string("Group1"))
      }
      #expect(error?.code == .mockIdentifier)
      #expect(error?.message.contains("/sGroup1") == true)
    }
  }

  @Test func `have the code of the service`() async throws {
    try await withService { _, client in
      let error = await #expect(throws: ClientError.self) {
        try await client.fetch(FetchRequest<TodoGroup>(sort: ["colour"]))
      }
      #expect(error?.code == .unknownProperty)
    }
  }

  @Test func `fail at once while the client is not connected`() async throws {
    try await withService { _, client in
      client.close()
      #expect(client.state == .closed)
      let error = await #expect(throws: ClientError.self) {
        try await client.fetch(FetchRequest<TodoGroup>())
      }
      #expect(error?.code == .connectionEnded)
    }
  }
}

@Suite struct `Values that are read from rows` {
  @Test @MainActor func `notify a reader that holds no object`() async throws {
    try await withService(groups: ["Home", "Work"]) { _, client in
      let results = FetchedResults(
        .fetchRequest(client.objects(TodoGroup.self)),
        request: FetchRequest(sort: ["title"])
      )
      func titles() -> [String?] { results.map { $0.wrappedValue?.title } }
      try await wait { titles() == ["Home", "Work"] }
      let (notified, notify) = AsyncStream.makeStream(of: Void.self)
      withObservationTracking {
        _ = titles()
      } onChange: {
        notify.finish()
      }
      try await client.rename(results[1].id.description, "Works")
      for await _ in notified {}
      #expect(titles() == ["Home", "Works"])
    }
  }
}
