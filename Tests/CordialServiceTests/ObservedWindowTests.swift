import CordialService
import JSON
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Windows in long results, whose spare rows are used up, against `fetch`.
@Suite struct `Observed windows` {
  private static let model = """
    {"name":"M","version":"1","entities":[{"name":"Item","attributes":[
      {"name":"n","type":"int64","optional":true},{"name":"s","type":"string","optional":true},
      {"name":"d","type":"decimal","optional":true},{"name":"on","type":"boolean"}],
      "indexes":[["n"],["s"]]}]}
    """
  private static let sorts = [
    [], ["n"], ["-n"], ["s"], ["-s", "n"], ["on", "-n"], ["s:localized", "-n"], ["d"],
    ["-d", "s"],
  ]
  private static let predicates = [
    nil, "on == YES", "n >= 20", "s CONTAINS[c] 'A'", "s LIKE '*a*'",
  ]

  // Evidence: P-082f, P-082c
  @Test(arguments: Seeds.first(16))
  func `have the rows of a fetch after every commit`(seed: UInt64) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      var random = SplitMix64(seed: seed)
      options.limits.windowSpareMax = random.pick([0, 1, 3, 8])
      let host = try ServiceHost(model: Self.model, options)
      let writer = HostPeer(host)
      let reader = HostPeer(host)
      let client = ObservingClient(host)
      var items = try (0..<120).map { _ in try Self.insert(writer, &random) }
      for _ in 0..<14 { try client.observe(Self.window(&random), key: nil, since: nil) }
      for _ in 0..<60 {
        for _ in 0..<1 + random.below(2) { try Self.change(&items, writer, &random) }
        try host.settle()
        client.update()
        #expect(client.problem == nil, "\(client.problem ?? ""); \(Seeds.repeating(seed))")
        for subscription in client.live where subscription.mode != "signal" {
          let fetch = subscription.request["fetch"]?.text ?? ""
          let expected = ObservedState.normalized(
            try reader.call("fetch", fetch),
            mode: subscription.mode
          )
          guard subscription.state != expected else { continue }
          Issue.record(
            "\(fetch)\n\(subscription.state.text)\n\(expected.text)\n\(Seeds.repeating(seed))"
          )
          return
        }
      }
      try host.close()
    }
  }

  /// A change moves a row that the window only keeps as a spare, so that it alters the window in
  /// nothing, while its client is behind in another result.
  // Evidence: P-082f, P-085c
  @Test func `stay right where another request brings them forward`() async throws {
    try await withHost(model: Self.model) { host in
      let writer = HostPeer(host)
      let client = ObservingClient(host)
      let rows = (1...150).map { #"{"entity":"Item","values":{"n":\#($0),"on":true}}"# }
      _ = try writer.call("save", #"{"insert":[\#(rows.joined(separator: ","))]}"#)
      _ = try client.peer.call("initialize", #"{"cordial":{"coalesce":100}}"#)
      let window: JSONValue = ["entity": "Item", "sort": ["n"], "offset": 100, "limit": 10]
      let all: JSONValue = ["entity": "Item", "sort": ["n"], "result": "ids"]
      try client.observe(["fetch": all], key: "all", since: nil)
      try client.observe(["fetch": window, "mode": "ids"], key: "window", since: nil)
      // A connection that is ready has each commit examined.
      _ = try writer.call("observe", #"{"fetch":{"entity":"Item","result":"count"}}"#)
      func save(_ id: String, _ number: Int) throws {
        let change = #"{"id":"\#(id)","values":{"n":\#(number)}}"#
        _ = try writer.call("save", #"{"update":[\#(change)]}"#)
      }
      // The first message begins the period.
      try save("Item/p150", -1)
      try save("Item/p70", 0)
      try client.observe(["fetch": ["entity": "Item", "limit": 1]], key: "third", since: nil)
      // This row enters the window from before it.
      try save("Item/p1", 103)
      try host.advance(milliseconds: 100)
      client.update()
      #expect(client.problem == nil)
      let fetch = #"{"entity":"Item","sort":["n"],"offset":100,"limit":10,"result":"ids"}"#
      let found = try writer.call("fetch", fetch)
      let expected = ObservedState.normalized(found, mode: "ids")
      let state = client.live.first { $0.request["key"] == "window" || $0.request["mode"] == "ids" }
      #expect(state?.state == expected)
    }
  }

  // Evidence: P-082i
  @Test(arguments: [
    (#"{"insert":[{"entity":"Item","values":{"n":0,"on":true}}]}"#, "SELF", "TRUEPREDICATE"),
    (#"{"delete":["Item/p1"]}"#, "SELF", "TRUEPREDICATE"),
    (#"{"update":[{"id":"Item/p1","values":{"n":9}}]}"#, "n", nil),
  ])
  func `are explained by the objects outside that shift them`(
    save: String,
    path: String,
    term: String?
  ) async throws {
    try await withHost(model: Self.model) { host in
      let peer = HostPeer(host)
      let rows = (1...4).map { #"{"entity":"Item","values":{"n":\#($0),"on":true}}"# }
      _ = try peer.call("save", #"{"insert":[\#(rows.joined(separator: ","))]}"#)
      let fetch = #"{"entity":"Item","sort":["n"],"offset":1,"limit":1}"#
      _ = try peer.call("observe", #"{"fetch":\#(fetch),"explain":true}"#)
      _ = try peer.call("save", save)
      let update = try #require(peer.changes.last?["updates"]?.array?.first)
      #expect(update["insert"]?.array?.count == 1)
      let explanation = try #require(update["explanation"]?.array)
      #expect(explanation.map { $0["path"]?.string } == [path])
      #expect(explanation.first?["term"]?.string == term)
      #expect(explanation.first?["reads"]?.string == (term == nil ? "sort" : nil))
    }
  }

  // Evidence: P-082i
  @Test(arguments: [
    (#""sort":["group.title"],"select":{"t":"title"}"#, "sort", "group.title"),
    (#""sort":["title"],"select":{"g":"group.title"}"#, "select", "group.title"),
    (#""sort":["group.title"],"select":{"g":"group.title"}"#, "sort", "group.title"),
    (#""sort":["group.title"],"select":{"i":"group.id"}"#, "sort", "group.title"),
    (#""sort":["group.other"],"select":{"g":"group.title"}"#, "select", "group.title"),
  ])
  func `are explained by the part that reads a related object`(
    parts: String,
    reads: String,
    path: String
  ) async throws {
    try await withHost(model: Self.owners) { host in
      let peer = HostPeer(host)
      _ = try peer.call(
        "save",
        #"""
        {"insert":[{"id":"Group/t1","values":{"title":"g","id":1}},
         {"id":"Group/t2","values":{"title":"h","id":2}},
         {"entity":"Task","values":{"title":"a","group":"Group/t1"}},
         {"entity":"Task","values":{"title":"b","group":"Group/t2"}}]}
        """#
      )
      let fetch = #"{"entity":"Task",\#(parts)}"#
      _ = try peer.call("observe", #"{"fetch":\#(fetch),"explain":true}"#)
      _ = try peer.call("save", #"{"update":[{"id":"Group/p1","values":{"title":"z","id":0}}]}"#)
      let update = try #require(peer.changes.last?["updates"]?.array?.first)
      let explanation = try #require(update["explanation"]?.array)
      #expect(explanation.map { $0["reads"]?.string } == [reads])
      #expect(explanation.map { $0["path"]?.string } == [path])
    }
  }

  private static let owners = """
    {"name":"M","version":"1","entities":[
     {"name":"Group","attributes":[{"name":"title","type":"string"},{"name":"id","type":"int64"},
       {"name":"other","type":"int64","optional":true}],
      "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
     {"name":"Task","attributes":[{"name":"title","type":"string"}],
      "relationships":[{"name":"group","destination":"Group","optional":true,"inverse":"tasks"}]}]}
    """

  private static func window(_ random: inout SplitMix64) -> JSONValue {
    var fetch: [JSONMember] = [
      JSONMember("entity", "Item"),
      JSONMember("sort", .array(random.pick(sorts).map { .string($0) })),
      JSONMember("offset", .integer(Int64(random.pick([0, 0, 1, 5, 30, 60, 100, 118])))),
    ]
    if !random.oneIn(6) { fetch.append(JSONMember("limit", .integer(Int64(random.below(12))))) }
    if let predicate = random.pick(predicates) {
      fetch.append(JSONMember("predicate", .string(predicate)))
    }
    if random.oneIn(3) { fetch.append(JSONMember("sectionBy", random.oneIn(2) ? "on" : "s")) }
    if random.oneIn(3) { fetch.append(JSONMember("total", true)) }
    let mode: JSONValue = random.oneIn(3) ? "ids" : "values"
    if mode == "ids" { fetch.append(JSONMember("result", "ids")) }
    return ["fetch": .object(fetch), "mode": mode]
  }

  private static func values(_ random: inout SplitMix64) -> JSONValue {
    let number = Int64(random.below(40))
    let texts: [JSONValue] = ["a", "A", "ä", "ba", "b", nil, "c\u{0301}", "Z"]
    return [
      "n": random.oneIn(8) ? nil : .integer(number), "s": random.pick(texts),
      "d": random.oneIn(8) ? nil : .string("\(Int(number) - 20).\(random.below(3))"),
      "on": .bool(random.oneIn(2)),
    ]
  }

  private static func insert(_ writer: HostPeer, _ random: inout SplitMix64) throws -> String {
    let object: JSONValue = ["entity": "Item", "values": values(&random)]
    let result = try writer.call("save", JSONValue.object([JSONMember("insert", [object])]).text)
    return try #require(result["objects"]?.array?.first?["id"]?.string, "\(result.text)")
  }

  private static func change(
    _ items: inout [String],
    _ writer: HostPeer,
    _ random: inout SplitMix64
  ) throws {
    switch random.below(10) {
    case 0, 1, 2: items.append(try insert(writer, &random))
    case 3, 4:
      guard items.count > 1 else { return }
      let item = items.remove(at: random.below(items.count))
      _ = try writer.call("save", #"{"delete":["\#(item)"]}"#)
    case 5:
      let number = random.below(40)
      let set = #"{"entity":"Item","predicate":"n == \#(number)","set":{"n":\#(40 - number)}}"#
      _ = try writer.call("update", set)
    default:
      let changed = (0..<1 + random.below(3)).map { _ -> JSONValue in
        ["id": .string(random.pick(items)), "values": values(&random)]
      }
      let save = JSONValue.object([JSONMember("update", .array(changed))]).text
      _ = try writer.call("save", save)
    }
  }
}
