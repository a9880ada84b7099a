import CPosix

/// The memory of the process.
package enum ProcessMemory {
  /// Limits the free memory that the C library keeps, for a process that serves many clients.
  ///
  /// It has effect on memory that is taken later. Without it the library raises, with each
  /// long buffer that is freed, the length from which a buffer is memory of its own, up to 32 MiB.
  /// Long buffers then lie between short ones, and their memory cannot be returned. Each thread
  /// would have an own heap as well.
  package static func keepLittleFree() {
    posix_keep_little_free_memory(2, 1 << 20, 16 << 20)
  }

  /// Returns free memory to the system, which may take milliseconds.
  ///
  /// The C library keeps what was freed between the memory that is in use, in one arena for each
  /// thread, so that a process whose clients sent much would keep a multiple of it.
  package static func returnFree() {
    posix_return_free_memory()
  }
}
