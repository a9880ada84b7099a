import CordialService
import Dispatch
import Foundation
import Indexing
import JSONRPC
import Logging
import ObjectModel
import PersistentHistory
import PersistentStore
import Spotlight
import Synchronization
import TestStores

/// A service in the test process: a real store and a real index in a temporary folder, a loop that
/// runs on the test's thread, and a time that only the test advances.
///
/// A test connects sinks, passes bytes to the service, and waits: `run(until:)` for a condition, or
/// `settle()` until the service is idle. Jobs of the loop run only while the test waits. A wait that
/// exceeds `timeoutSeconds` throws. Waiting blocks the thread: use a host inside `onOwnThread`.
///
/// ```swift
/// try await onOwnThread {
///   let host = try ServiceHost(model: TestModels.todo)
///   let session = host.connect(framing: .line)
///   host.send(Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n".utf8), to: session)
///   try host.settle()
///   print(session.sink.takeEvents())
///   try host.close()
/// }
/// ```
final class ServiceHost {
  /// The configuration of a service.
  struct Options {
    var limits = Limits()
    var mode = StoreContainer.Mode.readWrite
    /// Whether a store that cannot migrate to the model is served with its own model.
    var allowsModelMismatch = false
    /// Followers of the log beside the subscriptions and the index.
    var followers: [any LogFollower] = []
    /// A kind of live query beside those of the service.
    var addedKind: AddedKind?
    /// The merge policies of the program, by name.
    var mergePolicies: [String: MergeDecision] = [:]
    /// The functions of the program for transient attributes, by name.
    var computedValues: [String: ComputedValue] = [:]
    /// The time for which one observed request delays the others, in milliseconds: so long that the
    /// messages do not depend on the speed of the machine.
    var stepMilliseconds = 10_000
    /// The maximum number of connections for reads; steps that wait until the readers are idle pass
    /// all of them.
    var readersMax = 2
    /// The folder that contains the folder of the store; nil for a new one.
    var folder: TestFolder?
    /// The time, which successive hosts of one folder share.
    var clock = HostClock()
    /// The longest time that one wait may take, in seconds: all tests run at once on a few cores.
    var timeoutSeconds = 120.0
  }

  /// The error of a wait that exceeded `timeoutSeconds`.
  struct WaitTimeout: Error, CustomStringConvertible {
    let description: String
  }

  let folder: TestFolder
  let clock: HostClock
  let loop = ManualLoop()
  let store: PersistentStore
  let index: SearchIndex
  let service: Service
  /// The longest time that one wait may take, in seconds.
  var timeoutSeconds: Double
  /// The number of jobs that the loop has run.
  private var jobCount = 0

  /// Opens or creates a store and serves it.
  ///
  /// - Parameters:
  ///   - model: The text of the model file; nil for the model of the existing store.
  ///   - options: The configuration.
  /// - Throws: `ModelError`, or `StoreError`.
  init(model: String?, _ options: Options = Options()) throws {
    folder = try options.folder ?? TestFolder()
    clock = options.clock
    timeoutSeconds = options.timeoutSeconds
    let container = StoreContainer(path: folder.path + "/store")
    var extensions = StoreExtensions()
    extensions.mergePolicies = options.mergePolicies
    extensions.computedValues = options.computedValues
    extensions.modelProblems = IndexRules.problems
    var tuning = StoreTuning()
    tuning.readersMax = options.readersMax
    let rules = IndexRules()
    let store = try PersistentStore(
      container: container,
      model: try model.map { try ModelDocument.parse(Array($0.utf8).span) },
      mode: options.mode,
      environment: clock.environment,
      extensions: extensions,
      tuning: tuning,
      allowsModelMismatch: options.allowsModelMismatch
    )
    self.store = store
    // As in `Engine`, the index of a read-only store is in another folder.
    let path = store.isReadOnly ? folder.path + "/index.sqlite" : container.indexPath()
    index = SearchIndex(
      path: path,
      folder: container.path,
      model: store.model,
      processorTime: { 0 },
      now: clock.environment.now
    ) {
      try StoreDocuments(store, rules)
    }
    var limits = options.limits
    limits.stepMilliseconds = options.stepMilliseconds
    service = try Service(
      store: store,
      index: index,
      indexRules: rules,
      loop: loop,
      limits: limits,
      facts: .init(name: "cordial", version: "0", process: "cordial 1", clock: { 0 }),
      followers: options.followers,
      addedKind: options.addedKind,
      log: Logger(label: "host") { _ in SwiftLogNoOpLogHandler() }
    )
    service.lookForCommits()
    try settle()
  }

  // MARK: Connections

  /// Opens a session with a sink of the test.
  ///
  /// - Parameters:
  ///   - sink: The sink. The service calls it on the test's thread.
  ///   - framing: The framing; nil to detect it from the first bytes.
  ///   - dialects: The dialects by which the peer may speak.
  ///   - closesOnUnknownFraming: Whether bytes of unknown framing close the connection.
  /// - Returns: The session number; nil when the service refused the connection.
  func connect(
    _ sink: any ByteSink,
    framing: Framing? = nil,
    dialects: [Dialect] = Dialect.all,
    closesOnUnknownFraming: Bool = false
  ) -> Int? {
    enter {
      $0.connect(
        sink,
        framing: framing,
        dialects: dialects,
        closesOnUnknownFraming: closesOnUnknownFraming
      )
    }
  }

