import Glibc

/// `fsync`: what a durable save waits for, so that figures of one disk are not read as another's.
enum SyncTime {
  /// Appends a page to a file, and again, and waits each time until it is on the disk.
  static func run(_ options: Options) throws -> Report {
    let path = try options.text("file")
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw BenchmarkError("Cannot write a file: \(lastError())") }
    defer {
      close(descriptor)
      unsafe unlink(path)
    }
    let page = [UInt8](repeating: 0x2A, count: 4096)
    let rounds = try options.number("rounds", default: 200)
    var latencies = Latencies(reserving: rounds)
    for _ in 0..<rounds {
      try Descriptors.writeAll(page, to: descriptor)
      let start = ContinuousClock.now
      guard fsync(descriptor) == 0 else { throw BenchmarkError("No fsync: \(lastError())") }
      latencies.add(ContinuousClock.now - start)
    }
    return Report(latencies)
  }
}
