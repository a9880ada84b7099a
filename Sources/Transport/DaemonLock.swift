import Glibc

/// The lock that keeps two daemons from serving one store; it ends with the process.
package final class DaemonLock: Sendable {
  private let descriptor: CInt

  /// Takes the lock.
  ///
  /// - Parameter path: The path of a file beside the store, created if it does not exist.
  /// - Throws: `TransportError` with the code `alreadyServed` when another process holds the lock.
  package init(path: String) throws(TransportError) {
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw TransportError(.cannotListen, "The lock \(path) cannot be opened")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      _ = close(descriptor)
      throw TransportError(
        .alreadyServed,
        "Another process serves this store already (it holds \(path))",
        hint: "Connect to its socket; other processes may open the store without a socket"
      )
    }
    self.descriptor = descriptor
  }

  /// Releases the lock.
  package func release() {
    _ = close(descriptor)
  }
}
