import GRDB
import JSON
import PersistentStore
import TestStores
import Testing

@Suite struct `Writes behind a lock of another process` {
  // Evidence: P-134d
  @Test func `fail after the same time, whatever waits before them`() async throws {
    let store = try TestStore(TestModels.todo)
    let persistent = store.store
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let queue = try DatabaseQueue(
      path: store.folder.path + "/store.sqlite",
      configuration: configuration
    )
    try await queue.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
    let save = try JSONParser.parse(#"{"insert":[{"entity":"Task"}]}"#)
    let clock = ContinuousClock()
    let alone = await clock.measure {
      await withCheckedContinuation { continuation in
        persistent.save(SaveRequest(save)) { _ in continuation.resume() }
      }
    }
    let start = clock.now
    let outcomes = await withTaskGroup(of: StoreError.Code?.self) { group in
      for number in 0..<4 {
        group.addTask {
          var request = SaveRequest(save)
          request.source = number
          request.isDryRun = number == 3
          let sent = request
          return await withCheckedContinuation { continuation in
            persistent.save(sent) { outcome in
              continuation.resume(returning: Self.code(outcome))
            }
          }
        }
        group.addTask {
          await withCheckedContinuation { continuation in
            let name = "follower \(number)"
            persistent.register(follower: name, since: nil, silence: 1000, source: number) {
              continuation.resume(returning: Self.code($0))
            }
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count == 8)
    #expect(outcomes.allSatisfy { $0 == .storeBusy })
    // One after the other, they would take eight times as long.
    #expect(start.duration(to: .now) < alone * 4)
    try await queue.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
    _ = try await store.save(#"{"insert":[{"entity":"Task"}]}"#)
  }

  private static func code(_ outcome: Result<some Any, StoreError>) -> StoreError.Code? {
    if case .failure(let error) = outcome { error.code } else { nil }
  }
}
