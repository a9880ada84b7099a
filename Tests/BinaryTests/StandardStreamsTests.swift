import Foundation
import Testing

@Suite struct `Standard streams of every kind` {
  private static let script =
    line(1, "save", ["insert": [task("one")]]) + line(2, "fetch", ["entity": "Task"])

  private func check(_ output: String, location: SourceLocation = #_sourceLocation) throws {
    let lines = try output.split(separator: "\n").map { try JSON(String($0)) }
    #expect(lines.map { $0["id"] } == [1, 2], sourceLocation: location)
    let objects = lines.last?["result"]?["objects"]?.array
    #expect(objects?.count == 1, sourceLocation: location)
  }

  // Evidence: P-002a
  @Test func `a pipe`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(["serve", try fixture.store()], input: Self.script)
    try check(outcome.output)
    #expect(outcome.code == 0)
    #expect(outcome.errors == "")
  }

  // Evidence: P-013c
  @Test func `a pipe whose last line has no end`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(
      ["serve", try fixture.store()],
      input: String(Self.script.dropLast())
    )
    try check(outcome.output)
    #expect(outcome.code == 0)
  }

  @Test func `regular files`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let file = try fixture.write(Self.script, to: "in")
    let child = try Child(["serve", store], input: .file(file), output: fixture.path("out"))
    #expect(try child.exitCode() == 0)
    try check(try String(contentsOfFile: fixture.path("out"), encoding: .utf8))
  }

  @Test func `a large answer into a file is whole`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let inserts = (0..<3000).map { task("task \($0) " + String(repeating: "x", count: 1000)) }
    let file = try fixture.write(
      line(1, "save", ["insert": .array(inserts)]) + line(2, "fetch", ["entity": "Task"]),
      to: "in"
    )
    let child = try Child(["serve", store], input: .file(file), output: fixture.path("out"))
    #expect(try child.exitCode() == 0)
    let lines = try String(contentsOfFile: fixture.path("out"), encoding: .utf8)
      .split(separator: "\n").map { try JSON(String($0)) }
    #expect(lines.last?["result"]?["objects"]?.array?.count == 3000)
  }

  @Test func `a folder is an error`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()], input: .file(fixture.path("")))
    #expect(try child.exitCode() == 1)
    let said = try child.errorText()
    #expect(said.contains("standard input is a folder"), "\(said)")
  }

  @Test func `the null device`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(["serve", try fixture.store()])
    #expect(outcome.code == 0)
    #expect(outcome.output == "")
  }

  @Test func `a closed descriptor`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()], input: .closed)
    #expect(try child.stream.rest() == "")
    #expect(try child.exitCode() == 0)
  }

  @Test func `all three closed`() throws {
    let fixture = try Fixture()
    let child = try Child(
      ["-c", "exec \"$0\" serve \"$1\" <&- >&- 2>&-", Child.binary, try fixture.store()],
      program: "sh"
    )
    #expect(try child.exitCode() == 0)
  }

  @Test(arguments: [">&-", ">/dev/full"])
  func `an output that cannot be written is an error`(_ output: String) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let script = try fixture.write(Self.script, to: "in")
    for command in ["serve \"$1\" <\"$2\"", "export \"$1\"", "fetch \"$1\" Task"] {
      let child = try Child(
        ["-c", "\"$0\" \(command) \(output)", Child.binary, store, script],
        program: "sh"
      )
      #expect(try child.exitCode() == 1, "\(command)")
      let errors = try child.errorText()
      #expect(errors.contains("Standard output cannot be written"), "\(command): \(errors)")
    }
  }

  @Test func `a terminal`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let child = try Child(
      ["-qec", "'\(Child.binary)' serve '\(store)'", "/dev/null"],
      program: "script"
    )
    try child.stream.send(Self.script)
    var answers: [JSON] = []
    // The terminal echoes what was typed.
    while answers.count < 2, let line = try child.stream.line() {
      let json = try JSON(line)
      if json["result"] != nil { answers.append(json) }
    }
    #expect(answers.map { $0["id"] } == [1, 2])
    try child.stream.send("\u{4}")
    #expect(try child.exitCode() == 0)
  }

  // Evidence: P-002b
  @Test func `standard output carries answers only, whatever is logged`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(
      ["serve", try fixture.store(), "--log-level", "trace"],
      input: Self.script + "garbage\n"
    )
    let lines = try outcome.lines
    #expect(lines.count == 3)
    #expect(lines.allSatisfy { $0["jsonrpc"] == "2.0" })
    #expect(outcome.code == 0)
  }

  // Evidence: P-013a, P-018a
  @Test func `everything that was read is answered at the end of input`() throws {
    let fixture = try Fixture()
    var script = ""
    for number in 1...500 { script += line(number, "save", ["insert": [task("t\(number)")]]) }
    script += line(501, "fetch", ["entity": "Task", "result": "count"])
    let outcome = try fixture.run(["serve", try fixture.store()], input: script)
    let lines = try outcome.lines
    #expect(lines.map { $0["id"]?.integer } == Array(1...501))
    #expect(lines.last?["result"]?["count"] == 500)
    #expect(outcome.code == 0)
  }

  @Test(arguments: [15, 2] as [Int32])
  func `a signal ends it with 0 after what was read is answered`(number: Int32) throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child)
    try peer.call("status")
    let last = try peer.request("save", ["insert": .array((0..<2000).map { task("t\($0)") })])
    let seen = try peer.request("fetch", ["entity": "Task", "result": "count"])
    // An answer to what came behind them shows that they were read.
    try child.stream.send(line(9999, "status"))
    _ = try peer.answer(last)
    child.signal(number)
    #expect(try peer.answer(seen)["result"]?["count"] == 2000)
    #expect(try child.exitCode() == 0)
    #expect(try child.errorText() == "")
  }

  @Test func `idle input and a signal end a terminal session too`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    try Peer(child).call("status")
    child.signal(15)
    #expect(try child.exitCode() == 0)
  }
}

