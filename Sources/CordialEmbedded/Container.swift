// CordialEmbedded: the service inside a program, as the public API of the engine.
//
// Must not know: mocks, arguments.
//
// What always holds:
// 1. A container closes its followers before its stores.
// 2. Each follower of the program receives each commit once, also across restarts.

public import Cordial
import CordialService
import Engine
import Glibc
import Indexing
import JSON
import JSONRPC
public import Logging
import ObjectModel
import PersistentStore
import Synchronization
import Transport

/// The model of a container: the text or the path of a model file, or the path of an Xcode model.
public struct ModelSource: Sendable {
  fileprivate enum Source {
    case text(String)
    case path(String)
  }

  fileprivate let source: Source

  /// A model in the form of a model file.
  public static func json(_ text: String) -> ModelSource { ModelSource(source: .text(text)) }

  /// A model file, or an `.xcdatamodeld` or `.xcdatamodel` folder.
  public static func path(_ path: String) -> ModelSource { ModelSource(source: .path(path)) }
}

/// A store of a container.
public struct StoreDescription: Sendable, Equatable {
  /// The location of a store.
  public enum Location: Sendable, Equatable {
    /// A folder, which is created if it does not exist.
    case folder(String)
    /// The memory; the store exists only as long as its container.
    case memory
  }

  /// The name by which a program selects the store.
  public let name: String
  /// The location of the store.
  public let location: Location
  /// Whether saves are refused.
  public let isReadOnly: Bool

  /// Creates a description.
  ///
  /// - Parameters:
  ///   - name: The name by which a program selects the store.
  ///   - location: The location of the store.
  ///   - isReadOnly: Whether saves are refused.
  public init(_ name: String = "default", at location: Location, isReadOnly: Bool = false) {
    self.name = name
    self.location = location
    self.isReadOnly = isReadOnly
  }
}

/// The purpose for which a program opens its stores.
public enum ContainerProfile: String, Sendable, CaseIterable {
  /// The program's own data, in the locations of the descriptions.
  case shared
  /// A preview with data in memory.
  case previewInMemory
  /// A preview with persistent data, in folders beside the folders of the program's own data.
  case previewInPersistentStore
  /// A test with empty stores in memory.
  case test

  /// Reads the profile from a program's arguments: `-InMemory 1` and `-TestMode 1`.
  ///
  /// The argument `-AllowCloudKitSync 0` has no effect, because no store is synchronized with
  /// CloudKit.
  ///
  /// - Parameter arguments: The arguments of the program; the method ignores unknown arguments.
  /// - Returns: The profile; nil if no argument selects a profile.
  /// - Throws: `ContainerError` for a missing or unsupported value, and for contradictory
  ///   arguments.
  public static func named(
    in arguments: [String]
  ) throws(ContainerError) -> ContainerProfile? {
    var found: ContainerProfile?
    for (index, argument) in arguments.enumerated() {
      let profile: ContainerProfile?
      switch argument {
      case "-InMemory": profile = .previewInMemory
      case "-TestMode": profile = .test
      case "-AllowCloudKitSync": profile = nil
      default: continue
      }
      let value = arguments[(index + 1)...].first
      guard let value, ["0", "1"].contains(value) else {
        throw ContainerError(
          message: "\(argument) needs the value 0 or 1, not \(value.map { "\"\($0)\"" } ?? "none")"
        )
      }
      guard value == "1" else { continue }
      guard let profile else {
        throw ContainerError(message: "\(argument) 1: no store is synchronized with CloudKit")
      }
      guard found == nil || found == profile else {
        throw ContainerError(message: "-InMemory 1 and -TestMode 1 exclude each other")
      }
      found = profile
    }
    return found
  }

  /// Returns the location of a store under the profile.
  func location(of description: StoreDescription) -> StoreDescription.Location {
    switch (self, description.location) {
    case (.shared, let location): location
    case (.previewInMemory, _), (.test, _), (.previewInPersistentStore, .memory): .memory
    case (.previewInPersistentStore, .folder(let path)): .folder(path + ".preview")
    }
  }
}

/// The reason why a container cannot be opened.
public struct ContainerError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A sentence about the failure, with a hint if there is one.
  public let message: String

  /// The message.
  public var description: String { message }

  init(message: String) {
    self.message = message
  }

  init(_ error: StoreError) {
    message = error.hint.map { "\(error.message) (\($0.words))" } ?? error.message
  }
}

/// The stores of a program, with the service that answers its clients in the same process.
///
///     let container = try await Container(model: .path("Todo.xcdatamodeld"), stores: [
///       StoreDescription(at: .folder("Todo.cordial"))
///     ])
///     let client = try await container.client()
///
/// Other programs may use the same folders at the same time.
public final class Container: Sendable {
  /// The stores, in the order of their descriptions.
  public let descriptions: [StoreDescription]
  /// The profile under which the stores are open.
  public let profile: ContainerProfile

  private let engines: [String: Engine]
  /// The tasks of the followers, with their clients.
  private let following = Mutex<[(client: Client, task: Task<Void, Never>)]>([])

  private let closing = Mutex<Task<Void, any Error>?>(nil)

  /// The memory of the messages of all containers of the process.
  private static let budget = ByteBudget(processBytesMax: Limits().processBytesMax)

