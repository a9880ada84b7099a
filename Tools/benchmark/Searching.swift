import JSON

/// `search`, `search-*`: searches of a store of notes, beside SQLite's FTS5 with the same texts.
enum Searching {
  private static func params(_ query: String, _ kind: String) -> String {
    let rest =
      switch kind {
      case "letter", "three": #","prefix":true"#
      case "fuzzy": #","fuzzy":true"#
      default: ""
      }
    return #"{"query":"\#(query)","match":"all","limit":10\#(rest)}"#
  }

  /// Searches, each measured at the client and in the service.
  static func search(_ options: Options) throws -> Report {
    let kind = try options.text("kind")
    let rounds = try options.number("rounds", default: 500)
    let connection = try Connection(to: options.text("socket"))
    try Cordial.waitUntilIndexed(on: connection)
    let notes = try Cordial.call("index/status", on: connection)["documents"]?.integer ?? 0
    let queries = try SearchCorpus.queries(kind, count: rounds, notes: Int(notes))
    let messages = queries.map { Cordial.request("search", params($0, kind)) }
    // The first search with typing mistakes reads the words of the index.
    _ = try connection.exchange(messages[0], LineFormat())
    var (outside, inside) = (Latencies(reserving: rounds), Latencies(reserving: rounds))
    var found: Int64 = 0
    for message in messages {
      let start = ContinuousClock.now
      let answer = try connection.exchange(message, LineFormat())
      outside.add(ContinuousClock.now - start)
      let result = try Cordial.result(of: answer)
      guard let took = result["tookMicroseconds"]?.integer, let total = result["total"]?.integer
      else { throw BenchmarkError("This is no answer of a search") }
      inside.add(.microseconds(took))
      found += total
    }
    guard found > 0 else { throw BenchmarkError("No query of the kind \(kind) finds anything") }
    var report = Report(outside)
    report.add("serviceP50Microseconds", inside.percentile(0.5))
    report.add("serviceP99Microseconds", inside.percentile(0.99))
    report.add("moreP99Microseconds", outside.percentile(0.99) - inside.percentile(0.99))
    report.add("found", Double(found) / Double(rounds))
    return report
  }

  /// The same queries with FTS5's own ranking, and the number of hits.
  static func peer(_ options: Options) throws -> Report {
    let kind = try options.text("kind")
    let rounds = try options.number("rounds", default: 100)
    let database = try Database(options.text("file"))
    let best = try database.prepare(
      "SELECT rowid, rank FROM note WHERE note MATCH ? ORDER BY rank LIMIT 10"
    )
    let all = try database.prepare("SELECT count(*) FROM note WHERE note MATCH ?")
    var latencies = Latencies(reserving: rounds)
    for query in try SearchCorpus.queries(kind, count: rounds) {
      let isPrefix = ["letter", "three"].contains(kind)
      var match = query.split(separator: " ")
        .map { $0 == "OR" ? "OR" : "\"\($0)\"\(isPrefix ? " *" : "")" }.joined(separator: " ")
      let start = ContinuousClock.now
      best.bind(&match, at: 1)
      _ = try best.readAll()
      all.bind(&match, at: 1)
      _ = try all.integer()
      latencies.add(ContinuousClock.now - start)
    }
    return Report(latencies)
  }

  private static func median(
    _ connection: Connection,
    _ method: String,
    _ params: String,
    _ rounds: Int
  ) throws -> Double {
    let message = Cordial.request(method, params)
    var latencies = Latencies(reserving: rounds)
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      _ = try connection.exchange(message, LineFormat())
      latencies.add(ContinuousClock.now - start)
    }
    return latencies.percentile(0.5)
  }

  /// A predicate that one in a hundred notes meets, with a word of every fourth note, beside the
  /// two alone.
  static func filter(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 30)
    let connection = try Connection(to: options.text("socket"))
    let word = #""query":"quarterly","match":"all","limit":10,"entities":["Note"]"#
    let both = try median(connection, "search", #"{\#(word),"predicate":"part == 8"}"#, rounds)
    let alone = try median(connection, "search", "{\(word)}", rounds)
    let fetch = #"{"entity":"Note","predicate":"part == 8","result":"ids"}"#
    let fetched = try median(connection, "fetch", fetch, rounds)
    var report = Report()
    report.add("p50Microseconds", both)
    report.add("sumMicroseconds", alone + fetched)
    return report
  }

  /// The facets of two properties over the hits of a word of every fourth note, without the search.
  static func facets(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 20)
    let connection = try Connection(to: options.text("socket"))
    let word = #""query":"quarterly","match":"all","limit":1"#
    let properties = #""facets":{"properties":["kind","part"]}"#
    let with = try median(connection, "search", "{\(word),\(properties)}", rounds)
    let without = try median(connection, "search", "{\(word)}", rounds)
    var report = Report()
    report.add("p50Microseconds", with - without)
    return report
  }

  /// The same groups in SQLite, of the same rows, given by their numbers.
  static func groups(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 20)
    let database = try Database(options.text("file"))
    try database.execute(
      """
      CREATE TEMP TABLE hit(id INTEGER PRIMARY KEY);
      INSERT INTO hit SELECT _id FROM Note WHERE _id % 4 = 1
      """
    )
    let statements = try ["kind", "part"].map { property in
      try database.prepare(
        "SELECT \(property), count(*) FROM hit JOIN Note ON _id = id GROUP BY 1 ORDER BY 1"
      )
    }
    var latencies = Latencies(reserving: rounds)
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      for statement in statements { _ = try statement.readAll() }
      latencies.add(ContinuousClock.now - start)
    }
    return Report(latencies)
  }
}
