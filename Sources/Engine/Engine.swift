// Engine: opens stores with their followers, and answers clients while a store is opened or
// migrated. Connects clients to a service without a socket.
//
// Must not know: the public API of programs, arguments, mocks.
//
// What always holds:
// 1. The engine closes everything that it opened: first the service, then the watcher, the store
//    and the loop.

package import Cordial
package import CordialService
package import Indexing
package import JSONRPC
package import Logging
package import ObjectModel
package import PersistentHistory
package import PersistentStore
package import Spotlight
import Synchronization
package import Transport

/// A running service: store, index, watcher, and the loop that they share.
package final class Engine: Sendable {
  package let service: Service
  package let loop: TransportLoop
  package let store: PersistentStore
  package let index: SearchIndex
  /// The limits of the service, which `initialize` announces.
  package let limits: Limits
  /// The memory of the messages of all connections.
  package var budget: ByteBudget { service.budget }
  private let log: Logger
  private let watcher: CommitWatcher?
  /// The temporary folder for the index of a read-only store; nil if the index is in the store's
  /// folder.
  private let indexFolder: StoreContainer?

  /// The purpose for which a program opens a store.
  package enum Purpose {
    /// Requests of any kind, for a long time.
    case service
    /// Some requests, for a short time.
    case command
    /// Writing many objects, without searches.
    case writing
    /// Reading some objects, without searches.
    case reading

    fileprivate var indexUse: IndexUse {
      switch self {
      case .service, .command: .searches
      case .writing: .fewSearches
      case .reading: .onDemand
      }
    }
  }

  /// Opens a store and starts its service and its followers.
  ///
  /// - Parameters:
  ///   - container: The store's folder.
  ///   - model: The model that the store must have, nil for the store's own model.
  ///   - earlier: Reads the earlier versions of the model, oldest first.
  ///   - mode: Whether the store is writable, read-only or in memory.
  ///   - allowsModelMismatch: Whether the engine serves a store that does not match the model.
  ///   - extensions: The program's extensions of the store; the engine adds the check of models.
  ///   - indexDelegate: The program's delegate for the search index, which then has a file of its
  ///     own; nil if the model alone decides.
  ///   - followers: Returns the program's own followers of the log of the opened store. The service
  ///     wakes and stops them, and retains the history that they need. Before the closure throws,
  ///     it must stop the followers that it has made.
  ///   - purpose: The purpose for which the program opens the store.
  ///   - limits: The limits of the service.
  ///   - budget: The message memory, shared with other services; nil for a new budget.
  ///   - loop: The thread of the service and its connections; nil for a new thread.
  ///   - version: The program's version.
  ///   - log: The logger of the service.
  ///   - migrating: Called before each step of a migration.
  /// - Throws: `StoreError` with one sentence for a person.
  package init(
    container: StoreContainer,
    model: Model?,
    earlier: () throws -> [Model] = { [] },
    mode: StoreContainer.Mode,
    allowsModelMismatch: Bool = false,
    extensions: StoreExtensions = StoreExtensions(),
    indexDelegate: IndexDelegate? = nil,
    followers: (PersistentStore) throws -> [any LogFollower] = { _ in [] },
    purpose: Purpose = .service,
    limits: Limits = Limits(),
    budget: ByteBudget? = nil,
    loop: TransportLoop? = nil,
    version: String,
    log: Logger,
    migrating: (MigrationProgress) -> Void = { _ in }
  ) throws(StoreError) {
    do throws(TransportError) {
      try DescriptorLimit.check()
    } catch {
      throw StoreError(.cannotOpen, error.message, hint: error.hint.map { .text($0) })
    }
    var extensions = extensions
    extensions.modelProblems = StoreExtensions.standard.modelProblems
    let store = try PersistentStore(
      container: container,
      model: model,
      earlier: earlier,
      mode: mode,
      environment: .system,
      extensions: extensions,
      allowsModelMismatch: allowsModelMismatch
    ) { progress in
      migrating(progress)
      log.notice(
        "Migrating",
        metadata: [
          "versions": "\(progress.from) to \(progress.to)",
          "step": "\(progress.done + 1)/\(progress.count)",
          "doing": "\(progress.title)",
        ]
      )
    }
    if let mismatch = store.mismatch { log.error("\(mismatch.message)") }
    if let reason = store.readOnlyReason { log.warning("\(reason)") }
    do throws(StoreError) {
      indexFolder = store.isReadOnly ? try StoreContainer.inMemory() : nil
    } catch {
      store.close()
      throw error
    }
    let path = (indexFolder ?? container).indexPath(indexDelegate?.name)
    let rules = IndexRules(delegate: indexDelegate)
    let index = SearchIndex(
      path: path,
      folder: container.path,
      model: store.model,
      delegateVersion: indexDelegate?.version,
      use: purpose.indexUse,
      now: StoreEnvironment.system.now,
      whenDamaged: { damage in
        log.warning("The index was damaged and is being rebuilt", metadata: ["damage": "\(damage)"])
      },
      makeSource: { try StoreDocuments(store, rules) }
    )
    var own: [any LogFollower] = []
    let usedLoop = loop ?? TransportLoop()
    do {
      own = try followers(store)
      service = try Service(
        store: store,
        index: index,
        indexRules: rules,
        loop: TransportServiceLoop(loop: usedLoop),
        limits: limits,
        budget: budget,
        facts: .init(
          name: "cordial",
          version: version,
          process: SystemFacts.process,
          clock: SystemFacts.microseconds
        ),
        followers: own,
        log: log
      )
    } catch {
      for follower in own { follower.stop() }
      if loop == nil { usedLoop.shutdownUnused() }
      store.close()
      indexFolder?.remove()
      throw StoreError(any: error)
    }
    self.log = log
    self.store = store
    self.index = index
    self.limits = limits
    self.loop = usedLoop
    let service = service
    // A process that only reads also follows the commits of other processes.
    watcher =
      mode == .inMemory
      ? nil
      : CommitWatcher(path: container.storePath, isPrompt: purpose == .service) {
        service.lookForCommits()
      }
    service.lookForCommits()
  }

  /// Connects a client of this process; if the engine is closed, the connection ends at once.
  package func connect(_ client: ClientConnection) async {
    let link = InProcessLink(client: client, service: service, loop: loop)
    let isOpen = await withCheckedContinuation { continuation in
      let runs = loop.execute {
        link.open()
        continuation.resume(returning: true)
      }
      if !runs { continuation.resume(returning: false) }
    }
    client.connect(link)
    if !isOpen { client.ended() }
  }

  /// Ends each connection after its requests are answered, then closes everything.
  package func close() async throws {
    await withCheckedContinuation { continuation in
      let service = service
      loop.execute {
        service.assumeIsolated { service in service.stop { continuation.resume() } }
      }
    }
    watcher?.stop()
    if let error = store.close() { log.error("\(error.message)") }
    indexFolder?.remove()
    try await loop.shutdown()
  }
}

