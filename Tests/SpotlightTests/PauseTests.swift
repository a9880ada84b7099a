import CordialValues
import Spotlight
import Synchronization
import TestStores
import Testing

@Suite struct `A paused index` {
  private func execute(_ order: IndexOrder.Kind, _ test: TestIndex) async throws -> IndexStatus {
    try await withCheckedThrowingContinuation { continuation in
      test.index.execute(order) { continuation.resume(with: $0) }
    }
  }

  private func note(_ test: TestIndex, _ number: Int64, _ title: String) {
    test.commit([number: (body: nil, title: title)])
  }

  @Test func `follows no commit until it is resumed`() async throws {
    let test = try TestIndex()
    note(test, 1, "milk")
    #expect(await test.catchUp())
    #expect(try await execute(.pause, test).state == .paused)
    note(test, 2, "milk")
    // A wait for a later commit ends at once, one for the index's own commit succeeds.
    #expect(await !test.catchUp())
    let isReached = await withCheckedContinuation { continuation in
      _ = test.index.whenReached(1) { continuation.resume(returning: $0) }
    }
    #expect(isReached)
    #expect(try test.found("milk") == [1])
    #expect(test.index.status.state == .paused && test.index.status.documents == 1)
    #expect(test.index.retention == nil)
    #expect("\(test.index.lateness("commit 2"))".contains("paused"))
    _ = try await execute(.resume, test)
    #expect(await test.catchUp())
    #expect(try test.found("milk") == [1, 2])
    #expect(test.index.status.state == .ready)
  }

  @Test func `is paused for other processes and after a restart`() async throws {
    let first = try TestIndex()
    note(first, 1, "milk")
    #expect(await first.catchUp())
    let second = try TestIndex(first.library, in: first.folder)
    #expect(await second.catchUp())
    _ = try await execute(.pause, first)
    note(first, 2, "milk")
    #expect(await !second.catchUp())
    #expect(second.index.status.state == .paused)
    let third = try TestIndex(first.library, in: first.folder)
    #expect(await !third.catchUp())
    #expect(try third.found("milk") == [1])
    _ = try await execute(.resume, third)
    for test in [third, second, first] {
      #expect(await test.catchUp())
      #expect(try test.found("milk") == [1, 2])
    }
  }

  @Test func `is rebuilt, and stays paused`() async throws {
    let test = try TestIndex()
    note(test, 1, "milk")
    #expect(await test.catchUp())
    _ = try await execute(.pause, test)
    note(test, 2, "milk")
    let readings = test.library.state.withLock { $0.wholeReadings }
    let status = try await execute(.rebuild, test)
    #expect(status.state == .paused && status.documents == 2)
    #expect(test.library.state.withLock { $0.wholeReadings } == readings + 1)
    note(test, 3, "milk")
    #expect(await !test.catchUp())
    #expect(try test.found("milk") == [1, 2])
  }

  @Test func `reports an order that is not executed`() async throws {
    let test = try TestIndex()
    note(test, 1, "milk")
    #expect(await test.catchUp())
    test.index.stop()
    await #expect(throws: (any Error).self) { _ = try await execute(.rebuild, test) }
    let again = try TestIndex(test.library, in: test.folder)
    #expect(try await execute(.rebuild, again).documents == 1)
    #expect(try again.found("milk") == [1])
  }
}
