import CPosix

/// The memory of the process.
package enum ProcessMemory {
  /// Limits the free memory that the C library keeps, for a process that has a store open.
  ///
  /// The limits affect only memory that is allocated later. Without them, each long buffer that is
  /// freed raises the length from which the library maps a buffer separately, up to 32 MiB. Long
  /// buffers then lie between short buffers in an arena, so that their memory cannot be returned.
  /// Each thread would also have its own arena.
  package static func keepLittleFree() {
    posix_keep_little_free_memory(2, 1 << 20, 16 << 20)
  }

  /// Returns free memory to the system, which may take milliseconds.
  ///
  /// The C library keeps freed memory between used memory, in each of its arenas. Without this
  /// call, a process whose clients have sent much data keeps several times the memory that it uses.
  package static func returnFree() {
    posix_return_free_memory()
  }
}
