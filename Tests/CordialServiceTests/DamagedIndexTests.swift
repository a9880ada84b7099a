import CordialService
import Foundation
import JSON
import TestSeeds
import TestStores
import Testing

/// Values out of range in each column of the index's file, and changed bytes.
// Evidence: P-094b, P-095a, P-095c
@Suite struct `A damaged index` {
  private static let model = """
    {"name":"Notes","version":"1","entities":[
      {"name":"Plain","attributes":[{"name":"title","type":"string","optional":true}]},
      {"name":"Note","attributes":[
        {"name":"title","type":"string","optional":true},
        {"name":"body","type":"string","optional":true},
        {"name":"folder","type":"string","optional":true},
        {"name":"stars","type":"int64","optional":true},
        {"name":"seen","type":"date","optional":true}],
       "spotlight":{"displayName":"title","attributes":{"body":1},"domain":"folder",
         "boost":{"stars":0.3,"seen":{"weight":1,"halfLifeDays":30}}}},
      {"name":"Card","attributes":[{"name":"name","type":"string","optional":true}],
       "spotlight":{"displayName":"name"}}]}
    """

  // MARK: A sound index

  /// A closed store whose index has rows in each table.
  private struct Sound {
    let folder: TestFolder
    /// The token of the first save, after which documents were changed and deleted, and that of
    /// one whose texts the index never had.
    let pasts: [String]
    /// What searches answer.
    let answers: [JSONValue]
  }

