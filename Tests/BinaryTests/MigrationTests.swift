import Foundation
import Testing

@Suite struct `Migrations from the command line` {
  private static func model(_ version: Int, _ attributes: String, _ more: String = "") -> String {
    """
    {"name":"M","version":"\(version)","entities":[
      {"name":"Task","attributes":[\(attributes)],"spotlight":{"displayName":"title"}}\(more)]}
    """
  }

  private static let title = #"{"name":"title","type":"string"}"#
  private static let first = model(1, title, #",{"name":"Old"}"#)
  private static let second = model(
    2,
    title
      + #",{"name":"rank","type":"int16","default":3},{"name":"key","type":"string","derived":"uppercase:(title)"}"#
  )

  /// A text does not become binary.
  private static let wrong = model(3, #"{"name":"title","type":"binary"}"#)
    .replacing(#""spotlight":{"displayName":"title"}"#, with: #""unique":[]"#)

  /// A store of the first version with objects, and the file of the second.
  private func make(_ fixture: Fixture, objects: Int) throws -> (store: String, second: String) {
    let store = try fixture.store(model: try fixture.write(Self.first, to: "1.json"))
    let lines = (0..<objects).map { #"{"entity":"Task","values":{"title":"task \#($0)"}}"# }
    let made = try fixture.run(
      ["import", store, "--no-index"],
      input: lines.joined(separator: "\n")
    )
    guard made.code == 0 else { throw Failure(made.errors) }
    return (store, try fixture.write(Self.second, to: "2.json"))
  }

  // Evidence: P-117h, P-117i
  @Test func `a dry run prints the differences and the plan and changes nothing`() throws {
    let fixture = try Fixture()
    let (store, second) = try make(fixture, objects: 3)
    let diff = try fixture.run(["model", "diff", fixture.path("1.json"), second])
    #expect(diff.code == 0)
    let loss = "which the model does not list in \"removed\""
    #expect(
      diff.output
        == "+ Task.rank\n+ Task.key\n- Old\n"
        + "? Old: not possible with data: objects would be removed, \(loss)\n"
    )
    let plan = try fixture.run(["model", "migrate", store, "--model", second, "--dry-run"])
    #expect(plan.code == 0)
    #expect(plan.output.contains("-- 1 to 2\n-- + Task.rank\n"))
    #expect(plan.output.contains("INSERT INTO \"Task\"("))
    let still = try fixture.run(["serve", store], input: line(1, "model") + "\n")
    #expect(try still.lines.at(0)["result"]?["version"] == "1")
    let back = try fixture.run(["model", "diff", second, fixture.path("1.json")])
    #expect(
      back.output
        == "- Task.rank\n- Task.key\n+ Old\n"
        + "? Task.rank: not possible with data: values would be removed, \(loss)\n"
    )
    let wrong = try fixture.write(
      Self.wrong,
      to: "3.json"
    )
    let refused = try fixture.run(["model", "diff", second, wrong])
    #expect(refused.code == 1)
    #expect(refused.output.contains("! Task.title: string is not converted to binary\n"))
  }

  // Evidence: P-086c
  @Test func `serving with the next version migrates, and the index follows`() throws {
    let fixture = try Fixture()
    let (store, second) = try make(fixture, objects: 3)
    let peer = Peer(try Child(["serve", store, "--model", second]))
    let objects = try peer.call("fetch", ["entity": "Task", "limit": 1])["objects"]?.array
    #expect(objects?.first?["values"] == ["title": "task 0", "rank": 3, "key": "TASK 0"])
    try peer.call("observe/flush")
    #expect(try peer.call("search", ["query": "task"])["total"] == 3)
    #expect(try peer.call("index/verify")["differences"] == [])
    #expect(try peer.call("search", ["query": "9"])["total"] == 0)
    try peer.call("save", ["update": [["id": "Task/p1", "values": ["title": "task 9"]]]])
    try peer.call("observe/flush")
    #expect(try peer.call("search", ["query": "9"])["total"] == 1)
  }

  /// Nothing of a store that cannot have the model is touched, and its client is told why.
  // Evidence: P-118c
  @Test func `a store that cannot migrate serves methods about itself only`() throws {
    let fixture = try Fixture()
    let (store, _) = try make(fixture, objects: 3)
    let wrong = try fixture.write(
      Self.wrong,
      to: "wrong.json"
    )
    let peer = Peer(try Child(["serve", store, "--model", wrong]))
    #expect(try peer.call("initialize")["store"]?["model"]?["version"] == "1")
    #expect(try peer.call("model")["version"] == "1")
    let status = try peer.call("status")
    #expect(status["store"]?["readOnly"] == true)
    #expect(status["mismatch"] != nil)
    #expect(try peer.call("rpc.discover")["openrpc"] != nil)
    for method in ["fetch", "save", "search", "observe", "history"] {
      let error = try peer.answer(try peer.request(method, [:]))["error"]
      #expect(error?["code"] == 1005, "\(method)")
      #expect(error?["data"]?["problems"]?.array?.first?["path"] == "Task.title")
    }
  }

  /// The client has spoken already when the migration begins: its input is a file.
  // Evidence: P-017b
  @Test(arguments: [true, false])
  func `a client with a progress token is notified during the migration`(asks: Bool) throws {
    let fixture = try Fixture()
    let (store, second) = try make(fixture, objects: 30)
    let params: JSON = asks ? ["workDoneToken": "w"] : [:]
    let input = try fixture.write(
      line(1, "initialize", params) + "\n"
        + line(2, "fetch", ["entity": "Task", "result": "count"])
        + "\n",
      to: "input"
    )
    let child = try Child(["serve", store, "--model", second], input: .file(input))
    let lines = try child.stream.rest().split(separator: "\n").map { try JSON(String($0)) }
    let progress = lines.filter { $0["method"] == "$/progress" }.map { $0["params"] }
    #expect(lines.suffix(2).map { $0["id"] } == [1, 2])
    #expect(lines.last?["result"]?["count"] == 30)
    guard asks else {
      #expect(progress.isEmpty)
      return
    }
    #expect(progress.count == lines.count - 2)
    #expect(progress.allSatisfy { $0?["token"] == "w" })
    let kinds = progress.map { $0?["value"]?["kind"] }
    #expect(kinds.first == "begin" && kinds.last == "end")
    #expect(kinds.dropFirst().dropLast().allSatisfy { $0 == "report" })
    let percentages = progress.dropLast().compactMap { $0?["value"]?["percentage"]?.integer }
    #expect(percentages == percentages.sorted() && percentages.count > 2)
  }

  /// The signal comes when the process says that it begins the first step.
  // Evidence: P-007a
  @Test(arguments: [15, 2])
  func `a signal during a migration ends the service in order`(signal: Int32) throws {
    let fixture = try Fixture()
    let (store, second) = try make(fixture, objects: 30_000)
    let socket = fixture.path("s")
    let child = try Child(["serve", store, "--model", second, "--socket", socket])
    _ = try child.errorLine()
    let client = try ByteStream.connect(socket)
    try client.send(line(1, "fetch", ["entity": "Task", "workDoneToken": "w"]) + "\n")
    // The service has read the request, because the next one is answered.
    try client.send(line(2, "status") + "\n")
    while let line = try client.line(), !line.contains(#""state":"migrating""#) {
      #expect(line.contains("$/progress"), "\(line)")
    }
    child.signal(signal)
    #expect(try child.exitCode() == 0)
    let answer = try client.rest()
    #expect(answer.contains("The service is stopping"), "\(answer)")
    #expect(!FileManager.default.fileExists(atPath: socket))
    let fetched = try fixture.run(["fetch", store, "Task", "--count"])
    #expect(fetched.output == "30000\n")
  }

  /// The process is killed when it says that it begins a step.
  // Evidence: P-117a, P-117i
  @Test(arguments: 1...6)
  func `a killed migration leaves the old store unchanged`(step: Int) throws {
    let fixture = try Fixture()
    let (store, second) = try make(fixture, objects: 3000)
    let child = try Child(["model", "migrate", store, "--model", second])
    for _ in 0..<step { _ = try child.errorLine() }
    child.end()
    let serving = try Child(["serve", store])
    let peer = Peer(serving)
    let version = try peer.call("model")["version"]
    #expect(version == "1" || version == "2")
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 3000)
    #expect(
      try peer.call("fetch", ["entity": "Task", "sort": ["title"], "limit": 1])["objects"]?.array?
        .first?["id"] == "Task/p1"
    )
    try peer.call("save", ["insert": [["entity": "Task", "values": ["title": "new"]]]])
    serving.end()
    let done = try fixture.run(["model", "migrate", store, "--model", second])
    #expect(done.code == 0, "\(done.errors)")
    let fetched = try fixture.run(["fetch", store, "Task", "--where", "rank == 3", "--count"])
    #expect(fetched.output == "3001\n")
  }

