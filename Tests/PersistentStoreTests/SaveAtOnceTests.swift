import CordialValues
import FoundationEssentials
import JSON
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let model = """
  {"name":"M","entities":[
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true},
      {"name":"count","type":"int64","derived":"tasks.@count"}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"group",
       "deleteRule":"cascade"}]},
    {"name":"Task","attributes":[{"name":"title","type":"string","optional":true},
       {"name":"n","type":"int64","default":0}],
     "relationships":[{"name":"group","destination":"Group","inverse":"tasks",
       "optional":true}]}]}
  """

private func request(_ text: String, of source: Int = 1) throws -> SaveRequest {
  var request = SaveRequest(try JSONParser.parse(text))
  request.wantsIDs = false
  request.source = source
  return request
}

/// A store of which source 1 made the last save.
private func makeStore() async throws -> TestStore {
  let store = try TestStore(model)
  _ = try await store.outcome(
    request(#"{"insert":[{"id":"Group/t1","values":{"title":"g"}}],"durability":"normal"}"#)
  )
  try await becomesIdle(store)
  return store
}

/// Waits until the queue is idle: it reports the outcome of its last save just before.
private func becomesIdle(_ store: TestStore, source: Int = 1) async throws {
  let nothing = try request(#"{"durability":"normal"}"#, of: source)
  for _ in 0..<6000 {
    if let outcome = store.store.saveAtOnce(nothing) {
      _ = try outcome.get()
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("the queue is never idle")
}

@Suite struct `A small save on the caller's thread` {
  private static let small =
    #"{"insert":[{"id":"Task/t1","values":{"title":"a"}}],"durability":"normal"}"#

  // Evidence: P-060a
  @Test func `is committed when it returns`() async throws {
    let store = try await makeStore()
    let outcome = try #require(store.store.saveAtOnce(request(Self.small))).get()
    #expect(outcome.token.number == 2)
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=a"])
    #expect(try store.rows("SELECT max(number) FROM cordial_transaction") == ["2"])
  }

  @Test(arguments: [
    #"{"insert":[{"id":"Task/t1"}]}"#, #"{"insert":[{"id":"Task/t1"}],"durability":"full"}"#,
    #"{"insert":[{"id":"Task/t1"}],"durability":"normal","dryRun":true}"#,
    #"{"updateMatching":{"entity":"Task","set":{"n":1}},"durability":"normal"}"#,
    #"{"deleteMatching":{"entity":"Task"},"durability":"normal"}"#,
    #"{"undo":1,"durability":"normal"}"#,
    #"{"update":[{"id":"Group/p1","values":{"tasks":{"@add":[]}}}],"durability":"normal"}"#,
  ])
  func `is refused where it may take long`(text: String) async throws {
    let store = try await makeStore()
    #expect(try store.store.saveAtOnce(request(text)) == nil)
    #expect(try store.rows("SELECT max(number) FROM cordial_transaction") == ["1"])
  }

  @Test func `is refused beyond eight changes or four kilobytes`() async throws {
    let store = try await makeStore()
    func inserts(_ count: Int, _ title: String) -> String {
      let insert = #"{"id":"Task/t1","values":{"title":"\#(title)"}}"#
      let list = Array(repeating: insert, count: count).enumerated().map { index, text in
        text.replacing("t1", with: "t\(index)")
      }
      return #"{"insert":[\#(list.joined(separator: ","))],"durability":"normal"}"#
    }
    #expect(try store.store.saveAtOnce(request(inserts(8, "a"))) != nil)
    #expect(try store.store.saveAtOnce(request(inserts(9, "a"))) == nil)
    #expect(
      try store.store.saveAtOnce(request(inserts(1, String(repeating: "a", count: 4000)))) != nil
    )
    #expect(
      try store.store.saveAtOnce(request(inserts(1, String(repeating: "a", count: 4100)))) == nil
    )
    #expect(try store.rows("SELECT count(*) FROM Task") == ["9"])
  }

  @Test func `is refused where an ID is long`() async throws {
    let store = try await makeStore()
    let name = String(repeating: "a", count: 4100)
    for save in [
      #"{"insert":[{"id":"Task/t\#(name)"}]}"#, #"{"insert":[{"entity":"\#(name)"}]}"#,
      #"{"update":[{"id":"Task/s\#(name)","values":{}}]}"#, #"{"delete":["Task/s\#(name)"]}"#,
    ] {
      let save = save.dropLast() + #","durability":"normal"}"#
      #expect(try store.store.saveAtOnce(request(String(save))) == nil)
    }
  }

  // Evidence: P-060a
  @Test func `is refused where the object has a long value, which the queue keeps`() async throws {
    let store = try await makeStore()
    let long = String(repeating: "é", count: StoreReader.loopValueBytesMax)
    let insert = #"{"insert":[{"id":"Task/t1","values":{"title":"\#(long)"}}]}"#
    _ = try await store.outcome(request(insert))
    try await becomesIdle(store)
    let update = #"{"update":[{"id":"Task/p1","values":{"n":5}}],"durability":"normal"}"#
    #expect(try store.store.saveAtOnce(request(update)) == nil)
    _ = try await store.outcome(request(update))
    #expect(try store.lines("Task n") == ["Task/p1 v2 n=5"])
    try await becomesIdle(store)
    // The connection reads and writes long values after that, too.
    _ = try await store.outcome(
      request(#"{"update":[{"id":"Task/p1","values":{"title":"\#(long)x"}}]}"#)
    )
    #expect(try store.rows("SELECT length(title) FROM Task") == ["\(long.count + 1)"])
  }

  /// The queue commits the saves of several sources together.
  @Test func `is refused to another source than that of the last save`() async throws {
    let store = try await makeStore()
    #expect(try store.store.saveAtOnce(request(Self.small, of: 2)) == nil)
    _ = try await store.outcome(request(Self.small, of: 2))
    try await becomesIdle(store, source: 2)
    #expect(try store.store.saveAtOnce(request(Self.small, of: 1)) == nil)
    #expect(try store.store.saveAtOnce(request(Self.small, of: 2)) != nil)
  }

  // Evidence: P-101
  @Test func `that is refused stores nothing, and the next one succeeds`() async throws {
    let store = try await makeStore()
    let wrong = #"{"insert":[{"id":"Task/t1"},{"id":"Task/t2","values":{"n":"x"}}],"#
    let outcome = try #require(store.store.saveAtOnce(request(wrong + #""durability":"normal"}"#)))
    let refused = try await store.refusal(wrong + #""durability":"normal"}"#)
    guard case .failure(let error) = outcome else {
      Issue.record("it was saved")
      return
    }
    #expect(error.code.rawValue == refused?.code)
    #expect(try store.rows("SELECT count(*) FROM Task") == ["0"])
    let again = #"{"insert":[{"id":"Task/t1","values":{"title":"b"}}],"durability":"normal"}"#
    var next = try request(again)
    next.source = 0
    try await becomesIdle(store, source: 0)
    #expect(try store.store.saveAtOnce(next)?.get().token.number == 2)
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=b"])
  }

  @Test func `does not wait for another process`() async throws {
    let store = try await makeStore()
    let other = try ForeignConnection(store.folder.path + "/store.sqlite")
    try other.execute("BEGIN IMMEDIATE")
    let save = try request(Self.small)
    let start = ContinuousClock.now
    let outcome = store.store.saveAtOnce(save)
    // A connection that waits does so for five seconds.
    #expect(start.duration(to: .now) < .seconds(4))
    #expect(outcome == nil)
    try other.execute("COMMIT")
    #expect(try store.store.saveAtOnce(request(Self.small)) != nil)
    #expect(try store.rows("SELECT count(*) FROM Task") == ["1"])
  }

  // Evidence: P-070a
  @Test func `leaves the changes of an external client to the queue`() async throws {
    let store = try await makeStore()
    try store.foreign("INSERT INTO Task(title, n) VALUES ('external', 0)")
    #expect(try store.store.saveAtOnce(request(Self.small)) == nil)
    #expect(try store.rows("SELECT count(*) FROM Task") == ["1"])
    #expect(try await store.outcome(request(Self.small)).token.number == 3)
    #expect(
      try store.rows("SELECT author FROM cordial_transaction WHERE number > 1") == [
        "external", "null",
      ]
    )
  }

  @Test func `is left to the queue as a whole when it takes too many instructions`() async throws {
    let store = try await makeStore()
    let tasks = (0..<20_000).map { #"{"id":"Task/t\#($0)","values":{"group":"Group/p1"}}"# }
    _ = try await store.outcome(request(#"{"insert":[\#(tasks.joined(separator: ","))]}"#))
    // The log may have to be written from its beginning, which the queue does.
    _ = try await store.outcome(request(Self.small))
    try await becomesIdle(store)
    let delete = #"{"delete":["Group/p1"],"durability":"normal"}"#
    #expect(try store.store.saveAtOnce(request(delete)) == nil)
    #expect(try store.rows("SELECT count(*) FROM Task") == ["20001"])
    #expect(try store.rows(#"SELECT "count" FROM "Group""#) == ["20000"])
    #expect(try store.store.saveAtOnce(request(Self.small)) != nil)
    _ = try await store.outcome(request(delete))
    let rows = #"SELECT count(*) FROM Task UNION ALL SELECT count(*) FROM "Group""#
    #expect(try store.rows(rows) == ["2", "0"])
  }

  /// SQLite also counts instructions in the statement that commits, and after it.
  @Test func `is stored once, wherever its instructions end`() async throws {
    let store = try await makeStore()
    var refused = 0
    for number in 1...3000 {
      let insert = #"{"insert":[{"id":"Task/t1","values":{"n":\#(number)}}],"#
      let save = try request(insert + #""durability":"normal"}"#)
      if let outcome = store.store.saveAtOnce(save, instructionsMax: 0) {
        _ = try outcome.get()
      } else {
        refused += 1
        _ = try await store.outcome(save)
      }
    }
    #expect(refused > 100 && refused < 2900, "\(refused)")
    #expect(try store.rows("SELECT count(*), count(DISTINCT n) FROM Task") == ["3000|3000"])
    #expect(try store.rows("SELECT max(number) FROM cordial_transaction") == ["3001"])
  }

  @Test func `leaves the write-ahead log to the queue`() async throws {
    let store = try await makeStore()
    let file = URL(filePath: store.folder.path + "/store.sqlite")
    let before = try Data(contentsOf: file)
    var count = 0
    while try store.store.saveAtOnce(request(Self.small)) != nil { count += 1 }
    // Each takes several pages, and the log is long with a thousand.
    #expect(count > 50 && count < 1000, "\(count)")
    #expect(try Data(contentsOf: file) == before)
    _ = try await store.outcome(request(Self.small))
    #expect(try Data(contentsOf: file) != before)
    // The next commit writes the log from its beginning, after an fsync.
    #expect(try store.store.saveAtOnce(request(Self.small)) == nil)
    _ = try await store.outcome(request(Self.small))
    try await becomesIdle(store)
    #expect(try store.store.saveAtOnce(request(Self.small)) != nil)
  }

  // Evidence: P-060a
  @Test func `neither overtakes nor loses a save of the queue`() async throws {
    let store = try await makeStore()
    let each = 400
    try await withThrowingTaskGroup(of: Int.self) { group in
      let opened = store.store
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<each {
            let save = try request(Self.small)
            _ = try await withCheckedThrowingContinuation { continuation in
              opened.save(save) { continuation.resume(with: $0) }
            }
          }
          return each
        }
      }
      group.addTask {
        var count = 0
        for _ in 0..<20 * each {
          if let outcome = try opened.saveAtOnce(request(Self.small)) {
            _ = try outcome.get()
            count += 1
          }
        }
        return count
      }
      var expected = 0
      for try await count in group { expected += count }
      #expect(expected > 2 * each)
      #expect(try store.rows("SELECT count(*) FROM Task") == ["\(expected)"])
      let last = try store.rows("SELECT max(number), count(*) FROM cordial_transaction")
      #expect(last == ["\(expected + 1)|\(expected + 2)"])
    }
  }

  // Evidence: P-060a
  @Test(arguments: Seeds.first(20))
  func `has the same effect as one of the queue`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let (first, second) = (try await makeStore(), try await makeStore())
    var count = 0
    for step in 0..<150 {
      let text = Self.save(&random)
      let expected = await Self.result { try await second.outcome(request(text)) }
      let found: String
      if let outcome = try first.store.saveAtOnce(request(text)) {
        count += 1
        found = await Self.result { try TestOutcome(outcome.get(), first.store.model) }
      } else {
        found = await Self.result { try await first.outcome(request(text)) }
      }
      try #require(found == expected, "step \(step): \(text)\n\(Seeds.repeating(seed))")
    }
    for sql in [
      "SELECT * FROM Task", #"SELECT * FROM "Group""#, "SELECT * FROM cordial_change",
      "SELECT number, lastChange, author FROM cordial_transaction",
    ] {
      #expect(try first.rows(sql) == second.rows(sql), "\(Seeds.repeating(seed))")
    }
    #expect(count > 75, "\(Seeds.repeating(seed))")
  }

  private static func result(_ body: () async throws -> TestOutcome) async -> String {
    do {
      let outcome = try await body()
      return "\(outcome.token.number) \(outcome.body.text)"
    } catch {
      return "\(error)"
    }
  }

  private static func save(_ random: inout SplitMix64) -> String {
    let task = "Task/p\(1 + random.below(20))"
    let group = random.pick(["null", #""Group/p1""#, #""Group/p2""#])
    let change =
      switch random.below(6) {
      case 0, 1:
        #""insert":[{"id":"Task/t1","values":{"title":"\#(random.below(9))","group":\#(group)}}]"#
      case 2: #""insert":[{"id":"Group/t1","values":{"title":"h"}}]"#
      case 3: #""update":[{"id":"\#(task)","version":1,"values":{"n":\#(random.below(9))}}]"#
      case 4: #""update":[{"id":"\#(task)","values":{"group":\#(group)}}]"#
      default: #""delete":["\#(random.oneIn(4) ? "Group/p\(1 + random.below(3))" : task)"]"#
      }
    return "{\(change),\"author\":\"a\",\"durability\":\"normal\"}"
  }
}
