/// `history-size`, `purge`: what keeping the history costs, and what removing it does.
enum HistoryCost {
  private static let purgeSecondsMax = 120

  /// How large a store is and how many changes its log has.
  static func size(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    let bytes = try database.integer(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    )
    var report = Report()
    report.add("bytes", Double(bytes))
    report.add("changes", Double(try changes(database)))
    return report
  }

  /// Removes the whole log while another client saves objects one by one, which it did before too:
  /// an fsync alone can take long.
  static func purge(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    let saver = try Connection(to: options.text("socket"))
    let purger = try Connection(to: options.text("socket"))
    let requests = Item.make(1_000).map(DurableSaves.request)
    var next = 0
    func save() throws -> Duration {
      let start = ContinuousClock.now
      _ = try saver.exchange(requests[next % requests.count], LineFormat())
      next += 1
      return ContinuousClock.now - start
    }

    // What the index has still to read is kept.
    try Cordial.waitUntilIndexed(on: purger)
    let rounds = try options.number("rounds", default: 500)
    var before = Latencies(reserving: rounds)
    for _ in 0..<rounds { before.add(try save()) }

    let logged = try changes(database)
    let start = ContinuousClock.now
    let deadline = start + .seconds(purgeSecondsMax)
    try purger.send(Cordial.request("history/purge", #"{"keep":{"transactions":0}}"#))
    var during = Latencies(reserving: rounds)
    while try Connection.readable(among: [purger], within: 0).isEmpty {
      guard ContinuousClock.now < deadline else { throw BenchmarkError("The purge did not end") }
      during.add(try save())
    }
    let elapsed = ContinuousClock.now - start
    try LineFormat().refuseError(purger.receive(LineFormat()))
    let removed = try logged + Int64(during.count) - changes(database)
    guard removed >= logged - Int64(rounds) else {
      throw BenchmarkError("Of \(logged) changes \(removed) were removed")
    }

    var report = Report()
    report.add("changes", Double(removed))
    report.add("seconds", elapsed.seconds)
    report.add("saves", Double(during.count))
    report.add("maxMillisecondsBefore", before.percentile(1) / 1000)
    report.add("maxMillisecondsDuring", during.percentile(1) / 1000)
    report.add("p99MillisecondsBefore", before.percentile(0.99) / 1000)
    report.add("p99MillisecondsDuring", during.percentile(0.99) / 1000)
    return report
  }

  private static func changes(_ database: Database) throws -> Int64 {
    try database.integer("SELECT count(*) FROM cordial_change")
  }
}
