import Testing

@Suite struct `The answer to initialize` {
  // Evidence: P-020a
  @Test(arguments: [true, false])
  func `names the program, its limits and the store`(hasHeaders: Bool) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let peer = Peer(try Child(["serve", store]), hasHeaders: hasHeaders)
    let answer = try peer.call("initialize", ["capabilities": [:]])
    #expect(Set(answer.object?.keys ?? [:].keys) == ["serverInfo", "capabilities", "store"])
    #expect(answer["serverInfo"]?["name"] == "cordial")
    #expect(answer["serverInfo"]?["version"]?.string?.isEmpty == false)
    let cordial = answer["capabilities"]?["cordial"]
    #expect((cordial?["protocolVersion"]?.integer ?? 0) > 0)
    #expect(cordial?["limits"]?["messageBytesMax"] == .integer(64 << 20))
    #expect(cordial?["features"]?.array?.contains("observe") == true)
    #expect(answer["store"]?["model"]?["name"] == "Todo")
    #expect(answer["store"]?["model"]?["version"] == "1")
    #expect(answer["store"]?["model"]?["hash"]?.string?.count == 64)
    #expect(answer["store"]?["token"] == (try peer.call("fetch", ["ids": []])["token"]))
    let status = try peer.call("status")
    #expect(answer["store"]?["id"] == status["store"]?["id"])
  }

  // Evidence: P-020c
  @Test(arguments: [true, false])
  func `holds the options of the connection`(isInOptions: Bool) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let peer = Peer(try Child(["serve", store]))
    let cordial: JSON = ["author": "ann", "context": "typing", "mergePolicy": "objectTrump"]
    let options: JSON = ["cordial": cordial]
    try peer.call("initialize", isInOptions ? ["initializationOptions": options] : options)
    let token = try peer.call("save", ["insert": [task("a")]])["token"] ?? .null
    let commits = try peer.call("history")["transactions"]
    #expect(commits?[0]?["author"] == "ann")
    #expect(commits?[0]?["context"] == "typing")
    let update: JSON = ["id": "Task/p1", "values": ["title": "b"]]
    try peer.call("save", ["update": [update]])
    let stale: JSON = ["id": "Task/p1", "version": 1, "values": ["title": "c"]]
    let merged = try peer.call("save", ["update": [stale]])
    #expect(merged["merged"]?[0]?["properties"] == ["title": "client"])
    #expect(merged["token"] != token)
  }
}

@Suite struct `What is not built` {
  // Evidence: P-021c
  @Test(arguments: [
    ("initialize", #"{"cordial":{"integers":"string"}}"#, -32602),
    ("observe", #"{"search":{"query":"a","asOf":"x"}}"#, -32602),
    ("observe", #"{"history":{},"explain":true}"#, -32602),
    ("search", #"{"query":"a","facets":["title"]}"#, -32602),
    ("search", #"{"query":"a","suggest":true}"#, -32602),
    ("tools/list", "{}", -32601),
  ])
  func `is refused, never ignored`(method: String, params: String, code: Int) throws {
    let fixture = try Fixture()
    let peer = Peer(try Child(["serve", try fixture.store()]))
    #expect(try peer.errorCode(method, try JSON(params)) == code)
  }

  // Evidence: P-021a, P-021d
  @Test func `params that LSP clients send everywhere are taken`() throws {
    let fixture = try Fixture()
    let peer = Peer(try Child(["serve", try fixture.store()]))
    let everywhere: JSON = [
      "workDoneToken": 1, "partialResultToken": "p", "_meta": ["x": [1]], "entity": "Task",
    ]
    #expect(try peer.call("fetch", everywhere)["objects"] == [])
    let error = try peer.answer(try peer.request("fetch", ["entitty": "Task"]))["error"]
    #expect(error?["code"] == -32602)
    for name in ["entitty", "entity", "predicate", "sort"] {
      #expect(error?["message"]?.string?.contains(name) == true, "\(error?.text ?? "")")
    }
  }
}
