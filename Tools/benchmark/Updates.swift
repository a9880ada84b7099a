import JSON

/// `update`, `sqlite-update`: one property of all objects that match a predicate, in one save.
enum Updates {
  /// What the property is given.
  private enum Change: String {
    /// The same value for all of them, another in each round.
    case constant
    /// What is computed from the value that each has.
    case expression

    /// The member of `set`.
    func set(_ round: Int) -> String {
      switch self {
      case .constant: #""size":\#(round)"#
      case .expression: #""count":{"@expression":"count + 1"}"#
      }
    }

    func sql(_ round: Int) -> String {
      switch self {
      case .constant: "size = \(round)"
      case .expression: "count = count + 1"
      }
    }
  }

  static func cordial(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    let stored = try Cordial.objectCount(on: connection)
    return try measure(options) { change, round, count in
      guard stored == count else {
        throw BenchmarkError("The store holds \(stored) objects instead of \(count)")
      }
      let request = Cordial.request(
        "update",
        #"{"entity":"Item","predicate":"weight >= 0","set":{\#(change.set(round))}}"#
      )
      return {
        let answer = try connection.exchange(request, LineFormat())
        return try Cordial.result(of: answer)["count"]?.integer ?? 0
      }
    }
  }

  /// The same by one UPDATE of a table that logs nothing.
  static func sqlite(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    try database.execute("PRAGMA synchronous = FULL")
    let changes = try database.prepare("SELECT changes()")
    return try measure(options) { change, round, _ in
      let update = try database.prepare(
        "UPDATE Item SET \(change.sql(round)) WHERE weight >= 0"
      )
      return {
        try update.run()
        return try changes.integer()
      }
    }
  }

  /// The loop for both; a round's work answers with how many objects it changed.
  ///
  /// The first value of a run differs from the last of the run before: with two rounds at least, each
  /// changes every object.
  private static func measure(
    _ options: Options,
    prepare: (Change, _ round: Int, _ count: Int) throws -> () throws -> Int64
  ) throws -> Report {
    let name = options.text("change", default: Change.constant.rawValue)
    guard let change = Change(rawValue: name) else {
      throw BenchmarkError("Option --change is neither constant nor expression: \(name)")
    }
    let count = try options.number("count", default: 100_000)
    let rounds = max(try options.number("rounds", default: 5), 2)
    var latencies = Latencies(reserving: rounds)
    for round in 1...rounds {
      let update = try prepare(change, round, count)
      let start = ContinuousClock.now
      let changed = try update()
      latencies.add(ContinuousClock.now - start)
      guard changed == count else {
        throw BenchmarkError("Of \(count) objects \(changed) were changed")
      }
    }
    var report = Report(latencies)
    report.add("rowsPerSecond", Double(count) / latencies.medianMilliseconds * 1000)
    return report
  }
}
