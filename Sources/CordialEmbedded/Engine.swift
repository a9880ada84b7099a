// CordialEmbedded: the service inside a program. Opens a store with its index and its followers,
// and connects clients to it without a socket.
//
// Must not know: nothing is hidden from it; it joins what the others keep apart.
//
// What always holds:
// 1. Everything that was opened is closed in the reverse order, and the store last.

package import Cordial
package import CordialService
import JSONRPC
package import Logging
package import ObjectModel
package import PersistentStore
import Spotlight
import Synchronization
package import Transport

/// A running service: store, index, watcher, and the loop that they share.
package final class Engine: Sendable {
  package let service: Service
  package let loop: TransportLoop
  package let store: PersistentStore
  private let watcher: CommitWatcher?
  /// Where the index of a store is that must not be written; nil when it is in the store.
  private let indexFolder: StoreContainer?

  /// Opens a store and starts everything that follows it.
  ///
  /// - Parameters:
  ///   - container: The store's folder.
  ///   - model: The model that it must have, nil for its own.
  ///   - earlier: Reads the versions of the model before it, the oldest first.
  ///   - mode: Whether it can be written, or lives in memory.
  ///   - opensMismatch: Whether a store that cannot have the model is served as far as it goes.
  ///   - mergePolicies: Merge policies of the program's own, by the names under which saves ask for
  ///     them.
  ///   - limits: How far everything may grow.
  ///   - version: The program's version.
  ///   - log: Where the service logs.
  ///   - migrating: Called before each step of a migration.
  /// - Throws: `StoreError` with one sentence for a person.
  package init(
    container: StoreContainer,
    model: Model?,
    earlier: () throws -> [Model] = { [] },
    mode: StoreContainer.Mode,
    opensMismatch: Bool = false,
    mergePolicies: [String: MergeDecision] = [:],
    limits: Limits = Limits(),
    version: String,
    log: Logger,
    migrating: (MigrationProgress) -> Void = { _ in }
  ) throws(StoreError) {
    var environment = StoreEnvironment.system
    environment.mergePolicies = mergePolicies
    let store = try PersistentStore(
      container: container,
      model: model,
      earlier: earlier,
      mode: mode,
      environment: environment,
      opensMismatch: opensMismatch
    ) { progress in
      migrating(progress)
      // The first step is worth telling whoever looks at warnings only.
      log.log(
        level: progress.done == 0 ? .warning : .notice,
        "Migrating",
        metadata: [
          "versions": "\(progress.stage)", "step": "\(progress.done + 1)/\(progress.count)",
          "doing": "\(progress.title)",
        ]
      )
    }
    if let mismatch = store.mismatch { log.error("\(mismatch.message)") }
    indexFolder =
      store.isReadOnly ? try StoreContainer.inMemory(number: SystemFacts.chance()) : nil
    let path = (indexFolder ?? container).indexPath
    let index = SearchIndex(path: path, model: store.model) {
      try StoreDocuments(store: store, layout: IndexLayout(store.model))
    }
    let loop = TransportLoop()
    do {
      service = try Service(
        store: store,
        index: index,
        loop: LoopOfTransport(loop: loop),
        limits: limits,
        facts: .init(
          name: "cordial",
          version: version,
          process: SystemFacts.process,
          clock: SystemFacts.microseconds
        ),
        log: log
      )
    } catch {
      throw StoreError(any: error)
    }
    self.store = store
    self.loop = loop
    let service = service
    watcher =
      mode == .readWrite && !store.isReadOnly
      ? CommitWatcher(path: container.storePath) { service.lookForCommits() } : nil
    service.lookForCommits()
  }

  /// Connects a client of this process.
  package func connect(_ client: Client) async {
    let link = InProcessLink(client: client, service: service, loop: loop)
    await withCheckedContinuation { continuation in
      loop.execute {
        link.open()
        continuation.resume()
      }
    }
    client.connect(link)
  }

  /// Ends connections after what they asked was answered, then closes everything.
  package func close() async throws {
    await withCheckedContinuation { continuation in
      let service = service
      loop.execute {
        service.assumeIsolated { service in service.stop { continuation.resume() } }
      }
    }
    watcher?.stop()
    store.close()
    indexFolder?.remove()
    try await loop.shutdown()
  }
}

/// The transport's loop as the service wants one.
private struct LoopOfTransport: ServiceLoop {
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
  private let client: Client
  private let service: Service
  private let loop: TransportLoop
  private let session = Mutex<Int?>(nil)

  init(client: Client, service: Service, loop: TransportLoop) {
    self.client = client
    self.service = service
    self.loop = loop
  }

  /// Called on the loop.
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

  /// A client of this process waits for its answers by itself.
  func setReading(_ reads: Bool) {}

  func write(_ pieces: [[UInt8]]) {
    for piece in pieces { client.received(piece.span) }
  }

  func cut() {
    close(exitCode: 0)
  }

  func close(exitCode: Int32) {
    client.ended()
    // The service is in the middle of its own work when it closes a session.
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
