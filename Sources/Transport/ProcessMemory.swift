import CPosix

/// The memory of the process.
package enum ProcessMemory {
  /// Limits the free memory that the C library keeps, for a process that has a store open.
  ///
  /// It affects only memory that is allocated later. Without it, each long buffer that is freed
  /// raises the length from which the library maps a buffer alone, up to 32 MiB. Long buffers then
  /// lie between short ones in an arena, so that their memory cannot be returned. Each thread would
  /// have an arena of its own as well.
  package static func keepLittleFree() {
    posix_keep_little_free_memory(2, 1 << 20, 16 << 20)
  }

  /// Returns free memory to the system, which may take milliseconds.
  ///
  /// The C library keeps what was freed between the memory that is in use, in each of its
  /// arenas, so that a process whose clients sent much would keep a multiple of it.
  package static func returnFree() {
    posix_return_free_memory()
  }
}
