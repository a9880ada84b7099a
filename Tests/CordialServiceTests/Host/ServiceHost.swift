import CordialService
import Dispatch
import Foundation
import JSONRPC
import Logging
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight
import Synchronization
import TestStores

/// A service in this process: a real store with a real index in a folder of its own, a loop that
/// runs on the test's thread, and a time that the test advances.
///
/// A test connects sinks, hands the service bytes, and then waits: `run(until:)` for a condition,
/// `settle()` until the service has nothing left to do. Nothing of the service runs on its loop but
/// while the test waits, and a wait that takes longer than `patience` throws. A host blocks the thread
/// on which it waits: use it inside of `onOwnThread`.
final class ServiceHost {
  /// How a service is put together.
  struct Options {
    var limits = Limits()
    var mode = StoreContainer.Mode.readWrite
    /// Whether a store that cannot have the model is served as far as it goes.
    var opensMismatch = false
    var mergePolicies: [String: MergeDecision] = [:]
    /// Where the store is, and its copies may be; nil for a new folder.
    var folder: TestFolder?
    /// The time; one that is shared goes on when a host is followed by another in the same folder.
    var clock = HostClock()
    /// How long one wait may take, in seconds.
    var patience = 30.0
  }

  /// A wait that took too long.
  struct TookTooLong: Error, CustomStringConvertible {
    let description: String
  }

  let folder: TestFolder
  let clock: HostClock
  let loop = ManualLoop()
  let store: PersistentStore
  let index: SearchIndex
  let service: Service
  private let patience: Double
  /// How many jobs of the service its loop has run.
  private var jobCount = 0

  /// Opens a store and serves it.
  ///
  /// - Parameters:
  ///   - model: The text of its model file, nil for the store's own.
  ///   - options: How it is served.
  /// - Throws: `ModelError`, or `StoreError`.
  init(model: String?, _ options: Options = Options()) throws {
    folder = try options.folder ?? TestFolder()
    clock = options.clock
    patience = options.patience
    let container = StoreContainer(path: folder.path + "/store")
    var environment = clock.environment
    environment.mergePolicies = options.mergePolicies
    let store = try PersistentStore(
      container: container,
      model: try model.map { try ModelDocument.parse(Array($0.utf8).span) },
      mode: options.mode,
      environment: environment,
      opensMismatch: options.opensMismatch
    )
    self.store = store
    // The index of a store that is not written is elsewhere, as in a real service.
    let path = store.isReadOnly ? folder.path + "/index.sqlite" : container.indexPath
    index = SearchIndex(path: path, model: store.model) {
      try StoreDocuments(store: store, layout: IndexLayout(store.model))
    }
    service = try Service(
      store: store,
      index: index,
      loop: loop,
      limits: options.limits,
      facts: .init(name: "cordial", version: "0", process: "cordial 1", clock: { 0 }),
      log: Logger(label: "host") { _ in SwiftLogNoOpLogHandler() }
    )
    index.follow()
    service.lookForCommits()
    try settle()
  }

  // MARK: Connections

  /// Opens a session for a sink of the test's own.
  ///
  /// - Parameters:
  ///   - sink: Where its bytes go; the service calls it on the test's thread.
  ///   - framing: The framing, nil to let the first bytes tell.
  ///   - closesOnUnknownFraming: Whether bytes of no framing end it, as on a socket.
  /// - Returns: The number of the session, nil when the service refused it.
  func connect(
    _ sink: any ByteSink,
    framing: Framing? = nil,
    closesOnUnknownFraming: Bool = false
  ) -> Int? {
    enter {
      $0.connect(sink, framing: framing, closesOnUnknownFraming: closesOnUnknownFraming)
    }
  }

  /// Opens a session whose bytes are recorded, and which is over when the service ends it.
  func connect(
    framing: Framing? = nil,
    closesOnUnknownFraming: Bool = false
  ) -> HostSession {
    let kept = Kept()
    let sink = RecordingSink { [loop, service] in
      // The service is in the middle of its own work when it ends a connection.
      loop.execute {
        guard let number = kept.number else { return }
        service.assumeIsolated { $0.disconnected(session: number) }
      }
    }
    let number = connect(sink, framing: framing, closesOnUnknownFraming: closesOnUnknownFraming)
    kept.number = number
    return HostSession(number: number, sink: sink)
  }

  /// Hands the service bytes that a peer sent; what it does at once is done when this returns.
  func send(_ bytes: [UInt8], to session: Int) {
    enter { $0.receive(bytes.span, session: session) }
  }

  /// Tells the service that nothing more comes from a peer.
  func endInput(of session: Int) {
    enter { $0.endInput(session: session) }
  }

  /// Tells the service that a peer takes bytes again.
  func becameWritable(_ session: Int) {
    enter { $0.becameWritable(session: session) }
  }

  /// Tells the service that a connection is gone.
  func disconnect(_ session: Int) {
    enter { $0.disconnected(session: session) }
  }

