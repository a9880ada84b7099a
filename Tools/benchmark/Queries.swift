import JSON

/// `query-model`, `query-fill`, `query`, `pages`, `localized-pages`, `sections`, `include` and their
/// SQLite peers: what a list of a program asks of a store of some size.
enum Queries {
  /// How many objects each of the entities of three sizes has.
  static let sizes = [("Small", 10_000), ("Middle", 100_000), ("Large", 1_000_000)]
  private static let owners = 1000
  private static let children = 10_000
  /// How many sections `Middle` falls into.
  private static let sections = 40

  /// Writes the model of a store for these rows.
  static func model(_ options: Options) throws -> Report {
    let sized = sizes.map { name, _ in
      let sorted = name == "Large" ? #", "sorted": "localized""# : ""
      return """
        {"name": "\(name)", "attributes": [
           {"name": "title", "type": "string"\(sorted)}, {"name": "rank", "type": "int64"},
           {"name": "section", "type": "int32"}],
         "indexes": [["rank"], ["section"]\(name == "Large" ? #", ["title"]"# : "")]}
        """
    }
    let text = """
      {"name": "Queries", "entities": [
        \(sized.joined(separator: ",\n")),
        {"name": "Owner", "attributes": [{"name": "name", "type": "string"}],
         "relationships": [
           {"name": "children", "destination": "Child", "toMany": true, "inverse": "owner"}]},
        {"name": "Child",
         "attributes": [{"name": "name", "type": "string"}, {"name": "size", "type": "int32"}],
         "relationships": [
           {"name": "owner", "destination": "Owner", "inverse": "children", "optional": true}]}]}

      """
    try Files.write(text, to: options.text("file"))
    return Report()
  }

