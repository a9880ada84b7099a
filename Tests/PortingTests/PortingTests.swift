import Cordial
import CordialProtocol
import Engine
import JSON
import Logging
import ObjectModel
import PersistentStore
import Porting
import Synchronization
import TestStores
import Testing

let portedModel = """
  {"name":"M","entities":[
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
       {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"group"}]},
    {"name":"Task","attributes":[{"name":"title","type":"string"},
       {"name":"size","type":"double","optional":true}],
     "relationships":[
       {"name":"group","destination":"Group","inverse":"tasks","optional":true},
       {"name":"next","destination":"Task","inverse":"previous","optional":true},
       {"name":"previous","destination":"Task","inverse":"next","optional":true},
       {"name":"tags","destination":"Tag","toMany":true,"inverse":"tasks"}]},
    {"name":"Tag","attributes":[{"name":"name","type":"string"}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"tags"}]}]}
  """

/// Runs a body with a client of a new store in this process.
func withClient<Answer>(
  _ model: String = portedModel,
  _ body: (ClientConnection) async throws -> Answer
) async throws -> Answer {
  let folder = try TestFolder()
  let engine = try Engine(
    container: StoreContainer(path: folder.path + "/store"),
    model: try ModelDocument.parse(Array(model.utf8).span),
    mode: .readWrite,
    version: "0",
    log: Logger(label: "porting") { _ in SwiftLogNoOpLogHandler() }
  )
  let client = ClientConnection()
  await engine.connect(client)
  do {
    let answer = try await body(client)
    try await engine.close()
    return answer
  } catch {
    try await engine.close()
    throw error
  }
}

