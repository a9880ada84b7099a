import CPosix

/// The memory of the process.
package enum ProcessMemory {
  /// Returns free memory to the system, which may take milliseconds.
  ///
  /// The C library keeps what was freed between the memory that is in use, in one arena for each
  /// thread, so that a process whose clients sent much would keep a multiple of it.
  package static func returnFree() {
    posix_return_free_memory()
  }
}