  private static func sound() throws -> Sound {
    var options = ServiceHost.Options()
    options.folder = try TestFolder()
    let host = try ServiceHost(model: model, options)
    let client = HostClient(host)
    let words = ["milk", "oat", "bread", "butter", "HTTPServer2", "東京都", "#tag", "iPhone15"]
    let notes = (1...1010).map { number in
      let (one, other) = (words[number % words.count], words[number / 8 % words.count])
      let folder = number % 100 == 0 ? "work" : "home"
      return #"{"entity":"Note","values":{"title":"\#(one) \#(number)","folder":"\#(folder)","#
        + #""body":"\#(other) and \#(one) from the shop","stars":\#(number),"#
        + #""seen":"2025-12-01T00:00:00.000Z"}}"#
    }
    let cards = ["milk", "bread", "a card"].map { #"{"entity":"Card","values":{"name":"\#($0)"}}"# }
    let insert = (notes + cards).joined(separator: ",")
    let first = try client.call("save", #"{"insert":[\#(insert)]}"#)
    _ = try client.call("index/pause", "{}")
    let changed = try ["milk once", "milk twice"].map { title in
      let change = #"{"id":"Note/p1","values":{"title":"\#(title)"}}"#
      return try client.call("save", #"{"update":[\#(change)]}"#)
    }
    _ = try client.call("index/resume", "{}")
    for number in 2...6 {
      let change = #"{"id":"Note/p\#(number)","values":{"title":"milk changed"}}"#
      _ = try client.call("save", #"{"update":[\#(change)]}"#)
    }
    _ = try client.call("delete", #"{"ids":["Note/p7"]}"#)
    try host.close()
    let folder = host.folder
    let pasts = try [first, changed[0]].map { try #require($0["token"]?.string) }
    let files = try DamagedFiles(copyOf: folder)
    let tables = [
      "document", "later", "detail", "former", "unknown", "word", "archive", "text_idx",
    ]
    for table in tables {
      let count = files.rows("SELECT count(*) > 0 FROM \(table)", in: index)
      try #require(count == ["1"], "The table \(table) is empty")
    }
    let opened = try ServiceHost(model: nil, files.options)
    let answers = try Self.answers(HostClient(opened))
    try opened.close()
    return Sound(folder: folder, pasts: pasts, answers: answers)
  }

  private static let index = "index.sqlite"

  private static let requests: [(method: String, params: String)] = [
    ("search", #"{"query":"milk","limit":50}"#),
    ("search", #"{"query":"oat milk","entities":["Note"],"limit":50}"#),
    ("search", #"{"query":"mlik brwad","fuzzy":true,"limit":50}"#),
    ("search", #"{"query":"bre","prefix":true,"facets":{"properties":["folder"]}}"#),
    ("search", #"{"query":"milk -bread","predicate":"stars > 5","entities":["Note"]}"#),
    ("search", #"{"query":"changed OR 京都","explain":true,"snippet":true}"#),
    ("search", #"{"query":"server missing"}"#),
    ("suggest", #"{"query":"mi"}"#),
    ("search/explain", #"{"query":"milk","id":"Note/p2"}"#),
  ]

  private static func answers(_ client: HostClient) throws -> [JSONValue] {
    try requests.map { method, params in
      let answer = try client.call(method, params)
      // These depend on what was searched before.
      return .object((answer.members ?? []).filter { $0.name != "postings" })
    }
  }

  // MARK: Damage

  /// What a damage led to.
  private struct Outcome {
    /// Whether the index was built in a new file, without being asked for.
    var isRebuilt = false
    /// Whether `index/verify` reported differences.
    var isShown = false
  }

  /// The text that each file of an index has of its own.
  private func mark(_ files: DamagedFiles) -> [String]? {
    files.rows("SELECT value FROM state WHERE name = 'mark'", in: Self.index)
  }

  /// Serves damaged files, and searches until the answers are those of the sound index.
  private func serve(
    _ files: DamagedFiles,
    _ sound: Sound,
    _ damage: String
  ) throws -> Outcome {
    var outcome = Outcome()
    let before = mark(files)
    let host = try ServiceHost(model: nil, files.options)
    let client = HostClient(host)
    func searchPasts() throws {
      for past in sound.pasts {
        _ = try client.call("search", #"{"query":"milk","asOf":"\#(past)"}"#)
      }
    }
    try searchPasts()
    var isSound = false
    for _ in 0..<6 where !isSound {
      let answers = try Self.answers(client)
      let verified = try client.call("index/verify", "{}")
      try searchPasts()
      guard let differences = verified["differences"]?.array else {
        #expect(verified["code"] == 1401, "\(damage): \(verified.text)")
        // The index is being built.
        let token = try client.call("status", "{}")["store"]?["token"]?.string ?? ""
        _ = try client.call("search", #"{"query":"milk","at":"\#(token)"}"#)
        continue
      }
      let isEqual = answers == sound.answers
      isSound = isEqual && differences.isEmpty
      guard !isSound else { continue }
      // Some of the answers were given before the comparison found the damage.
      let again = try isEqual ? answers : Self.answers(client)
      let isHidden = differences.isEmpty && again != sound.answers
      let difference = zip(again, sound.answers).first { $0 != $1 }
      #expect(
        !isHidden,
        """
        \(damage): an answer differs, and nothing is reported
        \(difference?.0.text ?? "")
        \(difference?.1.text ?? "")
        """
      )
      guard !differences.isEmpty else { continue }
      outcome.isShown = true
      _ = try client.call("index/rebuild", "{}")
    }
    #expect(isSound, "\(damage): the index is not repaired")
    let status = try client.call("index/status", "{}")
    #expect(["ready", "paused"].contains(status["state"]?.string), "\(damage): \(status.text)")
    // The index follows further changes.
    let change = #"{"id":"Note/p9","values":{"title":"a later title"}}"#
    _ = try client.call("save", #"{"update":[\#(change)]}"#)
    let later = try client.call("search", #"{"query":"later title"}"#)
    #expect(later["total"] == 1 || status["state"] == "paused", "\(damage): \(later.text)")
    try host.close()
    outcome.isRebuilt = mark(files) != before
    return outcome
  }

  private enum Expected {
    /// The index is built in a new file.
    case rebuilt
    /// It is, or `index/verify` reports it.
    case noticed
    /// Answers are right, or become right.
    case any
  }

  /// Damage of rows that a start reads unless it reads the archive.
  private static let documents: [(sql: String, expected: Expected)] = [
    ("UPDATE document SET entity = 65535 WHERE number = 9", .rebuilt),
    ("UPDATE document SET entity = 1 WHERE number = 9", .rebuilt),
    ("UPDATE document SET entity = 0 WHERE number = 9", .rebuilt),
    ("UPDATE document SET entity = -1 WHERE number = 9", .rebuilt),
    ("UPDATE document SET entity = 9223372036854775807 WHERE number = 9", .rebuilt),
    ("UPDATE document SET entity = 3 WHERE number = 9", .noticed),
    ("UPDATE document SET number = -5 WHERE number = 9", .rebuilt),
    ("UPDATE document SET number = 0 WHERE number = 9", .rebuilt),
    ("UPDATE document SET number = 10 WHERE number = 9", .rebuilt),
    ("UPDATE document SET number = 100000 WHERE number = 9", .rebuilt),
    ("UPDATE document SET number = 9223372036854775807 WHERE number = 9", .rebuilt),
    ("UPDATE document SET number = -9223372036854775808 WHERE number = 9", .rebuilt),
    ("UPDATE document SET object = -9223372036854775808 WHERE number = 9", .noticed),
    ("UPDATE document SET object = 9223372036854775807 WHERE number = 9", .noticed),
    ("UPDATE document SET object = 5000 WHERE number = 9", .noticed),
    ("UPDATE document SET lengths = -1", .rebuilt),
    ("UPDATE document SET lengths = 9223372036854775807", .rebuilt),
    ("UPDATE document SET lengths = -9223372036854775808", .rebuilt),
    ("UPDATE document SET lengths = 0", .noticed),
    ("UPDATE document SET lengths = lengths + 1 WHERE number % 7 = 0", .noticed),
    ("DELETE FROM document WHERE number % 7 = 0", .noticed),
    ("DELETE FROM document", .noticed),
    ("UPDATE detail SET boosts = 'inf nan -' WHERE number = 9", .noticed),
    ("UPDATE detail SET boosts = 'x' WHERE number = 9", .noticed),
    ("UPDATE detail SET boosts = '1e999 1 2 3 4 5 6 7 8 9' WHERE number = 9", .noticed),
    ("UPDATE detail SET number = -number", .noticed),
    ("DELETE FROM detail", .noticed),
  ]

  /// Damage that no archive hides.
  private static let others: [(sql: String, expected: Expected)] = [
    ("UPDATE detail SET domain = 'other' WHERE number = 9", .noticed),
    ("UPDATE archive SET documents = zeroblob(100)", .any),
    ("UPDATE archive SET documents = substr(documents, 1, 1000)", .any),
    ("UPDATE state SET value = value || '1' WHERE name = 'archive'", .any),
    ("UPDATE later SET inserted = 9223372036854775807", .any),
    ("UPDATE later SET inserted = -9223372036854775808, read = -1", .any),
    ("UPDATE later SET number = -number", .any),
    ("DELETE FROM later", .any),
    ("UPDATE former SET entity = 65535", .rebuilt),
    ("UPDATE former SET entity = -1", .rebuilt),
    ("UPDATE former SET number = -5 WHERE number = (SELECT min(number) FROM former)", .rebuilt),
    (
      "UPDATE former SET number = 9223372036854775807 "
        + "WHERE number = (SELECT min(number) FROM former)", .rebuilt
    ),
    ("UPDATE former SET lengths = -1", .rebuilt),
    ("UPDATE former SET object = -9223372036854775808", .any),
    ("UPDATE former SET inserted = -9223372036854775808", .any),
    ("UPDATE former SET boosts = 'x'", .any),
    ("DELETE FROM former", .any),
    ("UPDATE unknown SET entity = 65535, object = 0", .rebuilt),
    ("UPDATE unknown SET entity = -9223372036854775808", .rebuilt),
    ("UPDATE unknown SET object = 0", .any),
    ("UPDATE unknown SET first = -9223372036854775808, until = 9223372036854775807", .any),
    ("DELETE FROM unknown", .any),
    ("UPDATE text_config SET v = 5 WHERE k = 'version'", .rebuilt),
    ("DELETE FROM text_config", .rebuilt),
    ("DELETE FROM word", .noticed),
    ("INSERT INTO word VALUES ('mi\"lk'), ('') , (CAST(x'6D6C6900' AS TEXT))", .any),
    ("INSERT INTO word VALUES (CAST(x'6D6CFF6B' AS TEXT)), ('ml' || char(31) || 'ik')", .any),
    ("UPDATE state SET value = 'x' WHERE name = 'position'", .rebuilt),
    ("UPDATE state SET value = '' WHERE name = 'position'", .rebuilt),
    ("UPDATE state SET value = value || '000000000000' WHERE name = 'position'", .rebuilt),
    ("UPDATE state SET value = value || ' 1' WHERE name = 'position'", .rebuilt),
    (
      "UPDATE state SET value = substr(value, 1, instr(value, ' ')) || '9223372036854775807 2000' "
        + "WHERE name = 'position'", .rebuilt
    ),
    (
      "UPDATE state SET value = substr(value, 1, instr(value, ' ')) || '1 -1' "
        + "WHERE name = 'position'", .rebuilt
    ),
    (
      "UPDATE state SET value = substr(value, 1, instr(value, ' ')) || '1 5' "
        + "WHERE name = 'position'; DELETE FROM archive", .rebuilt
    ),
    ("UPDATE state SET value = replace(value, '-', '-9') WHERE name = 'position'", .any),
    ("DELETE FROM state WHERE name = 'position'", .rebuilt),
    ("DELETE FROM state WHERE name = 'built'", .rebuilt),
    ("UPDATE state SET value = 'x' WHERE name = 'built'", .any),
    ("UPDATE state SET value = '9223372036854775807' WHERE name = 'after'", .any),
    ("UPDATE state SET value = 'x' WHERE name IN ('oldest', 'after', 'archive')", .any),
    ("UPDATE state SET value = 'x' WHERE name = 'words'", .any),
    ("UPDATE state SET value = 'x' WHERE name = 'identity'", .rebuilt),
    ("INSERT INTO state VALUES ('paused', 'x')", .any),
    ("DELETE FROM state", .rebuilt),
    ("UPDATE text_config SET v = 3 WHERE k = 'version'", .rebuilt),
    ("DELETE FROM text_config", .rebuilt),
    ("DELETE FROM text_data WHERE id = 10", .noticed),
    ("UPDATE text_data SET block = x'FFFFFFFFFFFFFFFF' WHERE id = 10", .noticed),
    ("UPDATE text_data SET block = zeroblob(length(block)) WHERE id > 10", .noticed),
    ("UPDATE text_data SET block = substr(block, 1, 20) WHERE id > 10", .noticed),
    ("DELETE FROM text_data WHERE id > 10", .noticed),
    ("DELETE FROM text_data", .noticed),
    // FTS5 finds some words without it.
    ("DELETE FROM text_idx", .any), ("UPDATE text_idx SET pgno = 9223372036854775807", .any),
    ("DROP TABLE word", .rebuilt), ("DROP TABLE archive", .rebuilt),
    ("DROP TABLE former", .rebuilt), ("DROP TABLE deleted_domain", .rebuilt),
    ("DROP TABLE detail; CREATE TABLE detail(number INTEGER PRIMARY KEY)", .rebuilt),
    (
      "CREATE TRIGGER foreign_one AFTER INSERT ON document BEGIN DELETE FROM document; END",
      .rebuilt
    ),
    ("CREATE VIEW foreign_two AS SELECT 1", .rebuilt),
  ]

  private func check(_ damage: [(sql: String, expected: Expected)], hasArchive: Bool) throws {
    let sound = try Self.sound()
    var counts = (rebuilt: 0, shown: 0)
    for (sql, expected) in damage {
      let files = try DamagedFiles(copyOf: sound.folder)
      if !hasArchive { try files.execute("DELETE FROM archive", in: Self.index) }
      try files.execute(sql, in: Self.index)
      let outcome = try serve(files, sound, sql)
      if outcome.isRebuilt { counts.rebuilt += 1 }
      if outcome.isShown { counts.shown += 1 }
      switch expected {
      case .rebuilt: #expect(outcome.isRebuilt, "\(sql)")
      case .noticed: #expect(outcome.isRebuilt || outcome.isShown, "\(sql)")
      case .any: break
      }
    }
    #expect(counts.rebuilt > 0 && counts.shown > 0, "\(counts)")
  }

  @Test func `is rebuilt where its documents cannot be`() async throws {
    try await onOwnThread { try check(Self.documents, hasArchive: false) }
  }

  @Test func `is compared with its rows, although an archive has its documents`() async throws {
    let noticed = Self.documents.map { (sql: $0.sql, expected: Expected.noticed) }
    try await onOwnThread { try check(noticed, hasArchive: true) }
  }

  @Test func `is rebuilt or repaired where another table or the schema is damaged`() async throws {
    try await onOwnThread { try check(Self.others, hasArchive: true) }
  }

  /// The seeds are run in one test, which counts what was reached.
  @Test func `answers correctly or is repaired, whatever bytes are changed`() async throws {
    try await onOwnThread {
      let sound = try Self.sound()
      // The changes of the last two make places of words negative.
      let seeds = Seeds.first(30, and: [5044, 25_232, 215_879, 215_972])
      var counts = (rebuilt: 0, shown: 0)
      for seed in seeds {
        var random = SplitMix64(seed: seed)
        let files = try DamagedFiles(copyOf: sound.folder)
        if random.oneIn(2) { try files.execute("DELETE FROM archive", in: Self.index) }
        try files.intoOneFile(Self.index)
        try files.changeBytes(of: Self.index, &random)
        let outcome = try serve(files, sound, Seeds.repeating(seed))
        if outcome.isRebuilt { counts.rebuilt += 1 }
        if outcome.isShown { counts.shown += 1 }
      }
      // A single seed may change nothing.
      #expect(seeds.count < 30 || counts.rebuilt > 0, "\(counts)")
    }
  }

  @Test func `answers correctly or is repaired, whatever its write-ahead log has`() async throws {
    try await onOwnThread {
      let sound = try Self.sound()
      for seed in Seeds.first(15, and: [23_266]) {
        var random = SplitMix64(seed: seed)
        let files = try DamagedFiles(copyOf: sound.folder)
        // A copy of the files while a connection is open has the log of its commits.
        let open = try DamagedFiles(copyOf: sound.folder)
        let host = try ServiceHost(model: nil, open.options)
        let client = HostClient(host)
        _ = try client.call("index/rebuild", "{}")
        for suffix in ["", "-wal"] {
          let target = files.path(Self.index + suffix)
          if FileManager.default.fileExists(atPath: target) {
            try FileManager.default.removeItem(atPath: target)
          }
          let source = open.path(Self.index + suffix)
          guard FileManager.default.fileExists(atPath: source) else { continue }
          try FileManager.default.copyItem(atPath: source, toPath: target)
        }
        try host.close()
        for name in [Self.index + "-wal", Self.index]
        where FileManager.default.fileExists(atPath: files.path(name)) && random.oneIn(2) {
          try files.changeBytes(of: name, &random)
        }
        _ = try serve(files, sound, Seeds.repeating(seed))
      }
    }
  }
}
