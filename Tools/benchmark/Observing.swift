import Glibc
import JSON

/// `observe-model`, `observe-fill` and the rows about observed requests: what a commit costs as the
/// number of subscriptions, of rows or of connections grows.
enum Observing {
  /// The number of requests that are sent before their answers are read.
  private static let pipelined = 32

  // MARK: The store

  /// Writes the model of a store for these rows.
  static func model(_ options: Options) throws -> Report {
    let text = """
      {"name": "Observing", "entities": [
        {"name": "Group", "attributes": [{"name": "title", "type": "string"}],
         "relationships": [
           {"name": "items", "destination": "Item", "toMany": true, "inverse": "group"}]},
        {"name": "Item", "attributes": [
           {"name": "rank", "type": "int64"}, {"name": "kind", "type": "int64"},
           {"name": "count", "type": "int64"}, {"name": "title", "type": "string"},
           {"name": "text", "type": "string"}],
         "relationships": [
           {"name": "group", "destination": "Group", "inverse": "items", "optional": true}],
         "indexes": [["rank"], ["kind"]]}]}

      """
    try Files.write(text, to: options.text("file"))
    return Report()
  }

  /// Fills a store that nobody serves, as any SQLite client may.
  static func fill(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 10_000)
    let database = try Database(options.text("file"))
    try database.execute(
      """
      PRAGMA synchronous=OFF; BEGIN;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
      INSERT INTO "Group"(title) SELECT 'group ' || i FROM n;
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count - 1))
      INSERT INTO Item(rank, kind, count, title, text, "group")
      SELECT i * 10, i, 0, printf('title %07d', i),
        'This object has the Number ' || i || ' and a text of a hundred bytes, as notes have them.',
        1 + i % 10000 FROM n;
      COMMIT
      """
    )
    return Report()
  }

  // MARK: Subscriptions

  /// Observes requests, or sends other ones, with some of them under way at a time.
  private static func send(
    _ method: String,
    _ parameters: [String],
    on connection: Connection
  ) throws {
    var answered = 0
    for (index, one) in parameters.enumerated() {
      try connection.send(Cordial.request(method, one))
      guard index - answered >= pipelined else { continue }
      try LineFormat().refuseError(connection.receive(LineFormat()))
      answered += 1
    }
    for _ in answered..<parameters.count {
      try LineFormat().refuseError(connection.receive(LineFormat()))
    }
  }

  /// Reads one `changes` with all its parts, and returns its length.
  @discardableResult
  private static func changes(_ connection: Connection) throws -> Int {
    var length = 0
    while true {
      let part = try connection.receive(LineFormat())
      length += part.count
      let beginning = Array(part.prefix(200))
      guard Bytes.contains("\"changes\"", in: beginning) else {
        throw BenchmarkError("This is no changes: \(String(decoding: beginning, as: UTF8.self))")
      }
      if !Bytes.contains("\"more\":true", in: beginning) { return length }
    }
  }

  /// The request with which the subscription of a number matches one object of its own.
  private static func request(_ kind: String, _ number: Int) throws -> String {
    func fetch(_ predicate: String) -> String {
      #"{"fetch":{"entity":"Item","predicate":"\#(predicate)"}}"#
    }
    return switch kind {
    case "id": #"{"ids":["Item/p\#(number + 1)"]}"#
    case "equality": fetch("kind == \(number)")
    case "and": fetch("kind == \(number) AND count > -1")
    case "in": fetch("kind IN {\(number), \(number + 1_000_000)}")
    case "between": fetch("rank BETWEEN {\(number * 10), \(number * 10 + 5)}")
    case "relation":
      #"{"fetch":{"entity":"Item","predicate":"group == $g","arguments":{"g":"Group/p\#(number + 1)"}}}"#
    case "text": fetch("text CONTAINS[cd] 'NUMBER \(number) AND'")
    default: throw BenchmarkError("No kind of subscription is called \(kind)")
    }
  }

  /// One attribute of the first object is saved: how long until the answer, and until the last byte
  /// of `changes`, beside so many subscriptions of a kind.
  static func match(_ options: Options) throws -> Report {
    let kind = try options.text("kind")
    let count = try options.number("subscriptions", default: 10_000)
    let rounds = try options.number("rounds", default: 200)
    let socket = try options.text("socket")
    let observer = try Connection(to: socket)
    let resident = try options.process()?.residentMegabytes() ?? 0
    let began = ContinuousClock.now
    try send("observe", try (0..<count).map { try request(kind, $0) }, on: observer)
    let registered = ContinuousClock.now - began
    let writer = try Connection(to: socket)
    var saves = Latencies(reserving: rounds)
    var last = Latencies(reserving: rounds)
    let process = try options.process()
    let added = (try process?.residentMegabytes() ?? 0) - resident
    var processor = 0.0
    for round in 0..<(rounds + rounds / 10) {
      if round == rounds / 10 { processor = try process?.processorSeconds() ?? 0 }
      let request = Cordial.request("save", update(round))
      let start = ContinuousClock.now
      try writer.send(request)
      let answer = try writer.receive(LineFormat())
      let saved = ContinuousClock.now - start
      try changes(observer)
      let read = ContinuousClock.now - start
      try LineFormat().refuseError(answer)
      guard round >= rounds / 10 else { continue }
      saves.add(saved)
      last.add(read)
    }
    var report = Report(last)
    report.add("saveP50Microseconds", saves.percentile(0.5))
    report.add("registerMicroseconds", registered.microseconds / Double(count))
    if let process {
      let used = try process.processorSeconds() - processor
      report.add("processorMicroseconds", used / Double(rounds) * 1e6)
      report.add("residentBytes", added * 1e6 / Double(count))
    }
    return report
  }

  private static func update(_ round: Int) -> String {
    #"{"update":[{"id":"Item/p1","values":{"count":\#(round + 1)}}],"durability":"normal"}"#
  }

  /// So many requests, observed or fetched.
  static func register(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 10_000)
    let method = try options.text("method")
    let connection = try Connection(to: options.text("socket"))
    let requests = try (0..<count).map { number -> String in
      let observed = try request("equality", number)
      return method == "observe" ? observed : String(observed.dropFirst(9).dropLast())
    }
    let half = count / 2
    let start = ContinuousClock.now
    try send(method, Array(requests[..<half]), on: connection)
    let first = ContinuousClock.now - start
    try send(method, Array(requests[half...]), on: connection)
    let all = ContinuousClock.now - start
    var report = Report()
    report.add("microseconds", all.microseconds / Double(count))
    report.add("firstMicroseconds", first.microseconds / Double(half))
    report.add("lastMicroseconds", (all - first).microseconds / Double(count - half))
    return report
  }

  // MARK: Large commits

  /// All objects are updated by one commit: how long from its answer to the last byte of `changes`.
  static func large(_ options: Options) throws -> Report {
    let kind = try options.text("kind")
    let rounds = try options.number("rounds", default: 5)
    let socket = try options.text("socket")
    let requests = try (0..<1000).map { number -> String in
      switch kind {
      case "objects": return #"{"ids":["Item/p\#(number * 10 + 1)"]}"#
      case "values", "ids":
        let low = number * 90
        let range = "rank >= \(low) AND rank < \(low + 10_000)"
        // With these values an update of all results has about 170 MB.
        let select = kind == "values" ? #","select":["rank","title","count"]"# : ""
        let fetch = #"{"entity":"Item","predicate":"\#(range)"\#(select)}"#
        return #"{"fetch":\#(fetch),"mode":"\#(kind)"}"#
      default: throw BenchmarkError("No kind of subscription is called \(kind)")
      }
    }
    let process = try options.process()
    let alone = try process.map { try updateSeconds(rounds, on: socket, $0) } ?? 0
    let observer = try Connection(to: socket)
    try send("observe", requests, on: observer)
    let writer = try Connection(to: socket)
    let before = try process?.residentMegabytes() ?? 0
    var resident = before
    var latencies = Latencies(reserving: rounds)
    var processor = 0.0
    var bytes = 0
    for round in 0...rounds {
      if round == 1 { processor = try process?.processorSeconds() ?? 0 }
      _ = try writer.exchange(updateAll(round), LineFormat())
      let start = ContinuousClock.now
      if kind == "ids" {
        _ = try writer.exchange(Cordial.request("observe/flush", "{}"), LineFormat())
        // The engine has examined the commit when a later observation is answered.
        let late = try Connection(to: socket)
        _ = try Cordial.call("observe", #"{"ids":["Item/p1"]}"#, on: late)
      } else {
        bytes = try changes(observer)
      }
      let elapsed = ContinuousClock.now - start
      resident = max(resident, try process?.residentMegabytes() ?? 0)
      if round > 0 { latencies.add(elapsed) }
    }
    var report = Report(latencies)
    report.add("milliseconds", latencies.medianMilliseconds)
    report.add("megabytes", Double(bytes) / 1e6)
    if let process {
      let used = try process.processorSeconds() - processor
      report.add("processorMilliseconds", used / Double(rounds) * 1e3)
      report.add("updateProcessorMilliseconds", alone / Double(rounds) * 1e3)
      report.add("residentMegabytes", resident - before)
    }
    return report
  }

  private static func updateAll(_ round: Int) -> [UInt8] {
    Cordial.request(
      "update",
      #"{"entity":"Item","predicate":"rank < 100000","set":{"count":\#(round + 1)},"#
        + #""durability":"normal"}"#
    )
  }

  /// The processor time of the same updates without a subscription.
  private static func updateSeconds(
    _ rounds: Int,
    on socket: String,
    _ process: ServerProcess
  ) throws -> Double {
    let writer = try Connection(to: socket)
    let before = try process.processorSeconds()
    for round in 0..<rounds {
      _ = try writer.exchange(updateAll(-round - 2), LineFormat())
    }
    return try process.processorSeconds() - before
  }

  // MARK: Windows

  /// One object is inserted somewhere in a sorted window, or beside it.
  static func window(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 10_000)
    let rounds = try options.number("rounds", default: 100)
    let place = try options.text("place")
    let fetch: String
    let values: (Int) -> String
    func item(rank: Int, title: String) -> String {
      #"{"rank":\#(rank),"kind":-1,"count":0,"title":"\#(title)","text":"new"}"#
    }
    switch place {
    case "top":
      fetch = #""sort":["rank"],"limit":50"#
      values = { item(rank: -1 - $0, title: "new") }
    case "middle":
      fetch = #""sort":["rank"],"limit":50,"offset":\#(count / 2)"#
      values = { item(rank: -1_000_000 - $0, title: "new") }
    case "unindexed":
      fetch = #""sort":["title"],"limit":50"#
      values = { item(rank: 2_000_000_000, title: "a\(9_999_999 - $0)") }
    case "after":
      fetch = #""sort":["rank"],"limit":50"#
      values = { item(rank: 1_000_000_000 + $0, title: "new") }
    case "ids":
      fetch = #""sort":["rank"]"#
      values = { item(rank: 5 * count + $0, title: "new") }
    default: throw BenchmarkError("No place is called \(place)")
    }
    let socket = try options.text("socket")
    let observer = try Connection(to: socket)
    let mode = place == "ids" ? "ids" : "values"
    let observed = #"{"fetch":{"entity":"Item",\#(fetch)},"mode":"\#(mode)"}"#
    _ = try observer.exchange(Cordial.request("observe", observed), LineFormat())
    // A commit that changes no window is followed by one object that every round changes.
    _ = try Cordial.call("observe", #"{"ids":["Item/p1"]}"#, on: observer)
    let writer = try Connection(to: socket)
    var latencies = Latencies(reserving: rounds)
    for round in 0..<(rounds + rounds / 10) {
      let request = Cordial.request(
        "save",
        #"{"insert":[{"entity":"Item","values":\#(values(round))}],"#
          + #""update":[{"id":"Item/p1","values":{"count":\#(round + 1)}}],"durability":"normal"}"#
      )
      let start = ContinuousClock.now
      try writer.send(request)
      try changes(observer)
      let elapsed = ContinuousClock.now - start
      try LineFormat().refuseError(writer.receive(LineFormat()))
      if round >= rounds / 10 { latencies.add(elapsed) }
    }
    return Report(latencies)
  }

  // MARK: Connections

  /// So many connections with a subscription each; a commit concerns one of them.
  static func connections(_ options: Options) throws -> Report {
    let count = try options.number("connections", default: 1000)
    let rounds = try options.number("rounds", default: 300)
    let socket = try options.text("socket")
    let observers = try (0..<count).map { number in
      let connection = try Connection(to: socket, bufferBytes: 65_536)
      _ = try Cordial.call("observe", #"{"ids":["Item/p\#(number + 1)"]}"#, on: connection)
      return connection
    }
    let writer = try Connection(to: socket)
    let process = try options.process()
    var processor = 0.0
    var latencies = Latencies(reserving: rounds)
    for round in 0..<(rounds + rounds / 10) {
      if round == rounds / 10 { processor = try process?.processorSeconds() ?? 0 }
      let request = Cordial.request("save", update(round))
      let start = ContinuousClock.now
      try writer.send(request)
      try changes(observers[0])
      let elapsed = ContinuousClock.now - start
      try LineFormat().refuseError(writer.receive(LineFormat()))
      if round >= rounds / 10 { latencies.add(elapsed) }
    }
    var report = Report(latencies)
    if let process {
      let used = try process.processorSeconds() - processor
      report.add("processorMicroseconds", used / Double(rounds) * 1e6)
    }
    return report
  }

  /// So many connections observe one window; a commit changes it.
  static func fan(_ options: Options) throws -> Report {
    let socket = try options.text("socket")
    let observers = try connections(options) { connection in
      let fetch = #"{"fetch":{"entity":"Item","sort":["rank"],"limit":50}}"#
      _ = try connection.exchange(Cordial.request("observe", fetch), LineFormat())
    }
    let writer = try Connection(to: socket)
    return try fan(options, (writer, LineFormat()), observers, LineFormat()) { round in
      Cordial.request("save", update(round))
    }
  }

  /// The same by PUBLISH, of as many bytes as a `changes` has.
  static func redisFan(_ options: Options) throws -> Report {
    let subscribers = try connections(options) { connection in
      _ = try connection.exchange(Redis.command("SUBSCRIBE", "window"), RedisFormat())
    }
    let writer = try Connection(to: options.text("socket"))
    let text = String(repeating: "x", count: 600)
    return try fan(options, (writer, RedisFormat()), subscribers, RedisFormat()) { _ in
      Redis.command("PUBLISH", "window", text)
    }
  }

  private static func connections(
    _ options: Options,
    _ prepare: (Connection) throws -> Void
  ) throws -> [Connection] {
    try (0..<options.number("connections", default: 1000)).map { _ in
      let connection = try Connection(to: options.text("socket"), bufferBytes: 65_536)
      try prepare(connection)
      return connection
    }
  }

  /// From before the write to the last byte of the last reader.
  private static func fan(
    _ options: Options,
    _ writer: (connection: Connection, format: some ReplyFormat),
    _ readers: [Connection],
    _ format: some ReplyFormat,
    _ request: (Int) -> [UInt8]
  ) throws -> Report {
    let rounds = try options.number("rounds", default: 30)
    var latencies = Latencies(reserving: rounds)
    for round in 0..<(rounds + 3) {
      let bytes = request(round + 1)
      let start = ContinuousClock.now
      try writer.connection.send(bytes)
      for reader in readers { _ = try reader.receive(format) }
      let elapsed = ContinuousClock.now - start
      try writer.format.refuseError(writer.connection.receive(writer.format))
      if round >= 3 { latencies.add(elapsed) }
    }
    return Report(latencies)
  }

  // MARK: Resuming

  /// `since` some commits back on a fetch of 10,000 rows, and the same fetch.
  static func since(_ options: Options) throws -> Report {
    let socket = try options.text("socket")
    let connection = try Connection(to: socket)
    let rounds = try options.number("rounds", default: 20)
    let fetch = #"{"entity":"Item","predicate":"rank >= 0 AND rank < 100000","sort":["rank"]}"#
    let first = try Cordial.call("observe", #"{"fetch":\#(fetch)}"#, on: connection)
    guard let token = first["token"]?.string else { throw BenchmarkError("There is no token") }
    let writer = try Connection(to: socket)
    for round in 1...1000 {
      _ = try Cordial.call("save", update(-round - 1), on: writer)
    }
    let observe = Cordial.request("observe", #"{"fetch":\#(fetch),"since":"\#(token)"}"#)
    var (fetched, resumed) = (Latencies(reserving: rounds), Latencies(reserving: rounds))
    var bytes = 0
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      _ = try writer.exchange(Cordial.request("fetch", fetch), LineFormat())
      fetched.add(ContinuousClock.now - start)
      let other = try Connection(to: socket)
      let again = ContinuousClock.now
      bytes = try other.exchange(observe, LineFormat()).count
      resumed.add(ContinuousClock.now - again)
    }
    var report = Report(resumed)
    report.add("fetchP50Microseconds", fetched.percentile(0.5))
    report.add("bytes", Double(bytes))
    return report
  }
}
