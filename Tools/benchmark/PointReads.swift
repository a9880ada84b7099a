/// `point`, `redis-get`, `watchman-version`, `pg-select`: one client, one small read after the other.
enum PointReads {
  static func cordial(_ options: Options) throws -> Report {
    let requests = try Files.lines(of: options.text("ids")).map {
      Cordial.request("fetch", #"{"ids":["\#($0)"]}"#)
    }
    let connection = try Connection(to: options.text("socket"))
    return try measure(connection, LineFormat(), requests, options)
  }

  static func redis(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let requests = (1...count).map { Redis.command("GET", Redis.key($0)) }
    let connection = try Connection(to: options.text("socket"))
    return try measure(connection, RedisFormat(), requests, options)
  }

  /// The cheapest request that watchman has in its protocol of JSON lines.
  static func watchman(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    return try measure(connection, LineFormat(), [Array("[\"version\"]\n".utf8)], options)
  }

  static func postgres(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 200_000)
    let requests = (1...count).map { Postgres.execute("item", String($0)) }
    let connection = try Connection.postgres(options)
    try connection.prepare("SELECT * FROM item WHERE id = $1", named: "item")
    return try measure(connection, PostgresFormat.readyForQuery, requests, options)
  }

  /// The loop for all of them: from before the write to the last byte of the reply.
  private static func measure(
    _ connection: Connection,
    _ format: some ReplyFormat,
    _ requests: [[UInt8]],
    _ options: Options
  ) throws -> Report {
    guard !requests.isEmpty else { throw BenchmarkError("There is nothing to ask for") }
    let rounds = try options.number("rounds", default: 10_000)
    var random = SeededRandom(seed: 2)
    var latencies = Latencies(reserving: rounds)
    var replyBytes = 0
    let warmUp = rounds / 10
    for round in 0..<(warmUp + rounds) {
      let request = requests[random.below(requests.count)]
      let start = ContinuousClock.now
      try connection.send(request)
      let reply = try connection.receive(format)
      let elapsed = ContinuousClock.now - start
      try format.refuseError(reply)
      guard round >= warmUp else { continue }
      latencies.add(elapsed)
      replyBytes += reply.count
    }
    var report = Report(latencies)
    report.add("replyBytes", Double(replyBytes / rounds))
    return report
  }
}
