import CordialService
import Foundation
import JSON
import ObjectModel
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Values out of range in the tables of the store's log and metadata, and changed bytes.
// Evidence: P-005, P-101, P-131
@Suite struct `A damaged store` {
  private static let model = """
    {"name":"Work","version":"1","entities":[
      {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"group"}]},
      {"name":"Special","parent":"Group"},
      {"name":"Task","attributes":[
         {"name":"title","type":"string","optional":true,"sorted":"localized"},
         {"name":"rank","type":"int64","optional":true},
         {"name":"due","type":"date","optional":true},
         {"name":"cost","type":"decimal","optional":true},
         {"name":"count","type":"int64","derived":"labels.@count","optional":true}],
       "spotlight":{"displayName":"title"},
       "relationships":[
         {"name":"group","destination":"Group","inverse":"tasks","optional":true},
         {"name":"labels","destination":"Label","toMany":true,"inverse":"tasks"}]},
      {"name":"Label","identity":"name","attributes":[{"name":"name","type":"string"}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"inverse":"labels"}]}]}
    """

  private static let file = "store.sqlite"

  // MARK: A sound store

  /// A closed store with rows in each table of the log.
  private struct Sound {
    let folder: TestFolder
    /// Requests that read, with the answers to them.
    let requests: [(method: String, params: String)]
    let answers: [JSONValue]
    /// The content of all tables.
    let rows: [String]
  }

