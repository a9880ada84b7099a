import Dispatch
import JSON
import Synchronization

/// Searches while something else happens: other searches, a comparison, saves, a start.
enum SearchLoad {
  /// Searches for two words, alone or beside other requests without a pause.
  static func beside(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 300)
    let socket = try options.text("socket")
    let others = try others(options.text("kind"))
    guard !others.isEmpty else { return Report(try search(rounds, on: socket)) }
    let work = OtherWork()
    let group = DispatchGroup()
    DispatchQueue.global().async(group: group) { work.run(others, on: socket) }
    let outcome = Result { try search(rounds, on: socket) }
    work.isDone.withLock { $0 = true }
    group.wait()
    if let error = work.failure.withLock({ $0 }) { throw error }
    return Report(try outcome.get())
  }

  private static func others(_ kind: String) throws -> [[UInt8]] {
    switch kind {
    case "alone": return []
    case "verify": return [Cordial.request("index/verify", "{}")]
    case "letters":
      return ["a", "b", "c", "d", "e", "f"].map { letter in
        Cordial.request("search", #"{"query":"\#(letter)","match":"all","prefix":true,"limit":10}"#)
      }
    default: throw BenchmarkError("Nothing beside a search is called \(kind)")
    }
  }

  private static func search(_ rounds: Int, on socket: String) throws -> Latencies {
    let connection = try Connection(to: socket)
    var latencies = Latencies(reserving: rounds)
    for query in try SearchCorpus.queries("two", count: rounds) {
      let message = Cordial.request("search", #"{"query":"\#(query)","match":"all","limit":10}"#)
      let start = ContinuousClock.now
      _ = try connection.exchange(message, LineFormat())
      latencies.add(ContinuousClock.now - start)
    }
    return latencies
  }

  /// A commit of one note that a hundred live searches find, until the last update is read.
  static func live(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 50)
    let socket = try options.text("socket")
    let observer = try Connection(to: socket)
    for number in 0..<100 {
      let search = #"{"search":{"query":"livenote part\#(number % 10)","match":"all","limit":10}}"#
      _ = try Cordial.call("observe", search, on: observer)
    }
    let parts = (0..<10).map { "part\($0)" }.joined(separator: " ")
    let writer = try Connection(to: socket)
    var latencies = Latencies(reserving: rounds)
    for _ in 0..<rounds {
      let values = #"{"title":"livenote","body":"\#(parts)","kind":1,"part":1,"count":0}"#
      let message = Cordial.request("save", #"{"insert":[{"entity":"Note","values":\#(values)}]}"#)
      let start = ContinuousClock.now
      try writer.send(message)
      var updates = 0
      while updates < 100 {
        let message = try observer.receive(LineFormat())
        let changes = try JSONParser.parse(message.span)
        updates += changes["params"]?["updates"]?.array?.count ?? 0
      }
      latencies.add(ContinuousClock.now - start)
      try LineFormat().refuseError(writer.receive(LineFormat()))
    }
    return Report(latencies)
  }

  /// One note, from its save until a search finds it.
  static func save(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 1500)
    let connection = try Connection(to: options.text("socket"))
    var latencies = Latencies(reserving: rounds)
    for round in 0..<rounds {
      let values = #"{"title":"saved\#(round)","body":"a b","kind":1,"part":1,"count":0}"#
      let save = Cordial.request(
        "save",
        #"{"insert":[{"entity":"Note","values":\#(values)}],"durability":"normal"}"#
      )
      let answer = try connection.exchange(save, LineFormat())
      let start = ContinuousClock.now
      let token = try Cordial.result(of: answer)["token"]?.string ?? ""
      let search = Cordial.request(
        "search",
        #"{"query":"saved\#(round)","match":"all","at":"\#(token)"}"#
      )
      let found = try connection.exchange(search, LineFormat())
      latencies.add(ContinuousClock.now - start)
      guard try Cordial.result(of: found)["total"] == 1 else {
        throw BenchmarkError("A search does not find what was saved")
      }
    }
    var report = Report(latencies)
    report.add("worstMicroseconds", latencies.percentile(1))
    return report
  }

  /// Commits that change nothing indexed: the processor time of the index, as a part of that of the
  /// service.
  static func idle(_ options: Options) throws -> Report {
    let rounds = try options.number("rounds", default: 10_000)
    let connection = try Connection(to: options.text("socket"))
    func used() throws -> Double {
      let status = try Cordial.call("index/status", on: connection)
      return Double(status["processorMicroseconds"]?.integer ?? 0)
    }
    try Cordial.waitUntilIndexed(on: connection)
    guard let process = try options.process() else { throw BenchmarkError("Which process?") }
    let (index, service) = (try used(), try process.processorSeconds())
    for round in 1...rounds {
      let update = #"{"id":"Note/p1","values":{"count":\#(round)}}"#
      let save = Cordial.request("save", #"{"update":[\#(update)],"durability":"normal"}"#)
      _ = try connection.exchange(save, LineFormat())
    }
    try Cordial.waitUntilIndexed(on: connection)
    let rest = try process.processorSeconds() - service
    var report = Report()
    report.add("percent", (try used() - index) / (rest * 1e6) * 100)
    return report
  }

  /// From the start of the program to the first hit of a search.
  static func start(_ options: Options) throws -> Report {
    let binary = try options.text("binary")
    let store = try options.text("store")
    let rounds = try options.number("rounds", default: 10)
    var latencies = Latencies(reserving: rounds)
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      let process = try ChildProcess(binary, ["serve", store, "--stdio"])
      try process.send(Cordial.request("search", #"{"query":"quarterly","match":"all","limit":1}"#))
      let drain = try Drain(from: process.output, until: .endOfLine)
      latencies.add(ContinuousClock.now - start)
      try LineFormat().refuseError(drain.beginning)
      try process.waitForSuccess()
    }
    return Report(latencies)
  }
}

/// Requests beside a measurement, until it is done.
private final class OtherWork: Sendable {
  let isDone = Mutex(false)
  let failure = Mutex<(any Error)?>(nil)

  func run(_ messages: [[UInt8]], on socket: String) {
    do {
      let connection = try Connection(to: socket)
      while !isDone.withLock({ $0 }) {
        for message in messages { _ = try connection.exchange(message, LineFormat()) }
      }
    } catch {
      failure.withLock { $0 = error }
    }
  }
}
