import Foundation
import Testing

@Suite struct `The command line` {
  // Evidence: P-001
  @Test func `objects are inserted, found and deleted`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let saved = try fixture.run(
      ["save", store],
      input: """
        {"insert": [{"id": "Group/t1", "values": {"title": "Home"}},
          {"id": "Task/t2", "values": {"title": "Buy milk", "group": "Group/t1"}}]}
        """
    )
    #expect(saved.code == 0)
    #expect(try saved.lines.at(0)["ids"] == ["Group/t1": "Group/p1", "Task/t2": "Task/p1"])
    let fetched = try fixture.run(["fetch", store, "Task", "--where", "group.title == 'Home'"])
    #expect(try fetched.lines.map { $0["id"] } == ["Task/p1"])
    #expect(try fixture.run(["fetch", store, "Task", "--count"]).output == "1\n")
    let got = try fixture.run(["get", store, "Group/p1"])
    #expect(try got.lines.at(0)["values"] == ["title": "Home"])
    let hits = try fixture.run(["search", store, "milk"])
    #expect(try hits.lines.map { $0["id"] } == ["Task/p1"])
    #expect(try hits.lines.at(0)["highlights"] == ["title": [[4, 8]]])
    #expect(try fixture.run(["delete", store, "Task/p1"]).code == 0)
    let gone = try fixture.run(["get", store, "Task/p1"])
    #expect(gone.code == 1)
    #expect(gone.errors.contains("Task/p1"))
    #expect(try fixture.run(["search", store, "milk"]).output == "")
  }

  @Test func `search shows the words in colour, and no control characters`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let saved = try fixture.run([
      "call", store, "save",
      #"{"insert":[{"id":"Task/t1","values":{"title":"Buy milk\u001b[31m\nnow"}},"#
        + #"{"id":"Memo/t2","values":{"content":"the milk of the cow"}}]}"#,
    ])
    #expect(saved.code == 0)
    func shown(_ query: String, _ environment: [String: String]) throws -> [String] {
      let child = try Child(
        ["-qec", "'\(Child.binary)' search '\(store)' \(query)", "/dev/null"],
        program: "/usr/bin/script",
        environment: environment
      )
      let text = try child.stream.rest()
      #expect(try child.exitCode() == 0)
      return text.components(separatedBy: "\r\n")
    }
    let (mark, end) = ("\u{1B}[1;33m", "\u{1B}[0m")
    let coloured = try shown("milk", ["TERM": "xterm", "NO_COLOR": ""])
    #expect(
      coloured == [
        "Task/p1  Buy \(mark)milk\(end)\\u001b[31m now",
        "Memo/p1  the \(mark)milk\(end) of the cow",
        "2 found", "",
      ]
    )
    #expect(
      try shown("milk --entity Memo", ["TERM": "xterm", "NO_COLOR": "1"]) == [
        "Memo/p1  the milk of the cow", "1 found", "",
      ]
    )
    #expect(
      try shown("buy cow zebra --match all", ["TERM": "dumb"]) == [
        "0 found", "In no object: zebra", "",
      ]
    )
    #expect(
      try shown("buy cow --match all", ["TERM": "dumb"]) == [
        "0 found", "Without buy: 1", "Without cow: 1", "",
      ]
    )
    #expect(
      try shown("mlik the cows zebra", ["TERM": "dumb"]) == [
        "Memo/p1  the milk of the cow", "         (mlik: milk; cows: cow; without zebra)",
        "1 found", "Without: zebra", "Only the words as typed: --match all", "",
      ]
    )
    let filtered = try fixture.run([
      "search", store, "milk", "--entity", "Task", "--where", "myDay",
    ])
    #expect(filtered.code != 0 && filtered.errors.contains("predicate"))
    let none = try fixture.run([
      "search", store, "milk", "--entity", "Task", "--where", "myDay == YES",
    ])
    #expect(none.code == 0 && none.output.isEmpty)
  }

  @Test func `index pauses, resumes and rebuilds`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let insert = #"{"insert":[{"id":"Task/t1","values":{"title":"Buy milk"}}]}"#
    func save() throws { #expect(try fixture.run(["call", store, "save", insert]).code == 0) }
    func index(_ action: String...) throws -> JSON {
      try fixture.run(["index", store] + action).lines.at(0)
    }
    try save()
    #expect(try index()["state"] == "ready")
    #expect(try index("pause")["state"] == "paused")
    try save()
    let status = try index("status")
    #expect(status["state"] == "paused" && status["reason"] == "requested")
    #expect(status["behind"] == 1 && status["documents"] == 1)
    #expect(try index("rebuild")["documents"] == 2)
    #expect(try index("resume")["state"] != "paused")
    #expect(try index("verify")["differences"] == [])
    let suggested = try fixture.run(["search", store, "buy", "m", "--suggest"])
    #expect(try suggested.lines.at(0) == ["text": "buy milk", "kind": "word", "documents": 2])
    #expect(try fixture.run(["index", store, "stop"]).code != 0)
    let both = try fixture.run(["search", store, "m", "--suggest", "--where", "myDay == YES"])
    #expect(both.code != 0 && both.errors.contains("--suggest"))
    #expect(try fixture.run(["search", store, "mlik", "--match", "all"]).lines.isEmpty)
    #expect(try fixture.run(["search", store, "mlik", "--no-fuzzy"]).lines.isEmpty)
    let mistaken = try fixture.run(["search", store, "mlik"])
    #expect(try mistaken.lines.at(0)["title"] == "Buy milk")
    let explained = try fixture.run(["search", store, "milk", "--explain", "--match", "all"])
    #expect(try explained.lines.at(0)["explanation"]?[0]?["term"] == "milk")
    let strict = ["search", store, "mlik", "--match", "all", "--why", "Task/p1"]
    #expect(try fixture.run(strict).lines.at(0)["nearest"] == ["milk"])
    let reason = try fixture.run(["search", store, "mlik", "--why", "Task/p1"])
    #expect(try reason.lines.at(0)["class"] == 3)
  }

  // Evidence: P-112d
  @Test func `model graph draws entities, attributes and relationships`() throws {
    let fixture = try Fixture()
    let model = try fixture.write(
      """
      {"name":"M","entities":[
        {"name":"A","attributes":[{"name":"x","type":"int16","optional":true}],
         "relationships":[{"name":"bs","destination":"B","toMany":true,"inverse":"a"}]},
        {"name":"B","relationships":[{"name":"a","destination":"A","inverse":"bs"}]}]}
      """,
      to: "m.json"
    )
    let graph = try fixture.run(["model", "graph", model, "--format", "dot"])
    #expect(graph.code == 0)
    #expect(graph.output.hasPrefix("digraph \"M\" {"))
    #expect(graph.output.contains(#""A" [label="{A|x: int16?"#))
    #expect(graph.output.contains(#""A" -> "B" [headlabel="bs*", taillabel="a", dir=both]"#))
  }

  // Evidence: P-006a
  @Test func `a configuration serves a part of a model`() throws {
    let fixture = try Fixture()
    let model = try fixture.write(
      """
      {"name":"M","entities":[{"name":"A","attributes":[{"name":"x","type":"int16"}]},
        {"name":"B"}],"configurations":{"Local":["A"]}}
      """,
      to: "m.json"
    )
    let served = try fixture.run(
      ["serve", fixture.path("S.cordial"), "--model", model, "--configuration", "Local"],
      input: line(1, "model") + "\n" + line(2, "fetch", ["entity": "B"]) + "\n"
    )
    #expect(try served.lines.at(0)["result"]?["entities"]?.array?.map { $0["name"] } == ["A"])
    #expect(try served.lines.at(1)["error"]?["code"] == 1002)
    let refused = try fixture.run(
      ["init", fixture.path("T.cordial"), "--model", model, "--configuration", "Remote"]
    )
    #expect(refused.code == 1)
    #expect(refused.errors.contains("Local"))
    #expect(!fixture.exists("T.cordial"))
  }

  @Test func `a fetch is explained with its SQL, and not carried out`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let explained = try fixture.run(
      ["fetch", store, "Task", "--where", "group.title == 'x'", "--limit", "5", "--explain"]
    )
    #expect(explained.code == 0)
    let lines = explained.output.split(separator: "\n")
    #expect(lines.first?.hasPrefix("SELECT t.\"_id\"") == true)
    #expect(lines.contains("-- with \"x\", 5, 0"))
    #expect(lines.contains { $0.hasPrefix("-- SEARCH") || $0.hasPrefix("-- SCAN") })
    let wrong = try fixture.run(["fetch", store, "Task", "--where", "no ==", "--explain"])
    #expect(wrong.code == 1)
  }

  @Test func `printf into serve is answered`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let child = try Child(
      [
        "-c", "printf '%s\\n' \"$1\" | exec \"$0\" serve \"$2\"", Child.binary,
        #"{"jsonrpc":"2.0","id":1,"method":"search","params":{"query":"json library"}}"#, store,
      ],
      program: "sh"
    )
    let answer = try JSON(try child.stream.rest())
    #expect(answer["id"] == 1)
    #expect(answer["result"]?["total"] == 0)
    #expect(try child.exitCode() == 0)
  }

  @Test func `what one store exports another imports as the same graph`() throws {
    let fixture = try Fixture()
    let store = try fixture.store("A", model: Fixture.packages)
    var inserts: [JSON] = [["id": "Section/tweb", "values": ["name": "web"]]]
    for number in 0..<50 {
      // Each depends on others before and behind it: references lead both ways through the file.
      let targets = [number * 7 % 50, number * 3 % 50, (number + 1) % 50]
      let unique = Set(targets).sorted().map { JSON.string("Package/tp\($0)") }
      inserts.append([
        "id": "Package/tp\(number)",
        "values": [
          "name": "package \(number) “é” 漢字", "version": "\(number).0", "architecture": "all",
          "installedSize": number % 3 == 0 ? nil : .integer(Int64(number) << 40),
          "section": number % 2 == 0 ? "Section/tweb" : nil, "dependsOn": .array(unique),
        ],
      ])
    }
    let params: JSON = ["insert": .array(inserts)]
    #expect(try fixture.run(["save", store], input: params.text).code == 0)
    let first = try fixture.run(["export", store])
    #expect(first.code == 0)
    #expect(try first.lines.count == 51)
    let file = try fixture.write(first.output, to: "export.jsonl")
    let other = try fixture.store("B", model: Fixture.packages)
    let imported = try fixture.run(["import", other, file, "--batch", "7"])
    #expect(imported.code == 0, "\(imported.errors)")
    #expect(try graph(fixture.run(["export", other])) == graph(first))
    let piped = fixture.path("C")
    let made = try fixture.run(
      ["import", piped, "--model", Fixture.packages],
      input: first.output
    )
    #expect(made.code == 0, "\(made.errors)")
    #expect(try graph(fixture.run(["export", piped])) == graph(first))
  }

  /// The objects by name, with names in place of IDs: stores number their objects themselves.
  // Evidence: P-135e
  @Test func `a message that has no end is refused`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(["save", try fixture.store(), "/dev/zero"])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("/dev/zero is longer than 67108864 bytes"))
  }

  @Test func `an archive with the history makes the same store, once`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let group = #"{"insert": [{"id": "Group/t1", "values": {"title": "Home"}}]}"#
    #expect(try fixture.run(["save", store], input: group).code == 0)
    #expect(try fixture.run(["delete", store, "Group/p1"]).code == 0)
    let archive = try fixture.run(["export", store, "--archive", "--history"])
    #expect(archive.code == 0)
    let file = try fixture.write(archive.output, to: "all.archive")
    let copy = fixture.path("copy.cordial")
    #expect(try fixture.run(["import", copy, file]).code == 0)
    func changes(_ store: String) throws -> [JSON] {
      try fixture.run(["history", store]).lines.map {
        .array([$0["time"] ?? .null, $0["changes"] ?? .null])
      }
    }
    #expect(try changes(copy).count == 2)
    #expect(try changes(copy) == changes(store))
    let again = try fixture.run(["import", copy, file])
    #expect(again.code != 0)
    #expect(again.errors.contains("only a new store can have the history"))
    #expect(try fixture.run(["export", store, "--history"]).code == 64)
  }

  private func graph(_ export: Fixture.Outcome) throws -> Set<String> {
    let objects = try export.lines
    var names: [String: JSON] = [:]
    for object in objects { names[object["id"]?.string ?? ""] = object["values"]?["name"] }
    return Set(
      objects.map { object in
        var values = object["values"]?.object ?? [:]
        values["section"] = values["section"].flatMap { names[$0.string ?? ""] }
        let targets = (values["dependsOn"]?.array ?? []).map { names[$0.string ?? ""]?.text ?? "?" }
        values["dependsOn"] = .array(targets.sorted().map { .string($0) })
        let sources = (values["requiredBy"]?.array ?? []).map {
          names[$0.string ?? ""]?.text ?? "?"
        }
        values["requiredBy"] = .array(sources.sorted().map { .string($0) })
        return JSON.object(values).text
      }
    )
  }

  @Test func `an import with unknown references reports them`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let outcome = try fixture.run(
      ["import", store],
      input: #"{"id":"Task/x","values":{"title":"a","group":"Group/nowhere"}}"# + "\n"
    )
    #expect(outcome.errors.contains("Group/nowhere"), "the reference was dropped in silence")
  }

  @Test(arguments: [
    (#"{"id":"Task/x6","#, "Line 6"), (#"{"values":{}}"#, "Line 6"),
    (#"{"id":"Task/x6","values":{"title":6}}"#, "line 6"),
  ])
  func `a failed import reports the line and the number of imported objects`(
    line: String,
    place: String
  ) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let good = (1...9).map { #"{"id":"Task/x\#($0)","values":{"title":"\#($0)"}}"# }
    let lines = good[..<5] + [line] + good[6...]
    let outcome = try fixture.run(
      ["import", store, "--batch", "2"],
      input: lines.joined(separator: "\n")
    )
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains(place), "\(outcome.errors)")
    #expect(outcome.errors.contains("4 objects are imported"), "\(outcome.errors)")
    #expect(try fixture.run(["fetch", store, "Task", "--count"]).output == "4\n")
  }

  @Test(arguments: [["--help"], ["serve", "--help"], ["help", "fetch"], ["--version"]])
  func `help and version are on standard output`(words: [String]) throws {
    let outcome = try Fixture().run(words)
    #expect(outcome.code == 0)
    #expect(!outcome.output.isEmpty)
    #expect(outcome.errors == "")
  }

  @Test(arguments: [
    ["bogus"], ["serve"], ["fetch"], ["fetch", "store"], ["init", "store"], ["get", "store"],
    ["serve", "store", "--stdio", "--socket", "s"], ["serve", "store", "--framing", "x"],
    ["serve", "store", "--in-memory", "--read-only"], ["delete", "store"],
    ["import", "store", "--batch", "0"], ["serve", "store", "--nonsense"],
  ])
  func `wrong usage ends with 64 and touches nothing`(words: [String]) throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(words.map { $0 == "store" ? fixture.path("store") : $0 })
    #expect(outcome.code == 64)
    #expect(outcome.errors.contains("Usage: cordial"))
    #expect(outcome.output == "")
    #expect(!fixture.exists("store"))
  }

  @Test func `the examples that help shows work`() throws {
    let fixture = try Fixture()
    let store = try fixture.store("Packages.cordial", model: Fixture.packages)
    let outcome = try fixture.run([
      "fetch", store, "Package", "--where", #"section.name == "web""#, "--sort",
      "-installedSize", "--limit", "5",
    ])
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  // Evidence: P-030c, P-030d
  @Test func `an ID may be a URI of this store, and of no other`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    _ = try fixture.run(["save", store], input: #"{"insert":[{"entity":"Group"}]}"#)
    let status = try fixture.run(["call", store, "status"]).lines.at(0)
    let id = try #require(status["store"]?["id"]?.string)
    let got = try fixture.run(["get", store, "cordial://\(id)/Group/p1"])
    #expect(try got.lines.map { $0["id"] } == ["Group/p1"])
    let other = try fixture.run(["get", store, "cordial://1\(id)/Group/p1"])
    #expect(other.code == 1)
    #expect(other.errors.contains("another store"))
  }

  /// The service cannot tell which request it was, and says so with a null id.
  @Test func `an error without a request ID ends waiting requests`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    // With the message around it, it is one level deeper than a message may be.
    let deep =
      #"{"insert":"# + String(repeating: "[", count: 127) + String(repeating: "]", count: 127) + "}"
    let outcome = try fixture.run(["call", daemon.socket, "save", deep])
    #expect(outcome.code == 1)
    #expect(outcome.output == "")
    #expect(outcome.errors.hasPrefix("cordial: "))
    #expect(try fixture.run(["fetch", daemon.socket, "Task"]).code == 0)
  }

  @Test(arguments: [true, false])
  func `watch ends with 1 when the service does`(inOrder: Bool) throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let watch = try Child(["watch", daemon.socket, "Task"], input: .nothing)
    #expect(try JSON(try watch.stream.line() ?? "")["fresh"] == true)
    try daemon.connect().call("save", ["insert": [task("a")]])
    #expect(try JSON(try watch.stream.line() ?? "")["updates"]?[0]?["count"] == 1)
    daemon.child.signal(inOrder ? 15 : 9)
    #expect(try watch.exitCode() == 1)
    #expect(try watch.errorText().hasPrefix("cordial: "))
  }

  // Evidence: P-101
  @Test func `an error answer ends with 1`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    for words in [
      ["fetch", store, "Nope"], ["fetch", store, "Task", "--where", "title =="],
      ["get", store, "Foo"], ["delete", store, "Task/p9"], ["import", store, fixture.path("none")],
    ] {
      let outcome = try fixture.run(words)
      #expect(outcome.code == 1, "\(words)")
      #expect(outcome.errors.hasPrefix("cordial: "), "\(words)")
      #expect(outcome.output == "", "\(words)")
    }
  }

  // Evidence: P-100
  @Test func `the printed protocol is the committed one`() throws {
    let path = URL(fileURLWithPath: Fixture.models).deletingLastPathComponent()
      .appendingPathComponent("openrpc.json").path
    let data = try #require(FileManager.default.contents(atPath: path), "\(path) is missing")
    #expect(try Fixture().run(["protocol"]).output == String(decoding: data, as: UTF8.self))
  }
}

