import Glibc
import Synchronization

/// The right to advance an index, which one of several processes has at a time.
///
/// The lease ends with its process. Without a lease, each process would index the same commits, and
/// all but one would discard their work. SQLite's own locks keep the index correct.
final class IndexLease: Sendable {
  private let path: String
  /// The descriptor of the lock's file; negative before the file is opened.
  private let descriptor = Mutex<Int32>(-1)

  /// Creates a lease without taking it.
  ///
  /// - Parameter path: The path of the index's file; the lock is on a file beside it.
  init(of path: String) {
    self.path = path + "-lease"
  }

  deinit {
    descriptor.withLock { if $0 >= 0 { _ = close($0) } }
  }

  /// Takes the lease, unless another process has it.
  ///
  /// - Returns: Whether this process may advance the index; also true if the lock's file cannot be
  ///   created.
  func take() -> Bool {
    descriptor.withLock { descriptor in
      if descriptor < 0 { descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
      guard descriptor >= 0 else { return true }
      return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }
  }

  /// Gives the lease back.
  func release() {
    descriptor.withLock { if $0 >= 0 { _ = flock($0, LOCK_UN) } }
  }
}