/// An adapter that presents the transport's loop as the loop of a service.
private struct TransportServiceLoop: ServiceLoop {
  let loop: TransportLoop

  var unownedExecutor: UnownedSerialExecutor { unsafe loop.unownedExecutor }

  func execute(_ work: @escaping @Sendable () -> Void) {
    loop.execute(work)
  }

  func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    loop.schedule(milliseconds: milliseconds, work)
  }
}

/// A client's connection to a service of the same process.
private final class InProcessLink: ClientLink, ByteSink {
  private let client: ClientConnection
  private let service: Service
  private let loop: TransportLoop
  private let session = Mutex<Int?>(nil)

  init(client: ClientConnection, service: Service, loop: TransportLoop) {
    self.client = client
    self.service = service
    self.loop = loop
  }

  /// Opens a session of the service; called on the loop.
  func open() {
    let number = service.assumeIsolated { service in
      service.connect(self, framing: .line, closesOnUnknownFraming: false)
    }
    session.withLock { $0 = number }
  }

  func send(_ bytes: [UInt8]) {
    loop.execute {
      guard let number = self.session.withLock({ $0 }) else { return }
      self.service.assumeIsolated { $0.receive(bytes.span, session: number) }
    }
  }

  func close() {
    loop.execute { self.close(exitCode: 0) }
  }

  var isWritable: Bool { true }

  /// Does nothing, because a client of this process waits for its responses.
  func setReading(_ reads: Bool) {}

  func write(_ pieces: [[UInt8]]) {
    for piece in pieces { client.received(piece.span) }
  }

  func abort() {
    close(exitCode: 0)
  }

  func close(exitCode: Int32) {
    client.ended()
    // The service may close a session in the middle of its own work. The session is therefore
    // disconnected in a later turn of the loop.
    loop.execute {
      guard
        let number = self.session.withLock({ number in
          defer { number = nil }
          return number
        })
      else { return }
      self.service.assumeIsolated { $0.disconnected(session: number) }
    }
  }
}
