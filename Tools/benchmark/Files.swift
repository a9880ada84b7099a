import Glibc

/// Whole small files, read and written.
enum Files {
  static func write(_ text: String, to path: String) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw BenchmarkError("Cannot write a file: \(lastError())") }
    defer { close(descriptor) }
    try Descriptors.writeAll(Array(text.utf8), to: descriptor)
  }

  static func read(_ path: String) throws -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw BenchmarkError("Cannot read a file: \(lastError())") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try Descriptors.readSome(from: descriptor, into: &chunk, at: 0)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += chunk[..<count]
    }
  }

  static func lines(of path: String) throws -> [String] {
    try read(path).split(separator: "\n").map(String.init)
  }
}

/// Reading from and writing to file descriptors, interrupted calls repeated.
enum Descriptors {
  static func writeAll(_ bytes: [UInt8], to descriptor: CInt) throws {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw BenchmarkError("Cannot write: \(lastError())")
      }
    }
  }

  /// Fills free space of a buffer with what there is; zero is the end of the input.
  static func readSome(
    from descriptor: CInt,
    into buffer: inout [UInt8],
    at offset: Int
  ) throws -> Int {
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe Glibc.read(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
      }
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: throw BenchmarkError("No answer within the time that was given")
      default: throw BenchmarkError("Cannot read: \(lastError())")
      }
    }
  }
}

/// What the last failed call of the C library says about itself.
func lastError() -> String { unsafe String(cString: strerror(errno)) }
