import Glibc
package import PersistentHistory

/// Processes of this system.
extension ProcessIdentity {
  /// This process.
  package static var current: ProcessIdentity {
    ProcessIdentity(number: getpid(), start: start(of: getpid()))
  }

  /// Whether the process still runs.
  package var isRunning: Bool {
    // `EPERM` means that a process of another user has the number. `kill` uses numbers below 1 for
    // groups of processes.
    guard number > 0, kill(number, 0) == 0 || errno == EPERM else { return false }
    let present = Self.start(of: number)
    return start.isEmpty || present.isEmpty || present == start
  }

  /// Returns the start time of a process, in ticks since the start of the system.
  ///
  /// The start time is the 22nd field of `/proc/PID/stat`. The result is empty if the file cannot
  /// be read.
  private static func start(of process: Int32) -> String {
    let file = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { _ = close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(file, &bytes, bytes.count)
    guard count > 0 else { return "" }
    // The second field is the program's name in parentheses, which may contain spaces.
    let fields =
      String(decoding: bytes.prefix(count), as: UTF8.self)
      .split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 19 ? String(fields[19]) : ""
  }
}
