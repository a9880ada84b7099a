import Glibc

/// `start`, `sqlite-start`: how long a program takes from its start to its first answer.
enum StartUp {
  /// `cordial serve` on an empty store over stdio, to the answer of `status`.
  static func cordial(_ options: Options) throws -> Report {
    let binary = try options.text("binary")
    let store = try options.text("store")
    let arguments = ["serve", store, "--model", try options.text("model"), "--stdio"]
    // Makes the store; what is measured is opening one.
    try answerStatus(try ChildProcess(binary, arguments)).waitForSuccess()

    var residentMegabytes = 0.0
    var latencies = Latencies(reserving: 0)
    for _ in 0..<(try options.number("rounds", default: 20)) {
      let start = ContinuousClock.now
      let process = try answerStatus(try ChildProcess(binary, arguments))
      latencies.add(ContinuousClock.now - start)
      // Idle: what the start itself had to do is over by then.
      usleep(50_000)
      residentMegabytes = max(residentMegabytes, try process.residentMegabytes())
      try process.waitForSuccess()
    }
    var report = Report(latencies)
    report.add("residentMegabytes", residentMegabytes)
    return report
  }

  /// The `sqlite3` shell opening a file and reading one row, to its exit.
  static func sqlite(_ options: Options) throws -> Report {
    let file = try options.text("file")
    var latencies = Latencies(reserving: 0)
    for _ in 0..<(try options.number("rounds", default: 20)) {
      let start = ContinuousClock.now
      let shell = try ChildProcess("sqlite3", [file, "SELECT 1 FROM sqlite_schema LIMIT 1"])
      try shell.waitForSuccess()
      latencies.add(ContinuousClock.now - start)
    }
    return Report(latencies)
  }

  private static func answerStatus(_ process: ChildProcess) throws -> ChildProcess {
    try process.send(Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n".utf8))
    let drain = try Drain(from: process.output, until: .endOfLine)
    try LineFormat().refuseError(drain.beginning)
    return process
  }
}
