import Glibc

/// A program started with a pipe to its input and one from its output.
@safe final class ChildProcess {
  let identifier: pid_t
  let output: CInt
  private var input: CInt?

  init(_ program: String, _ arguments: [String]) throws {
    let (inputRead, inputWrite) = try Self.pipe()
    let (outputRead, outputWrite) = try Self.pipe()
    defer {
      close(inputRead)
      close(outputWrite)
    }
    // The copies that `dup2` makes for the child are not closed on exec; all else is.
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, inputRead, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, outputWrite, STDOUT_FILENO)

    var argv = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    var environment = unsafe Self.environment().map { unsafe strdup($0) } + [nil]
    defer { unsafe (argv + environment).forEach { unsafe free($0) } }
    var identifier: pid_t = 0
    let code = unsafe posix_spawnp(&identifier, program, &actions, nil, &argv, &environment)
    guard code == 0 else {
      close(inputWrite)
      close(outputRead)
      throw BenchmarkError("Cannot start \(program): \(unsafe String(cString: strerror(code)))")
    }
    self.identifier = identifier
    output = outputRead
    input = inputWrite
  }

  deinit {
    closeInput()
    close(output)
  }

  func send(_ bytes: [UInt8]) throws {
    guard let input else { throw BenchmarkError("The input is closed") }
    try Descriptors.writeAll(bytes, to: input)
  }

  func closeInput() {
    if let input { close(input) }
    input = nil
  }

  func waitForSuccess() throws {
    closeInput()
    var status: CInt = 0
    while unsafe waitpid(identifier, &status, 0) < 0 {
      guard errno == EINTR else { throw BenchmarkError("Cannot wait: \(lastError())") }
    }
    guard status == 0 else { throw BenchmarkError("A program ended with status \(status)") }
  }

  /// The memory that it has resident, in megabytes of a million bytes.
  func residentMegabytes() throws -> Double {
    try ServerProcess(identifier: Int(identifier)).residentMegabytes()
  }

  /// What a program needs to find its libraries and files; `environ` itself is not safe to read.
  private static func environment() -> [String] {
    ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"].compactMap { (name: String) -> String? in
      guard let value = unsafe getenv(name) else { return nil }
      return unsafe "\(name)=" + String(cString: value)
    }
  }

  private static func pipe() throws -> (read: CInt, write: CInt) {
    var ends: [CInt] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else {
      throw BenchmarkError("Cannot make a pipe: \(lastError())")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
