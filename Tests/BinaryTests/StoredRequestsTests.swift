import Foundation
import Testing

// Evidence: P-051a, P-051b, P-051c, P-051d, P-051e, P-058b, P-059a, P-059b
@Suite struct `Requests by name, pages and groups over the wire` {
  private let fixture: Fixture
  private let daemon: Daemon

  init() throws {
    fixture = try Fixture()
    daemon = try fixture.daemon(try fixture.store())
    let peer = try daemon.connect()
    _ = try peer.call(
      "save",
      [
        "insert": [
          ["id": "Group/t1", "values": ["title": "B"]],
          ["id": "Group/t2", "values": ["title": "A"]],
          ["id": "Task/t1", "values": ["title": "x", "group": "Group/t1"]],
          ["id": "Task/t2", "values": ["title": "y", "group": "Group/t1"]],
          ["id": "Task/t3", "values": ["title": "z"]],
        ]
      ]
    )
  }

  @Test func `a template of the model is a fetch, and sent params replace its params`()
    throws
  {
    let peer = try daemon.connect()
    let all = try peer.call("fetch", ["template": "groups"])
    #expect(all["objects"]?[0]?["values"] == ["title": "A", "taskCount": 0])
    #expect(all["objects"]?[1]?["values"] == ["title": "B", "taskCount": 2])
    let counted = try peer.call("fetch", ["template": "groups", "value": nil, "result": "count"])
    #expect(counted["count"] == 2)
    let observed = try peer.call("observe", ["fetch": ["template": "groups", "limit": 1]])
    #expect(observed["result"]?["count"] == 1)
    #expect(try peer.errorCode("fetch", ["template": "none"]) == -32602)
    #expect(try peer.errorCode("fetch", ["entity": "Task", "value": "TodoGroup"]) == -32602)
  }

  @Test func `pages, included objects, sections and groups`() throws {
    let peer = try daemon.connect()
    let first = try peer.call("fetch", ["entity": "Task", "sort": ["-title"], "limit": 2])
    #expect(first["objects"]?[0]?["id"] == "Task/p3")
    let next = try #require(first["next"])
    let second = try peer.call(
      "fetch",
      ["entity": "Task", "sort": ["-title"], "limit": 2, "after": next, "include": ["group.tasks"]]
    )
    #expect(second["next"] == nil)
    #expect(second["objects"]?[0]?["id"] == "Task/p1")
    #expect(second["included"]?["Group/p1"]?["values"]?["title"] == "B")
    #expect(second["included"]?["Task/p2"]?["values"]?["title"] == "y")
    #expect(try peer.errorCode("fetch", ["entity": "Task", "after": next]) == -32602)
    let sections = try peer.call(
      "fetch",
      ["entity": "Task", "sectionBy": "group.title", "result": "ids", "limit": 1, "total": true]
    )
    #expect(sections["sections"]?[1] == ["name": "B", "offset": 1, "count": 2])
    #expect(sections["total"] == 3)
    let groups = try peer.call(
      "fetch",
      [
        "entity": "Task", "result": "values", "groupBy": ["group.title"],
        "select": ["group": "group.title", "n": "@count"], "having": "@count > 1",
      ]
    )
    #expect(groups["rows"] == [["group": "B", "n": 2]])
    for wrong: JSON in [
      ["entity": "Task", "groupBy": ["title"]], ["entity": "Task", "distinct": true],
      ["entity": "Task", "result": "values"],
      ["entity": "Task", "after": next, "offset": 1], ["ids": ["Task/p1"], "after": next],
    ] {
      #expect(try peer.errorCode("fetch", wrong) == -32602)
    }
  }

