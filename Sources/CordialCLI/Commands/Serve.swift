import ArgumentParser
import CordialService
import Dispatch
import Engine
import Glibc
import JSONRPC
import Logging
import Mocks
import ObjectModel
import PersistentStore
import ServiceLifecycle
import Transport
import UnixSignals

/// `cordial serve`: runs the service.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve a store over standard input and output, or over a Unix socket.",
    discussion: """
      The first bytes of a connection choose the framing: one JSON text per line, or \
      Content-Length headers as in LSP. For example:

        printf '%s\\n' '{"jsonrpc":"2.0","id":1,"method":"status"}' | cordial serve Todo.cordial
      """
  )

  @Argument(help: "The store's folder; with --test-mode, only a name; with --mock, none.")
  var store: String?

  @Option(help: "The model's file; creates the store when it does not exist.")
  var model: String?

  @Flag(help: "Serve standard input and output (the default).")
  var stdio = false

  @Option(help: "Listen on a Unix socket at this path instead.")
  var socket: String?

  @Flag(help: "Keep the store in memory; it is deleted when the process ends.")
  var inMemory = false

  @Flag(help: "Use a store below the cache folder, wiped at start.")
  var testMode = false

  @Flag(help: "Never write to the store.")
  var readOnly = false

  @Option(help: "Serve the scripted values of this file, or a recording, without a store.")
  var mock: String?

  @Option(help: "Append every message of every connection to this file, for --mock.")
  var record: String?

  @Option(help: "Serve only the entities of this configuration of the model.")
  var configuration: String?

  @Option(help: "The framing, line or header, instead of the choice by the first bytes.")
  var framing: FramingOption?

  @Option(help: "Retain the history of at least this number of days (7, and up to 30).")
  var historyDays: Int?

  @Option(help: "Retain about this number of bytes of history beyond those days (1 GiB).")
  var historyBytes: Int?

  @Option(help: "The level of the log on standard error: trace, debug, info, warning or error.")
  var logLevel: LogLevel = .warning

  func validate() throws {
    guard (0...36_500).contains(historyDays ?? 0) else {
      throw ValidationError("--history-days is a number of days from 0 to 36500")
    }
    guard historyBytes ?? 0 >= 0 else {
      throw ValidationError("--history-bytes is a number of bytes")
    }
    guard !(stdio && socket != nil) else {
      throw ValidationError("--stdio and --socket exclude each other")
    }
    guard [inMemory, testMode, readOnly].count(where: { $0 }) <= 1 else {
      throw ValidationError("--in-memory, --test-mode and --read-only exclude each other")
    }
    guard (store == nil) == (mock != nil) else {
      throw ValidationError("Name either a store or a script: STORE or --mock FILE")
    }
    let isMockOnly = [inMemory, testMode, readOnly].allSatisfy { !$0 } && model == nil
    guard mock == nil || isMockOnly && record == nil && historyDays ?? historyBytes == nil else {
      throw ValidationError("--mock needs no store, so that no option of a store goes with it")
    }
    guard configuration == nil || model != nil else {
      throw ValidationError("--configuration names a part of a model and needs --model FILE")
    }
  }

  func run() async throws {
    let log = Logging.service(logLevel.level)
    if let mock { return try await serveMock(mock, log) }
    guard let store else { return }
    let (container, mode, testLock) = try storeLocation(store)
    if let record, container.contains(Paths.absolute(record)) {
      throw InputError(message: "\(record) is in the store's folder; record in another one")
    }
    var lock: DaemonLock?
    if socket != nil, mode == .readWrite, !testMode {
      try container.prepare()
      // On a read-only file system, the lock file cannot be created, so the service runs without a
      // lock.
      if !container.isOnReadOnlyFileSystem { lock = try DaemonLock(path: container.lockPath) }
    }
    let recorder = try record.map { path throws(StoreError) in
      try Recorder(path: Paths.absolute(path), log: log)
    }
    let budget = messageBudget()
    let settings = settings(budget, recorder)
    let listening = try await listen(container, budget, settings)
    let signals = await OpeningSignals()
    let code = try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { await signals.watch { await Self.end(listening) } }
      return try await serve(container, mode, settings, budget, listening, signals, log)
    }
    lock?.release()
    testLock?.release()
    if code != 0 { throw ExitCode(code) }
  }

  /// Ends the program while the store is being opened or migrated.
  private static func end(_ listening: Listening?) async {
    await listening?.gate.stop()
    do {
      try await listening?.listener.close()
    } catch {
      Terminal.note("cordial: \(error)\n")
    }
    // `_exit` skips the exit handlers, which could destroy data that the migrating thread still
    // uses.
    _exit(0)
  }

  /// Opens the store and serves it until the service ends.
  ///
  /// - Returns: The exit code.
  private func serve(
    _ container: StoreContainer,
    _ mode: StoreContainer.Mode,
    _ settings: PeerSettings,
    _ budget: ByteBudget,
    _ listening: Listening?,
    _ signals: OpeningSignals,
    _ log: Logger
  ) async throws -> Int32 {
    let current = try model.map { try ModelFile.read($0, configuration: configuration) }
    let progressReporter =
      listening == nil ? MigrationProgressReporter(framing: framing?.framing) : nil
    let engine: Engine
    do {
      engine = try Engine(
        container: container,
        model: current,
        earlier: { try ModelFile.earlier(model, configuration: configuration) },
        mode: mode,
        allowsModelMismatch: true,
        limits: limits,
        budget: budget,
        loop: listening?.loop,
        version: CordialProgram.version,
        log: log,
        migrating: { progress in
          Terminal.note("[\(progress.done + 1)/\(progress.count)] \(progress.title)\n")
          progressReporter?.report(progress)
          listening?.gate.report(progress)
        }
      )
    } catch {
      listening?.gate.fail(error)
      try await listening?.listener.close()
      try await listening?.loop.shutdown()
      throw error
    }
    signals.opened()
    progressReporter?.end()
    log.info("Serving", metadata: ["store": "\(container.path)"])
    let code: Int32
    do {
      code = try await serve(
        engine,
        .store(initialInput: progressReporter?.initialInput ?? []),
        settings,
        listening,
        signals,
        log
      )
    } catch {
      try await engine.close()
      throw error
    }
    try await engine.close()
    return code
  }

  /// Listens on the socket and lets its clients wait until the store is open.
  private func listen(
    _ container: StoreContainer,
    _ budget: ByteBudget,
    _ settings: PeerSettings
  ) async throws -> Listening? {
    guard let socket else { return nil }
    let loop = TransportLoop()
    let gate = MigrationGate(
      loop: loop,
      settings: settings,
      limits: limits,
      budget: budget,
      storePath: container.path
    )
    do {
      let listener = try await UnixSocketListener(
        path: Paths.absolute(socket),
        loop: loop,
        owner: gate,
        stuckSecondsMax: limits.stuckSecondsMax
      )
      return Listening(socket: socket, loop: loop, gate: gate, listener: listener)
    } catch {
      try await loop.shutdown()
      throw error
    }
  }

  private var limits: Limits {
    var limits = Limits()
    if let historyDays {
      limits.historyDaysMin = historyDays
      limits.historyDaysMax = max(historyDays, limits.historyDaysMax)
    }
    if let historyBytes { limits.historyBytesMax = historyBytes }
    return limits
  }

  private func settings(_ budget: ByteBudget, _ recorder: Recorder? = nil) -> PeerSettings {
    PeerSettings(
      framing: framing?.framing,
      isSocket: socket != nil,
      limits: limits,
      budget: budget,
      makeObserver: recorder.map { recorder in { @Sendable in recorder.connect() } }
    )
  }

  /// Returns the memory budget of messages.
  ///
  /// After a peak of use, the budget returns free memory to the system.
  private func messageBudget() -> ByteBudget {
    ByteBudget(processBytesMax: limits.processBytesMax) {
      DispatchQueue.global(qos: .utility).async { ProcessMemory.returnFree() }
    }
  }

  /// Serves a mock from the script or the recording in a file.
  private func serveMock(_ file: String, _ log: Logger) async throws {
    let path = Paths.absolute(file)
    do {
      let script = try MockScript(file: path)
      let budget = messageBudget()
      let settings = settings(budget)
      let listening = try await listen(StoreContainer(path: path), budget, settings)
      let stage: MockStage
      do {
        stage = try await MockStage(
          script,
          limits: limits,
          budget: budget,
          loop: listening?.loop,
          version: CordialProgram.version,
          log: log
        )
      } catch {
        try await listening?.listener.close()
        throw error
      }
      let code: Int32
      do {
        code = try await serve(stage.engine, .mock(stage), settings, listening, nil, log)
      } catch {
        try await stage.engine.close()
        throw error
      }
      try await stage.engine.close()
      if code != 0 { throw ExitCode(code) }
    } catch let error as ScriptError {
      throw InputError(message: "\(file): \(error)")
    }
  }

  private func storeLocation(
    _ store: String
  ) throws -> (StoreContainer, StoreContainer.Mode, DaemonLock?) {
    if inMemory {
      guard model != nil else {
        throw ValidationError("--in-memory creates a new store and needs --model FILE")
      }
      return (
        try StoreContainer.inMemory(), .inMemory, nil
      )
    }
    if testMode {
      let (container, lock) = try TestStoreFolder.create(store)
      return (container, .readWrite, lock)
    }
    return (StoreContainer(path: Paths.absolute(store)), readOnly ? .readOnly : .readWrite, nil)
  }

  private func serve(
    _ engine: Engine,
    _ content: Server.Content,
    _ settings: PeerSettings,
    _ listening: Listening?,
    _ signals: OpeningSignals?,
    _ log: Logger
  ) async throws -> Int32 {
    let server = Server(
      engine: engine,
      content: content,
      settings: settings,
      listening: listening,
      signals: signals
    )
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(
            service: server,
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup
          )
        ],
        gracefulShutdownSignals: [.sigterm, .sigint, .sighup],
        logger: log
      )
    )
    try await group.run()
    return server.exitCode
  }
}

