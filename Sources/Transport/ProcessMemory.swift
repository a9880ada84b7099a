import CPosix
import Dispatch

/// The memory of the process.
package enum ProcessMemory {
  private static let queue = DispatchQueue(label: "memory", qos: .utility)

  /// Returns free memory to the system soon, on another thread.
  ///
  /// The C library keeps what was freed between the memory that is in use, in one arena for each
  /// thread, so that a process whose clients sent much would keep a multiple of it.
  package static func returnFree() {
    queue.async { posix_return_free_memory() }
  }
}