  /// Opens stores that share a model.
  ///
  /// - Parameters:
  ///   - model: The model of all stores.
  ///   - stores: The stores, with different names.
  ///   - profile: The profile; nil for the profile that the arguments select, or `shared` if they
  ///     select none.
  ///   - followers: The parts of the program that receive every commit of each store, from the
  ///     return of the initializer until the container is closed. If a follower fails, the logger
  ///     receives its error.
  ///   - spotlight: The part of the program that decides the content of the search indexes; nil if
  ///     the model alone decides.
  ///   - arguments: The arguments of the program, for its profile.
  ///   - logger: The logger of the service; nil for none.
  /// - Throws: `ContainerError`, after the initializer has closed all stores that it opened.
  public init(
    model: ModelSource,
    stores: [StoreDescription],
    profile: ContainerProfile? = nil,
    followers: [any HistoryFollower] = [],
    spotlight: (any SpotlightDelegate)? = nil,
    arguments: [String] = CommandLine.arguments,
    logger: Logger? = nil
  ) async throws(ContainerError) {
    let named = try ContainerProfile.named(in: arguments)
    let profile = profile ?? named ?? .shared
    guard let first = stores.first else {
      throw ContainerError(message: "A container needs at least one store")
    }
    let parsed = try model.parsed()
    let delegate: IndexDelegate? = if let spotlight { try IndexDelegate(spotlight) } else { nil }
    var engines: [String: Engine] = [:]
    let logger = logger ?? Logger(label: "cordial") { _ in SwiftLogNoOpLogHandler() }
    do throws(ContainerError) {
      for store in stores {
        guard engines[store.name] == nil else {
          throw ContainerError(message: "Two stores have the name \"\(store.name)\"")
        }
        engines[store.name] = try Self.engine(store, profile, parsed, delegate, logger)
      }
    } catch {
      await Self.close(engines, logger)
      throw error
    }
    self.engines = engines
    self.profile = profile
    descriptions = stores
    firstName = first.name
    for store in stores {
      for follower in followers { await start(follower, of: store.name, logger) }
    }
  }

  /// Starts to report the commits of a store to a follower.
  private func start(
    _ follower: some HistoryFollower,
    of store: String,
    _ logger: Logger
  ) async {
    let client: Client
    do throws(ClientError) {
      client = try await self.client(store)
      // The program can save only after the initializer returns, so the follower receives all its
      // commits.
      try await client.register(follower)
    } catch {
      logger.error("\(follower.name) cannot follow the store \(store): \(error)")
      return
    }
    let task = Task {
      do {
        try await client.run(follower)
      } catch is CancellationError {
        // The container was closed.
      } catch {
        logger.error("\(follower.name) no longer follows the store \(store): \(error)")
      }
    }
    following.withLock { $0.append((client, task)) }
  }

  private let firstName: String

  /// Closes the stores that are already open, because a later store could not be opened.
  private static func close(_ engines: [String: Engine], _ logger: Logger) async {
    for (name, engine) in engines {
      do {
        try await engine.close()
      } catch {
        logger.error("The store \(name) could not be closed: \(error)")
      }
    }
  }

  private static func engine(
    _ description: StoreDescription,
    _ profile: ContainerProfile,
    _ model: Model,
    _ delegate: IndexDelegate?,
    _ logger: Logger
  ) throws(ContainerError) -> Engine {
    do throws(StoreError) {
      let container: StoreContainer
      let mode: StoreContainer.Mode
      switch profile.location(of: description) {
      case .memory:
        (container, mode) = (try StoreContainer.inMemory(), .inMemory)
      case .folder(let path):
        let absolute = path.hasPrefix("/") ? path : "\(SystemFacts.workingFolder)/\(path)"
        container = StoreContainer(path: absolute)
        mode = description.isReadOnly ? .readOnly : .readWrite
      }
      return try Engine(
        container: container,
        model: model,
        mode: mode,
        indexDelegate: delegate,
        budget: budget,
        version: "0",
        log: logger
      )
    } catch {
      throw ContainerError(error)
    }
  }

  /// Returns the engine of a store.
  func engine(_ store: String?) throws(ClientError) -> Engine {
    let name = store ?? firstName
    guard let engine = engines[name] else {
      let names = descriptions.map(\.name).joined(separator: ", ")
      throw ClientError(
        code: .connectionEnded,
        message: "The container has no store \"\(name)\"; it has \(names)"
      )
    }
    return engine
  }

  /// Returns a new client of a store.
  ///
  /// - Parameter store: The name of the store; nil for the first store.
  /// - Returns: The client.
  /// - Throws: `ClientError` for a name that the container does not have.
  public func client(_ store: String? = nil) async throws(ClientError) -> Client {
    let engine = try engine(store)
    return try await Client(
      { connection throws(ClientError) in await engine.connect(connection) },
      pause: { milliseconds in await engine.loop.pause(milliseconds: milliseconds) }
    )
  }

  /// Answers the requests that have arrived, ends the connections and closes the stores.
  ///
  /// The container's clients are closed too. A second call waits for the first call.
  ///
  /// - Throws: The error of the last store that could not be closed.
  public func close() async throws {
    let task = closing.withLock { closing in
      let task = closing ?? Task { try await closeStores() }
      closing = task
      return task
    }
    try await task.value
  }

  private func closeStores() async throws {
    let followed = following.withLock { following in
      defer { following = [] }
      return following
    }
    for (client, task) in followed {
      task.cancel()
      await task.value
      client.close()
    }
    var failure: (any Error)?
    for engine in engines.values {
      do {
        try await engine.close()
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}

extension ModelSource {
  /// Reads the model.
  fileprivate func parsed() throws(ContainerError) -> Model {
    switch source {
    case .text(let text):
      do throws(ModelError) {
        return try ModelDocument.parse(Array(text.utf8).span)
      } catch {
        throw ContainerError(message: error.message)
      }
    case .path(let path):
      let document: JSONValue
      do throws(StoreError) {
        document = try ModelDocument.read(at: path)
      } catch {
        throw ContainerError(error)
      }
      do throws(ModelError) {
        return try ModelDocument.model(from: document)
      } catch {
        throw ContainerError(message: "\(path): \(error.message)")
      }
    }
  }
}