private func bytes(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

@Suite struct `Import and export` {
  private static let lines = [
    #"{"id":"Task/one","values":{"title":"1","next":"Task/two","tags":["Tag/x","Tag/y"]}}"#,
    #"{"id":"Group/g","values":{"title":"g","tasks":["Task/two","Task/one"]}}"#,
    #"{"id":"Task/two","values":{"title":"2","size":1.5,"tags":["Tag/y"]}}"#,
    #"{"id":"Tag/x","values":{"name":"x"}}"#, #"{"id":"Tag/y","values":{"name":"y"}}"#,
  ]

  private func titles(_ client: ClientConnection) async throws -> [String] {
    let select: JSONValue = ["title", "size", "group.title", "next.title", "tags.@count"]
    let answer = try await client.call(
      "fetch",
      ["entity": "Task", "select": select, "sort": ["title"]]
    )
    return (answer["objects"]?.array ?? []).map { object in
      (object["values"]?.members ?? []).map { $0.value.string ?? $0.value.text }
        .joined(separator: " ")
    }
  }

  @Test(arguments: [1, 2, 100])
  func `references in any order are restored, however many objects one save has`(
    batch: Int
  ) async throws {
    try await withClient { client in
      let reported = Mutex<[Int]>([])
      let summary = try await Importer.run(bytes(Self.lines), into: client, batch: batch) {
        count in reported.withLock { $0.append(count) }
      }
      let counts = reported.withLock { $0 }
      #expect(summary.imported == 5)
      #expect(summary.unknown.isEmpty)
      #expect(counts.last == 5)
      #expect(counts.count == (5 + batch - 1) / batch)
      #expect(try await titles(client) == ["1 null g 2 2", "2 1.5 g null 1"])
      let group = try await client.call("fetch", ["entity": "Group", "select": ["tasks"]])
      let tasks = group["objects"]?.array?.first?["values"]?["tasks"]?.array?.compactMap(\.string)
      let first = try await client.call(
        "fetch",
        ["entity": "Task", "predicate": "title == '2'", "result": "ids"]
      )
      #expect(tasks?.count == 2)
      #expect(tasks?.first == first["ids"]?.array?.first?.string)
    }
  }

  @Test func `an export imports as the same objects`() async throws {
    var exported: [String] = []
    let before = try await withClient { client in
      _ = try await Importer.run(bytes(Self.lines), into: client, batch: 10)
      try await Exporter.run([], from: client) { exported.append($0.text) }
      return try await titles(client)
    }
    #expect(exported.count == 5)
    let after = try await withClient { client in
      _ = try await Importer.run(bytes(exported), into: client, batch: 2)
      return try await titles(client)
    }
    #expect(after == before)
  }

  @Test func `only the named entities are exported`() async throws {
    try await withClient { client in
      _ = try await Importer.run(bytes(Self.lines), into: client, batch: 10)
      var names: [String] = []
      try await Exporter.run(["Tag"], from: client) { object in
        names.append(object["values"]?["name"]?.string ?? "")
      }
      #expect(names == ["x", "y"])
      let error = await #expect(throws: PortingError.self) {
        try await Exporter.run(["Nothing"], from: client) { _ in }
      }
      #expect(error?.message == "The model has no entity Nothing")
    }
  }

  @Test func `references to objects outside the file are left out and reported`() async throws {
    try await withClient { client in
      let lines = [#"{"id":"Task/a","values":{"title":"a","next":"Task/b","tags":["Tag/z"]}}"#]
      let summary = try await Importer.run(bytes(lines), into: client, batch: 10)
      #expect(summary.unknown == ["Task/b", "Tag/z"])
      #expect(try await titles(client) == ["a null null null 0"])
    }
  }

  @Test(arguments: [
    (2, #"{"id":"#, "Line 3: Not JSON"), (2, #"{"values":{}}"#, "Line 3 has neither an id"),
    (1, #"{"id":"Task/c","values":{}}"#, "The save that ends at line 3 failed"),
    (2, #"["Task/c"]"#, "Line 3 is not an object"),
    (2, #"{"id":"Task/c","values":5}"#, "Line 3 has values that are not an object"),
    (2, #"{"id":"Task/c","valuez":{}}"#, "Line 3 has the unknown member valuez"),
    (2, #"{"id":"Task/a","values":{"title":"x"}}"#, "Line 3 has the id Task/a of an earlier line"),
    (1, #"{"id":"Task/c","values":{"title":"c","group":5}}"#, "The save that ends at line 3"),
    (1, #"{"id":"Task/c","values":{"title":"c","tags":"Tag/b"}}"#, "The save that ends at line 3"),
    (1, #"{"id":"Task/c","values":{"title":"c","tags":[null]}}"#, "The save that ends at line 3"),
  ])
  func `an error names the line and what is imported`(
    batch: Int,
    line: String,
    message: String
  ) async throws {
    try await withClient { client in
      let good = [
        #"{"id":"Task/a","values":{"title":"a"}}"#, #"{"id":"Tag/b","values":{"name":"b"}}"#,
      ]
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(bytes(good + [line]), into: client, batch: batch)
      }
      #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("2 objects are imported") == true, "\(error?.message ?? "")")
      let saved = try await client.call("fetch", ["entity": "Task", "result": "count"])
      #expect(saved["count"]?.integer == 1)
    }
  }
}

/// What the objects require of one another must be in one save, in whatever order the file has them.
// Evidence: P-135b
@Suite struct `An import of objects that require one another` {
  private static let model = """
    {"name":"R","entities":[
      {"name":"Owner","attributes":[{"name":"name","type":"string"}],
       "relationships":[
         {"name":"parts","destination":"Part","toMany":true,"minimumCount":1,"inverse":"owner"},
         {"name":"best","destination":"Part"}]},
      {"name":"Part","attributes":[{"name":"name","type":"string"}],
       "relationships":[
         {"name":"owner","destination":"Owner","inverse":"parts"},
         {"name":"next","destination":"Part"},
         {"name":"kind","destination":"Kind"}]},
      {"name":"Kind","attributes":[{"name":"name","type":"string"}]}]}
    """
  private static let lines = [
    #"{"id":"Owner/a","values":{"name":"a","parts":["Part/1","Part/2"],"best":"Part/3"}}"#,
    #"{"id":"Owner/b","values":{"name":"b","parts":["Part/3"],"best":"Part/3"}}"#,
    #"{"id":"Part/1","values":{"name":"1","owner":"Owner/a","next":"Part/2","kind":"Kind/x"}}"#,
    #"{"id":"Part/2","values":{"name":"2","owner":"Owner/a","next":"Part/3","kind":"Kind/y"}}"#,
    #"{"id":"Part/3","values":{"name":"3","owner":"Owner/b","next":"Part/1","kind":"Kind/x"}}"#,
    #"{"id":"Kind/x","values":{"name":"x"}}"#, #"{"id":"Kind/y","values":{"name":"y"}}"#,
  ]

  private func names(_ client: ClientConnection) async throws -> [String] {
    let select: JSONValue = ["name", "owner.name", "owner.best.name", "next.name", "kind.name"]
    let answer = try await client.call(
      "fetch",
      ["entity": "Part", "select": select, "sort": ["name"]]
    )
    return (answer["objects"]?.array ?? []).map { object in
      (object["values"]?.members ?? []).map { $0.value.string ?? $0.value.text }.joined()
    }
  }

  @Test(arguments: [1, 2, 3, 100], [false, true])
  func `restores them in any order, and what it exports too`(
    batch: Int,
    isReversed: Bool
  ) async throws {
    let lines = isReversed ? Self.lines.reversed() : Self.lines
    let expected = ["1a32x", "2a33y", "3b31x"]
    var exported: [String] = []
    try await withClient(Self.model) { client in
      let summary = try await Importer.run(bytes(lines), into: client, batch: batch)
      #expect(summary.imported == 7)
      #expect(summary.unknown.isEmpty)
      #expect(try await names(client) == expected)
      try await Exporter.run([], from: client) { exported.append($0.text) }
    }
    try await withClient(Self.model) { client in
      _ = try await Importer.run(bytes(exported), into: client, batch: batch)
      #expect(try await names(client) == expected)
    }
  }

  @Test func `names two lines with the same id`() async throws {
    try await withClient(Self.model) { client in
      let lines = [Self.lines[0], Self.lines[0]]
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(bytes(lines), into: client, batch: 10)
      }
      #expect(error?.message == "Lines 1 and 2 have the same id, Owner/a")
    }
  }

  /// The references to later lines are saved after the objects.
  @Test func `says what is imported where a later reference is wrong`() async throws {
    try await withClient { client in
      let lines = [
        #"{"id":"Task/1","values":{"title":"1","group":"Tag/x"}}"#,
        #"{"id":"Tag/x","values":{"name":"x"}}"#,
      ]
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(bytes(lines), into: client, batch: 1)
      }
      #expect(error?.message.contains("2 objects are imported") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("group") == true, "\(error?.message ?? "")")
    }
  }

  @Test func `names the object whose required object is not in the file`() async throws {
    try await withClient(Self.model) { client in
      let error = await #expect(throws: PortingError.self) {
        try await Importer.run(bytes(Array(Self.lines.dropLast())), into: client, batch: 100)
      }
      #expect(error?.message.contains("in line 1") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("1 objects are imported") == true, "\(error?.message ?? "")")
    }
  }
}

// Evidence: P-135c
@Suite struct `Comma-separated values` {
  private static let model = """
    {"name":"C","entities":[
      {"name":"Group","attributes":[{"name":"title","type":"string"}]},
      {"name":"Item","attributes":[
        {"name":"text","type":"string","optional":true},
        {"name":"count","type":"int64","optional":true},
        {"name":"ratio","type":"double","optional":true},
        {"name":"price","type":"decimal","optional":true},
        {"name":"flag","type":"boolean","optional":true},
        {"name":"when","type":"date","optional":true},
        {"name":"data","type":"binary","optional":true},
        {"name":"facts","type":"json","optional":true}],
       "relationships":[
         {"name":"next","destination":"Item","optional":true},
         {"name":"main","destination":"Group","optional":true},
         {"name":"groups","destination":"Group","toMany":true}]}]}
    """
  private static let lines = [
    #"{"id":"Item/a","values":{"text":"one, \"two\"\nthree","count":9007199254740993,"next":"Item/b"}}"#,
    #"{"id":"Item/b","values":{"text":"","ratio":0.1,"price":"1.50","flag":true}}"#,
    #"{"id":"Item/c","values":{"when":"2026-01-02T03:04:05.678Z","data":"AAEC","facts":{"a":[1]}}}"#,
    #"{"id":"Item/d","values":{"facts":"null"}}"#, #"{"id":"Item/e","values":{"facts":5}}"#,
    #"{"id":"Item/f","values":{"facts":"5"}}"#, #"{"id":"Item/g","values":{"facts":""}}"#,
  ]

  @Test func `what is exported is imported as the same objects`() async throws {
    var records: [String] = []
    try await withClient(Self.model) { client in
      _ = try await Importer.run(bytes(Self.lines), into: client, batch: 10)
      let left = try await Exporter.runCommaSeparated("Item", from: client) { records.append($0) }
      #expect(left == ["groups"])
    }
    #expect(records.first == "id,text,count,ratio,price,flag,when,data,facts,next,main\r\n")
    #expect(records.count == 8)
    #expect(
      records.suffix(4).map { $0.split(separator: ",")[1] } == [
        #""""null""""#, "5", #""""5""""#, #""""""""#,
      ]
    )
    var again: [String] = []
    try await withClient(Self.model) { client in
      let lines = try await Importer.lines(
        commaSeparated: Array(records.joined().utf8),
        of: "Item",
        for: client
      )
      #expect(try await Importer.run(lines, into: client, batch: 10).imported == 7)
      _ = try await Exporter.runCommaSeparated("Item", from: client) { again.append($0) }
      let empty = try await client.call(
        "fetch",
        ["entity": "Item", "predicate": "text == ''", "result": "count"]
      )
      #expect(empty["count"] == 1)
    }
    #expect(again == records)
  }

  @Test func `a to-one to another entity names an object of the store`() async throws {
    try await withClient(Self.model) { client in
      let group: JSONValue = ["insert": [["entity": "Group", "values": ["title": "g"]]]]
      _ = try await client.call("save", group)
      let file = "id,text,main,next\nItem/x,a,Group/p1,Item/y\nItem/y,b,,"
      let lines = try await Importer.lines(
        commaSeparated: Array(file.utf8),
        of: "Item",
        for: client
      )
      let summary = try await Importer.run(lines, into: client, of: "Item", batch: 10)
      #expect(summary.unknown.isEmpty)
      let answer = try await client.call(
        "fetch",
        ["entity": "Item", "select": ["main.title", "next.text"]]
      )
      let values = answer["objects"]?.array?.map { $0["values"] ?? .null }
      #expect(values?.first == ["main.title": "g", "next.text": "b"])
    }
  }

  @Test(arguments: [
    ("nothing\n1", "Line 1: Item has no attribute and no to-one nothing"),
    ("groups\nx", "Line 1: Item has no attribute and no to-one groups"),
    ("text,count\na,1\n\nb", "Line 4 has 1 fields, the first line 2"),
    ("text,count\n\"a\nb\",1\nc,x", "Line 4: count must be an integer"),
    ("text\n\"a", "Line 2: a quote is not closed"),
  ])
  func `a mistake is named with its line`(file: String, message: String) async throws {
    try await withClient(Self.model) { client in
      let error = await #expect(throws: PortingError.self) {
        try await Importer.lines(commaSeparated: Array(file.utf8), of: "Item", for: client)
      }
      #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }
  }
}
