import Foundation
import Testing

@Suite struct `A mock` {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private func script(_ text: String, _ name: String = "mock.json") throws -> String {
    try fixture.write(text, to: name)
  }

  private var example: String {
    """
    {"model": "\(Fixture.todo)",
     "objects": [{"id": "Group/sGroup1", "version": 4, "values": {"title": "Home", "taskCount": 2}},
                 {"id": "Task/p9", "values": {"title": "Milk", "group": "Group/sGroup1"}}],
     "results": [{"method": "search", "params": {"limit": 1, "query": "milk"},
                  "result": {"total": 0}},
                 {"method": "history", "error": {"code": 1201, "message": "expired"}}],
     "timeline": [
       {"at": 0, "save": {"insert": [{"entity": "Group", "values": {"title": "First"}}]}},
       {"at": 1000, "save": {"update": [{"id": "Group/sGroup1", "values": {"title": "House"}}]}},
       {"at": 2000, "every": 500, "times": 4,
        "save": {"insert": [{"entity": "Group", "values": {"title": "New"}}]}}]}
    """
  }

  // Evidence: P-140a, P-140b, P-140c, P-140d, P-140e, P-140f
  @Test(arguments: [false, true])
  func `serves its objects, its results and the steps of its clock`(hasHeaders: Bool) throws {
    let child = try Child(["serve", "--mock", try script(example)])
    let peer = Peer(child, hasHeaders: hasHeaders)
    _ = try peer.call("initialize", ["processId": nil, "capabilities": [:]])
    try peer.notify("initialized")
    #expect(try peer.call("search", ["query": "milk", "limit": 1]) == ["total": 0])
    #expect(try peer.errorCode("history") == 1201)
    #expect(try peer.errorCode("search", ["query": "bread"]) == 1002)
    #expect(try peer.errorCode("fetch", ["entity": "Memory"]) == 1002)

    let fetched = try peer.call("fetch", ["entity": "Group", "value": "TodoGroup"])["objects"]
    let home: JSON = ["title": "Home", "taskCount": 2]
    #expect(fetched == [["id": "Group/sGroup1", "version": 4, "values": home]])
    let byPath: JSON = ["entity": "Group", "select": ["taskCount": "tasks.@count", "t": "title"]]
    #expect(
      try peer.call("fetch", byPath)["objects"]?[0]?["values"] == ["taskCount": 2, "t": "Home"]
    )
    let task = try peer.call("fetch", ["ids": ["Task/p9"]])["objects"]
    #expect(task?[0]?["values"]?["group"] == "Group/sGroup1")
    let tasks: JSON = [
      "entity": "Task", "predicate": "group == 'Group/sGroup1'", "result": "count",
    ]
    #expect(try peer.call("fetch", tasks)["count"] == 1)

    let observed = try peer.call(
      "observe",
      ["fetch": ["entity": "Group", "sort": ["title"], "select": ["title"]], "mode": "values"]
    )
    #expect(observed["result"]?["count"] == 1)
    #expect(try peer.call("mock/advance", ["milliseconds": 0])["now"] == 0)
    #expect(try peer.changes()["updates"]?[0]?["count"] == 2)
    let before = try peer.call("mock/advance", ["milliseconds": 999])
    #expect(before["now"] == 999)
    #expect(peer.notifications.isEmpty)
    let moved = try peer.call("mock/advance", ["milliseconds": 1])
    #expect(moved["now"] == 1000)
    #expect(moved["token"] != before["token"])
    let update = try peer.changes()["updates"]?[0]?["update"]?[0]
    #expect(update?["id"] == "Group/sGroup1")
    #expect(update?["object"]?["version"] == 5)
    // Each step is one commit, which is sent before the response.
    #expect(try peer.call("mock/advance", ["milliseconds": 10_000])["now"] == 11_000)
    let counts = try (0..<4).map { _ in try peer.changes()["updates"]?[0]?["count"] }
    #expect(counts == [3, 4, 5, 6])
    #expect(peer.notifications.isEmpty)

