import Glibc

/// Files that are written as a whole.
enum WholeFile {
  /// A failed system call, with the system's error number.
  struct Failure: Error {
    let number: Int32

    /// The system's description of the error.
    var reason: String { unsafe String(cString: strerror(number)) }
  }

  /// Replaces a file in one step, or creates it for its owner only.
  ///
  /// An existing file keeps its mode.
  ///
  /// - Parameters:
  ///   - bytes: The new content.
  ///   - path: The path of the file.
  /// - Throws: `Failure`; the file is then unchanged.
  static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
    var facts = stat()
    let mode = unsafe stat(path, &facts) == 0 ? facts.st_mode & 0o7777 : 0o600
    let template = unsafe strdup(path + ".XXXXXX")
    defer { unsafe free(template) }
    // `mkstemp` creates a new file that only its owner can read.
    guard let template = unsafe template, case let file = unsafe mkstemp(template), file >= 0 else {
      throw Failure(number: errno)
    }
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    let isWritten = write(bytes, file) && fchmod(file, mode) == 0 && fsync(file) == 0
    let failure = errno
    close(file)
    guard isWritten else {
      unsafe unlink(template)
      throw Failure(number: failure)
    }
    guard unsafe rename(template, path) == 0 else {
      let failure = errno
      unsafe unlink(template)
      throw Failure(number: failure)
    }
  }

  private static func write(_ bytes: [UInt8], _ file: Int32) -> Bool {
    var start = 0
    while start < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(file, $0.baseAddress.map { unsafe $0 + start }, $0.count - start)
      }
      guard count > 0 || count < 0 && errno == EINTR else { return false }
      start += max(count, 0)
    }
    return true
  }

  /// Makes the names in a folder survive a power failure, if its file system supports that.
  static func syncFolder(_ path: String) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