  /// Hands over bytes while the writer is held up, so that all saves that begin with them are one
  /// group, however long the test takes.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - session: Who sent them.
  /// - Throws: `TookTooLong`.
  func sendAsOneGroup(_ bytes: [UInt8], to session: Int) throws {
    guard !store.isReadOnly else { return send(bytes, to: session) }
    let entered = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    store.seal { _ in
      entered.signal()
      leave.wait()
    }
    defer { leave.signal() }
    try wait(for: entered, "the writer is idle")
    send(bytes, to: session)
  }

  /// Does something with the service, on its loop.
  func enter<Answer: Sendable>(_ body: (isolated Service) throws -> Answer) rethrows -> Answer {
    try loop.enter { try service.assumeIsolated(body) }
  }

  // MARK: Waiting

  /// Runs the loop until something is so.
  ///
  /// - Parameters:
  ///   - what: What is waited for, for the error.
  ///   - condition: Looked at before each job of the loop.
  /// - Throws: `TookTooLong`.
  func run(until what: String, _ condition: () -> Bool) throws {
    let deadline = DispatchTime.now() + patience
    while !condition() {
      guard loop.runNext(before: deadline) else {
        throw TookTooLong(description: "Waited \(patience) s in vain until \(what)")
      }
      jobCount += 1
    }
  }

  /// Runs the loop until the service has nothing to do: the writer, the readers and the index are
  /// idle, and the loop has no jobs.
  ///
  /// Requests that wait for a timer go on waiting. A search may still be running, since nothing
  /// shows that from outside: wait for its answer first.
  ///
  /// - Throws: `TookTooLong`.
  func settle() throws {
    var before: Int
    repeat {
      before = jobCount
      let head = try passReaders()
      try passWriter()
      if let head { try passIndex(head) }
      while loop.runNext(before: .now()) { jobCount += 1 }
    } while jobCount > before
  }

  /// Lets time go by: for the timers of the loop, one after the other, and for the store.
  ///
  /// - Parameter milliseconds: How much.
  /// - Throws: `TookTooLong`.
  func advance(milliseconds: Int) throws {
    let end = loop.now + milliseconds
    try settle()
    while true {
      let (passed, work) = loop.nextTimer(through: end)
      clock.advance(milliseconds: Int64(passed))
      guard let work else { return }
      loop.enter(work)
      try settle()
    }
  }

  /// Takes both of the store's readers at the same time, so that whoever had them is done.
  ///
  /// - Returns: The newest commit; nil when it cannot be read.
  private func passReaders() throws -> Int64? {
    try Self.taking.withLock { _ in try passReadersAlone() }
  }

  /// Two hosts that take one reader each would wait for a thread for the other.
  private static let taking = Mutex(())

  private func passReadersAlone() throws -> Int64? {
    let entered = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    let head = Kept()
    for _ in 0..<PersistentStore.readersMax {
      store.read { reader in
        do {
          head.number = Int(try reader.get().snapshot { $0.head.number })
        } catch {
          // A foreign client's changes wait to be sealed, or the file is gone.
        }
        entered.signal()
        if case .success = reader { leave.wait() }
      }
    }
    defer { for _ in 0..<PersistentStore.readersMax { leave.signal() } }
    for _ in 0..<PersistentStore.readersMax { try wait(for: entered, "a reader is free") }
    return head.number.map(Int64.init)
  }

  private func passWriter() throws {
    let passed = DispatchSemaphore(value: 0)
    store.seal { _ in passed.signal() }
    try wait(for: passed, "the writer is idle")
  }

  private func passIndex(_ head: Int64) throws {
    let passed = DispatchSemaphore(value: 0)
    index.follow()
    _ = index.whenReached(head) { _ in passed.signal() }
    try wait(for: passed, "the index has read commit \(head)")
  }

  private func wait(for semaphore: DispatchSemaphore, _ what: String) throws {
    guard semaphore.wait(timeout: .now() + patience) == .success else {
      throw TookTooLong(description: "Waited \(patience) s in vain until \(what)")
    }
  }

  // MARK: The end

  /// Ends the connections after what they asked was answered, then closes the store.
  ///
  /// - Throws: `TookTooLong`.
  func close() throws {
    let isStopped = Kept()
    enter { $0.stop { isStopped.number = 1 } }
    try run(until: "the service has stopped") { isStopped.number != nil }
    index.stop()
    store.close()
    loop.clear()
  }
}

/// A connection of a service host whose bytes are recorded.
struct HostSession {
  /// Names it to the host; nil when the service refused it.
  let number: Int?
  let sink: RecordingSink
}

/// A number that one thread leaves for another.
private final class Kept: Sendable {
  private let kept = Mutex<Int?>(nil)

  var number: Int? {
    get { kept.withLock { $0 } }
    set { kept.withLock { $0 = newValue } }
  }
}
