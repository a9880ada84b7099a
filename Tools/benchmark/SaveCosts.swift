import JSON

/// `cost-model`, `cost-members`, `cost-undo`, `cost-targets`: what parts of a save cost as the data
/// around them grows.
enum SaveCosts {
  /// A model with a one-to-many that must have members and a many-to-many, written to a file.
  static func model(_ options: Options) throws -> Report {
    try Files.write(
      """
      {"name":"Costs","version":"1","entities":[
        {"name":"Box","attributes":[{"name":"name","type":"string","optional":true}],
         "relationships":[{"name":"things","destination":"Thing","toMany":true,"inverse":"box",
           "minimumCount":1,"deleteRule":"nullify"}]},
        {"name":"Thing","attributes":[{"name":"name","type":"string","optional":true}],
         "relationships":[{"name":"box","destination":"Box","inverse":"things","optional":true},
           {"name":"tags","destination":"Tag","toMany":true,"inverse":"things"}]},
        {"name":"Tag","attributes":[{"name":"name","type":"string","optional":true}],
         "relationships":[{"name":"things","destination":"Thing","toMany":true,
           "inverse":"tags"}]},
        {"name":"Link","attributes":[{"name":"name","type":"string","optional":true}],
         "relationships":[{"name":"next","destination":"Link","optional":true}]}]}
      """,
      to: options.text("file")
    )
    return Report()
  }

  private static func save(_ parameters: String, on connection: Connection) throws -> JSONValue {
    try Cordial.call("save", parameters, on: connection)
  }

  private static func id(_ sent: String, _ result: JSONValue) throws -> String {
    guard let id = result["ids"]?[sent]?.string else {
      throw BenchmarkError("A save gave \(sent) no ID")
    }
    return id
  }

  /// Saves so many new objects, a thousand with each request.
  private static func insert(
    _ count: Int,
    values: String = "",
    on connection: Connection
  ) throws {
    var rest = count
    while rest > 0 {
      let batch = min(rest, 1000)
      let inserts = (0..<batch).map { #"{"id":"Thing/t\#($0)","values":{"name":"n"\#(values)}}"# }
      _ = try save(
        #"{"insert":[\#(inserts.joined(separator: ","))],"durability":"normal"}"#,
        on: connection
      )
      rest -= batch
    }
  }

  /// `@add` and `@remove` of one object on a to-many of so many members.
  static func members(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    let count = try options.number("count", default: 1000)
    let rounds = try options.number("rounds", default: 300)
    let made = try save(
      #"{"insert":[{"id":"Box/t1","values":{"things":["Thing/t2"]}},{"id":"Thing/t1"},"#
        + #"{"id":"Thing/t2"}],"durability":"normal"}"#,
      on: connection
    )
    let (box, thing) = (try id("Box/t1", made), try id("Thing/t1", made))
    try insert(count, values: #","box":"\#(box)""#, on: connection)
    var latencies = Latencies(reserving: 2 * rounds)
    for round in 0..<2 * rounds {
      let change = round.isMultiple(of: 2) ? "@add" : "@remove"
      let request = Cordial.request(
        "save",
        #"{"update":[{"id":"\#(box)","values":{"things":{"\#(change)":["\#(thing)"]}}}],"#
          + #""durability":"normal"}"#
      )
      let start = ContinuousClock.now
      let answer = try connection.exchange(request, LineFormat())
      latencies.add(ContinuousClock.now - start)
      _ = try Cordial.result(of: answer)
    }
    return Report(latencies)
  }

  /// A delete of so many objects, its undo and the redo.
  static func undo(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    let count = try options.number("count", default: 100_000)
    try insert(count, on: connection)
    func time(_ method: String, _ parameters: String) throws -> Double {
      let start = ContinuousClock.now
      let answer = try connection.exchange(
        Cordial.request(method, parameters),
        LineFormat()
      )
      let seconds = (ContinuousClock.now - start).seconds
      _ = try Cordial.result(of: answer)
      return seconds
    }
    var report = Report()
    report.add(
      "deleteSeconds",
      try time("delete", #"{"entity":"Thing","predicate":"TRUEPREDICATE","author":"bench"}"#)
    )
    let undo = try time("undo", #"{"author":"bench"}"#)
    report.add("undoSeconds", undo)
    report.add("undoMicrosecondsEach", undo * 1e6 / Double(count))
    report.add("redoSeconds", try time("redo", #"{"author":"bench"}"#))
    return report
  }

  /// Saves of a thousand objects, each of which links the same targets.
  static func targets(_ options: Options) throws -> Report {
    let connection = try Connection(to: options.text("socket"))
    let count = try options.number("count", default: 10)
    let tags = (0..<count).map { #"{"id":"Tag/t\#($0)"}"# }.joined(separator: ",")
    let made = try save(#"{"insert":[\#(tags)],"durability":"normal"}"#, on: connection)
    let ids = try (0..<count).map { try id("Tag/t\($0)", made) }
    // Each object links ten of the targets.
    let inserts = (0..<1000).map { thing in
      let list = (0..<10).map { "\"\(ids[(thing * 7 + $0) % count])\"" }.joined(separator: ",")
      return #"{"id":"Thing/t\#(thing)","values":{"name":"n","tags":[\#(list)]}}"#
    }
    let parameters = #"{"insert":[\#(inserts.joined(separator: ","))],"durability":"normal"}"#
    let request = Cordial.request("save", parameters)
    var latencies = Latencies(reserving: 20)
    for _ in 0..<20 {
      let start = ContinuousClock.now
      let answer = try connection.exchange(request, LineFormat())
      latencies.add(ContinuousClock.now - start)
      _ = try Cordial.result(of: answer)
    }
    return Report(latencies)
  }
}