  /// Opens a session with a `RecordingSink`.
  ///
  /// When the service closes the sink, the host reports the session as disconnected, as a transport
  /// does.
  func connect(
    framing: Framing? = nil,
    dialects: [Dialect] = Dialect.all,
    closesOnUnknownFraming: Bool = false
  ) -> HostSession {
    let session = Shared<Int>()
    let sink = RecordingSink(ended: { [loop, service] in
      // The service closes a sink in the middle of its own work.
      loop.execute {
        guard let number = session.value else { return }
        service.assumeIsolated { $0.disconnected(session: number) }
      }
    })
    let number = connect(
      sink,
      framing: framing,
      dialects: dialects,
      closesOnUnknownFraming: closesOnUnknownFraming
    )
    session.value = number
    return HostSession(number: number, sink: sink)
  }

  /// Passes bytes of a peer to the service, which handles them before this returns.
  func send(_ bytes: [UInt8], to session: Int) {
    enter { $0.receive(bytes.span, session: session) }
  }

  /// Passes bytes to the service; a session that was refused receives nothing.
  func send(_ bytes: [UInt8], to session: HostSession) {
    if let number = session.number { send(bytes, to: number) }
  }

  /// Passes bytes to the service while the writer is blocked, so that all saves that start with
  /// these bytes are committed as one group.
  ///
  /// - Parameters:
  ///   - bytes: The bytes.
  ///   - session: The session.
  /// - Throws: `WaitTimeout`.
  func sendAsOneGroup(_ bytes: [UInt8], to session: Int) throws {
    guard !store.isReadOnly else { return send(bytes, to: session) }
    try withBlockedWriter { send(bytes, to: session) }
  }

  /// Reports the end of a peer's input.
  func endInput(of session: Int) {
    enter { $0.endInput(session: session) }
  }

  /// Reports that a peer takes bytes again.
  func becameWritable(_ session: Int) {
    enter { $0.becameWritable(session: session) }
  }

  /// Reports that a connection is closed.
  func disconnect(_ session: Int) {
    enter { $0.disconnected(session: session) }
  }

  /// Runs the body on the loop, isolated to the service.
  func enter<Answer: Sendable>(_ body: (isolated Service) throws -> Answer) rethrows -> Answer {
    try loop.enter { try service.assumeIsolated(body) }
  }

  // MARK: Waiting

  /// Runs the loop until a condition holds.
  ///
  /// - Parameters:
  ///   - what: The condition in words, for the error.
  ///   - condition: The condition, evaluated before each job.
  /// - Throws: `WaitTimeout`.
  func run(until what: String, _ condition: () -> Bool) throws {
    let deadline = DispatchTime.now() + timeoutSeconds
    while !condition() {
      guard loop.runNext(before: deadline) else { throw waitTimeout(what) }
      jobCount += 1
    }
  }

  /// Runs the next job of the loop, which another thread may still have to hand over.
  ///
  /// - Parameter what: What the test waits for, for the error.
  /// - Throws: `WaitTimeout`.
  func runNext(before what: String) throws {
    guard loop.runNext(before: DispatchTime.now() + timeoutSeconds) else { throw waitTimeout(what) }
    jobCount += 1
  }

  /// Runs the loop until the service is idle: the writer, the readers and the index have no work,
  /// and the loop has no jobs.
  ///
  /// A request that waits for a timer keeps waiting. A search that is still running is not detected:
  /// wait for its response first.
  ///
  /// - Throws: `WaitTimeout`.
  func settle() throws {
    var before: Int
    repeat {
      before = jobCount
      let head = try passReaders()
      try passPastReader()
      try passWriter()
      if let head { try passIndex(head) }
      while loop.runNext(before: .now()) { jobCount += 1 }
    } while jobCount > before
  }

  /// Advances the time, runs the timers that become due, and settles after each of them.
  ///
  /// - Parameter milliseconds: By how much.
  /// - Throws: `WaitTimeout`.
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

  /// Waits until all readers of the store are in this function, so that earlier reads are complete.
  ///
  /// - Returns: The number of the newest commit; nil when it cannot be read.
  private func passReaders() throws -> Int64? {
    // Two hosts that hold one reader thread each would wait for each other.
    try Self.readers.withLock { _ in try passReadersAlone() }
  }

  private static let readers = Mutex(())

  private func passReadersAlone() throws -> Int64? {
    let entered = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    let head = Shared<Int64>()
    for _ in 0..<store.readersMax {
      store.read(.ofService) { reader in
        do {
          head.value = try reader.get().snapshot { $0.head.number }
        } catch {
          // Changes of an external SQLite client are not sealed yet, or the file was removed.
        }
        entered.signal()
        if case .success = reader { leave.wait() }
      }
    }
    defer { for _ in 0..<store.readersMax { leave.signal() } }
    for _ in 0..<store.readersMax { try wait(for: entered, "the readers are idle") }
    return head.value
  }

  private func passPastReader() throws {
    let passed = DispatchSemaphore(value: 0)
    store.readPast(.ofService) { _ in passed.signal() }
    try wait(for: passed, "the reader of earlier states is idle")
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
    guard semaphore.wait(timeout: .now() + timeoutSeconds) == .success else {
      throw waitTimeout(what)
    }
  }

  private func waitTimeout(_ what: String) -> WaitTimeout {
    WaitTimeout(description: "Waited \(timeoutSeconds) s in vain until \(what)")
  }

  // MARK: The end

  /// Stops the service, which answers pending requests and closes all sinks, and closes the store.
  ///
  /// - Throws: `WaitTimeout`.
  func close() throws {
    let isStopped = Shared<Bool>()
    enter { $0.stop { isStopped.value = true } }
    try run(until: "the service has stopped") { isStopped.value == true }
    store.close()
    loop.clear()
  }
}

/// A connection to a service host with a recording sink.
struct HostSession {
  /// The session number; nil when the service refused the connection.
  let number: Int?
  let sink: RecordingSink
}

/// A value that one thread stores for another.
private final class Shared<Value: Sendable>: Sendable {
  private let stored = Mutex<Value?>(nil)

  var value: Value? {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