  /// Fills a store that nobody serves, as any SQLite client may: importing a million objects would
  /// take longer than all measurements.
  static func fill(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    try database.execute("PRAGMA synchronous=OFF; BEGIN")
    for (name, count) in sizes {
      // An odd multiplier makes every rank once, in no order.
      try database.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count - 1))
        INSERT INTO \(name)(title, rank, section)
        SELECT 'title of ' || i, (i * 7919) % \(count), (i * 31) % \(sections) FROM n
        """
      )
    }
    try database.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(owners))
      INSERT INTO Owner(name) SELECT 'owner ' || i FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(children))
      INSERT INTO Child(name, size, owner)
      SELECT 'child ' || i, i % 100, 1 + i * 17 % \(owners) FROM n;
      COMMIT
      """
    )
    return Report()
  }

  /// 20 rows by an indexed predicate and sort, of each size in turn.
  ///
  /// What slows the machine for a while slows all sizes so. Every request is sent once before any is
  /// measured: pages that were never read tell of the disk and not of the size.
  static func query(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    let rounds = try options.number("rounds", default: 1000)
    var random = SeededRandom(seed: 3)
    let requests = sizes.map { entity, count in
      (0..<rounds).map { _ in
        let rank = random.below(count - 20)
        return Cordial.request(
          "fetch",
          #"{"entity":"\#(entity)","predicate":"rank >= \#(rank)","sort":["rank"],"limit":20}"#
        )
      }
    }
    for request in requests.joined() { _ = try elapsed(request, on: connection) }
    var latencies = sizes.map { _ in Latencies(reserving: rounds) }
    for round in 0..<rounds {
      for size in sizes.indices {
        latencies[size].add(try elapsed(requests[size][round], on: connection))
      }
    }
    var report = Report()
    for (size, latencies) in zip(sizes, latencies) {
      report.add(size.0.lowercased() + "P50Microseconds", latencies.percentile(0.5))
    }
    return report
  }

  /// The first page of 50 of a million objects, and the 10,000th.
  static func pages(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    func parameters(_ after: String?) -> String {
      let behind = after.map { #","after":"\#($0)""# } ?? ""
      return #"{"entity":"Large","sort":["rank"],"limit":50\#(behind)}"#
    }
    var after: String?
    for _ in 1..<10_000 {
      after = try Cordial.call("fetch", parameters(after), on: connection)["next"]?.string
      guard after != nil else { throw BenchmarkError("The pages end too early") }
    }
    var report = Report()
    for (name, cursor) in [("first", nil), ("late", after)] {
      let latencies = try latencies([Cordial.request("fetch", parameters(cursor))], options)
      report.add(name + "P50Microseconds", latencies.percentile(0.5))
    }
    return report
  }

  /// The first page of 20 of a million objects, and the 1,000th, sorted by code point and by the
  /// collation.
  static func localizedPages(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    var report = Report()
    for (order, key) in [("plain", "title"), ("localized", "title:localized")] {
      func parameters(_ after: String?) -> String {
        let behind = after.map { #","after":"\#($0)""# } ?? ""
        return #"{"entity":"Large","sort":["\#(key)"],"limit":20\#(behind)}"#
      }
      var after: String?
      for _ in 1..<1000 {
        after = try Cordial.call("fetch", parameters(after), on: connection)["next"]?.string
        guard after != nil else { throw BenchmarkError("The pages end too early") }
      }
      for (name, cursor) in [("First", nil), ("Late", after)] {
        let latencies = try latencies([Cordial.request("fetch", parameters(cursor))], options)
        report.add(order + name + "P50Microseconds", latencies.percentile(0.5))
      }
    }
    return report
  }

  /// The first 50 of 100,000 objects with all their sections.
  static func sections(_ options: Options) throws -> Report {
    let request = #"{"entity":"Middle","sectionBy":"section","limit":50}"#
    return try measure([Cordial.request("fetch", request)], options)
  }

  /// The same window and the same GROUP BY through SQLite's C API.
  static func sqliteSections(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    let window = try database.prepare(
      "SELECT _id, _version, title, rank, section FROM Middle ORDER BY section, _id LIMIT 51"
    )
    let groups = try database.prepare(
      "SELECT section, count(*) FROM Middle GROUP BY section ORDER BY section"
    )
    return try measureInProcess(options) { try window.readAll() + groups.readAll() }
  }

  /// 1,000 objects with the 10,000 that they lead to.
  static func include(_ options: Options) throws -> Report {
    let request = #"{"entity":"Owner","include":["children"]}"#
    return try measure([Cordial.request("fetch", request)], options)
  }

  /// The same by one JOIN through SQLite's C API.
  static func sqliteInclude(_ options: Options) throws -> Report {
    let database = try Database(options.text("file"))
    let join = try database.prepare(
      """
      SELECT o._id, o._version, o.name, c._id, c._version, c.name, c.size, c.owner
      FROM Owner o LEFT JOIN Child c ON c.owner = o._id ORDER BY o._id
      """
    )
    return try measureInProcess(options) { try join.readAll() }
  }

  private static func measure(_ requests: [[UInt8]], _ options: Options) throws -> Report {
    Report(try latencies(requests, options))
  }

  private static func latencies(_ requests: [[UInt8]], _ options: Options) throws -> Latencies {
    let connection = try Connection(to: options.text("socket"))
    let rounds = try options.number("rounds", default: 200)
    var latencies = Latencies(reserving: rounds)
    for round in 0..<(rounds + rounds / 10) {
      let elapsed = try elapsed(requests[round % requests.count], on: connection)
      if round >= rounds / 10 { latencies.add(elapsed) }
    }
    return latencies
  }

  /// How long the answer to one request takes.
  private static func elapsed(_ request: [UInt8], on connection: Connection) throws -> Duration {
    let start = ContinuousClock.now
    try connection.send(request)
    let reply = try connection.receive(LineFormat())
    let elapsed = ContinuousClock.now - start
    try LineFormat().refuseError(reply)
    return elapsed
  }

  private static func measureInProcess(
    _ options: Options,
    _ body: () throws -> Int
  ) throws -> Report {
    let rounds = try options.number("rounds", default: 200)
    var latencies = Latencies(reserving: rounds)
    for round in 0..<(rounds + rounds / 10) {
      let start = ContinuousClock.now
      let count = try body()
      let elapsed = ContinuousClock.now - start
      guard count > 0 else { throw BenchmarkError("There are no rows") }
      if round >= rounds / 10 { latencies.add(elapsed) }
    }
    return Report(latencies)
  }
}
