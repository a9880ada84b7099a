// PersistentStore: performs all writes to a store, compiles fetches to SQL, and writes rows as JSON
// bytes.
//
// Must not know: followers, frames, the names of methods.
//
// What always holds:
// 1. A save is stored whole or not at all, and adds at most one commit to the history log, in the
//    same transaction.
// 2. When a `full` save is acknowledged, its commit has been fsynced.
// 3. The writer waits for no reader or follower: readers see snapshots, and followers read the
//    history log later.
// 4. SQL text contains no text of a request, except names that the model has; values are bound.

import CordialValues
import Dispatch
import JSON
package import ObjectModel
import PersistentHistory
import SQLite

/// An opened store: one writer and several readers, each on its own queue.
package final class PersistentStore: Sendable {
  package let container: StoreContainer
  package let isReadOnly: Bool
  /// The reason why the store cannot be written in any mode; nil when it can be written.
  package let readOnlyReason: String?
  /// The reason why the store does not have the requested model, nil when it does.
  ///
  /// A store with a mismatch is read-only and keeps its own model.
  package let mismatch: StoreError?
  private let facts: StoreFile.Facts
  let environment: StoreEnvironment
  private let extensions: StoreExtensions
  private let tuning: StoreTuning
  /// The function that opens a reader, and checks that the store's files are still the files that
  /// this process opened.
  private let openReader: @Sendable () throws -> StoreReader
  /// The check that the store's files are still the files that this process opened; nil if the
  /// connections take no locks.
  let opened: OpenedFiles?
  let writer: WriterQueue?
  private let readers: ReaderPool
  /// The readers of past commits.
  ///
  /// These readers have their own connections. A reader of a past commit creates temporary views,
  /// which make SQLite recompile all statements of the connection.
  private let pastReaders: ReaderPool
  /// The sorts of requests for which the store had no database index.
  package let unindexedSorts = UnindexedSorts()
  /// The database indexes that requests used.
  private let usedIndexes = UsedIndexes()
  private let removesFolder: Bool
  /// The serial queue of the copies, so that clients cannot start many copies at once.
  let backups = DispatchQueue(label: "cordial.backup")

  /// The number of read connections that stay open.
  private static let readersKept = 3
  /// The ratio of connections for the newest commit to connections for past commits.
  ///
  /// A connection for past commits keeps in memory the rows that changed after its commit.
  private static let readersToPastReader = 8

  /// Opens a store.
  ///
  /// If a model is given, a missing store is created, and a store of an earlier version migrates to
  /// the model.
  ///
  /// - Parameters:
  ///   - container: The folder of the store.
  ///   - model: The model that the store must have; nil for the store's own model.
  ///   - earlier: Returns the earlier versions of the model, oldest first. A store of an earlier
  ///     version migrates through all versions after it.
  ///   - mode: Whether the store is opened for writing, for reading only, or in memory.
  ///   - environment: The sources of time and randomness.
  ///   - extensions: The program's additions to the store.
  ///   - tuning: The limits that adapt the store's performance to its use.
  ///   - allowsModelMismatch: Whether a store that cannot migrate to the model is opened unchanged,
  ///     for reading.
  ///   - migrating: Called before each step of a migration.
  /// - Throws: `StoreError`, whose message is one sentence for the user.
  package init(
    container: StoreContainer,
    model: Model?,
    earlier: () throws -> [Model] = { [] },
    mode: StoreContainer.Mode,
    environment: StoreEnvironment,
    extensions: StoreExtensions = StoreExtensions(),
    tuning: StoreTuning = StoreTuning(),
    allowsModelMismatch: Bool = false,
    migrating: (MigrationProgress) -> Void = { _ in }
  ) throws(StoreError) {
    self.container = container
    self.environment = environment
    self.extensions = extensions
    self.tuning = tuning
    removesFolder = mode == .inMemory
    let isFrozen = container.hasStore && container.isOnReadOnlyFileSystem
    readOnlyReason = isFrozen ? Self.readOnlyReason(container) : nil
    let mode = isFrozen ? .readOnly : mode
    do {
      if let obstacle = container.obstacle { throw obstacle }
      if !container.hasStore, model == nil || mode == .readOnly { throw Self.missing(container) }
      if let model, mode != .readOnly {
        try extensions.check(model)
        try container.prepare()
        let isCreated = try StoreFile.create(
          at: container.storePath,
          model: model,
          environment: environment
        )
        if isCreated { container.syncNames() }
      }
      let role = mode == .readOnly ? StoreConnection.readerRole(of: container) : .reader
      var facts = try StoreFile.read(at: container.storePath, role: role, requested: model)
      var mismatch: StoreError?
      if let model, model.hash != facts.model.hash {
        do {
          let chain = try earlier() + [model]
          try Self.migrate(facts, over: chain, container, mode, environment, migrating)
          facts = try StoreFile.read(at: container.storePath, role: role, requested: model)
        } catch let error as StoreError where error.code == .modelMismatch && allowsModelMismatch {
          mismatch = error
        }
      }
      isReadOnly = mode == .readOnly || mismatch != nil
      // Before any reader opens the file, the writer rebuilds text that was folded by another ICU
      // version.
      if !isReadOnly { facts.hasCurrentTexts = true }
      facts.computing = extensions.computedValues
      self.facts = facts
      self.mismatch = mismatch
      let (sorts, indexes) = (unindexedSorts, usedIndexes)
      let makeReader = { @Sendable [facts] in
        try StoreReader(
          path: container.storePath,
          role: role,
          facts: facts,
          unindexed: sorts,
          used: indexes
        )
      }
      var first: StoreReader?
      if isReadOnly {
        writer = nil
        first = try makeReader()
        // Connections of other roles take no locks, so another process may remove the write-ahead
        // log at any time.
        opened = role == .reader ? OpenedFiles(container.storePath) : nil
      } else {
        if model != nil { try StoreFile.updateModel(facts.model, at: container.storePath) }
        try container.writeModelCopy(facts.model)
        let writer = try StoreWriter(
          path: container.storePath,
          facts: facts,
          environment: environment,
          mergePolicies: extensions.mergePolicies,
          bulk: tuning.bulk
        )
        opened = writer.opened
        self.writer = WriterQueue(writer)
      }
      openReader = { [opened] in
        try opened?.check()
        let reader = Result { try makeReader() }
        // If the write-ahead log was removed meanwhile, SQLite has opened a new, empty one.
        try opened?.check()
        return try reader.get()
      }
      // The first connection opens now: it can read the files even if they are removed later.
      readers = ReaderPool(
        first: try first ?? openReader(),
        readersMax: tuning.readersMax,
        readersKept: Self.readersKept,
        open: openReader
      )
      pastReaders = ReaderPool(
        readersMax: max(1, tuning.readersMax / Self.readersToPastReader),
        readersKept: 1,
        open: openReader
      )
    } catch {
      throw Self.described(error, container)
    }
  }

  /// Migrates a store through a chain of model versions to the last version.
  private static func migrate(
    _ facts: StoreFile.Facts,
    over chain: [Model],
    _ container: StoreContainer,
    _ mode: StoreContainer.Mode,
    _ environment: StoreEnvironment,
    _ progress: (MigrationProgress) -> Void
  ) throws(StoreError) {
    let stages = try Migrator.stages(of: facts.model, facts.formerHashes, over: chain)
    guard mode != .readOnly else {
      let problem = MigrationProblem(path: "", message: "the store is opened read-only")
      throw Migrator.mismatch(facts.model, chain[chain.count - 1], [problem])
    }
    do {
      try Migrator(path: container.storePath, environment: environment).run(stages, progress)
    } catch {
      throw StoreError(any: error)
    }
  }

  package var model: Model { facts.model }
  /// The identity of the store, which does not change for as long as the store exists.
  ///
  /// A restored copy has the same identity.
  package var identifier: String { facts.identifier }
  package var generation: UInt32 { facts.generation }
  /// The maximum number of read connections, besides the event loop's connection.
  package var readersMax: Int { tuning.readersMax }
  /// Returns the current time, in milliseconds since 1970.
  package func now() -> Int64 { environment.now() }
  /// The names of the program's own merge policies.
  package var mergePolicies: Set<String> { Set(extensions.mergePolicies.keys) }

  /// Prevents a crash of the process when another program shortens a file that SQLite has mapped.
  ///
  /// The store then refuses requests. This function replaces the process's action for SIGBUS.
  package static func surviveLostPages() { SQLiteConnection.surviveLostPages() }

  private static func missing(_ container: StoreContainer) -> StoreError {
    StoreError(
      .cannotOpen,
      "There is no store at \(container.path)",
      hint: .createStore(path: container.path)
    )
  }

  /// Returns a message that says why the store is read-only and whether its write-ahead log has
  /// commits.
  private static func readOnlyReason(_ container: StoreContainer) -> String {
    let log =
      FileSize.of([container.storePath + "-wal"]) > 0
      ? "with the commits in its write-ahead log" : "and has no commits in a write-ahead log"
    return "\(container.path) is on a read-only file system: it is only read, \(log)"
  }

  /// Converts an error to a `StoreError`; the message for a damaged file names the file.
  private static func described(_ error: any Error, _ container: StoreContainer) -> StoreError {
    let described = StoreError(any: error)
    guard error is SQLiteError, described.code == .storeCorrupt else { return described }
    return StoreError(
      .storeCorrupt,
      "\(container.storePath) is not a SQLite database, or it is damaged",
      hint: described.hint
    )
  }

  /// Returns a read connection that one thread keeps, such as an event loop.
  ///
  /// - Returns: The connection.
  /// - Throws: `SQLiteError`; `StoreError` with the code `storeCorrupt` if a file of the store was
  ///   removed or replaced.
  package func makeReader() throws -> StoreReader { try openReader() }

  /// Reads on a worker thread.
  ///
  /// - Parameters:
  ///   - turn: The client's connection, and the interruption of the read.
  ///   - body: Called with a read connection on one of the store's threads.
  package func read(
    _ turn: ReadTurn,
    _ body: @escaping @Sendable (Result<StoreReader, StoreError>) -> Void
  ) {
    readers.read(turn, body)
  }

  /// Reads past commits on a worker thread.
  ///
  /// - Parameters:
  ///   - turn: The client's connection, and the interruption of the read.
  ///   - body: Called with a read connection on one of the store's threads.
  package func readPast(
    _ turn: ReadTurn,
    _ body: @escaping @Sendable (Result<StoreReader, StoreError>) -> Void
  ) {
    pastReaders.read(turn, body)
  }

  /// Performs a save; waiting saves are committed as a group.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - completion: Called on the writer's thread with the outcome, after the commit.
  ///   - groupEnded: Called after the completions of all saves of the group, for the last save
  ///     only. A caller that collects outcomes processes them here.
  package func save(
    _ request: SaveRequest,
    _ completion: @escaping @Sendable (Result<SaveOutcome, StoreError>) -> Void,
    groupEnded: @escaping @Sendable () -> Void = {}
  ) {
    guard let writer else {
      completion(.failure(readOnly))
      return groupEnded()
    }
    writer.save(request, completion, groupEnded: groupEnded)
  }

  /// Ends the waiting saves whose interruption has stopped them.
  ///
  /// The completions of these saves run on the calling thread.
  package func endStoppedSaves() { writer?.endStoppedSaves() }

  /// Performs a small save on the calling thread, if no other save is performed or waits.
  ///
  /// The call waits for no other process. It waits for an fsync only after a checkpoint of another
  /// process.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - instructionsMax: The maximum number of SQLite's instructions; a save that needs more is
  ///     rolled back. The default takes about a millisecond.
  /// - Returns: The outcome; nil if nothing was stored and the caller has to call
  ///   `save(_:_:groupEnded:)`.
  package func saveAtOnce(
    _ request: SaveRequest,
    instructionsMax: Int = 65_536
  ) -> Result<SaveOutcome, StoreError>? {
    writer?.saveAtOnce(request, instructionsMax: instructionsMax)
  }

  /// Seals the changes made by external SQLite clients.
  ///
  /// - Parameter completion: Called on the writer's thread with the number of the newest commit.
  package func seal(_ completion: @escaping @Sendable (Result<Int64, StoreError>) -> Void) {
    guard let writer else { return completion(.failure(Self.unsealed)) }
    writer.seal(completion)
  }

  /// Runs a body with the writer, between two groups of saves.
  func write<Answer: Sendable>(
    _ source: Int,
    _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void,
    _ body: @escaping @Sendable (StoreWriter) throws -> Answer
  ) {
    guard let writer else { return completion(.failure(readOnly)) }
    writer.perform(of: source, body, completion)
  }

  /// Closes the writer after its pending work; later saves fail.
  ///
  /// - Returns: The error if other programs changed the files, so that commits may be lost;
  ///   otherwise nil.
  @discardableResult package func close() -> StoreError? {
    let error = writer?.close()
    if removesFolder { container.remove() }
    return error
  }

  /// Returns the value of the writer's `PRAGMA synchronous`, so that a test can check that it is
  /// FULL.
  package func writerSynchronous() throws -> Int? {
    try writer?.synchronous()
  }

  private var readOnly: StoreError {
    guard readOnlyReason == nil else {
      return StoreError(.storeReadOnly, "The store is on a read-only file system")
    }
    return StoreError(
      .storeReadOnly,
      "The store is open for reading only",
      hint: .openForWriting
    )
  }
  private static let unsealed = StoreError(
    .storeReadOnly,
    "Another program wrote to the store, and a read-only process cannot seal its changes",
    hint: "Open the store once with write access"
  )
}