    let saved = try peer.call(
      "save",
      ["update": [["id": "Group/sGroup1", "version": 5, "values": ["title": "Mine"]]]]
    )
    #expect(saved["objects"]?[0] == ["id": "Group/sGroup1", "version": 6])
    let stale: JSON = ["update": [["id": "Group/sGroup1", "version": 4, "values": ["title": "x"]]]]
    #expect(try peer.errorCode("save", stale) == 1103)
    #expect(try peer.errorCode("mock/advance", ["milliseconds": -1]) == -32602)
    #expect(try peer.errorCode("mock/advance") == -32602)
  }

  // Evidence: P-140g
  @Test func `answers batches, and requests in a pipeline in their order`() throws {
    let messages = [
      #"{"jsonrpc":"2.0","id":1,"method":"fetch","params":{"entity":"Task","result":"count"}}"#,
      #"[{"jsonrpc":"2.0","id":2,"method":"mock/advance","params":{"milliseconds":2000}},"#
        + #"{"jsonrpc":"2.0","method":"initialized"},1,"#
        + #"{"jsonrpc":"2.0","id":3,"method":"fetch","#
        + #""params":{"entity":"Group","result":"count"}}]"#,
      #"{"jsonrpc":"2.0","id":4,"method":"search","params":{"query":"milk","limit":1}}"#,
      "{",
    ]
    let outcome = try fixture.run(
      ["serve", "--mock", try script(example)],
      input: messages.joined(separator: "\n") + "\n"
    )
    let lines = try outcome.lines
    try #require(lines.count == 4)
    #expect(lines[0]["result"]?["count"] == 1)
    #expect(lines[1][0]?["error"]?["code"] == -32600)
    #expect(lines[1][1]?["result"]?["now"] == 2000)
    #expect(lines[1][2]?["result"]?["count"] == 3)
    #expect(lines[1].array?.count == 3)
    #expect(lines[2]["result"] == ["total": 0])
    #expect(lines[3]["error"]?["code"] == -32700)
  }

  @Test func `needs no model, and drafts one from its objects`() throws {
    let text = """
      {"objects": [
         {"id": "Book/sA", "values": {"title": "A", "pages": 3, "author": "Person/p1", "read": true,
                                      "day": "2026-01-31T10:00:00.000Z", "tags": ["x"]}},
         {"id": "Book/sB", "values": {"title": null, "pages": 2.5}},
         {"id": "Person/p1", "values": {"name": "Ann", "books": ["Book/sA"]}}]}
      """
    let peer = Peer(try Child(["serve", "--mock", try script(text)]))
    let books = try peer.call(
      "fetch",
      [
        "entity": "Book", "predicate": "author.name BEGINSWITH 'A' AND pages > 2.5",
        "select": ["day": "day", "author": "author", "tags": "tags", "read": "read"],
      ]
    )["objects"]
    #expect(
      books == [
        [
          "id": "Book/sA", "version": 1,
          "values": [
            "day": "2026-01-31T10:00:00.000Z", "author": "Person/p1", "tags": ["x"], "read": true,
          ],
        ]
      ]
    )
    #expect(try peer.call("fetch", ["entity": "Person", "result": "count"])["count"] == 1)
    // A new object never gets an ID that the script has.
    let saved = try peer.call("save", ["insert": [["id": "Person/t1", "values": ["name": "B"]]]])
    let id = try #require(saved["ids"]?["Person/t1"])
    #expect(id != "Person/p1")
    let found = try peer.call("fetch", ["entity": "Person", "predicate": "name == 'B'"])
    #expect(found["objects"]?[0]?["id"] == id)
    let named = try peer.call("fetch", ["ids": [id, "Person/p1"]])["objects"]
    #expect(named?[0]?["values"]?["name"] == "B")
    #expect(named?[1]?["values"]?["name"] == "Ann")
  }

  // Evidence: P-140h
  @Test(arguments: [
    (#"{"timeline":[{"at":5,"save":{}},{"at":4,"save":{}}]}"#, "timeline[1].at: the time 4"),
    (#"{"timeline":[{"at":-5,"save":{}}]}"#, "timeline[0].at: an integer"),
    (#"{"timeline":[{"at":5,"every":1,"save":{}}]}"#, "timeline[0].times: "),
    (#"{"timeline":[{"at":5,"every":0,"times":2,"save":{}}]}"#, "timeline[0].every: "),
    (#"{"timeline":[{"at":5,"save":{"delete":["A/p2"]}}]}"#, "timeline[0].save.delete[0]: "),
    (
      #"{"timeline":[{"at":5,"save":{"update":[{"id":"A/sB","values":{}}]}}]}"#,
      "timeline[0].save.update[0].id: the script has no object A/sB"
    ),
    (#"{"objects":[{"id":"A/p1"},{"id":"A/p1"}]}"#, "objects[1].id: another object"),
    (#"{"objects":[{"id":"A/t1"}]}"#, "objects[0].id: A/t1 is temporary"),
    (#"{"objects":[{"id":"A"}]}"#, "objects[0].id: the ID of an object"),
    (#"{"objects":[{"id":"A/p1","value":{}}]}"#, "objects[0]: there is no member \"value\""),
    (#"{"results":[{"method":"fetch"}]}"#, "results[0]: it needs either"),
    (#"{"model":"none.json"}"#, "model: The model file"),
    (#"{"modell":"none.json"}"#, "there is no member \"modell\""),
    ("nonsense", "neither a script nor a recording"),
    (#"{"at":9,"connection":1,"from":"client","message":{}}"# + "\n{}", "line 2: a message"),
  ])
  func `without sense is one sentence with the place`(text: String, sentence: String) throws {
    let outcome = try fixture.run(["serve", "--mock", try script(text)])
    #expect(outcome.code == 1)
    #expect(outcome.errors.hasPrefix("cordial: "))
    #expect(outcome.errors.contains("mock.json: "))
    #expect(outcome.errors.contains(sentence), "\(outcome.errors)")
    #expect(outcome.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    (#"{"titel": "x"}"#, "objects[0].values.titel"), (#"{"title": 1}"#, "objects[0].values.title"),
    (
      #"{"tasks": ["Task/sNone"]}"#,
      "objects[0].values.tasks: the script has no object Task/sNone"
    ),
  ])
  func `has the values that its model allows`(values: String, place: String) throws {
    let text = """
      {"model": "\(Fixture.todo)", "objects": [{"id": "Group/sA", "values": \(values)}]}
      """
    let outcome = try fixture.run(["serve", "--mock", try script(text)])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("mock.json: \(place)"), "\(outcome.errors)")
  }

  @Test func `makes the remaining steps when the client that moved the clock goes`() throws {
    let text = """
      {"objects": [{"id": "A/p1", "values": {"n": 0}}],
       "timeline": [{"at": 1, "every": 1, "times": 500,
                     "save": {"insert": [{"entity": "A", "values": {"n": 1}}]}}]}
      """
    let daemon = try fixture.daemon(arguments: ["--mock", try script(text)])
    do {
      let goer = try daemon.connect()
      try goer.request("mock/advance", ["milliseconds": 500])
    }
    let peer = try daemon.connect()
    var count: JSON?
    for _ in 1...10_000 where count != 501 {
      count = try peer.call("fetch", ["entity": "A", "result": "count"])["count"]
    }
    #expect(count == 501)
    #expect(try peer.call("mock/advance", ["milliseconds": 0])["now"] == 500)
  }

  @Test func `limits the steps of one move`() throws {
    let text = #"{"timeline":[{"at":1,"every":1,"times":20000,"save":{}}]}"#
    let peer = Peer(try Child(["serve", "--mock", try script(text)]))
    #expect(try peer.errorCode("mock/advance", ["milliseconds": 20_000]) == 1302)
    #expect(try peer.call("mock/advance", ["milliseconds": 10])["now"] == 10)
  }

  // MARK: Recordings

  /// Records what a client does with a store, and returns the path of the recording.
  private func record(_ session: (Peer) throws -> Void) throws -> String {
    let recording = fixture.path("session.jsonl")
    let store = try fixture.store()
    let child = try Child(["serve", store, "--record", recording])
    let peer = Peer(child, hasHeaders: true)
    _ = try peer.call("initialize", ["processId": nil, "capabilities": [:]])
    try peer.notify("initialized")
    try session(peer)
    try peer.call("shutdown")
    try peer.notify("exit")
    #expect(try child.exitCode() == 0)
    return recording
  }

  // Evidence: P-141a, P-141b
  @Test func `serves a recording as it was recorded`() throws {
    let save: JSON = ["insert": [["id": "Group/t1", "values": ["title": "é\n"]]]]
    let observe: JSON = ["fetch": ["entity": "Group"]]
    var answers: [JSON] = []
    var changes: JSON = .null
    let recording = try record { peer in
      answers.append(try peer.call("observe", observe))
      answers.append(try peer.call("fetch", ["entity": "Group", "result": "count"]))
      answers.append(try peer.call("save", save))
      changes = try peer.changes()
      answers.append(try peer.call("fetch", ["entity": "Group", "result": "count"]))
    }
    let lines = try String(contentsOfFile: recording, encoding: .utf8).split(separator: "\n")
    for line in lines {
      let entry = try JSON(String(line))
      #expect(entry["connection"] == 1)
      #expect(["client", "service"].contains(entry["from"]))
    }
    #expect(lines.count { $0.contains(#""from":"client""#) } == 8)

    let peer = Peer(try Child(["serve", "--mock", recording]), hasHeaders: true)
    let initialized = try peer.call("initialize", ["processId": nil, "capabilities": [:]])
    #expect(initialized["serverInfo"]?["name"] == "cordial")
    #expect(try peer.call("observe", observe) == answers[0])
    #expect(try peer.call("fetch", ["entity": "Group", "result": "count"]) == answers[1])
    #expect(try peer.call("fetch", ["entity": "Group", "result": "count"]) == answers[3])
    #expect(try peer.call("fetch", ["result": "count", "entity": "Group"]) == answers[3])
    #expect(try peer.call("save", save) == answers[2])
    #expect(peer.notifications.isEmpty)
    _ = try peer.call("mock/advance", ["milliseconds": 3_600_000])
    #expect(try peer.changes() == changes)
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == 1002)
  }

  @Test func `is not recorded where the file cannot be written`() throws {
    let outcome = try fixture.run(
      ["serve", try fixture.store(), "--record", fixture.path("none/session.jsonl")]
    )
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("cannot be written"), "\(outcome.errors)")
  }

  @Test func `is not recorded into the store's own folder`() throws {
    let store = try fixture.store()
    let before = try Data(contentsOf: URL(fileURLWithPath: store + "/store.sqlite"))
    try FileManager.default.createSymbolicLink(
      atPath: fixture.path("link"),
      withDestinationPath: store
    )
    for file in [store + "/store.sqlite", fixture.path("link") + "/new.jsonl"] {
      let outcome = try fixture.run(["serve", store, "--record", file], input: line(1, "status"))
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("record in another one"), "\(outcome.errors)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: store + "/store.sqlite")) == before)
    #expect(!FileManager.default.fileExists(atPath: store + "/new.jsonl"))
  }
}
