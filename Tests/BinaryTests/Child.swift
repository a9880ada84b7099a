import Foundation
import Glibc
import Synchronization

/// The program, running; it is killed when the test lets go of it.
final class Child {
  /// What the program's standard input is.
  enum Input {
    case pipe
    case file(String)
    case nothing
    case closed
  }

  /// The program that is tested.
  static let binary: String = {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["CORDIAL_BINARY"] { return path }
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    let place = bundle ?? Bundle.main.executablePath ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: place).deletingLastPathComponent()
      .appendingPathComponent("cordial").path
  }()

  let process: pid_t
  let stream: ByteStream
  /// Its standard error.
  let errors: ByteStream
  /// Ends when the process does: it holds the other end, whatever its streams are.
  private let life: ByteStream
  private var status: Int32?

  /// Pipes are made and inherited under a lock, or another child would hold their ends too.
  private static let spawning = Mutex(())

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - arguments: Its arguments, without its name.
  ///   - program: Another program.
  ///   - input: Its standard input.
  ///   - output: A file for its standard output; a pipe when nil.
  ///   - environment: What is added to the environment.
  /// - Throws: `Failure` when it cannot be started.
  init(
    _ arguments: [String],
    program: String = Child.binary,
    input: Input = .pipe,
    output: String? = nil,
    environment: [String: String] = [:]
  ) throws {
    Glibc.signal(SIGPIPE, SIG_IGN)
    let spawned = try Self.spawning.withLock { _ in
      try Self.spawn([program] + arguments, input, output, environment)
    }
    process = spawned.process
    stream = ByteStream(reading: spawned.output, writing: spawned.input)
    errors = ByteStream(reading: spawned.errors)
    life = ByteStream(reading: spawned.life)
  }

  deinit {
    if status == nil {
      kill(process, SIGKILL)
      _ = reap()
    }
  }

  /// Everything that it said on standard error, once it has ended.
  func errorText() throws -> String { try errors.rest() }

  /// The next line on standard error.
  func errorLine() throws -> String? { try errors.line() }

  func signal(_ number: Int32) { kill(process, number) }

  /// The exit code when it has ended; negative for a signal.
  func exitCode() throws -> Int32 {
    if status == nil {
      _ = try life.rest()
    }
    return reap()
  }

  /// Kills it and waits until it is gone.
  func end() {
    kill(process, SIGKILL)
    _ = reap()
  }

  private func reap() -> Int32 {
    if let status { return status }
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) < 0, errno == EINTR {}
    let code = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -(raw & 0x7F)
    status = code
    return code
  }

  private typealias SpawnedProcess = (
    process: pid_t, input: Int32, output: Int32, errors: Int32, life: Int32
  )

  private static func spawn(
    _ words: [String],
    _ input: Input,
    _ output: String?,
    _ environment: [String: String]
  ) throws -> SpawnedProcess {
    let (outRead, outWrite) = try pipe()
    let (errorRead, errorWrite) = try pipe()
    let (lifeRead, lifeWrite) = try pipe()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    var inputWrite: Int32 = -1
    var ends = [outWrite, errorWrite, lifeWrite]
    switch input {
    case .pipe:
      let (reading, writing) = try pipe()
      inputWrite = writing
      ends.append(reading)
      unsafe posix_spawn_file_actions_adddup2(&actions, reading, 0)
    case .file(let path): unsafe posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
    case .nothing: unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    case .closed: unsafe posix_spawn_file_actions_addclose(&actions, 0)
    }
    if let output {
      unsafe posix_spawn_file_actions_addopen(
        &actions,
        1,
        output,
        O_WRONLY | O_CREAT | O_TRUNC,
        0o600
      )
    } else {
      unsafe posix_spawn_file_actions_adddup2(&actions, outWrite, 1)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, errorWrite, 2)
    unsafe posix_spawn_file_actions_adddup2(&actions, lifeWrite, 250)
    var all = ProcessInfo.processInfo.environment
    all["SWIFT_BACKTRACE"] = "enable=no"
    all.merge(environment) { $1 }
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    var variables = unsafe all.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
      unsafe arguments.forEach { unsafe free($0) }
      unsafe variables.forEach { unsafe free($0) }
    }
    var process = pid_t()
    let code = unsafe posix_spawnp(&process, words[0], &actions, nil, &arguments, &variables)
    for end in ends { _ = close(end) }
    guard code == 0 else { throw Failure("starting \(words[0]): errno \(code)") }
    return (process, inputWrite, outRead, errorRead, lifeRead)
  }

  private static func pipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else { throw Failure("pipe: errno \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
