import CHeap
import Cordial
import CordialProtocol
import CordialValues
import Dispatch
import Foundation
import Glibc
import JSON
import Observation
import Synchronization

/// An object of the store of `observe-model`, as a program would declare it.
private struct StoredItem: ObjectValue {
  static let entity = "Item"

  var id: WrappedID
  var rank: Int
  var kind: Int
  var count: Int
  var title: String
  var text: String
  var group: WrappedID?
}

/// A struct of eight properties.
private struct Record: ObjectValue {
  static let entity = "Record"

  var id: WrappedID
  var title: String
  var summary: String?
  var done: Bool
  var priority: Int
  var size: Int
  var weight: Double
  var author: String
}

/// `client-*`: what the Swift library adds to the bytes of the protocol.
enum SwiftClient {
  /// Runs asynchronous work to its end.
  private static func blocking(
    _ work: @escaping @Sendable () async throws -> Report
  ) throws -> Report {
    let outcome = Mutex<Result<Report, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      do {
        let report = try await work()
        outcome.withLock { $0 = .success(report) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
      done.signal()
    }
    done.wait()
    guard let outcome = outcome.withLock({ $0 }) else { throw BenchmarkError("No outcome") }
    return try outcome.get()
  }

  /// The bytes that the heap has given out.
  fileprivate static func heap() -> Double {
    Double(heap_bytes())
  }

  private static let request = FetchRequest<StoredItem>(sort: ["rank"])

  // MARK: Opening

  /// A result of all objects, until its first 50 values are readable, beside its raw answer.
  static func open(_ options: Options) throws -> Report {
    let socket = try options.text("socket")
    let rounds = try options.number("rounds", default: 20)
    let message = Cordial.request(
      "observe",
      #"{"fetch":\#(request.params),"mode":"ids","first":50}"#
    )
    return try blocking {
      let raw = try Connection(to: socket)
      let count = try Cordial.objectCount(on: raw)
      let bench = Bench(try await Client.socket(socket))
      var (ours, theirs) = (Latencies(reserving: rounds), Latencies(reserving: rounds))
      for _ in 0..<rounds {
        let start = ContinuousClock.now
        let answer = try raw.exchange(message, LineFormat())
        let parsed = try JSONParser.parse(answer.span)
        theirs.add(ContinuousClock.now - start)
        guard let name = parsed["result"]?["subscription"]?.string,
          parsed["result"]?["result"]?["ids"]?.array?.count == count
        else { throw BenchmarkError("The answer has not all IDs") }
        _ = try Cordial.call("unobserve", #"{"subscription":"\#(name)"}"#, on: raw)
        ours.add(try await bench.open(request, count: count))
      }
      var report = Report(ours)
      report.add("rawP50Microseconds", theirs.percentile(0.5))
      report.add("bytesPerRow", try await bench.memory(request, count: count) / Double(count))
      return report
    }
  }

  /// One attribute of 1,000 objects is saved, until the observers of all are notified.
  static func values(_ options: Options) throws -> Report {
    let socket = try options.text("socket")
    let rounds = try options.number("rounds", default: 50)
    let count = try options.number("count", default: 1000)
    let ids = (1...count).map { "Item/p\($0)" }
    let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
    @Sendable func save(_ round: Int) -> [UInt8] {
      let updates = ids.map { #"{"id":"\#($0)","values":{"count":\#(round)}}"# }
      return Cordial.request("save", #"{"update":[\#(updates.joined(separator: ","))]}"#)
    }
    var theirs = Latencies(reserving: rounds)
    do {
      let (raw, writer) = (try Connection(to: socket), try Connection(to: socket))
      _ = try Cordial.call("observe", #"{"ids":[\#(list)]}"#, on: raw)
      for round in 0..<rounds {
        try writer.send(save(1_000_000 + round))
        try LineFormat().refuseError(writer.receive(LineFormat()))
        let start = ContinuousClock.now
        let message = try raw.receive(LineFormat())
        guard Bytes.contains("\"changes\"", in: Array(message.prefix(200))) else {
          throw BenchmarkError("This is no changes")
        }
        theirs.add(ContinuousClock.now - start)
      }
    }
    let raw = theirs
    let messages = (0..<rounds).map { save(2_000_000 + $0) }
    return try blocking {
      let bench = Bench(try await Client.socket(socket))
      let objects = try await bench.objects(ids)
      let writer = try Connection(to: socket)
      var ours = Latencies(reserving: rounds)
      for message in messages {
        let notified = Mutex(0)
        let (all, finish) = AsyncStream.makeStream(of: Void.self)
        for object in objects {
          withObservationTracking {
            _ = object.wrappedValue
          } onChange: {
            let isLast = notified.withLock { notified in
              notified += 1
              return notified == objects.count
            }
            if isLast { finish.finish() }
          }
        }
        try writer.send(message)
        try LineFormat().refuseError(writer.receive(LineFormat()))
        let start = ContinuousClock.now
        for await _ in all {}
        ours.add(ContinuousClock.now - start)
      }
      var report = Report(ours)
      report.add("rawP50Microseconds", raw.percentile(0.5))
      return report
    }
  }

  /// A fetch of one object as a value, beside the same fetch as JSON.
  static func call(_ options: Options) throws -> Report {
    let socket = try options.text("socket")
    let rounds = try options.number("rounds", default: 3000)
    return try blocking {
      let client = try await Client.socket(socket)
      let request = FetchRequest<StoredItem>(predicate: "rank == \(500)", limit: 1)
      let call = try FetchCall(try JSONParser.parse(request.params))
      var (ours, theirs) = (Latencies(reserving: rounds), Latencies(reserving: rounds))
      for _ in 0..<rounds {
        var start = ContinuousClock.now
        let answer = try await client.call(call)
        theirs.add(ContinuousClock.now - start)
        start = ContinuousClock.now
        let values = try await client.fetch(request)
        ours.add(ContinuousClock.now - start)
        guard values.count == 1, answer.objects?.count == 1 else {
          throw BenchmarkError("The fetch has not one object")
        }
      }
      var report = Report(ours)
      report.add("rawP50Microseconds", theirs.percentile(0.5))
      report.add("moreMicroseconds", ours.percentile(0.5) - theirs.percentile(0.5))
      return report
    }
  }

  // MARK: Values

  /// Structs from the bytes of an answer, beside Foundation's decoder with the same bytes.
  static func decode(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 10_000)
    let passes = try options.number("passes", default: 10)
    func members(_ number: Int) -> String {
      let summary = number % 2 == 0 ? "null" : "\"a summary of some words \(number)\""
      return #""title":"title \#(number)","summary":\#(summary),"done":\#(number % 3 == 0),"#
        + #""priority":\#(number % 5),"size":\#(number * 1000),"weight":\#(number).5,"author":"Ann""#
    }
    let wire = (0..<count).map {
      #"{"id":"Record/p\#($0 + 1)","version":1,"values":{\#(members($0))}}"#
    }
    let plain = (0..<count).map { #"{"id":"Record/p\#($0 + 1)",\#(members($0))}"# }
    let bytes = Array("[\(wire.joined(separator: ","))]".utf8)
    let data = Data("[\(plain.joined(separator: ","))]".utf8)
    let decoder = JSONDecoder()
    var (ours, theirs) = (Latencies(reserving: passes), Latencies(reserving: passes))
    for _ in 0..<passes {
      var start = ContinuousClock.now
      let values = try (JSONParser.parse(bytes.span).array ?? []).map {
        try ValueDecoder.decode(Record.self, from: $0)
      }
      ours.add(ContinuousClock.now - start)
      start = ContinuousClock.now
      let others = try decoder.decode([Record].self, from: data)
      theirs.add(ContinuousClock.now - start)
      guard values == others else { throw BenchmarkError("The decoders differ") }
    }
    var report = Report(ours)
    report.add("foundationP50Microseconds", theirs.percentile(0.5))
    return report
  }

  /// One more object in the middle of a list of mocks, until the result has it.
  static func mock(_ options: Options) throws -> Report {
    let count = try options.number("count", default: 100_000)
    let rounds = try options.number("rounds", default: 50)
    return try blocking { Report(try await MockBench().insert(count: count, rounds: rounds)) }
  }
}

/// The owner of results that are measured.
private actor Bench {
  private let client: Client

  init(_ client: Client) {
    self.client = client
  }

  /// Opens a result, and returns the time until its first 50 values are readable.
  func open(_ request: FetchRequest<StoredItem>, count: Int) async throws -> Duration {
    let start = ContinuousClock.now
    let results = FetchedResults(.fetchRequest(client.objects(StoredItem.self)), request: request)
    try await ready(results, count)
    return ContinuousClock.now - start
  }

  private func ready(_ results: FetchedResults<StoredItem>, _ count: Int) async throws {
    for await _ in results.changes where results.count == count { break }
    guard results.prefix(50).allSatisfy({ $0.wrappedValue != nil }) else {
      throw BenchmarkError("A value of the first rows is not readable")
    }
  }

  /// The bytes of a result of which 50 rows are read.
  func memory(_ request: FetchRequest<StoredItem>, count: Int) async throws -> Double {
    // What was measured before is released in turns of other threads.
    var before = SwiftClient.heap()
    for _ in 0..<100 {
      _ = try await client.call(StatusCall())
      let now = SwiftClient.heap()
      if now == before { break }
      before = now
    }
    let results = FetchedResults(.fetchRequest(client.objects(StoredItem.self)), request: request)
    try await ready(results, count)
    // What the answer was parsed into is released by then.
    _ = try await client.call(StatusCall())
    let bytes = SwiftClient.heap() - before
    guard results.count == count else { throw BenchmarkError("The result has changed") }
    return bytes
  }

  /// Live objects whose values are loaded.
  func objects(_ ids: [String]) async throws -> [AnyConvertibleValueObject<StoredItem>] {
    let source = FetchDataSource.fetchRequest(client.objects(StoredItem.self))
    let objects = ids.compactMap { WrappedID($0).flatMap { source.object(with: $0) } }
    for object in objects {
      for await value in object.values where value != nil { break }
    }
    return objects
  }
}

private actor MockBench {
  func insert(count: Int, rounds: Int) async throws -> Latencies {
    func record(_ number: Int) -> Record {
      Record(
        id: .integer(number),
        title: "\(number)",
        done: false,
        priority: 0,
        size: 0,
        weight: 0,
        author: ""
      )
    }
    let mocks = MockObjects((0..<count).map(record))
    let results = FetchedResults(.mockObjects(mocks))
    for await _ in results.changes where results.count == count { break }
    var latencies = Latencies(reserving: rounds)
    for round in 0..<rounds {
      let changes = results.changes
      let object = Mock(record(count + round)).eraseToAny()
      let start = ContinuousClock.now
      mocks.insert(object, at: count / 2)
      for await _ in changes where results.count == count + round + 1 { break }
      latencies.add(ContinuousClock.now - start)
    }
    return latencies
  }
}
