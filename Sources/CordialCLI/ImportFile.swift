import Glibc
import Porting

/// The file of an import.
///
/// Input that is not a regular file, such as a pipe, is copied to a temporary file first.
final class ImportFile: InputFile {
  let count: Int
  private let descriptor: CInt

  /// Opens a file.
  ///
  /// - Parameter path: The path; `-` for standard input.
  /// - Throws: `InputError` if the file cannot be read.
  init(_ path: String) throws {
    let source = try Input.open(path)
    var facts = stat()
    let isFile =
      unsafe fstat(source, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
      // Files below /proc report no size. A shell may have read a part of standard input already.
      && facts.st_size > 0 && lseek(source, 0, SEEK_CUR) == 0
    guard !isFile else {
      descriptor = source
      count = Int(facts.st_size)
      return
    }
    defer { _ = close(source) }
    let copy = try TemporaryInput()
    var lines = CopiedLines()
    try Input.eachPortion(of: source, path) { portion in
      try lines.add(portion)
      try copy.write(portion)
    }
    (descriptor, count) = try copy.finish()
  }

  fileprivate init(_ descriptor: CInt, count: Int) {
    self.descriptor = descriptor
    self.count = count
  }

  deinit {
    _ = close(descriptor)
  }

  func bytes(in range: Range<Int>) throws -> [UInt8] {
    try unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, initialized in
      while initialized < range.count {
        let count = unsafe pread(
          descriptor,
          buffer.baseAddress.map { unsafe $0 + initialized },
          range.count - initialized,
          off_t(range.lowerBound + initialized)
        )
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let why =
            count == 0 ? "it is shorter than before" : unsafe String(cString: strerror(errno))
          throw InputError(message: "The file cannot be read: \(why)")
        }
        initialized += count
      }
    }
  }
}

/// A temporary file that is written, and then read as the file of an import.
final class TemporaryInput {
  private var descriptor: CInt
  private var count = 0
  private var buffer: [UInt8] = []

  private static let bufferBytesMax = 1 << 18

  /// Creates a file that no other process can open, below `TMPDIR` or `/tmp`.
  ///
  /// - Throws: `InputError` if the file cannot be created.
  init() throws {
    let template = unsafe strdup("\(Paths.temporary)/cordial-XXXXXX")
    defer { unsafe free(template) }
    guard let template = unsafe template else { throw InputError(message: "There is no memory") }
    descriptor = unsafe mkstemp(template)
    guard descriptor >= 0 else {
      throw InputError(message: "No temporary file can be created in \(Paths.temporary)")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = unsafe unlink(template)
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
  }

  /// Appends bytes to the file.
  ///
  /// - Throws: `InputError` if the bytes cannot be written.
  func write(_ bytes: some Sequence<UInt8>) throws {
    buffer += bytes
    if buffer.count >= Self.bufferBytesMax { try flush() }
  }

  /// Returns the written file for reading.
  func input() throws -> ImportFile {
    let (descriptor, count) = try finish()
    return ImportFile(descriptor, count: count)
  }

  /// Writes the buffered bytes, and passes the open descriptor and the length to the caller.
  fileprivate func finish() throws -> (descriptor: CInt, count: Int) {
    try flush()
    defer { descriptor = -1 }
    return (descriptor, count)
  }

  private func flush() throws {
    var start = 0
    while start < buffer.count {
      let written = unsafe buffer.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + start }, $0.count - start)
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else {
        let why = unsafe String(cString: strerror(errno))
        throw InputError(message: "The temporary file cannot be written: \(why)")
      }
      start += written
    }
    count += buffer.count
    buffer.removeAll(keepingCapacity: true)
  }
}