@Suite struct `Where stores may be` {
  // Evidence: P-004a
  @Test func `a store in memory is gone with the process`() throws {
    for _ in 0..<10 {
      let child = try Child(["serve", "x", "--in-memory", "--model", Fixture.todo])
      try child.stream.send(line(1, "save", ["insert": [task("a")]]) + "\n")
      child.stream.endInput()
      #expect(try JSON(child.stream.rest())["result"] != nil)
      #expect(try child.exitCode() == 0)
      // Other processes have theirs meanwhile.
      #expect(try !memoryStores().contains { $0.contains("-\(child.process)-") })
    }
  }

  @Test func `the next process deletes the in-memory store of a killed process`() throws {
    let child = try Child(["serve", "x", "--in-memory", "--model", Fixture.todo])
    try Peer(child).call("status")
    #expect(try memoryStores().contains { $0.contains("-\(child.process)-") })
    child.end()
    _ = try Fixture().run(["serve", "x", "--in-memory", "--model", Fixture.todo])
    #expect(try !memoryStores().contains { $0.contains("-\(child.process)-") })
  }

  private func memoryStores() throws -> Set<String> {
    Set(
      try FileManager.default.contentsOfDirectory(atPath: "/dev/shm")
        .filter { $0.hasPrefix("cordial-") }
    )
  }

  // Evidence: P-004b
  @Test func `test mode begins empty and leaves the store itself alone`() throws {
    let fixture = try Fixture()
    let environment = ["XDG_CACHE_HOME": fixture.path("cache")]
    for _ in 0..<2 {
      let outcome = try fixture.run(
        ["serve", "mine", "--test-mode", "--model", Fixture.todo],
        input: line(1, "fetch", ["entity": "Task", "result": "count"])
          + line(2, "save", ["insert": [task("a")]]),
        environment: environment
      )
      #expect(outcome.code == 0, "\(outcome.errors)")
      #expect(try outcome.lines.at(0)["result"]?["count"] == 0)
      #expect(try outcome.lines.at(1)["result"] != nil)
    }
    #expect(!FileManager.default.fileExists(atPath: "mine"))
    #expect(fixture.exists("cache/cordial/test/mine/store.sqlite"))
  }

  // Evidence: P-073a
  @Test func `two processes on one store notify each other`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let first = try Child(["serve", store])
    let second = try Child(["serve", store])
    let one = Peer(first)
    let two = Peer(second)
    let observed = try one.call("observe", ["fetch": ["entity": "Task"]])
    try two.call("observe", ["fetch": ["entity": "Task"]])
    let saved = try two.call("save", ["insert": [task("from two")], "author": "two"])
    let heard = try one.changes()
    #expect(heard["from"] == observed["token"])
    #expect(heard["token"] == saved["token"])
    #expect(heard["authors"] == ["two"])
    try one.call("save", ["insert": [task("from one")], "author": "one"])
    #expect(try two.changes()["authors"] == ["two"])
    #expect(try two.changes()["authors"] == ["one"])
  }
}
