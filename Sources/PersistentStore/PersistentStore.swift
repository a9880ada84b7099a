// PersistentStore: the only writer. Schema, save, fetch compiled to SQL, rows written as JSON.
//
// Must not know: who listens, how it was asked.
//
// What always holds:
// 1. A save is whole or absent, and leaves one entry in the log, in the same transaction.
// 2. An acknowledged `full` save was fsynced.
// 3. The writer waits for nobody: readers see snapshots, followers read the log later.
// 4. Nothing of a request stands in SQL but names that the model has; values are bound.

import CordialValues
import Dispatch
import JSON
package import ObjectModel
import PersistentHistory
import SQLite

/// An opened store: one writer, some readers, each on a queue of its own.
package final class PersistentStore: Sendable {
  package let container: StoreContainer
  package let isReadOnly: Bool
  /// Why the store does not have the model that was asked for, nil when it does; then it is read
  /// only, with the model that it has.
  package let mismatch: StoreError?
  private let facts: StoreMaker.Facts
  let environment: StoreEnvironment
  private let role: StoreConnection.Role
  private let writer: WriterQueue?
  private let readers: ReaderPool
  private let removesFolder: Bool

  /// How many connections answer fetches beside the event loop's own.
  package static let readersMax = 2

  /// Opens a store, making it when there is none and a model is given, and bringing it to the
  /// model's version when it has an earlier one.
  ///
  /// - Parameters:
  ///   - container: Its folder.
  ///   - model: The model that it must have; nil takes the store's own.
  ///   - earlier: Reads the versions before it, the oldest first: a store of one of them goes
  ///     through those behind it.
  ///   - mode: Whether it can be written, or lives in memory.
  ///   - environment: The time and chance.
  ///   - opensMismatch: Whether a store that cannot have the model is opened as it is, to be read.
  ///   - migrating: Called before each step of a migration.
  /// - Throws: `StoreError` with one sentence for a person.
  package init(
    container: StoreContainer,
    model: Model?,
    earlier: () throws -> [Model] = { [] },
    mode: StoreContainer.Mode,
    environment: StoreEnvironment,
    opensMismatch: Bool = false,
    migrating: (MigrationProgress) -> Void = { _ in }
  ) throws(StoreError) {
    self.container = container
    self.environment = environment
    removesFolder = mode == .inMemory
    do {
      if let obstacle = container.obstacle { throw obstacle }
      if !container.hasStore, model == nil || mode == .readOnly { throw Self.missing(container) }
      if let model, mode != .readOnly {
        try container.prepare()
        try StoreMaker.make(at: container.storePath, model: model, environment: environment)
      }
      let needsImmutable =
        mode == .readOnly && !container.isWritable
      role = needsImmutable ? .immutableReader : .reader
      if needsImmutable { try Self.checkImmutable(container) }
      var facts = try StoreMaker.read(at: container.storePath, role: role, asked: model)
      var mismatch: StoreError?
      if let model, model.hash != facts.model.hash {
        do {
          let chain = try earlier() + [model]
          try Self.migrate(facts, over: chain, container, mode, environment, migrating)
          facts = try StoreMaker.read(at: container.storePath, role: role, asked: model)
        } catch let error as StoreError where error.code == .modelMismatch && opensMismatch {
          mismatch = error
        }
      }
      self.facts = facts
      self.mismatch = mismatch
      isReadOnly = mode == .readOnly || mismatch != nil
      readers = ReaderPool(
        path: container.storePath,
        role: role,
        facts: facts
      )
      if isReadOnly {
        writer = nil
      } else {
        if model != nil { try StoreMaker.keep(facts.model, at: container.storePath) }
        try container.writeModelCopy(facts.model)
        writer = WriterQueue(
          try StoreWriter(
            path: container.storePath,
            facts: facts,
            environment: environment
          )
        )
      }
    } catch {
      throw Self.described(StoreError(any: error), container)
    }
  }

  /// Brings a store to the last of some versions.
  private static func migrate(
    _ facts: StoreMaker.Facts,
    over chain: [Model],
    _ container: StoreContainer,
    _ mode: StoreContainer.Mode,
    _ environment: StoreEnvironment,
    _ progress: (MigrationProgress) -> Void
  ) throws(StoreError) {
    let stages = try Migrator.stages(of: facts.model, facts.formerHashes, over: chain)
    guard mode != .readOnly else {
      let problem = ModelProblem(path: "", message: "it is opened to be read only")
      throw Migrator.mismatch(facts.model, chain[chain.count - 1], [problem])
    }
    do {
      try Migrator(path: container.storePath, environment: environment).run(stages, progress)
    } catch {
      throw StoreError(any: error)
    }
  }

  package var model: Model { facts.model }
  /// Names the store for as long as it exists, also after a restore.
  package var identifier: String { facts.identifier }
  package var generation: UInt32 { facts.generation }
  /// The time, in milliseconds since 1970.
  package func now() -> Int64 { environment.now() }
  /// The names of the program's own merge policies.
  package var mergePolicies: Set<String> { Set(environment.mergePolicies.keys) }

  private static func missing(_ container: StoreContainer) -> StoreError {
    StoreError(
      .cannotOpen,
      "There is no store at \(container.path)",
      hint: "Make one from a model: cordial init \(container.path) --model FILE"
    )
  }

  /// An immutable database is read without locks, which is right only while nobody writes.
  private static func checkImmutable(_ container: StoreContainer) throws(StoreError) {
    guard !StoreMaker.hasLogFile(container.storePath) else {
      throw StoreError(
        .cannotOpen,
        "\(container.path) cannot be written and has a write-ahead log, so it cannot be read",
        hint: "Open it once where it can be written, or copy it"
      )
    }
  }

  /// Says which store an error is about.
  private static func described(_ error: StoreError, _ container: StoreContainer) -> StoreError {
    switch error.code {
    case .storeCorrupt:
      StoreError(
        .storeCorrupt,
        "\(container.storePath) is no SQLite database, or it is damaged",
        hint: error.hint
      )
    default: error
    }
  }

  /// A read connection for one thread to keep, as an event loop does.
  ///
  /// - Returns: The connection.
  /// - Throws: `SQLiteError`.
  package func makeReader() throws -> StoreReader {
    try StoreReader(
      path: container.storePath,
      role: role,
      facts: facts
    )
  }

  /// Reads on a worker.
  ///
  /// - Parameter body: What to do with a read connection; it runs on one of the store's threads.
  package func read(_ body: @escaping @Sendable (Result<StoreReader, StoreError>) -> Void) {
    readers.read(body)
  }

  /// Saves; waiting saves are committed as a group.
  ///
  /// - Parameters:
  ///   - request: What to do.
  ///   - completion: Called on the writer's thread with the outcome, after the commit.
  ///   - groupEnded: Called behind the completions of all saves of the group, of the last one only;
  ///     who collects outcomes goes on with them here.
  package func save(
    _ request: SaveRequest,
    _ completion: @escaping @Sendable (Result<SaveOutcome, StoreError>) -> Void,
    groupEnded: @escaping @Sendable () -> Void = {}
  ) {
    guard let writer else {
      completion(.failure(Self.readOnly))
      return groupEnded()
    }
    writer.save(request, completion, groupEnded: groupEnded)
  }

  /// Seals what foreign clients wrote.
  ///
  /// - Parameter completion: Called on the writer's thread with the number of the newest commit.
  package func seal(_ completion: @escaping @Sendable (Result<Int64, StoreError>) -> Void) {
    guard let writer else { return completion(.failure(Self.unsealed)) }
    writer.seal(completion)
  }

  /// Does something with the writer between two groups of saves.
  func write<Answer: Sendable>(
    _ source: Int,
    _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void,
    _ body: @escaping @Sendable (StoreWriter) throws -> Answer
  ) {
    guard let writer else { return completion(.failure(Self.readOnly)) }
    writer.perform(of: source, body, completion)
  }

  /// Ends the writer after what it was given; nothing is saved afterwards.
  package func close() {
    writer?.close()
    if removesFolder { container.remove() }
  }

  /// The value of the writer's `PRAGMA synchronous`, for the test that it is FULL.
  package func writerSynchronous() throws -> Int? {
    try writer?.synchronous()
  }

  private static let readOnly = StoreError(
    .storeReadOnly,
    "The store was opened with --read-only",
    hint: "Serve it without --read-only to write"
  )
  private static let unsealed = StoreError(
    .storeReadOnly,
    "Another program wrote to the store, and a read-only process cannot enter it",
    hint: "Open the store once where it can be written"
  )
}
