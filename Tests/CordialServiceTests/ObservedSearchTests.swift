import CordialService
import CordialValues
import Foundation
import JSON
import TestSeeds
import TestStores
import Testing

private enum SearchedTasks {
  static let model = """
    {"name": "Searched", "version": "1", "entities": [
      {"name": "Task",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "priority", "type": "int64", "default": 0},
                      {"name": "due", "type": "date", "optional": true}],
       "spotlight": {"displayName": "title"}}]}
    """
}

@Suite struct `An observed search` {
  private static let milk = #"{"search":{"query":"milk"}}"#

  private func titles(_ rows: JSONValue?) -> [String] {
    (rows?.array ?? []).compactMap { ($0["title"] ?? $0["object"]?["title"])?.string }
  }

  // Evidence: P-019a, P-084c
  @Test func `ends where it takes longer than its limit`() async throws {
    var limits = Limits()
    limits.liveSearchSecondsMax = 0
    try await withHost(model: SearchedTasks.model, limits: limits) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      _ = try peer.call("observe", Self.milk)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      try writer.saveTask("Buy milk")
      _ = try peer.call("observe/flush")
      let updates = peer.changes.flatMap { $0["updates"]?.array ?? [] }
      let ends = updates.filter { $0["error"] != nil }
      #expect(ends.compactMap { $0["subscription"]?.string } == ["s1"])
      #expect(ends.first?["error"]?["code"] == 1303)
      #expect(updates.contains { $0["subscription"] == "s2" && $0["insert"] != nil })
      #expect(try peer.call("status")["subscriptions"] == 1)
    }
  }

  // Evidence: P-084b, P-111h
  @Test func `starts over when the file of synonyms changes`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let peer = HostPeer(host)
      try peer.saveTask("Buy milk")
      _ = try peer.call("observe", #"{"search":{"query":"lait"}}"#)
      _ = try peer.call("observe", #"{"search":{"match":"all","query":"milk"}}"#)
      let file = host.folder.path + "/store/synonyms.txt"
      host.service.lookForCommits()
      try host.settle()
      try Data("lait, milk\n".utf8).write(to: URL(filePath: file))
      host.service.lookForCommits()
      try host.run(until: "the search has other hits") { !peer.changes.isEmpty }
      let updates = peer.changes.flatMap { $0["updates"]?.array ?? [] }
      // The strict search has no synonyms.
      #expect(updates.map { $0["subscription"] } == ["s1"])
      #expect(updates[0]["fresh"] == true && updates[0]["why"] == "synonyms")
      #expect(titles(updates[0]["result"]?["hits"]) == ["Buy milk"])
    }
  }

  // Evidence: P-080b, P-088a
  @Test func `has the hits of the search, and reports their differences`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      try writer.saveTask("Buy milk")
      let first = try peer.call("observe", Self.milk)
      let token = try writer.call("history")["token"]
      #expect(first["fresh"] == true && first["token"] == token && first["why"] == nil)
      let result = first["result"]
      #expect(titles(result?["hits"]) == ["Buy milk"])
      #expect(result?["token"] == token && result?["total"] == 1 && result?["count"] == 1)
      #expect(result?["hits"]?.array?.first?["id"] == "Task/p1")

      try writer.saveTask("Sell milk")
      _ = try peer.call("observe/flush")
      let changes = try #require(peer.changes.last)
      let update = try #require(changes["updates"]?.array?.first)
      #expect(changes["from"] == token && update["index"] == changes["token"])
      #expect(update["subscription"] == "s1")
      #expect(update["remove"] == [] && update["update"] == [])
      #expect(titles(update["insert"]) == ["Sell milk"])
      let insertion = update["insert"]?.array?.first
      #expect(insertion?["offset"] == 1 && insertion?["id"] == "Task/p2")
      #expect(update["count"] == 2 && update["total"] == 2)

      // A commit that changes no hit sends nothing; the next message spans it.
      let count = peer.changes.count
      try writer.saveTask("Bread")
      _ = try peer.call("observe/flush")
      #expect(peer.changes.count == count)
      let rename = #"{"update":[{"id":"Task/p1","values":{"title":"Oat milk"}}]}"#
      _ = try writer.call("save", rename)
      _ = try peer.call("observe/flush")
      let renamed = peer.changes.last?["updates"]?.array?.first
      #expect(peer.changes.last?["from"] == changes["token"])
      #expect(renamed?["update"]?.array?.first?["properties"] == ["title"])
      #expect(titles(renamed?["update"]) == ["Oat milk"] && renamed?["total"] == nil)

      _ = try writer.call("delete", #"{"ids":["Task/p1"]}"#)
      _ = try peer.call("observe/flush")
      let removed = peer.changes.last?["updates"]?.array?.first?["remove"]?.array?.first
      #expect(removed == ["offset": 0, "id": "Task/p1", "deleted": true])

      #expect(try peer.call("unobserve", #"{"subscription":"s1"}"#) == [:])
      let last = peer.changes.count
      try writer.saveTask("More milk")
      _ = try peer.call("observe/flush")
      #expect(peer.changes.count == last)
    }
  }

  @Test func `of several clients has the same updates for each`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, other, writer) = (HostPeer(host), HostPeer(host), HostPeer(host))
      try writer.saveTask("Buy milk")
      for search in ["milk", "milk", "bread"] {
        _ = try peer.call("observe", #"{"search":{"query":"\#(search)"}}"#)
      }
      _ = try other.call("observe", #"{"search":{"query":"milk"},"mode":"ids"}"#)
      try writer.saveTask("Milk and bread")
      _ = try peer.call("observe/flush")
      _ = try other.call("observe/flush")
      let updates = try #require(peer.changes.last?["updates"]?.array)
      #expect(updates.map { $0["subscription"]?.string } == ["s1", "s2", "s3"])
      #expect(
        updates.map { titles($0["insert"]) } == Array(repeating: ["Milk and bread"], count: 3)
      )
      #expect(updates.map { $0["total"]?.integer } == [2, 2, 1])
      #expect(updates[0]["insert"] == updates[1]["insert"])
      let ids = try #require(other.changes.last?["updates"]?.array?.first)
      #expect(ids["insert"]?.array?.first?["id"] == "Task/p2" && ids["total"] == 2)
    }
  }

  // Evidence: P-088b
  @Test func `reports IDs, or that it differs`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      try writer.saveTask("milk")
      let ids = try peer.call("observe", #"{"search":{"query":"milk"},"mode":"ids"}"#)
      #expect(ids["result"]?["ids"] == ["Task/p1"] && ids["result"]?["hits"] == nil)
      let signal = try peer.call("observe", #"{"search":{"query":"milk"},"mode":"signal"}"#)
      #expect(signal["result"] == nil && signal["fresh"] == true)
      _ = try writer.call("save", #"{"update":[{"id":"Task/p1","values":{"title":"Milk!"}}]}"#)
      _ = try peer.call("observe/flush")
      #expect(peer.changes.last?["updates"] == [["subscription": "s2", "signal": true]])
      try writer.saveTask("milk")
      _ = try peer.call("observe/flush")
      let updates = try #require(peer.changes.last?["updates"]?.array)
      try #require(updates.count == 2)
      #expect(updates[0]["insert"] == [["offset": 1, "id": "Task/p2"]])
      #expect(updates[0]["update"] == nil && updates[1]["signal"] == true)
    }
  }

  // Evidence: P-088c
  @Test func `resumes by the difference, or starts over`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      for title in ["milk", "oat milk", "rye milk"] { try writer.saveTask(title) }
      let first = try #require(try peer.call("observe", Self.milk)["result"])
      let since = try #require(first["token"]?.string)
      peer.disconnect()
      let changes =
        #"{"update":[{"id":"Task/p2","values":{"title":"soy milk"}}],"delete":["Task/p3"]}"#
      _ = try writer.call("save", changes)
      let last = try writer.saveTask("milk bar")
      _ = try writer.call("observe/flush")
      func resume(_ since: String, _ rest: String = "") throws -> JSONValue {
        let params = #"{"search":{"query":"milk"},"since":"\#(since)"\#(rest)}"#
        return try HostPeer(host).call("observe", params)
      }
      let resumed = try resume(since)
      #expect(resumed["fresh"] == false && resumed["why"] == nil && resumed["result"] == nil)
      let update = try #require(resumed["update"])
      #expect(update["remove"] == [["offset": 2, "id": "Task/p3", "deleted": true]])
      #expect(titles(update["insert"]) == ["milk bar"])
      #expect(titles(update["update"]) == ["soy milk"])
      #expect(update["index"]?.string == last && update["count"] == 3)
      let ids = try resume(since, #","mode":"ids""#)
      #expect(ids["fresh"] == false && ids["update"]?["update"] == nil)
      // Without a difference there is no update.
      #expect(try resume(last)["update"] == [:])

      _ = try writer.call("delete", #"{"entity":"Task","predicate":"TRUEPREDICATE"}"#)
      let larger = try resume(since)
      #expect(larger["fresh"] == true && larger["why"] == "larger")
      let ahead = try #require(
        StoreToken(last).map { token in
          "\(token)".replacing("-\(token.number)-", with: "-\(token.number + 99)-")
        }
      )
      #expect(try resume(ahead)["why"] == "ahead")
      // A rebuild ends the past of the index.
      _ = try writer.call("index/rebuild")
      let rebuilt = try resume(since)
      #expect(rebuilt["fresh"] == true && rebuilt["why"] == "index")
      #expect(rebuilt["result"]?["hits"] == [])
    }
  }

  /// What is observed while the index is behind is what a search as of its position finds, so that
  /// the difference from it is right.
  // Evidence: P-088a, P-088c
  @Test func `has the objects of the position of the index, and resumes from it`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      for title in ["milk", "oat milk", "rye milk"] { try writer.saveTask(title) }
      _ = try writer.call("observe/flush")
      _ = try writer.call("index/pause")
      _ = try writer.call("delete", #"{"ids":["Task/p3"]}"#)
      _ = try writer.call("save", #"{"update":[{"id":"Task/p2","values":{"title":"soy milk"}}]}"#)
      let result = try #require(try peer.call("observe", Self.milk)["result"])
      #expect(titles(result["hits"]) == ["milk", "oat milk", "rye milk"])
      #expect(result["storeToken"] == result["token"])
      let since = try #require(result["token"]?.string)
      _ = try writer.call("index/resume")
      _ = try writer.call("observe/flush")
      let params = #"{"search":{"query":"milk"},"since":"\#(since)"}"#
      for update in [
        peer.changes.last?["updates"]?.array?.first,
        try HostPeer(host).call("observe", params)["update"],
      ] {
        #expect(update?["remove"] == [["offset": 2, "id": "Task/p3", "deleted": true]])
        #expect(titles(update?["update"]) == ["soy milk"] && update?["insert"] == [])
      }
    }
  }

  /// A client that resumes at any position of its result has the hits of a new search.
  // Evidence: P-088c
  @Test(arguments: Seeds.first(8))
  func `resumes from any position with the hits of a new search`(seed: UInt64) async throws {
    try await withHost(model: SearchedTasks.model) { host in
      var random = SplitMix64(seed: seed)
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      let words = ["milk", "oat", "rye", "milk bar", "oat milk"]
      var known: [(token: String, ids: [String])] = []
      for _ in 0..<30 {
        switch random.below(4) {
        case 0: _ = writer.send("delete", #"{"ids":["Task/p\#(1 + random.below(8))"]}"#)
        case 1:
          let title = random.pick(words)
          let id = "Task/p\(1 + random.below(8))"
          writer.send("save", #"{"update":[{"id":"\#(id)","values":{"title":"\#(title)"}}]}"#)
        default: try writer.saveTask(random.pick(words))
        }
        if random.oneIn(3) { continue }
        _ = try writer.call("observe/flush")
        let found = try writer.call("search", #"{"query":"milk","limit":4}"#)
        let ids = (found["hits"]?.array ?? []).compactMap { $0["id"]?.string }
        known.append((found["token"]?.string ?? "", ids))
      }
      let wanted = try writer.call("search", #"{"query":"milk","limit":4}"#)["hits"]?.array ?? []
      for former in known {
        let resumed = try peer.call(
          "observe",
          #"{"search":{"query":"milk","limit":4},"since":"\#(former.token)"}"#
        )
        var ids = former.ids
        if resumed["fresh"] == true {
          ids = (resumed["result"]?["hits"]?.array ?? []).compactMap { $0["id"]?.string }
        } else {
          for removal in resumed["update"]?["remove"]?.array ?? [] {
            let offset = try #require(removal["offset"]?.integer)
            try #require(
              ids.indices.contains(Int(offset)) && removal["id"]?.string == ids[Int(offset)]
            )
            ids.remove(at: Int(offset))
          }
          for insertion in resumed["update"]?["insert"]?.array ?? [] {
            let offset = try #require(insertion["offset"]?.integer)
            try #require(Int(offset) <= ids.count)
            ids.insert(insertion["id"]?.string ?? "", at: Int(offset))
          }
        }
        #expect(ids == wanted.compactMap { $0["id"]?.string }, "\(Seeds.repeating(seed))")
      }
    }
  }

  // Evidence: P-088d
  @Test func `is replaced under its key while a person types`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let peer = HostPeer(host)
      try peer.saveTask("milk")
      try peer.saveTask("mint")
      var found: [[String]] = []
      for query in ["m", "mi", "mil", "milk"] {
        let params = #"{"search":{"query":"\#(query)","prefix":true},"key":"box"}"#
        let answer = try peer.call("observe", params)
        #expect(answer["subscription"] == "s1")
        found.append(titles(answer["result"]?["hits"]))
      }
      #expect(found == [["milk", "mint"], ["milk", "mint"], ["milk"], ["milk"]])
      try peer.saveTask("mint tea")
      try peer.saveTask("milk tea")
      _ = try peer.call("observe/flush")
      let inserted = peer.changes.flatMap { $0["updates"]?.array ?? [] }
        .flatMap { titles($0["insert"]) }
      #expect(inserted == ["milk tea"])
      #expect(try peer.call("observe/list")["subscriptions"]?.array?.count == 1)
    }
  }

  // Evidence: P-088d
  @Test func `that is still running is stopped by the next one with its key`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let peer = HostPeer(host)
      try peer.saveTask("milk")
      func box(_ query: String, _ key: String) -> Int {
        peer.send("observe", #"{"search":{"query":"\#(query)"},"key":"\#(key)"}"#)
      }
      var ids: [Int] = []
      try host.withBlockedSearches {
        // One runs, another one waits for it.
        ids = [box("m", "box"), box("mi", "box"), box("milk", "box")]
      }
      try host.run(until: "all are answered") { peer.answer(to: ids[2]) != nil }
      for id in ids.prefix(2) {
        #expect(peer.answer(to: id)?["error"]?["code"]?.integer == -32800)
      }
      let result = peer.answer(to: ids[2])?["result"]
      #expect(titles(result?["result"]?["hits"]) == ["milk"])
      // Another key, and a search that has ended, stop nothing.
      try host.withBlockedSearches { ids = [box("milk", "other"), box("milk", "third")] }
      try host.run(until: "both are answered") { peer.answer(to: ids[1]) != nil }
      for id in ids { #expect(peer.answer(to: id)?["result"] != nil) }
      try host.settle()
      #expect(try peer.call("observe/list")["subscriptions"]?.array?.count == 3)
    }
  }

  // Evidence: P-017a
  @Test func `and a search that are cancelled end with -32800`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let peer = HostPeer(host)
      try peer.saveTask("milk")
      for (method, params) in [
        ("search", #"{"query":"milk"}"#), ("observe", Self.milk),
        ("search/explain", #"{"query":"milk","id":"Task/p1"}"#),
      ] {
        var id = 0
        try host.withBlockedSearches {
          id = peer.send(method, params)
          peer.cancel(id)
          peer.cancel(99)
        }
        try host.run(until: "it is answered") { peer.answer(to: id) != nil }
        #expect(peer.answer(to: id)?["error"]?["code"]?.integer == -32800, "\(method)")
        try host.settle()
        #expect(try peer.call(method, params)["code"] == nil)
        // The connection of the thread is as before.
        #expect(try peer.call("search", #"{"query":"milk"}"#)["total"] == 1)
      }
    }
  }

  // Evidence: P-084c
  @Test func `ends alone where its result is too long`() async throws {
    var limits = Limits()
    limits.answerBytesMax = 1000
    try await withHost(model: SearchedTasks.model, limits: limits) { host in
      let (peer, other, writer) = (HostPeer(host), HostPeer(host), HostPeer(host))
      try writer.saveTask("milk")
      for _ in 0..<2 { #expect(try peer.call("observe", Self.milk)["fresh"] == true) }
      let bread = try other.call("observe", #"{"search":{"query":"bread"}}"#)
      #expect(bread["result"]?["total"] == 0)
      let title = "milk " + String(repeating: "and more ", count: 20)
      for _ in 0..<8 { try writer.saveTask(title) }
      _ = try peer.call("observe/flush")
      let ends = peer.changes.flatMap { $0["updates"]?.array ?? [] }.filter { $0["error"] != nil }
      #expect(ends.map { $0["subscription"] } == ["s1", "s2"])
      #expect(ends.allSatisfy { $0["error"]?["code"] == 1302 })
      #expect(try peer.call("observe/list")["subscriptions"]?.array?.count == 1)
      try writer.saveTask("bread")
      _ = try other.call("observe/flush")
      #expect(titles(other.changes.last?["updates"]?.array?.first?["insert"]) == ["bread"])
      // The connection observes again.
      let again = try peer.call("observe", #"{"search":{"query":"bread"}}"#)
      #expect(titles(again["result"]?["hits"]) == ["bread"])
    }
  }

  // Evidence: P-088a
  @Test func `is run again after a rebuild of the index`() async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      try writer.saveTask("milk")
      _ = try peer.call("observe", Self.milk)
      _ = try writer.call("index/pause")
      try writer.saveTask("milk")
      _ = try peer.call("observe/flush")
      #expect(peer.changes.isEmpty)
      _ = try writer.call("index/rebuild")
      _ = try peer.call("observe/flush")
      #expect(titles(peer.changes.last?["updates"]?.array?.first?["insert"]) == ["milk"])
    }
  }

  @Test(arguments: [
    (#"{"search":{"query":"a","at":"x"}}"#, -32602), (#"{"search":{}}"#, -32602),
    (#"{"search":{"query":"a","facets":{}}}"#, -32602),
    (#"{"search":{"query":"a"},"explain":true}"#, -32602),
    (#"{"search":{"query":"a"},"before":true}"#, -32602),
    (#"{"search":{"query":"a"},"first":1,"mode":"ids"}"#, -32602),
    (#"{"search":{"query":"a"},"select":["title"]}"#, -32602),
    (#"{"search":{"query":"a"},"fetch":{"entity":"Task"}}"#, -32602),
    (#"{"search":{"query":"a","entities":["Nothing"]}}"#, 1002),
    (#"{"search":{"query":"a","entities":["Task"],"predicate":"titel == 1"}}"#, 1003),
    (#"{"search":{"query":"a","entities":["Task"],"predicate":"due < now()"}}"#, -32602),
  ])
  func `refuses what cannot be observed`(params: String, code: Int) async throws {
    try await withHost(model: SearchedTasks.model) { host in
      let peer = HostPeer(host)
      let answer = try peer.call("observe", params)
      #expect(answer["code"]?.integer == Int64(code), "\(answer.text)")
      #expect(try peer.call("observe/list")["subscriptions"] == [])
    }
  }
}

@Suite struct `A client that observes searches` {
  private static let words = ["milk", "mint", "oat", "tea", "milky"]

  /// The hits without their scores, whose change alone is not reported.
  private func rows(_ rows: JSONValue?) -> [JSONValue] {
    (rows?.array ?? []).map { row in
      row.members.map { .object($0.filter { $0.name != "score" }) } ?? row
    }
  }

  // Evidence: P-088a
  @Test(arguments: Seeds.first(20))
  func `has what a search finds, whatever happens`(seed: UInt64) async throws {
    let failure: String? = try await onOwnThread {
      let host = try ServiceHost(model: SearchedTasks.model)
      let failure = try run(host, SplitMix64(seed: seed))
      try host.close()
      return failure
    }
    if let failure { Issue.record("\(failure)\n\(Seeds.repeating(seed))") }
  }

  private func run(_ host: ServiceHost, _ start: SplitMix64) throws -> String? {
    var random = start
    let clients = [ObservingClient(host), ObservingClient(host)]
    let writer = HostPeer(host)
    var reading = [true, true]
    var count = 0
    func request() -> JSONValue {
      if random.oneIn(4) { return ["fetch": ["entity": "Task", "sort": ["title"]]] }
      var search: [JSONMember] = [
        JSONMember("query", .string(random.pick(Self.words + ["milk OR oat", "mi", "-tea milk"]))),
        JSONMember("limit", .integer(Int64(random.pick([1, 3, 20])))),
      ]
      if random.oneIn(3) { search.append(JSONMember("prefix", true)) }
      if random.oneIn(4) { search.append(JSONMember("fuzzy", true)) }
      if random.oneIn(4) { search.append(JSONMember("offset", 1)) }
      if random.oneIn(3) { search.append(JSONMember("highlight", true)) }
      if random.oneIn(3) {
        search.append(JSONMember("entities", ["Task"]))
        search.append(JSONMember("select", ["priority"]))
        if random.oneIn(2) { search.append(JSONMember("predicate", "priority > 1")) }
      }
      var members = [JSONMember("search", .object(search))]
      if random.oneIn(4) { members.append(JSONMember("mode", "ids")) }
      return .object(members)
    }
    func title() -> String {
      (0..<1 + random.below(3)).map { _ in random.pick(Self.words) }.joined(separator: " ")
    }
    func write() {
      let id = "Task/p\(1 + random.below(max(count, 1)))"
      switch random.below(5) {
      case 0, 1:
        count += 1
        writer.send("save", insertTask(title()))
      case 2: writer.send("delete", #"{"ids":["\#(id)"]}"#)
      case 3:
        let values = #"{"priority":\#(random.below(4))}"#
        writer.send("save", #"{"update":[{"id":"\#(id)","values":\#(values)}]}"#)
      default:
        let values = #"{"title":"\#(title())"}"#
        let peer = random.oneIn(3) ? clients[0].peer : writer
        peer.send("save", #"{"update":[{"id":"\#(id)","values":\#(values)}]}"#)
      }
    }
    for step in 0..<60 {
      let index = random.below(2)
      switch random.below(8) {
      case 0, 1:
        guard clients[index].live.count < 5, reading[index] else { continue }
        clients[index].update()
        try clients[index].observe(
          request(),
          key: random.oneIn(3) ? "box" : nil,
          since: nil
        )
      case 2:
        reading[index].toggle()
        if reading[index] {
          clients[index].peer.resumeReading()
        } else {
          clients[index].peer.stopReading()
        }
      case 3: try host.settle()
      default: for _ in 0..<1 + random.below(3) { write() }
      }
      guard random.oneIn(2) else { continue }
      try host.settle()
      for (client, isReading) in zip(clients, reading) where isReading {
        _ = try client.peer.call("observe/flush")
        client.update()
        if let problem = client.problem { return "step \(step): \(problem)" }
        for state in client.live where state.mode != "signal" {
          guard let search = state.request["search"] else { continue }
          let answer = try writer.call("search", search.text)
          let expected =
            state.mode == "ids"
            ? (answer["hits"]?.array ?? []).compactMap { $0["id"] } : rows(answer["hits"])
          let known = rows(state.state[state.mode == "ids" ? "ids" : "objects"])
          guard known == expected, state.state["total"] == answer["total"] else {
            return """
              step \(step): \(state.request.text) has \(state.state.text), not \(answer.text)
              """
          }
        }
      }
    }
    // The service stops when all clients have read what it sent.
    for (client, isReading) in zip(clients, reading) where !isReading {
      client.peer.resumeReading()
    }
    return nil
  }
}
