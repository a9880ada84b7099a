/// `dump`, `sqlite-dump`: all objects of the entity as JSON, to a client that reads to the end.
enum Dump {
  static func cordial(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let connection = try Connection(to: options.text("socket"))
    let stored = try Cordial.objectCount(on: connection)
    guard stored == count else {
      throw BenchmarkError("The store holds \(stored) objects instead of \(count)")
    }
    let request = Cordial.request("fetch", #"{"entity":"Item"}"#)
    return try measure(count: count, options) {
      try connection.send(request)
      let drain = try connection.drain()
      try LineFormat().refuseError(drain.beginning)
      return drain
    }
  }

  /// The same columns by the `sqlite3` shell into a pipe, its start included.
  static func sqlite(_ options: Options) throws -> Report {
    let file = try options.text("file")
    let select = "SELECT rowid AS id, name, count, size, done, weight, text FROM Item"
    return try measure(count: options.number("count", default: 200_000), options) {
      let shell = try ChildProcess("sqlite3", ["-json", "-readonly", file, select])
      let drain = try Drain(from: shell.output, until: .endOfFile)
      try shell.waitForSuccess()
      return drain
    }
  }

  private static func measure(
    count: Int,
    _ options: Options,
    dump: () throws -> Drain
  ) throws -> Report {
    let rounds = try options.number("rounds", default: 3)
    var latencies = Latencies(reserving: rounds)
    var byteCount = 0
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      let drain = try dump()
      latencies.add(ContinuousClock.now - start)
      byteCount = drain.byteCount
      // Every object has more than its text.
      guard byteCount > count * 190 else {
        throw BenchmarkError("The answer is too short for \(count) objects: \(byteCount) bytes")
      }
    }
    let seconds = latencies.medianMilliseconds / 1000
    var report = Report()
    report.add("count", Double(count))
    report.add("bytes", Double(byteCount))
    report.add("seconds", seconds)
    report.add("rowsPerSecond", Double(count) / seconds)
    report.add("megabytesPerSecond", Double(byteCount) / 1e6 / seconds)
    return report
  }
}
