import JSON

/// `search-aged`: an index after many commits of one object, beside one that is built anew.
enum SearchAge {
  static func run(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 100_000)
    let file = try options.text("file")
    let connection = try Connection(to: options.text("socket"))
    for start in stride(from: 0, to: rounds, by: 100) {
      // A hundred requests are under way at a time; each is a commit of its own.
      for round in start..<min(start + 100, rounds) {
        let update = #"{"id":"Note/p1","values":{"title":"aged\#(round) word\#(round % 977)"}}"#
        try connection.send(
          Cordial.request("save", #"{"update":[\#(update)],"durability":"normal"}"#)
        )
      }
      for _ in start..<min(start + 100, rounds) {
        try LineFormat().refuseError(connection.receive(LineFormat()))
      }
    }
    try Cordial.waitUntilIndexed(on: connection)
    let aged = try state(connection, file)
    _ = try Cordial.call("index/rebuild", on: connection)
    let built = try state(connection, file)
    guard aged.hits == built.hits else {
      throw BenchmarkError("A rebuilt index gives other hits than an aged one")
    }
    var report = Report()
    report.add("agedMicroseconds", aged.microseconds)
    report.add("builtMicroseconds", built.microseconds)
    report.add("agedBytes", aged.bytes)
    report.add("builtBytes", built.bytes)
    return report
  }

  /// The hits of some queries with their scores, the median time of one, and the index's size.
  private static func state(
    _ connection: Connection,
    _ file: String
  ) throws -> (hits: [JSONValue], microseconds: Double, bytes: Double) {
    let queries = try SearchCorpus.queries("two", count: 300) + ["aged*", "word5", "quarterly"]
    var hits: [JSONValue] = []
    var latencies = Latencies(reserving: queries.count)
    for query in queries {
      let message = Cordial.request("search", #"{"query":"\#(query)","match":"all","limit":10}"#)
      let result = try Cordial.result(of: connection.exchange(message, LineFormat()))
      hits.append([result["total"] ?? .null, result["hits"] ?? .null])
      latencies.add(.microseconds(result["tookMicroseconds"]?.integer ?? 0))
    }
    let pages = try Database(file).integer("SELECT page_count FROM pragma_page_count")
    return (hits, latencies.percentile(0.5), Double(pages * 4096))
  }
}