  private static func sound() throws -> Sound {
    var options = ServiceHost.Options()
    options.folder = try TestFolder()
    let host = try ServiceHost(model: model, options)
    let client = HostClient(host)
    var tokens: [String] = []
    func save(_ method: String, _ params: String) throws {
      let saved = try client.call(method, params)
      tokens.append(try #require(saved["token"]?.string, "\(saved.text)"))
    }
    let tasks = (1...40).map { number in
      #"{"id":"Task/t\#(number)","values":{"title":"task \#(number)","rank":\#(number % 7),"#
        + #""due":"2026-01-0\#(number % 9 + 1)T00:00:00.000Z","cost":"\#(number).5","#
        + #""group":"\#(number % 2 == 0 ? "Group/t100" : "Special/t101")","#
        + #""labels":["Label/sa"]}}"#
    }
    let others = [
      #"{"id":"Group/t100","values":{"title":"even"}}"#,
      #"{"id":"Special/t101","values":{"title":"odd"}}"#,
      #"{"id":"Label/sa"}"#, #"{"id":"Label/sb"}"#,
    ]
    try save("save", #"{"insert":[\#((others + tasks).joined(separator: ","))],"author":"ann"}"#)
    for number in 1...6 {
      let change = #"{"id":"Task/p\#(number)","values":{"title":"changed","labels":["Label/sb"]}}"#
      try save("save", #"{"update":[\#(change)],"author":"ann","context":"edit"}"#)
    }
    let moved = #"{"id":"Group/p1","values":{"tasks":{"@add":["Task/p8"],"@at":0}}}"#
    try save("save", #"{"update":[\#(moved)]}"#)
    try save("delete", #"{"ids":["Task/p9","Task/p10"]}"#)
    try save("undo", "{}")
    try save("undo", #"{"author":"ann"}"#)
    try save("redo", #"{"author":"ann"}"#)
    _ = try client.call("follower/register", #"{"name":"reader"}"#)
    let requests: [(method: String, params: String)] = [
      ("fetch", #"{"entity":"Task","sort":["title"]}"#),
      ("fetch", #"{"entity":"Task","sort":["title:localized"],"include":["group","labels"]}"#),
      ("fetch", #"{"entity":"Group","select":["title","tasks"]}"#),
      ("fetch", #"{"entity":"Task","predicate":"group.title == 'even' AND rank > 2"}"#),
      ("fetch", #"{"entity":"Label","select":["name","tasks.@count"]}"#),
      ("fetch", #"{"ids":["Task/p1","Task/p9","Special/p35184372088833","Label/sa"]}"#),
      ("fetch", #"{"entity":"Task","asOf":"\#(tokens[0])"}"#),
      ("fetch", #"{"entity":"Group","select":["tasks"],"asOf":"\#(tokens[4])"}"#),
      ("history", #"{"limit":1000}"#),
      ("history", #"{"since":"\#(tokens[2])","limit":3}"#),
      ("history", #"{"since":"2020-01-01T00:00:00.000Z","authors":["ann"]}"#),
      ("observe", #"{"fetch":{"entity":"Task"},"since":"\#(tokens[3])"}"#),
      ("undo", #"{"author":"ann","count":3,"dryRun":true}"#),
      ("redo", #"{"dryRun":true}"#),
      ("follower/list", "{}"), ("status", "{}"), ("search", #"{"query":"task"}"#),
    ]
    try host.close()
    let files = try DamagedFiles(copyOf: host.folder)
    let opened = try ServiceHost(model: nil, files.options)
    let answers = try Self.answers(requests, HostClient(opened))
    try opened.close()
    for answer in answers { try #require(answer["code"] == nil, "\(answer.text)") }
    let rows = try #require(Self.rows(try DamagedFiles(copyOf: host.folder)))
    return Sound(folder: host.folder, requests: requests, answers: answers, rows: rows)
  }

  private static func answers(
    _ requests: [(method: String, params: String)],
    _ client: HostClient
  ) throws -> [JSONValue] {
    try requests.map { method, params in
      let answer = try client.call(method, params)
      // The sizes of files, durations, folders and the numbers of subscriptions differ.
      let names = [
        "store", "subscription", "observing", "connections", "subscriptions", "slowSorts",
        "unusedIndexes", "key",
      ]
      return .object((answer.members ?? []).filter { !names.contains($0.name) })
    }
  }

  /// The rows of all tables as SQLite reads them without their indexes; nil for a damaged file.
  private static func rows(_ files: DamagedFiles) -> [String]? {
    guard
      let tables = files.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'cordial_lease'",
        in: file
      )
    else { return nil }
    var all: [String] = []
    for table in tables.sorted() {
      // The description of a text has quotes, as an identifier.
      guard let rows = files.rows("SELECT * FROM \(table) NOT INDEXED", in: file) else {
        return nil
      }
      all += rows.sorted().map { "\(table): \($0)" }
    }
    return all
  }

  // MARK: Damage

  /// What a damage led to.
  private enum Outcome: String {
    /// The store was not opened.
    case refused
    /// Some requests failed.
    case failed
    /// `store/verify` reported a problem.
    case reported
    /// All answers were those of the sound store.
    case equal
    /// The rows are others, which no check can tell from rows that a client has saved.
    case changed
  }

  private static let openingErrors: Set<StoreError.Code> = [
    .storeCorrupt, .cannotOpen, .modelMismatch, .modelInvalid, .storeReadOnly, .storeFull,
  ]

  private func serve(_ files: DamagedFiles, _ sound: Sound, _ damage: String) throws -> Outcome {
    let rows = Self.rows(files)
    let host: ServiceHost
    do {
      host = try ServiceHost(model: nil, files.options)
    } catch let error as StoreError {
      #expect(Self.openingErrors.contains(error.code), "\(damage): \(error)")
      return .refused
    }
    let client = HostClient(host)
    let answers = try Self.answers(sound.requests, client)
    let verified = try client.call("store/verify", "{}")
    var hasFailed = false
    for answer in answers + [verified] {
      // A dry run has the error of the save that it tried.
      if answer["dryRun"]?["error"]?["code"] == 1403 { hasFailed = true }
      guard let code = answer["code"]?.integer else { continue }
      hasFailed = true
      // An internal error would hide what is wrong.
      #expect(code > 0, "\(damage): \(answer.text)")
    }
    let problems = verified["problems"]?.array ?? []
    // Saves succeed or fail, and purges too; the store can be closed.
    for (method, params) in [
      ("save", #"{"insert":[{"entity":"Task","values":{"title":"new","group":"Group/p1"}}]}"#),
      ("save", #"{"update":[{"id":"Task/p1","values":{"labels":["Label/sa"],"rank":3}}]}"#),
      ("delete", #"{"ids":["Task/p3"]}"#), ("undo", "{}"),
      ("follower/register", #"{"name":"reader"}"#),
      ("history/purge", #"{"keep":{"transactions":1}}"#), ("status", "{}"),
    ] {
      let answer = try client.call(method, params)
      #expect(answer["code"]?.integer ?? 1 > 0, "\(damage): \(method): \(answer.text)")
    }
    try host.close()
    if hasFailed { return .failed }
    if !problems.isEmpty { return .reported }
    guard answers != sound.answers else { return .equal }
    let difference = zip(answers, sound.answers).first { $0 != $1 }
    let isDetectable = rows == sound.rows
    #expect(
      !isDetectable,
      "\(damage): \(difference?.0.text ?? "") differs, and nothing is reported"
    )
    return .changed
  }

  private static let max = "9223372036854775807"
  private static let min = "-9223372036854775808"

  /// Statements that an external client could run, all on tables whose rows no trigger logs.
  private static let statements: [String] = {
    let newest = "(SELECT max(number) FROM cordial_transaction)"
    var all: [String] = []
    for value in [max, min, "-1", "0", "4611686018427387904"] {
      all += [
        "UPDATE cordial_transaction SET lastChange = \(value) WHERE number = \(newest)",
        "UPDATE cordial_transaction SET lastChange = \(value) WHERE number = 3",
        "UPDATE cordial_transaction SET time = \(value)",
        "UPDATE cordial_transaction SET mark = \(value) WHERE number = \(newest)",
        "UPDATE cordial_change SET entity = \(value) WHERE number = 5",
        "UPDATE cordial_change SET object = \(value) WHERE number = 5",
        "UPDATE cordial_change SET other = \(value) WHERE other IS NOT NULL",
        "UPDATE cordial_change SET version = \(value) WHERE kind = 2",
        "UPDATE cordial_change SET version = \(value) WHERE kind = 1 AND version IS NOT NULL",
        "UPDATE cordial_change SET kind = \(value) WHERE kind = 4",
        "UPDATE cordial_undo SET after = \(value)", "UPDATE cordial_undo SET through = \(value)",
        "UPDATE cordial_undo SET first = \(value)", "UPDATE cordial_undo SET last = \(value)",
        "UPDATE cordial_undo SET kind = \(value)",
        "UPDATE cordial_undo SET revertedPlace = \(value)",
        "UPDATE cordial_follower SET number = \(value)",
        "UPDATE cordial_follower SET seen = \(value)",
        "INSERT INTO cordial_lease VALUES ('x', \(value), '', \(value))",
        "UPDATE sqlite_sequence SET seq = \(value)",
      ]
    }
    all += ["'x'", "''", "x'FF00'"].map { "UPDATE sqlite_sequence SET seq = \($0)" }
    for value in [max, "4611686018427387904", "1000"] {
      all += [
        "UPDATE cordial_transaction SET number = \(value) WHERE number = \(newest)",
        "UPDATE cordial_change SET number = \(value) WHERE number = 5",
      ]
    }
    for text in ["''", "','", "',\"title\":'", "',\"title\":{\"left\":\(max)}'", "'{'", "'labels'"]
    {
      all.append("UPDATE cordial_change SET before = \(text)")
    }
    for entity in ["2", "1000001", "1000000", "99"] {
      all.append("UPDATE cordial_change SET entity = \(entity) WHERE kind IN (0, 2)")
    }
    let meta = ["format", "model", "modelHash", "slots", "generation", "identifier", "triggers"]
    for name in meta + ["unicode", "soundAfter", "formerHashes", "retired", "mayDangle"] {
      for value in ["''", "'x'", "'{}'", "'[1]'", "'-1'", "'\(max)'"] {
        all.append("INSERT OR REPLACE INTO cordial_meta VALUES ('\(name)', \(value))")
      }
      all.append("DELETE FROM cordial_meta WHERE name = '\(name)'")
    }
    let retired =
      #"{"name":"Old","number":1000001,"identity":null,"attributes":{"a":"string"},"#
      + #""preserved":[],"toOnes":{"b":-5},"slot":3,"lastObject":1}"#
    all += [
      "INSERT INTO cordial_meta VALUES ('retired', '[\(retired)]'); "
        + "UPDATE cordial_change SET entity = 1000001, before = ',\"b\":7' WHERE kind = 2",
      #"UPDATE cordial_meta SET value = replace(value, '"int64"', '"date"') WHERE name = 'model'"#,
      #"UPDATE cordial_meta SET value = replace(value, ':1', ':2') WHERE name = 'slots'"#,
      #"UPDATE cordial_meta SET value = '{"Group":0,"Special":0}' WHERE name = 'slots'"#,
      "DELETE FROM cordial_transaction WHERE number = 4", "DELETE FROM cordial_transaction",
      "DELETE FROM cordial_change WHERE kind = 0", "DELETE FROM cordial_change",
      "DELETE FROM cordial_undo", "DELETE FROM sqlite_sequence",
      "DROP TABLE cordial_undo", "DROP TABLE cordial_change", "DROP TABLE cordial_transaction",
      "DROP TABLE cordial_meta", "DROP TABLE Label", "DROP TABLE cordial_pairs_Task_labels",
      "DROP TRIGGER \"cordial_Task.update\"", "DROP INDEX cordial_transaction_client",
    ]
    return all
  }()

  @Test func `is refused, reported or answers correctly after any change of its log`() async throws
  {
    try await onOwnThread {
      let sound = try Self.sound()
      var counts: [Outcome: Int] = [:]
      for sql in Self.statements {
        let files = try DamagedFiles(copyOf: sound.folder)
        do {
          try files.execute(sql, in: Self.file)
        } catch {
          // A constraint of the table prevents this damage.
          continue
        }
        counts[try serve(files, sound, sql), default: 0] += 1
      }
      for outcome in [Outcome.refused, .failed, .reported, .equal] {
        #expect(counts[outcome, default: 0] > 0, "\(outcome): \(counts)")
      }
    }
  }

  /// The seeds are run in one test, which counts what was reached.
  @Test func `is refused, reported or answers correctly, whatever bytes are changed`() async throws
  {
    try await onOwnThread {
      let sound = try Self.sound()
      // After the change of 243, SQLite rolls back a reading transaction. That of 210,569 makes a
      // count null.
      let seeds = Seeds.first(40, and: [243, 714, 210_569])
      var counts: [Outcome: Int] = [:]
      for seed in seeds {
        var random = SplitMix64(seed: seed)
        let files = try DamagedFiles(copyOf: sound.folder)
        try files.intoOneFile(Self.file)
        try files.changeBytes(of: Self.file, &random)
        counts[try serve(files, sound, Seeds.repeating(seed)), default: 0] += 1
      }
      let noticed = [Outcome.refused, .failed, .reported].reduce(0) { $0 + counts[$1, default: 0] }
      // A single seed may change nothing.
      #expect(seeds.count < 40 || noticed > 0, "\(counts)")
    }
  }

  /// SQLite reads a write-ahead log up to the first frame that is damaged.
  @Test func `has the state of a commit, whatever bytes of its write-ahead log are changed`()
    async throws
  {
    try await onOwnThread {
      for seed in Seeds.first(20) {
        var random = SplitMix64(seed: seed)
        var options = ServiceHost.Options()
        options.folder = try TestFolder()
        let host = try ServiceHost(model: Self.model, options)
        let client = HostClient(host)
        var states: [JSONValue] = []
        let fetch = #"{"entity":"Task","sort":["title"]}"#
        func note() throws {
          let fetched = try client.call("fetch", fetch)
          states.append(try #require(fetched["objects"]))
        }
        try note()
        for number in 1...8 {
          let title = "task \(number)"
          let insert = #"{"entity":"Task","values":{"title":"\#(title)"}}"#
          _ = try client.call("save", #"{"insert":[\#(insert)]}"#)
          try note()
        }
        // What a killed process leaves.
        let files = try DamagedFiles(copyOf: host.folder)
        try host.close()
        let names = [Self.file + "-wal", "index.sqlite-wal"]
        for name in names where FileManager.default.fileExists(atPath: files.path(name)) {
          try files.changeBytes(of: name, &random)
        }
        let opened: ServiceHost
        do {
          opened = try ServiceHost(model: nil, files.options)
        } catch let error as StoreError {
          #expect(Self.openingErrors.contains(error.code), "\(error) \(Seeds.repeating(seed))")
          continue
        }
        let reader = HostClient(opened)
        let fetched = try reader.call("fetch", fetch)
        let verified = try reader.call("store/verify", "{}")
        if let objects = fetched["objects"], verified["problems"]?.array?.isEmpty == true {
          #expect(states.contains(objects), "\(fetched.text) \(Seeds.repeating(seed))")
          let found = try reader.call("search", #"{"query":"task","limit":100}"#)
          #expect(found["code"]?.integer ?? 1 > 0, "\(found.text) \(Seeds.repeating(seed))")
          _ = try reader.call("save", #"{"insert":[{"entity":"Task"}]}"#)
          let again = try reader.call("index/verify", "{}")
          #expect(again["differences"] == [] || again["code"] != nil, "\(Seeds.repeating(seed))")
        } else {
          let codes = [fetched["code"]?.integer, verified["code"]?.integer].compactMap(\.self)
          #expect(codes.allSatisfy { $0 > 0 }, "\(fetched.text) \(Seeds.repeating(seed))")
        }
        try opened.close()
      }
    }
  }
}
