import Foundation
import TestSeeds
import Testing

@Suite struct `A store with damaged pages` {
  private static let pageSize = 4096

  private let fixture: Fixture
  private let store: String

  /// Groups of tasks, each with a memo; what was saved is in the store's own file.
  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
    let child = try Child(["serve", store])
    let peer = Peer(child)
    for group in 1...5 {
      var insert: [JSON] = [["id": "Group/tg", "values": ["title": "group \(group)"]]]
      for row in 1...20 {
        let memo = "memo \(group) \(row)" + String(repeating: " content", count: 60)
        insert.append([
          "id": "Task/t\(row)", "values": ["title": "task \(group) \(row)", "group": "Group/tg"],
        ])
        insert.append([
          "entity": "Memo", "values": ["content": .string(memo), "task": "Task/t\(row)"],
        ])
      }
      try peer.call("save", ["insert": .array(insert)])
    }
    #expect(try peer.call("index/verify")["checked"] == 205)
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
  }

  /// Overwrites pages of the store's file, or the index's, but never the first.
  private func damage(
    _ seed: UInt64,
    in name: String = "store.sqlite",
    _ choose: (inout SplitMix64, [Data]) -> [Int]
  ) throws {
    var random = SplitMix64(seed: seed)
    let file = URL(fileURLWithPath: "\(store)/\(name)")
    var bytes = try Data(contentsOf: file)
    let pages = stride(from: 0, to: bytes.count, by: Self.pageSize).map {
      bytes[$0..<$0 + Self.pageSize]
    }
    let chosen = choose(&random, pages).filter { $0 > 0 }
    #expect(!chosen.isEmpty)
    for page in chosen {
      let noise = (0..<Self.pageSize).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      bytes.replaceSubrange(page * Self.pageSize..<(page + 1) * Self.pageSize, with: noise)
    }
    try bytes.write(to: file)
  }

  private static func holds(_ text: String, _ page: Data) -> Bool {
    page.range(of: Data(text.utf8)) != nil
  }

  // Evidence: P-101
  @Test func `reads intact pages, fails with 1403 on damaged ones, and continues`() throws {
    try damage(1) { _, pages in
      pages.indices.filter { Self.holds("content content", pages[$0]) }
    }
    let child = try Child(["serve", store])
    let peer = Peer(child)
    let change: JSON = ["id": "Memo/p1", "values": ["content": "changed"]]
    for (method, params, code) in [
      ("fetch", ["entity": "Task", "include": ["group"]], nil),
      ("fetch", ["entity": "Memo"], 1403),
      ("fetch", ["ids": ["Memo/p1"]], 1403),
      ("fetch", ["entity": "Task", "predicate": "memo.content CONTAINS 'x'"], 1403),
      ("fetch", ["entity": "Group", "select": ["title", "tasks.@count"]], nil),
      ("observe", ["fetch": ["entity": "Memo"]], 1403),
      ("observe", ["fetch": ["entity": "Task"]], nil),
      ("history", [:], nil),
      ("search", ["query": "memo"], 1403),
      ("search", ["query": "task"], nil),
      ("save", ["insert": [task("lost")], "update": [change]], 1403),
      ("delete", ["ids": ["Memo/p1"]], 1403),
      ("fetch", ["entity": "Task", "result": "count"], nil),
      ("index/verify", [:], 1403),
      ("status", [:], nil),
    ] as [(String, JSON, Int?)] {
      #expect(try peer.errorCode(method, params) == code, "\(method) \(params.text)")
    }
    // Nothing is there of the save which met the damage, and the next one is carried out.
    let saved = try peer.call("save", ["insert": [task("kept")]])
    let titles = try peer.call("fetch", ["entity": "Task", "sort": ["title"], "limit": 2])
    #expect(titles["objects"]?.array?.map { $0["values"]?["title"] } == ["kept", "task 1 1"])
    #expect(titles["token"] == saved["token"])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
  }

  // Evidence: P-134c
  @Test func `refuses only the save that reads a damaged page`() throws {
    try damage(1) { _, pages in pages.indices.filter { Self.holds("content content", pages[$0]) } }
    let peer = Peer(try Child(["serve", store]))
    let change: JSON = ["id": "Memo/p1", "values": ["content": "changed"]]
    // They are sent together, so that several are committed as a group.
    let requests = try (1...20).map { number in
      try peer.request("save", number == 6 ? ["update": [change]] : ["insert": [task("new")]])
    }
    let codes = try requests.map { try peer.answer($0)["error"]?["code"] }
    #expect(codes == (1...20).map { $0 == 6 ? 1403 : nil })
    let news = "title == 'new'"
    let found = try peer.call("fetch", ["entity": "Task", "predicate": .string(news)])["objects"]
    #expect(found?.array?.count == codes.count { $0 == nil })
  }

  // Evidence: P-005, P-019c
  @Test(arguments: Seeds.first(8))
  func `is answered or refused wherever the damage is`(seed: UInt64) throws {
    try damage(seed) { random, pages in
      (0..<random.pick([1, 1, 3, 10])).map { _ in 1 + random.below(pages.count - 1) }
    }
    let requests: [(String, JSON)] = [
      ("fetch", ["entity": "Task", "sort": ["title:localized"]]),
      ("fetch", ["entity": "Memo", "include": ["task"]]),
      ("fetch", ["entity": "Group", "select": ["title", "tasks.@count"]]),
      ("fetch", ["ids": ["Memo/p1", "Task/p99", "Group/p5"]]),
      ("observe", ["fetch": ["entity": "Memo"]]),
      ("save", ["insert": [task("new")]]),
      ("save", ["update": [["id": "Memo/p99", "values": ["content": "changed"]]]]),
      ("delete", ["ids": ["Group/p3"]]),
      ("delete", ["entity": "Memo", "predicate": "TRUEPREDICATE"]),
      ("history", ["limit": 1000]),
      ("observe/flush", [:]),
      ("status", [:]),
    ]
    let script = requests.enumerated().map { line($0, $1.0, $1.1) }.joined()
    let outcome = try fixture.run(["serve", store], input: script)
    guard outcome.code == 0 else {
      // What cannot be opened at all is told in a sentence.
      #expect(outcome.code == 1, "\(Seeds.repeating(seed))")
      #expect(outcome.errors.hasPrefix("cordial: "), "\(Seeds.repeating(seed))")
      return
    }
    let answers = try outcome.lines.filter { $0["id"] != nil }
    #expect(answers.map { $0["id"]?.integer } == Array(requests.indices))
    for answer in answers where answer["result"] == nil {
      let text = answer.text.prefix(300)
      #expect(answer["error"]?["code"] == 1403, "\(text) \(Seeds.repeating(seed))")
    }
  }

  // Evidence: P-094b
  @Test func `keeps its index, and searches succeed or report an error`() throws {
    let root = try ForeignClient.run(
      store,
      "SELECT rootpage FROM sqlite_schema WHERE name = 'cordial_transaction'"
    )
    try damage(1) { _, _ in [(Int(root.dropLast()) ?? 0) - 1] }
    let index = fixture.path("Test.cordial/index.sqlite")
    let before = try FileManager.default.attributesOfItem(atPath: index)[.systemFileNumber] as? Int
    let peer = Peer(try Child(["serve", store]))
    for _ in 1...3 {
      let code = try peer.errorCode("search", ["query": "memo"])
      #expect(code == nil || code == 1403)
      #expect(try peer.errorCode("index/verify") == 1403)
    }
    let files = FileManager.default
    let after = try files.attributesOfItem(atPath: index)[.systemFileNumber] as? Int
    #expect(after == before)
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == 1403)
    try peer.call("model")
  }

  // Evidence: P-095a
  @Test func `is not reported when only the index is damaged`() throws {
    // Its log would stand before its pages.
    _ = try ForeignClient.run(store, "PRAGMA wal_checkpoint(TRUNCATE)", in: "index.sqlite")
    let root = try ForeignClient.run(
      store,
      "SELECT rootpage FROM sqlite_schema WHERE name = 'text_idx'",
      in: "index.sqlite"
    )
    try damage(1, in: "index.sqlite") { _, _ in [(Int(root.dropLast()) ?? 0) - 1] }
    let peer = Peer(try Child(["serve", store]))
    for _ in 1...3 {
      let code = try peer.errorCode("search", ["query": "content"])
      #expect(code == nil || code == 1401)
      try peer.call("index/verify")
    }
    #expect(try peer.call("search", ["query": "content"])["total"] == 100)
    #expect(try peer.call("fetch", ["entity": "Memo", "result": "count"])["count"] == 100)
  }
}
