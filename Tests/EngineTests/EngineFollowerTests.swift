import Cordial
import CordialValues
import Dispatch
import Engine
import Foundation
import JSON
import Logging
import ObjectModel
import PersistentHistory
import PersistentStore
import Synchronization
import TestStores
import Testing

/// A follower that a module above the service adds: it counts the changes of the log.
private final class ChangeCounter: LogFollower {
  private struct State {
    var position: StoreToken
    var count = 0
    var isStopped = false
  }

  /// The service's loop never waits for a reading, so that readings have a queue of their own.
  private let queue = DispatchQueue(label: "counter")
  private let reader: Confined<StoreReader>
  private let state: Mutex<State>

  init(_ store: PersistentStore) throws {
    let reader = try store.makeReader()
    self.reader = Confined(reader, to: queue)
    let token = try reader.snapshot(hidingUnsealed: false) { $0.token }
    state = Mutex(State(position: token))
  }

  var statusName: String? { "counter" }
  var position: StoreToken? { state.withLock { $0.position } }
  var retention: HistoryRetention? {
    HistoryRetention(number: state.withLock { $0.position.number }, reason: "the counter")
  }
  var pauseMilliseconds: Int { 0 }
  var count: Int { state.withLock { $0.count } }
  var isStopped: Bool { state.withLock { $0.isStopped } }

  func wake(through commit: Int64) {
    // The next reading begins at the same position, so that an error loses nothing.
    queue.async { _ = Result { try self.read() } }
  }

  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    queue.async {
      do {
        try self.read()
        completion(nil)
      } catch {
        completion(error)
      }
    }
    return nil
  }

  func stop() {
    queue.sync { state.withLock { $0.isStopped = true } }
  }

  /// Reads the log from the position to its end.
  private func read() throws {
    let from = state.withLock { $0.position }
    try reader.value.snapshot(hidingUnsealed: false) { snapshot in
      let through = snapshot.token
      let set = try snapshot.log.changesWithSpans(from: from.number, through: through.number)
      let count = try #require(set).0.changes.count
      state.withLock { state in
        state.count += count
        state.position = through
      }
    }
  }
}

@Suite struct `A follower of a program's own` {
  @Test func `reads each commit of the engine's store, and is stopped with it`() async throws {
    let folder = try TestFolder()
    let made = Mutex<ChangeCounter?>(nil)
    let engine = try Engine(
      container: StoreContainer(path: folder.path + "/store"),
      model: try ModelDocument.parse(Array(TestModels.todo.utf8).span),
      mode: .readWrite,
      followers: { store in
        let counter = try ChangeCounter(store)
        made.withLock { $0 = counter }
        return [counter]
      },
      version: "0",
      log: Logger(label: "follower") { _ in SwiftLogNoOpLogHandler() }
    )
    let counter = try #require(made.withLock { $0 })
    let client = ClientConnection()
    await engine.connect(client)
    let values =
      #"{"insert":[{"entity":"Task","values":{"title":"a"}},"#
      + #"{"entity":"Task","values":{"title":"b"}}]}"#
    let token = try await client.call("save", try JSONParser.parse(values))["token"]
    _ = try await client.call("observe/flush", .object([]))
    #expect(counter.count == 2)
    #expect(counter.position.map { JSONValue.string("\($0)") } == token)
    let status = try await client.call("status", .object([]))
    #expect(status["followers"]?.array?.contains { $0["name"] == "counter" } == true)
    #expect(!counter.isStopped)
    try await engine.close()
    #expect(counter.isStopped)
  }

  @Test func `that cannot be made keeps the engine from starting, and leaves nothing`() throws {
    struct Refusal: Error, CustomStringConvertible {
      let description = "the follower refuses"
    }
    let container = try StoreContainer.inMemory()
    let error = #expect(throws: StoreError.self) {
      try Engine(
        container: container,
        model: try ModelDocument.parse(Array(TestModels.todo.utf8).span),
        mode: .inMemory,
        followers: { _ in throw Refusal() },
        version: "0",
        log: Logger(label: "follower") { _ in SwiftLogNoOpLogHandler() }
      )
    }
    #expect(error?.message == "the follower refuses")
    // The end of a store in memory removes its folder.
    #expect(!FileManager.default.fileExists(atPath: container.path))
  }
}
