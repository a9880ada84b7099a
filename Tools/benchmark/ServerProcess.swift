import Glibc

/// A server that was started elsewhere: its memory and its time.
struct ServerProcess {
  let identifier: Int

  /// The memory that it has resident, in megabytes of a million bytes.
  func residentMegabytes() throws -> Double {
    let line = try Files.lines(of: "/proc/\(identifier)/status").first { $0.hasPrefix("VmRSS:") }
    guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
      let number = Double(kibibytes)
    else { throw BenchmarkError("The program has no resident memory to read") }
    return number * 1024 / 1e6
  }

  /// The time that all its threads have used.
  func processorSeconds() throws -> Double {
    let text = try Files.read("/proc/\(identifier)/stat")
    // The name of the program, in parentheses, may have spaces.
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw BenchmarkError("The program's time cannot be read")
    }
    return (user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
  }
}

extension Options {
  /// The server of the option `--process`; nil without it.
  func process() throws -> ServerProcess? {
    has("process") ? ServerProcess(identifier: try number("process", default: 1)) : nil
  }
}
