// TestStores: a store in a folder of its own, with requests and results in the JSON of the wire.
//
// Must not know: the behaviour that a test checks.
//
// What always holds:
// 1. Time and randomness are counters, so that the same calls give the same history.
// 2. `foreign` writes through a connection that has none of Cordial's functions.

import CordialService
package import CordialValues
package import JSON
import ObjectModel
package import PersistentStore
import Synchronization

/// A store of one test.
package final class TestStore {
  package let folder: TestFolder
  package let store: PersistentStore
  private var reader: StoreReader?

  private static let randomCounter = Atomic<UInt32>(0)

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - model: The text of the model file, or nil for the model of the existing store.
  ///   - folder: The folder of the store, or nil for a new folder.
  ///   - mode: The mode in which the store is opened.
  ///   - bulk: The limits from which rows are written in bulk.
  ///   - start: The time of the first commit, in milliseconds. A service purges what is too old.
  /// - Throws: `ModelError` or `StoreError`.
  package init(
    _ model: String?,
    in folder: TestFolder? = nil,
    mode: StoreContainer.Mode = .readWrite,
    bulk: BulkLimits = BulkLimits(),
    start: Int64 = 1_700_000_000_000
  ) throws {
    var tuning = StoreTuning()
    tuning.bulk = bulk
    let folder = try folder ?? TestFolder()
    self.folder = folder
    store = try PersistentStore(
      container: StoreContainer(path: folder.path),
      model: try model.map { try ModelDocument.parse(Array($0.utf8).span) },
      mode: mode,
      environment: Self.environment(start: start),
      tuning: tuning
    )
  }

  deinit {
    store.close()
  }

  /// Returns an environment with an increasing time and random numbers that do not repeat.
  package static func environment(start: Int64 = 1_700_000_000_000) -> StoreEnvironment {
    let time = Counter(start)
    return StoreEnvironment(
      now: { time.next() },
      random: { randomCounter.add(1, ordering: .relaxed).newValue &* 2_654_435_761 }
    )
  }

  private final class Counter: Sendable {
    private let value: Atomic<Int64>

    init(_ start: Int64) {
      value = Atomic(start)
    }

    func next() -> Int64 { value.add(1, ordering: .relaxed).newValue }
  }

  // MARK: Writing

  /// Saves a request and returns the outcome.
  package func outcome(_ request: SaveRequest) async throws -> TestOutcome {
    let outcome: SaveOutcome = try await withCheckedThrowingContinuation { continuation in
      store.save(request) { continuation.resume(with: $0) }
    }
    return try TestOutcome(outcome, store.model)
  }

  /// Saves a request in JSON and returns the outcome.
  package func outcome(_ text: String) async throws -> TestOutcome {
    try await outcome(SaveRequest(try JSONParser.parse(text)))
  }

  /// Saves a request in JSON and returns `{"ids":…,"objects":…}`.
  @discardableResult
  package func save(_ text: String) async throws -> JSONValue {
    try await outcome(text).body
  }

  /// Returns the name and the data of the error of a save, or nil if the save succeeds.
  package func refusal(_ text: String) async throws -> (code: String, data: JSONValue)? {
    do {
      try await save(text)
      return nil
    } catch let error as StoreError {
      let problems = error.problems.map { $0.json(code: $0.code.wireCode) }
      let more = problems.isEmpty ? [] : [JSONMember("problems", .array(problems))]
      return (error.code.rawValue, .object(error.data + more))
    }
  }

  /// Seals the changes of external SQLite clients, and returns the number of the newest commit.
  @discardableResult
  package func seal() async throws -> Int64 {
    try await withCheckedThrowingContinuation { continuation in
      store.seal { continuation.resume(with: $0) }
    }
  }

  /// Opens the store of a folder with a chain of versions of its model, oldest first.
  package static func open(_ chain: [String], in folder: TestFolder) throws -> PersistentStore {
    let models = try chain.map { try ModelDocument.parse(Array($0.utf8).span) }
    return try PersistentStore(
      container: StoreContainer(path: folder.path),
      model: models[models.count - 1],
      earlier: { Array(models.dropLast()) },
      mode: .readWrite,
      environment: environment()
    )
  }

  /// Runs SQL as an external SQLite client.
  package func foreign(_ sql: String) throws {
    try ForeignConnection(folder.path + "/store.sqlite").execute(sql)
  }

  /// Returns the rows of a query as an external SQLite client reads them, with `|` between values.
  package func rows(_ sql: String) throws -> [String] {
    try ForeignConnection(folder.path + "/store.sqlite").rows(sql).map { row in
      row.map { value in
        if case .blob(let bytes) = value { "\(bytes.count) bytes" } else { value.description }
      }.joined(separator: "|")
    }
  }

  // MARK: Reading

  /// Whether reads show the newest sealed commit while changes are not sealed.
  package var hidesUnsealed = false

  /// The commit whose state reads show; nil for the newest one.
  package var past: StoreToken?

  /// Reads in one snapshot.
  @discardableResult
  package func snapshot<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws -> Answer {
    let reader = try self.reader ?? store.makeReader()
    self.reader = reader
    if let past { return try reader.snapshot(asOf: past, body) }
    return try reader.snapshot(hidingUnsealed: hidesUnsealed, body)
  }

  /// Returns the objects of a fetch.
  package func fetch(_ text: String) throws -> [JSONValue] {
    let request = FetchRequest(try JSONParser.parse(text))
    return try snapshot { snapshot in
      var writer = JSONWriter()
      let (count, _) = try snapshot.writeObjects(
        try snapshot.plan(request),
        bytesMax: 1 << 26,
        to: &writer
      )
      let objects = try JSONParser.parse(writer.bytes.span).array ?? []
      guard objects.count == count else { throw Disagreement("\(count), \(objects.count)") }
      return objects
    }
  }

  /// Returns the IDs of a fetch, and compares its rows, its sequence of numbers and its count.
  package func ids(_ text: String) throws -> [String] {
    let request = FetchRequest(try JSONParser.parse(text))
    let objects = try fetch(text)
    let (keys, count) = try snapshot { snapshot in
      let plan = try snapshot.plan(request)
      return (
        try snapshot.objects(plan).map { try snapshot.wrappedID(plan.key($0)).description },
        try snapshot.count(plan)
      )
    }
    let ids = objects.compactMap { $0["id"]?.string }
    let skipped = min(Int(count), request.offset)
    let wanted = min(request.limit ?? Int.max, Int(count) - skipped)
    guard ids == keys, ids.count == wanted else {
      throw Disagreement("rows \(ids), numbers \(keys), count \(count)")
    }
    return ids
  }

  /// Returns the name and the data of the error of a fetch, or nil if the fetch succeeds.
  package func refusal(ofFetch text: String) throws -> (code: String, data: JSONValue)? {
    do {
      _ = try fetch(text)
      return nil
    } catch let error as StoreError {
      let problems = error.problems.map { $0.json(code: $0.code.wireCode) }
      let more = problems.isEmpty ? [] : [JSONMember("problems", .array(problems))]
      return (error.code.rawValue, .object(error.data + more))
    }
  }

  /// Returns objects as lines like `Task/p1 v2 title=Milk group=Group/p1`.
  ///
  /// - Parameter what: Entities with the properties to show, as `"Task title group; Group tasks"`.
  /// - Returns: A line for each object, in the order of the entities, then by number.
  /// - Throws: `StoreError`, or `UnsealedChanges`.
  package func lines(_ what: String) throws -> [String] {
    try what.split(separator: ";").flatMap { part in
      let words = part.split(separator: " ").map(String.init)
      let select = JSONValue.array(words.dropFirst().map { .string($0) })
      return try fetch(#"{"entity":"\#(words[0])","select":\#(select.text)}"#).map { object in
        let values = (object["values"]?.members ?? []).map {
          "\($0.name)=\($0.value.string ?? Self.list($0.value))"
        }
        return (["\(object["id"]?.string ?? "") v\(object["version"]?.integer ?? -1)"] + values)
          .joined(separator: " ")
      }
    }
  }

  private static func list(_ value: JSONValue) -> String {
    guard let elements = value.array else { return value.text }
    return "[" + elements.map { $0.string ?? $0.text }.joined(separator: ",") + "]"
  }

  /// The error of two reads of the store that return different results.
  package struct Disagreement: Error {
    package let what: String

    init(_ what: String) {
      self.what = what
    }
  }
}