/// The framing of the messages on standard input or on a socket.
enum FramingOption: String, ExpressibleByArgument {
  case line, header

  var framing: Framing {
    switch self {
    case .line: .line
    case .header: .header
    }
  }
}

/// The level of the log.
enum LogLevel: String, ExpressibleByArgument {
  case trace, debug, info, warning, error

  var level: Logger.Level {
    switch self {
    case .trace: .trace
    case .debug: .debug
    case .info: .info
    case .warning: .warning
    case .error: .error
    }
  }
}

/// The folder of the stores that `--test-mode` creates.
private enum TestStoreFolder {
  static func create(_ name: String) throws -> (StoreContainer, DaemonLock) {
    guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else {
      throw ValidationError("With --test-mode, the store is a name without slashes")
    }
    let folder = try folder()
    let lock = try DaemonLock(path: "\(folder)/\(name).lock")
    let container = StoreContainer(path: "\(folder)/\(name)")
    if container.hasStore { container.remove() }
    return (container, lock)
  }

  private static func folder() throws -> String {
    let cache =
      variable("XDG_CACHE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
      ?? variable("HOME").map { $0 + "/.cache" }
    var path = cache ?? "\(Paths.temporary)/cordial-\(getuid())"
    unsafe mkdir(path, 0o700)
    // Another user may already have created this path below the folder for temporary files.
    guard cache != nil || isOwn(path) else {
      throw InputError(
        message: "\(path) is not a folder that only this user can write; remove it, or set HOME"
      )
    }
    for part in ["cordial", "test"] {
      path += "/" + part
      unsafe mkdir(path, 0o700)
    }
    guard unsafe access(path, W_OK) == 0 else {
      throw InputError(message: "The cache folder \(path) is not writable")
    }
    return path
  }

  /// Returns whether this user owns the folder at a path, and no other user can write to it.
  ///
  /// Returns false for a link, even if the link names a folder.
  private static func isOwn(_ path: String) -> Bool {
    var facts = stat()
    return unsafe lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
      && facts.st_uid == geteuid() && facts.st_mode & 0o022 == 0
  }

  private static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}