  // Evidence: P-084c, P-052h
  @Test func `a subscription that cannot be kept ends, and its connection lives on`() throws {
    let peer = try daemon.connect()
    _ = try peer.call("initialize", ["cordial": ["timeoutSeconds": 1]])
    let heavy = try peer.call(
      "observe",
      ["fetch": ["entity": "Task", "predicate": "title MATCHES '(a*)*b'"]]
    )
    let light = try peer.call("observe", ["fetch": ["entity": "Task", "sort": ["title"]]])
    let text = String(repeating: "a", count: 40)
    _ = try daemon.connect().call(
      "save",
      ["insert": [["entity": "Task", "values": ["title": .string(text)]]]]
    )
    let changes = try peer.changes()
    #expect(changes["updates"]?[0]?["subscription"] == heavy["subscription"])
    #expect(changes["updates"]?[0]?["error"]?["code"] == 1303)
    #expect(changes["updates"]?[1]?["subscription"] == light["subscription"])
    #expect(changes["updates"]?[1]?["insert"]?.array?.count == 1)
    let name = heavy["subscription"] ?? .null
    #expect(try peer.errorCode("unobserve", ["subscription": name]) == 1301)
  }

  // Evidence: P-112c
  @Test func `faults of stored requests are reported with other faults of the model`() throws {
    let fixture = try Fixture()
    let model = try fixture.write(
      """
      {"name":"M","entities":[{"name":"A","attributes":[{"name":"x","type":"int16"},
         {"name":"k","type":"int16","transient":true,"computed":"rank"}]}],
       "values":[{"name":"v","entity":"A","select":["nope","x"]}],
       "templates":[{"name":"a","entity":"A","predicate":"x IN $list AND x > $low"},
         {"name":"b","entity":"A","predicate":"x >"},
         {"name":"c","entity":"A","predicate":"x BETWEEN $two","sort":["zz","x","-y"]},
         {"name":"d","entity":"A","predicate":"u == 1 AND NOT (x == 2 OR v == 'a')",
          "select":["w"]},
         {"name":"f","entity":"A","result":"values","select":["x"],"groupBy":["x"],
          "sort":["x"]},
         {"name":"g","entity":"A","result":"values","select":{"c":"@count","m":"@max.x"}},
         {"name":"h","entity":"A","predicate":"k > 1","sort":["k"],"select":["k"]}]}
      """,
      to: "m.json"
    )
    let checked = try fixture.run(["model", "check", model])
    #expect(checked.code == 1)
    let paths = checked.errors.split(separator: "\n").compactMap { line in
      line.firstMatch(of: /(templates|values)\[\d\][^: ]*/).map { "\($0.0)" }
    }
    #expect(
      paths == [
        "templates[1].predicate", "templates[2].sort[0]", "templates[2].sort[2]",
        "templates[3].predicate", "templates[3].predicate", "templates[3].select.w",
        "values[0].select.nope",
      ]
    )
  }

  /// Every model that the repository carries, and a real one of Xcode's where it is there.
  @Test func `models go through a store and come back the same`() throws {
    let fixture = try Fixture()
    let folder = FileManager.default
    var paths = try folder.contentsOfDirectory(atPath: Fixture.models).map {
      Fixture.models + "/" + $0
    }
    let shared = Fixture.models + "/../../../shared/data"
    if folder.fileExists(atPath: shared) {
      paths += try folder.contentsOfDirectory(atPath: shared).map { shared + "/" + $0 }
    }
    for (index, path) in paths.enumerated() {
      #expect(try fixture.run(["model", "check", path]).code == 0, "\(path)")
      let store = try fixture.store("S\(index).cordial", model: path)
      let file = try fixture.run(["model", "diff", path, store + "/model.json"])
      #expect(file.code == 0 && file.output.isEmpty, "\(path): \(file.output)")
      let again = try fixture.store("T\(index).cordial", model: store + "/model.json")
      let served = try fixture.run(
        ["serve", again, "--model", path],
        input: line(1, "status") + "\n"
      )
      #expect(try served.lines.at(0)["result"]?["mismatch"] == nil, "\(path)")
      #expect(try served.lines.at(0)["result"]?["store"]?["readOnly"] == false, "\(path)")
    }
    #expect(paths.count >= 2)
  }
}
