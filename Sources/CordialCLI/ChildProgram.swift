import Glibc
import Transport

/// A program that reads a file on standard input and writes a new file on standard output.
struct ChildProgram {
  private let path: String

  /// Creates a program; a name without a slash is searched in `PATH`.
  init(_ path: String) { self.path = path }

  /// Runs the program to its end.
  ///
  /// Files instead of pipes let the program read and write in any order.
  ///
  /// - Parameters:
  ///   - input: The path of the file for standard input.
  ///   - output: The path of the file for standard output, which must not exist.
  /// - Throws: `InputError` if the program cannot be run or does not exit with 0.
  func run(input: String, output: String) throws {
    let source = unsafe open(input, O_RDONLY | O_CLOEXEC)
    let target = unsafe open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    defer {
      for descriptor in [source, target] where descriptor >= 0 { close(descriptor) }
    }
    guard source >= 0, target >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      throw InputError(message: "The files of \(path) cannot be opened: \(reason)")
    }
    // This process may have inherited an ignored SIGCHLD. With the default action, `waitpid`
    // reports the program's exit code.
    signal(SIGCHLD, SIG_DFL)
    let (child, code) = ProgramStart.start(path, [], input: source, output: target)
    guard code == 0 else {
      throw InputError(
        message: "\(path) cannot be run: \(unsafe String(cString: strerror(code)))"
      )
    }
    // The input file contains all objects of the store, so its name is deleted at once. The program
    // has the file open already and can still read it.
    unsafe unlink(input)
    var status: Int32 = 0
    var ended = unsafe waitpid(child, &status, 0)
    while ended < 0, errno == EINTR { ended = unsafe waitpid(child, &status, 0) }
    guard ended == child else {
      throw InputError(message: "The result of \(path) is unknown; the store is unchanged")
    }
    // The lower 7 bits have the signal that ended the program, the next byte its exit code.
    let (signal, exit) = (status & 0x7F, (status >> 8) & 0xFF)
    guard signal == 0, exit == 0 else {
      let how = signal == 0 ? "exited with \(exit)" : "was ended by signal \(signal)"
      throw InputError(message: "\(path) \(how); the store is unchanged")
    }
  }
}

/// A folder of temporary files, which only this user can read.
struct TemporaryFolder {
  private let folder: String

  /// Creates the folder below `TMPDIR`, or below `/tmp`.
  ///
  /// - Throws: `InputError` if the folder cannot be created.
  init() throws {
    let parent = Paths.temporary
    let template = unsafe strdup("\(parent)/cordial-XXXXXX")
    defer { unsafe free(template) }
    guard let template = unsafe template, let made = unsafe mkdtemp(template) else {
      throw InputError(message: "No temporary folder can be created in \(parent)")
    }
    folder = unsafe String(cString: made)
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Deletes the folder with its files.
  func remove() {
    for name in ["old.jsonl", "new.jsonl"] { unsafe unlink(path(name)) }
    unsafe rmdir(folder)
  }
}

/// A new file that is written line by line.
final class LineFile {
  private let path: String
  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private var failure: Int32 = 0

  private static let bufferBytesMax = 1 << 16

  /// Creates a file.
  ///
  /// - Throws: `InputError` if the file cannot be created.
  init(_ path: String) throws {
    self.path = path
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw InputError(message: "\(path) cannot be created") }
  }

  func write(_ line: String) {
    buffer += line.utf8
    buffer.append(0x0A)
    if buffer.count > Self.bufferBytesMax { flush() }
  }

  private func flush() {
    var start = 0
    while start < buffer.count, failure == 0 {
      let count = unsafe buffer.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + start }, $0.count - start)
      }
      if count > 0 { start += count } else if errno != EINTR { failure = errno }
    }
    buffer = []
  }

  /// Writes the buffered bytes and closes the file.
  ///
  /// - Throws: `InputError` if not all lines could be written.
  func close() throws {
    flush()
    Glibc.close(descriptor)
    guard failure == 0 else {
      throw InputError(
        message: "\(path) cannot be written: \(unsafe String(cString: strerror(failure)))"
      )
    }
  }
}
