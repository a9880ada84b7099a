import Foundation
import Testing

@Suite struct `Writing over the wire` {
  private let fixture: Fixture
  private let store: String

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
  }

  // Evidence: P-119a, P-120a, P-121b
  @Test func `a dry run names the subscriptions that it concerns`() throws {
    let daemon = try fixture.daemon(store)
    let peer = try daemon.connect()
    let other = try daemon.connect()
    try peer.call("save", ["insert": [task("a", priority: 1), task("b", priority: 2)]])
    let tasks = try peer.call("observe", ["fetch": ["entity": "Task"]])["subscription"]
    try peer.call("observe", ["fetch": ["entity": "Group"]])
    try other.call("observe", ["fetch": ["entity": "Task"]])
    func change(isDry: Bool) -> JSON {
      [
        "entity": "Task", "predicate": "priority > 1", "dryRun": .bool(isDry),
        "set": ["priority": ["@expression": "priority * 10"]], "returning": "ids",
      ]
    }
    let dry = try peer.call("update", change(isDry: true))
    #expect(dry["count"] == 1)
    #expect(
      dry["dryRun"]
        == ["delete": [], "update": ["Task/p2"], "fire": [tasks ?? .null], "others": 1]
    )
    let real = try peer.call("update", change(isDry: false))
    #expect(real["ids"] == ["Task/p2"])
    #expect(real["token"] != dry["token"])
    #expect(try peer.changes()["updates"]?.array?.count == 1)
    let failing = try peer.call("delete", ["ids": ["Task/p9"], "dryRun": true])
    #expect(failing["dryRun"]?["error"]?["code"] == 1101)
    #expect(failing["dryRun"]?["error"]?["data"]?["id"] == "Task/p9")
  }

  // Evidence: P-071e
  @Test func `history reports the change count of a commit that is too large`() throws {
    let peer = Peer(try Child(["serve", store]))
    let maximum: Int64 = 200_000
    let facts = try peer.call("initialize")
    let limits = facts["capabilities"]?["cordial"]?["limits"]
    #expect(limits?["historyChangesMax"] == .integer(maximum))
    let start = try peer.call("save", ["insert": [["entity": "Group", "values": ["title": "a"]]]])
    try ForeignClient.write(
      store,
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(maximum))
      INSERT INTO "Group"(title) SELECT 'g' FROM n
      """
    )
    let end = try peer.call("save", ["insert": [["entity": "Group", "values": ["title": "b"]]]])
    let history = try peer.call("history", ["since": start["token"] ?? .null])
    let commits = history["transactions"]?.array ?? []
    #expect(commits.map { $0["author"] } == ["external", .null])
    #expect(commits.map { $0["changes"]?.array?.count } == [0, 1])
    #expect(commits.map { $0["leftOut"] } == [.integer(maximum + 1), nil])
    #expect(history["token"] == end["token"])
    #expect(history["more"] == false)
  }

  // Evidence: P-124a, P-126b
  @Test func `undo and redo are reported to subscriptions`() throws {
    let peer = Peer(try Child(["serve", store]))
    try peer.call("save", ["insert": [task("a")], "author": "ann"])
    try peer.call("observe", ["fetch": ["entity": "Task"]])
    let undone = try peer.call("undo", ["author": "ann"])
    #expect(undone["undone"] == 1)
    #expect(undone["objects"] == [["id": "Task/p1", "deleted": true]])
    #expect(try peer.changes()["updates"]?[0]?["remove"]?[0]?["deleted"] == true)
    let again = try peer.call("redo", ["author": "ann"])
    #expect(again["objects"]?[0]?["values"]?["title"] == "a")
    #expect(try peer.changes()["updates"]?[0]?["insert"]?[0]?["id"] == "Task/p1")
    #expect(try peer.call("undo", ["author": "bob"])["undone"] == 0)
    #expect(try peer.errorCode("undo", ["count": 0]) == -32602)
  }

  // Evidence: P-123
  @Test func `an unknown merge policy`() throws {
    let peer = Peer(try Child(["serve", store]))
    #expect(try peer.errorCode("save", ["mergePolicy": "newest"]) == -32602)
    #expect(try peer.errorCode("initialize", ["cordial": ["mergePolicy": "newest"]]) == -32602)
  }

  @Test func `a hundred thousand changes are one save, and too many are none`() throws {
    let peer = Peer(try Child(["serve", store]))
    func inserts(_ count: Int) -> String {
      Array(repeating: #"{"entity":"Group"}"#, count: count).joined(separator: ",")
    }
    func save(_ id: Int, _ count: Int) throws -> JSON {
      try peer.send(
        body: """
          {"jsonrpc":"2.0","id":\(id),"method":"save","params":{"insert":[\(inserts(count))]}}
          """
          .filter { $0 != "\n" }
      )
      return try peer.message() ?? .null
    }
    #expect(try save(1, 100_000)["result"]?["objects"]?.array?.count == 100_000)
    let refused = try save(2, 200_001)["error"]
    #expect(refused?["code"] == 1302)
    #expect(refused?["data"]?["max"] == 200_000)
    let groups = try Peer(try Child(["serve", store])).call(
      "fetch",
      ["entity": "Group", "result": "count"]
    )
    #expect(groups["count"] == 100_000)
  }

  // Evidence: P-128b, P-128c, P-129a, P-129b, P-129f
  @Test func `the slowest follower and live subscriptions retain the log`() throws {
    let daemon = try fixture.daemon(store, ["--history-days", "0"])
    let peer = try daemon.connect()
    let observer = try daemon.connect()
    var tokens: [JSON] = []
    for number in 1...10 {
      tokens.append(try peer.call("save", ["insert": [task("t\(number)")]])["token"] ?? .null)
    }
    try peer.call("observe/flush")
    try peer.call("index/verify")
    try peer.call("follower/register", ["name": "slow", "since": tokens[3]])
    func purge(_ keep: Int) throws -> JSON {
      try peer.call("history/purge", ["keep": ["transactions": .integer(Int64(keep))]])
    }
    let held = try purge(0)
    #expect(held["token"] == tokens[3])
    #expect(held["transactions"] == 4)
    #expect(held["heldBy"] == "the follower slow")
    #expect(try peer.errorCode("history", ["since": tokens[2]]) == 1201)
    let left = try peer.call("history", ["since": tokens[3]])["transactions"]
    #expect(left?.array?.map { $0["token"] } == Array(tokens[4...]))
    let list = try peer.call("follower/list")["followers"]
    #expect(list?[0]?["behind"] == 6)
    #expect(list?[0]?["expired"] == false)
    #expect(
      try peer.call("status")["followers"]?.array?.map { $0["name"] } == ["spotlight", "slow"]
    )
    try peer.call("follower/acknowledge", ["name": "slow", "token": tokens[6]])
    #expect(try purge(0)["token"] == tokens[6])
    #expect(try peer.call("follower/remove", ["name": "slow"])["removed"] == true)
    #expect(try peer.call("follower/remove", ["name": "slow"])["removed"] == false)
    // A subscription that has not been told anything for long stands at an old position.
    try observer.call("observe", ["fetch": ["entity": "Group"]])
    let last = try peer.call("save", ["insert": [task("late")]])["token"]
    try peer.call("index/verify")
    try observer.call("observe/flush")
    #expect(try purge(0)["token"] == last)
    #expect(try peer.errorCode("history/purge", [:]) == -32602)
    #expect(try peer.errorCode("history/purge", ["before": "yesterday"]) == -32602)
  }

  // Evidence: P-129d
  @Test func `history beyond the limit is removed automatically`() throws {
    var peer = Peer(try Child(["serve", store]))
    for number in 1...30 { try peer.call("save", ["insert": [task("t\(number)")]]) }
    peer = Peer(try Child(["serve", store, "--history-days", "0", "--history-bytes", "240"]))
    // The first look comes when the process has met the commits of those before.
    for _ in 1...10_000 {
      let oldest = try peer.call("history", ["limit": 1000])["transactions"]?.array?.count ?? 0
      if oldest <= 10 { break }
    }
    let left = try peer.call("history", ["limit": 1000])["transactions"]?.array?.count ?? 0
    #expect((1...10).contains(left), "\(left)")
    #expect(try peer.call("store/verify")["problems"] == [])
  }

  // Evidence: P-129b, P-129e
  @Test func `at least seven days are kept`() throws {
    let peer = Peer(try Child(["serve", store]))
    let saved = try peer.call("save", ["insert": [task("a")]])
    let purged = try peer.call("history/purge", ["before": saved["token"] ?? .null])
    #expect(purged["transactions"] == 0)
    #expect(purged["heldBy"]?.string?.hasPrefix("historyDaysMin") == true)
    let limits = try peer.call("initialize")["capabilities"]?["cordial"]?["limits"]
    #expect(limits?["historyDaysMin"] == 7)
    #expect(limits?["followerDaysMax"] == 7)
  }

  // Evidence: P-131, P-132a, P-132c, P-133a, P-133e
  @Test func `backup, verification and compaction while others write`() throws {
    let daemon = try fixture.daemon(store)
    let peer = try daemon.connect()
    let writer = try daemon.connect()
    try peer.call("save", ["insert": [task("first")]])
    let requests = try (1...200).map { try writer.request("save", ["insert": [task("n\($0)")]]) }
    let backup = try peer.call("store/backup", ["path": .string(fixture.path("copy"))])
    for request in requests { _ = try writer.answer(request) }
    #expect(try peer.call("store/verify")["problems"] == [])
    #expect(try peer.errorCode("store/backup", ["path": .string(fixture.path("copy"))]) == -32602)
    #expect(try peer.errorCode("store/backup", ["path": "copy"]) == -32602)
    // The copy is the store as it was at one commit.
    let copy = Peer(try Child(["serve", fixture.path("copy")]))
    let count = try copy.call("fetch", ["entity": "Task", "result": "count"])["count"]
    let behind = try peer.call("history", ["since": backup["token"] ?? .null, "limit": 1000])
    #expect((count?.integer ?? 0) + (behind["transactions"]?.array?.count ?? 0) == 201)
    #expect(try copy.errorCode("history", ["since": backup["token"] ?? .null]) == 1201)
    #expect(try copy.call("store/verify")["problems"] == [])
    try peer.call("delete", ["entity": "Task", "predicate": "TRUEPREDICATE"])
    // The index reads the deleted objects. While it does, the store keeps their pages, and a
    // compaction makes the files larger (P-133e).
    try peer.call("index/verify")
    let first = try peer.call("store/compact")
    let before = try #require(first["before"]?.integer)
    var after = try #require(first["after"]?.integer)
    for _ in 1...1000 where after >= before {
      after = try #require(try peer.call("store/compact")["after"]?.integer)
    }
    #expect(after < before)
    #expect(try peer.call("store/verify")["problems"] == [])
  }
}

@Suite struct `The command line of history` {
  private let fixture: Fixture
  private let store: String

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
  }

  private func run(_ arguments: String..., code: Int32 = 0) throws -> [JSON] {
    try run(arguments, code: code)
  }

  private func run(_ arguments: [String], code: Int32 = 0) throws -> [JSON] {
    let outcome = try fixture.run(arguments)
    #expect(outcome.code == code, "\(arguments): \(outcome.errors)")
    return try outcome.output.split(separator: "\n").map { line in
      line.hasPrefix("{") ? try JSON(String(line)) : .string(String(line))
    }
  }

  // Evidence: P-071a, P-124a
  @Test func `update, undo, redo, history`() throws {
    _ = try fixture.run(
      ["save", store],
      input: #"{"insert":[{"entity":"Task","values":{"title":"a","priority":1}}]}"#
    )
    func update(_ options: String...) throws -> [JSON] {
      try run(
        [
          "update", store, "Task", "--where", "TRUEPREDICATE", "--set", #"title="b""#,
          "--compute", "priority=priority + 1",
        ] + options
      )
    }
    #expect(try update("--dry-run").first?["update"] == ["Task/p1"])
    #expect(try update() == ["Task/p1"])
    let undone = try run("undo", store)
    #expect(undone.first?["values"] == ["priority": 1, "title": "a"])
    #expect(try run("redo", store).first?["values"] == ["priority": 2, "title": "b"])
    #expect(try run("undo", store, "--count", "2", "--dry-run").first?["delete"] == ["Task/p1"])
    #expect(try run("history", store).count == 4)
    let last = try run("history", store, "--last", "1")
    #expect(last.first?["changes"]?[0]?["before"] == ["priority": 1, "title": "a"])
    #expect(try run("history", store, "--author", "nobody") == [])
    _ = try run("update", store, "Task", "--where", "1 = 1", "--set", "title", code: 1)
    _ = try run("update", store, "Task", "--where", "1 = 1", "--set", "title=b", code: 1)
  }

  // Evidence: P-128c
  @Test func `followers`() throws {
    let position = try #require(
      try run("followers", "register", store, "mirror").first?.string
    )
    #expect(try run("followers", store).first?["name"] == "mirror")
    #expect(try run("followers", "acknowledge", store, "mirror", position).count == 1)
    _ = try run("followers", "acknowledge", store, "mirror", "no token", code: 1)
    #expect(try run("followers", "remove", store, "mirror") == [])
    _ = try run("followers", "remove", store, "mirror", code: 1)
  }

  // Evidence: P-129a, P-135a
  @Test func `the history is purged`() throws {
    let purged = try run("history", "purge", store, "--keep-commits", "1").first
    #expect(purged?["transactions"]?.integer ?? -1 >= 0)
    _ = try run("history", "purge", store, code: 64)
    _ = try run("history", "purge", store, "--before", "never", code: 1)
  }

  // Evidence: P-132a, P-132b, P-133a, P-133b
  @Test func `backup, restore, compact, doctor`() throws {
    _ = try fixture.run(
      ["save", store],
      input: #"{"insert":[{"id":"Task/t1","values":{"title":"a"}}]}"#
    )
    let report = try run("doctor", store).first
    #expect(report?["store"]?["problems"] == [])
    #expect(report?["counts"] == ["Group": 0, "Task": 1, "Memo": 0])
    _ = try run("backup", store, fixture.path("copy"))
    _ = try run("backup", store, fixture.path("copy"), code: 1)
    _ = try run("delete", store, "Task/p1")
    _ = try run("restore", fixture.path("copy"), store, code: 1)
    _ = try run("restore", fixture.path("copy"), store, "--replace")
    #expect(try run("get", store, "Task/p1").first?["values"]?["title"] == "a")
    #expect(try run("search", store, "a").count == 1)
    _ = try run("restore", fixture.path("copy"), fixture.path("new"))
    #expect(try run("get", fixture.path("new"), "Task/p1").count == 1)
    #expect(try run("compact", store).first?["after"] != nil)
  }

  // Evidence: P-133b
  @Test func `doctor exits with 1 where something is wrong`() throws {
    _ = try fixture.run(
      ["save", store],
      input: """
        {"insert":[{"id":"Group/t1","values":{"title":"g"}},
          {"entity":"Task","values":{"title":"a","group":"Group/t1"}}]}
        """
    )
    _ = try ForeignClient.run(store, "DELETE FROM \"Group\"")
    let told = try run("doctor", store, code: 1).first?["store"]?["problems"]
    #expect(told?[0]?["what"] == "dangling")
  }
}