@Suite struct `A store that cannot be opened is one sentence and exit code 1` {
  private func check(
    _ words: [String],
    says: String,
    in fixture: Fixture,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try fixture.run(words)
    #expect(outcome.code == 1, sourceLocation: location)
    #expect(outcome.output == "", sourceLocation: location)
    let lines = outcome.errors.split(separator: "\n")
    #expect(
      lines.first?.contains(says) == true && lines.first?.hasPrefix("cordial: ") == true
        && lines.count <= 2,
      "\(outcome.errors)",
      sourceLocation: location
    )
  }

  // Evidence: P-005
  @Test func `a missing one`() throws {
    let fixture = try Fixture()
    try check(["serve", fixture.path("none")], says: "There is no store at", in: fixture)
    try check(["fetch", fixture.path("none"), "Task"], says: "There is no store at", in: fixture)
    #expect(!fixture.exists("none"))
  }

  // Evidence: P-005
  @Test func `a folder with other things`() throws {
    let fixture = try Fixture()
    _ = try fixture.write("x", to: "other.txt")
    try check(["serve", fixture.folder], says: "no store", in: fixture)
    try check(
      ["serve", fixture.folder, "--model", Fixture.todo],
      says: "no Cordial store",
      in: fixture
    )
  }

  @Test func `a file`() throws {
    let fixture = try Fixture()
    let file = try fixture.write("x", to: "file")
    try check(["serve", file, "--model", Fixture.todo], says: "is a file", in: fixture)
    try check(["serve", file], says: "file", in: fixture)
  }

  @Test func `a damaged one`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    _ = try fixture.write(
      String(repeating: "garbage ", count: 4096),
      to: "Test.cordial/store.sqlite"
    )
    try check(["serve", store], says: "store.sqlite", in: fixture)
  }

  @Test func `a model that does not parse`() throws {
    let fixture = try Fixture()
    let garbage = try fixture.write("garbage", to: "a.json")
    let wrong = try fixture.write(#"{"name":"x","entities":[{"name":"1"}]}"#, to: "b.json")
    for model in [garbage, wrong, fixture.path("none.json")] {
      try check(["init", fixture.path("S"), "--model", model], says: model, in: fixture)
      try check(["serve", fixture.path("S"), "--model", model], says: model, in: fixture)
      #expect(!fixture.exists("S"))
    }
  }

  @Test func `another model than that of the store, for commands other than serve`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let saved = try fixture.run(
      ["save", store],
      input: #"{"insert":[{"entity":"Task","values":{"title":"x"}}]}"#
    )
    #expect(saved.code == 0)
    for command in [["model", "migrate", store], ["import", store]] {
      try check(command + ["--model", Fixture.packages], says: "Todo", in: fixture)
    }
  }

  @Test func `a read-only store serves reads`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let child = try Child(["serve", store, "--read-only"])
    let peer = Peer(child)
    #expect(try peer.call("fetch", ["entity": "Task"])["objects"] == [])
    #expect(try peer.errorCode("save", ["insert": [task("a")]]) == 1404)
    #expect(try peer.errorCode("delete", ["ids": ["Task/p1"]]) == 1404)
    #expect(try peer.call("fetch", ["entity": "Task"])["objects"] == [])
  }
}
