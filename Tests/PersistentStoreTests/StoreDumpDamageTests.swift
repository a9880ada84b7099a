import CordialValues
import Foundation
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Archives that are not what `StoreDump.write` gave.
// Evidence: P-135e
@Suite struct `A damaged archive` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"Person","attributes":[
         {"name":"code","type":"int64"},
         {"name":"name","type":"string","optional":true,"sorted":"localized"},
         {"name":"size","type":"double","optional":true},
         {"name":"photo","type":"binary","optional":true},
         {"name":"count","type":"int64","derived":"friends.@count"}],
       "relationships":[
         {"name":"friends","destination":"Person","toMany":true,"ordered":true}]},
      {"name":"Child","parent":"Person"}]}
    """

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func lines() async throws -> [JSONValue] {
    let store = try TestStore(Self.model, in: folder)
    try await store.save(
      """
      {"insert":[
        {"id":"Person/t1","values":{"code":1,"name":"a","size":0.1,"photo":"AQID",
          "friends":["Child/t2","Person/t1"]}},
        {"id":"Child/t2","values":{"code":2,"name":"b","size":1e300}},
        {"id":"Person/t3","values":{"code":3}}],"author":"one"}
      """
    )
    try await store.save(#"{"update":[{"id":"Person/p1","values":{"name":"x"}}],"author":"one"}"#)
    try await store.save(#"{"undo":1,"author":"one"}"#)
    try await store.save(#"{"delete":["Person/p2"]}"#)
    var lines: [JSONValue] = []
    _ = try StoreDump.write(StoreContainer(path: folder.path)) { lines.append($0) }
    return lines
  }

  private static func changed(_ lines: [JSONValue], _ random: inout SplitMix64) -> [UInt8] {
    var texts = lines.map(\.text)
    let line = random.below(texts.count)
    switch random.below(6) {
    case 0: texts.remove(at: line)
    case 1: texts.insert(texts[line], at: random.below(texts.count))
    case 2: texts.swapAt(line, random.below(texts.count))
    case 3: texts.removeLast(random.below(texts.count))
    case 4:
      // Another number in a row.
      let numbers = ["-1", "0", "9223372036854775807", "-9223372036854775808", "1e300", "null"]
      let number = random.pick(numbers)
      let parts = texts[line].split(separator: ",", omittingEmptySubsequences: false)
      let part = random.below(parts.count)
      texts[line] = parts.enumerated().map { index, text in
        index == part && text.allSatisfy(\.isNumber) ? number : String(text)
      }.joined(separator: ",")
    default:
      var bytes = Array(texts[line].utf8)
      for _ in 0..<random.pick([1, 1, 3]) {
        bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      }
      return Array(texts[..<line].map { $0 + "\n" }.joined().utf8) + bytes
        + Array(texts[(line + 1)...].map { "\n" + $0 }.joined().utf8)
    }
    return Array(texts.map { $0 + "\n" }.joined().utf8)
  }

  /// Opens a store that an archive has made, reads everything, and changes it.
  ///
  /// - Returns: Whether an error or the verification told of the damage.
  private func use(_ copy: StoreContainer, _ repeating: String) async throws -> Bool {
    let store: PersistentStore
    do {
      store = try PersistentStore(
        container: copy,
        model: nil,
        mode: .readWrite,
        environment: TestStore.environment()
      )
    } catch {
      #expect(error.code != .internalError, "\(error) \(repeating)")
      return true
    }
    defer { store.close() }
    var isTold = false
    func attempt(_ body: () async throws -> Void) async {
      do {
        try await body()
      } catch {
        isTold = true
        guard !(error is UnsealedChanges) else { return }
        let code = StoreError(any: error).code
        #expect(code != .internalError, "\(error) \(repeating)")
      }
    }
    await attempt {
      try store.makeReader().snapshot { snapshot in
        var verification = StoreVerification(snapshot)
        let problems = try verification.run()["problems"]
        if problems != [] { isTold = true }
        for entity in ["Person", "Child"] {
          let request = FetchRequest(try JSONParser.parse(#"{"entity":"\#(entity)"}"#))
          var writer = JSONWriter()
          _ = try snapshot.writeObjects(
            try snapshot.plan(request),
            bytesMax: 1 << 26,
            to: &writer
          )
        }
        _ = try snapshot.log.transactions(after: 0, through: .max, limit: .max)
      }
    }
    for text in [
      #"{"insert":[{"entity":"Person","values":{"code":3,"friends":["Person/p1"]}}]}"#,
      #"{"update":[{"id":"Person/p1","values":{"name":"z"}}]}"#, #"{"undo":1,"author":"one"}"#,
      #"{"delete":["Person/p1"]}"#,
    ] {
      await attempt {
        let request = try SaveRequest(JSONParser.parse(text))
        let _: SaveOutcome = try await withCheckedThrowingContinuation { continuation in
          store.save(request) { continuation.resume(with: $0) }
        }
      }
    }
    return isTold
  }

  /// The seeds are run in one test, which counts what was reached.
  @Test func `is refused, or makes a store that tells of its damage`() async throws {
    let lines = try await lines()
    let seeds = Seeds.first(60)
    var (refusals, told) = (0, 0)
    for seed in seeds {
      var random = SplitMix64(seed: seed)
      let bytes = Self.changed(lines, &random)
      let copy = StoreContainer(path: "\(folder.path)/copy\(seed)")
      do {
        try StoreDump.read(bytes, to: copy, environment: TestStore.environment())
      } catch {
        refusals += 1
        #expect(error.code != .internalError, "\(error) \(Seeds.repeating(seed))")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let isLeft = names.contains { $0 == "copy\(seed)" || $0.hasPrefix("copy\(seed).") }
        #expect(!isLeft, "\(names) \(Seeds.repeating(seed))")
        continue
      }
      if try await use(copy, Seeds.repeating(seed)) { told += 1 }
    }
    #expect(seeds.count < 60 || refusals > 0 && told > 0, "\(refusals), \(told)")
  }

  @Test(arguments: [
    "CREATE TABLE x AS SELECT 1", "CREATE TABLE x/*(*/AS SELECT 1",
    "CREATE TABLE \"(\" AS SELECT 1", "CREATE TABLE [x(] AS SELECT 1",
    "CREATE TABLE x--(\nAS SELECT 1", "CREATE TABLE x AS WITH RECURSIVE c(n) AS (SELECT 1)",
    "CREATE TABLE 'x''(' AS SELECT 1", "CREATE TABLE ", "CREATE TABLE \"x",
    "CREATE TEMP TABLE x(a)", "CREATE VIRTUAL TABLE x USING fts5(a)",
  ])
  func `with the query of a table is refused`(sql: String) async throws {
    let all = try await lines() + [["schema": .string(sql)]]
    let bytes = Array(all.map { $0.text + "\n" }.joined().utf8)
    let copy = StoreContainer(path: folder.path + "/copy")
    let error = try #require(throws: StoreError.self) {
      try StoreDump.read(bytes, to: copy, environment: TestStore.environment())
    }
    #expect(error.message.contains("is no part of one"), "\(error.message)")
  }

  @Test(arguments: [
    "CREATE TABLE x(a)", "CREATE TABLE \"a \"\"(\" (a, b)", "CREATE TABLE [a(]\n(a)",
    "CREATE TABLE 'x' /* of another program */ (a)", "CREATE TABLE x -- one\n(a) WITHOUT ROWID",
  ])
  func `is not one with the tables of other programs`(sql: String) async throws {
    var definition = sql
    if sql.hasSuffix("WITHOUT ROWID") {
      definition = sql.replacing("(a)", with: "(a PRIMARY KEY)")
    }
    let all = try await lines() + [["schema": .string(definition)]]
    let bytes = Array(all.map { $0.text + "\n" }.joined().utf8)
    let copy = StoreContainer(path: folder.path + "/copy")
    try StoreDump.read(bytes, to: copy, environment: TestStore.environment())
  }
}

/// Numbers of the file with which arithmetic would overflow.
@Suite struct `Numbers at the ends of their range` {
  @Test(
    arguments: [
      [Int64.max, nil, 3], [nil, Int64.min], [Int64.min, nil, Int64.max], [Int64.max, Int64.max],
      [nil, Int64.max, nil], [Int64.min, Int64.min, nil],
    ] as [[Int64?]]
  )
  func `are replaced as positions`(present: [Int64?]) {
    let positions = SortPositions.assign(present, gap: 10)
    #expect(positions == (1...present.count).map { Int64($0) * 10 })
  }

  @Test func `are times of followers`() {
    let times: [(seen: Int64, isExpired: Bool)] = [
      (.max, false), (.min, true), (0, true), (1_000_000, false),
    ]
    for (seen, isExpired) in times {
      let follower = Follower(name: "x", number: 0, lastRequest: seen)
      #expect(follower.isExpired(1_000_001, after: 1000) == isExpired, "\(seen)")
    }
  }

  @Test func `are no decimal numbers, however long`() {
    let digits = String(repeating: "7", count: 200_000)
    let points = String(repeating: ".", count: 200_000)
    let clock = ContinuousClock()
    let duration = clock.measure {
      for text in [digits, points, digits + "." + digits, "1e" + points, "1" + digits + "e5"] {
        #expect(DecimalNumber(text) == nil && DecimalNumber(exponential: text) == nil)
        #expect(DecimalText.canonical(text) == nil)
      }
    }
    #expect(duration < .seconds(10))
  }
}