  @Test func `a model that cannot be indexed is refused before the store is changed`() throws {
    let fixture = try Fixture()
    let (store, _) = try make(fixture, objects: 2)
    let text = Self.model(2, #"{"name":"title","type":"string"}"#, "")
      .replacing(#""displayName":"title""#, with: #""displayName":"title","exclude":"x = 1""#)
    let second = try fixture.write(text, to: "unindexed.json")
    for options in [[], ["--dry-run"]] {
      let refused = try fixture.run(["model", "migrate", store, "--model", second] + options)
      #expect(refused.code != 0 && refused.errors.contains("Task.spotlight.exclude"))
    }
    let fetched = try fixture.run(["fetch", store, "Task", "--count"])
    #expect(fetched.output == "2\n", "\(fetched.errors)")
  }

  // Evidence: P-117f
  @Test func `a folder of versions migrates a store of any of them`() throws {
    let fixture = try Fixture()
    let (store, _) = try make(fixture, objects: 2)
    try FileManager.default.createDirectory(
      atPath: fixture.path("versions"),
      withIntermediateDirectories: false
    )
    for (number, name, former) in [(1, "title", ""), (2, "b", "title"), (10, "c", "b")] {
      let renamed = former.isEmpty ? "" : #","renamedFrom":"\#(former)""#
      let text = Self.model(
        number,
        #"{"name":"\#(name)","type":"string"\#(renamed)}"#,
        #",{"name":"Old"}"#
      )
      .replacing(#""displayName":"title""#, with: #""displayName":"\#(name)""#)
      _ = try fixture.write(text, to: "versions/M \(number).json")
    }
    let served = try fixture.run(
      ["serve", store, "--model", fixture.path("versions")],
      input: line(1, "fetch", ["entity": "Task", "sort": ["c"]]) + "\n"
    )
    let objects = try served.lines.at(0)["result"]?["objects"]?.array
    #expect(objects?.map { $0["values"] } == [["c": "task 0"], ["c": "task 1"]])
  }
}
