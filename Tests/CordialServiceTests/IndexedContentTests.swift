import CordialService
import Indexing
import JSON
import JSONRPC
import ObjectModel
import PersistentStore
import TestSeeds
import Testing

private enum Office {
  /// Tasks that are found by their group's title, its owner's name and the names of their tags, as
  /// long as neither they nor their groups are done.
  static let model = """
    {"name": "Office", "version": "1", "entities": [
      {"name": "Person", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [{"name": "groups", "destination": "Group", "toMany": true,
                          "inverse": "owner", "deleteRule": "nullify"}]},
      {"name": "Group",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "archived", "type": "boolean", "default": false}],
       "relationships": [{"name": "owner", "destination": "Person", "inverse": "groups",
                          "optional": true},
                         {"name": "tasks", "destination": "Task", "toMany": true,
                          "inverse": "group", "deleteRule": "nullify"}],
       "spotlight": {"displayName": "title", "keywords": ["tasks.title"], "domain": "owner"}},
      {"name": "Tag", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [{"name": "tasks", "destination": "Task", "toMany": true,
                          "inverse": "tags"}]},
      {"name": "Task",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "completed", "type": "boolean", "default": false}],
       "relationships": [{"name": "group", "destination": "Group", "inverse": "tasks",
                          "optional": true},
                         {"name": "tags", "destination": "Tag", "toMany": true,
                          "inverse": "tasks"}],
       "spotlight": {"displayName": "title", "attributes": {"title": 2},
                     "domain": "group.owner.name",
                     "keywords": ["group.title", "group.owner.name", "tags.name"],
                     "exclude": "completed == YES OR group.archived == YES"}}]}
    """
}

@Suite struct `Keywords and exclusions` {
  private func ids(_ answer: JSONValue) -> [String] {
    (answer["hits"]?.array ?? []).compactMap { $0["id"]?.string }
  }

  private func found(_ peer: HostPeer, _ query: String) throws -> [String] {
    _ = try peer.call("observe/flush")
    return ids(try peer.call("search", #"{"query":"\#(query)"}"#)).sorted()
  }

  // Evidence: P-111b
  @Test func `an object is found by texts of related objects, while they are related`() async throws
  {
    try await withHost(model: Office.model) { host in
      let peer = HostPeer(host)
      _ = try peer.call(
        "save",
        """
        {"insert":[{"id":"Person/tp","entity":"Person","values":{"name":"Ada"}},
          {"id":"Group/tg","entity":"Group","values":{"title":"Kitchen","owner":"Person/tp"}},
          {"id":"Tag/tt","entity":"Tag","values":{"name":"urgent"}},
          {"entity":"Task","values":{"title":"Buy milk","group":"Group/tg","tags":["Tag/tt"]}}]}
        """
      )
      #expect(try found(peer, "kitchen milk") == ["Group/p1", "Task/p1"])
      #expect(try found(peer, "ada urgent") == ["Task/p1"])
      #expect(try found(peer, "group.owner.name:ada") == ["Task/p1"])
      let answer = try peer.call("search", #"{"query":"kitchen ada","highlight":true}"#)
      #expect(
        answer["hits"]?.array?.first?["highlights"]
          == ["group.owner.name": [[0, 3]], "group.title": [[0, 7]]]
      )

      let rename = #"{"update":[{"id":"Group/p1","values":{"title":"Garden"}}]}"#
      _ = try peer.call("save", rename)
      #expect(try found(peer, "kitchen") == [])
      #expect(try found(peer, "garden") == ["Group/p1", "Task/p1"])
      _ = try peer.call("save", #"{"update":[{"id":"Group/p1","values":{"owner":null}}]}"#)
      #expect(try found(peer, "ada") == [])
      _ = try peer.call("delete", #"{"ids":["Tag/p1"]}"#)
      #expect(try found(peer, "urgent") == [])
      _ = try peer.call("undo")
      #expect(try found(peer, "urgent") == ["Task/p1"])
      #expect(try peer.call("index/verify")["differences"] == [])
    }
  }

  // Evidence: P-111b, P-090k
  @Test func `an excluded object leaves the index, and returns`() async throws {
    try await withHost(model: Office.model) { host in
      let peer = HostPeer(host)
      _ = try peer.call(
        "save",
        """
        {"insert":[{"id":"Group/tg","entity":"Group","values":{"title":"Kitchen"}},
          {"entity":"Task","values":{"title":"milk","group":"Group/tg"}},
          {"entity":"Task","values":{"title":"milk","completed":true}}]}
        """
      )
      #expect(try found(peer, "title:milk") == ["Task/p1"])
      let why = try peer.call("search/explain", #"{"query":"milk","id":"Task/p2"}"#)
      #expect(why["reason"] == "notIndexed" && why["rule"] == "exclude")
      _ = try peer.call("save", #"{"update":[{"id":"Group/p1","values":{"archived":true}}]}"#)
      #expect(try found(peer, "title:milk") == [])
      _ = try peer.call(
        "save",
        #"{"update":[{"id":"Group/p1","values":{"archived":false}},"#
          + #"{"id":"Task/p2","values":{"completed":false}}]}"#
      )
      #expect(try found(peer, "title:milk") == ["Task/p1", "Task/p2"])
      #expect(try peer.call("index/verify")["differences"] == [])
    }
  }

  // Evidence: P-090b
  @Test func `a past commit is searched with its texts, values and facets`() async throws {
    try await withHost(model: Office.model) { host in
      let peer = HostPeer(host)
      let insert = #"{"insert":[{"entity":"Task","values":{"title":"Buy milk"}}]}"#
      let first = try #require(try peer.call("save", insert)["token"]?.string)
      let update = #"{"update":[{"id":"Task/p1","values":{"title":"Buy oat milk"}}]}"#
      let second = try #require(try peer.call("save", update)["token"]?.string)
      let third = try #require(try peer.call("delete", #"{"ids":["Task/p1"]}"#)["token"]?.string)
      _ = try peer.call("observe/flush")
      func search(_ token: String, _ rest: String = "") throws -> JSONValue {
        try peer.call("search", #"{"query":"milk","asOf":"\#(token)","objects":true\#(rest)}"#)
      }
      let past = try search(first, #","highlight":true,"facets":{"properties":["completed"]}"#)
      #expect(past["token"]?.string == first && past["storeToken"]?.string == first)
      #expect(past["hits"]?.array?.first?["title"] == "Buy milk")
      #expect(past["hits"]?.array?.first?["object"]?["values"]?["title"] == "Buy milk")
      #expect(past["hits"]?.array?.first?["highlights"] == ["title": [[4, 8]]])
      #expect(past["facets"]?["Task.completed"] == [["value": false, "count": 1]])
      let later = try search(
        second,
        #","predicate":"title BEGINSWITH 'Buy oat'","entities":["Task"]"#
      )
      #expect(later["hits"]?.array?.first?["title"] == "Buy oat milk")
      #expect(try search(third)["total"] == 0)
      let why = try peer.call(
        "search/explain",
        #"{"query":"oat","id":"Task/p1","asOf":"\#(first)"}"#
      )
      #expect(why["reason"] == "missingWord" && why["word"] == "oat")

      _ = try peer.call("index/rebuild")
      let expired = try search(first)
      #expect(expired["code"] == 1201, "\(expired.text)")
      for (params, code) in [
        (#"{"query":"milk","asOf":"\#(first)","at":"\#(first)"}"#, -32602),
        (#"{"query":"milk","asOf":"x"}"#, -32602),
        (
          #"{"query":"milk","asOf":"\#(third)","entities":["Task"],"predicate":"now() != now()"}"#,
          -32602
        ),
      ] {
        let refused = try peer.call("search", params)
        #expect(refused["code"]?.integer == Int64(code), "\(refused.text)")
      }
    }
  }

  // Evidence: P-111b
  @Test(arguments: [
    (#""exclude":"now() > now()""#, "exclude"), (#""exclude":"random() > 0.5""#, "exclude"),
    (#""exclude":"titel == 1""#, "exclude"), (#""exclude":"title MATCHES '(a+)+$'""#, "exclude"),
    (
      "\"keywords\":[\"\(Array(repeating: "parent", count: 61).joined(separator: "."))"
        + ".title\"]", "keywords"
    ),
    (#""exclude":"ANY children.title == 'a'","keywords":["parent.parent.title"]"#, nil),
  ])
  func `a model that an index cannot follow is refused`(rule: String, member: String?) throws {
    let model = """
      {"name": "Tree", "version": "1", "entities": [
        {"name": "Node", "attributes": [{"name": "title", "type": "string", "optional": true}],
         "relationships": [{"name": "parent", "destination": "Node", "inverse": "children",
                            "optional": true},
                           {"name": "children", "destination": "Node", "toMany": true,
                            "inverse": "parent"}],
         "spotlight": {"displayName": "title", \(rule)}}]}
      """
    let problems = IndexRules.problems(of: try ModelDocument.parse(Array(model.utf8).span))
    #expect(problems.map(\.path) == (member.map { ["Node.spotlight.\($0)"] } ?? []))
    #expect(problems.allSatisfy { !$0.message.isEmpty })
  }

  /// After random saves, deletions and undos, the index equals a rebuilt one, and each former
  /// search has the result that it had.
  // Evidence: P-090b, P-111b
  @Test(arguments: Seeds.first(16))
  func `the index follows and remembers whatever happens`(seed: UInt64) async throws {
    let failure: String? = try await onOwnThread {
      let host = try ServiceHost(model: Office.model)
      let failure = try run(host, SplitMix64(seed: seed))
      try host.close()
      return failure
    }
    if let failure { Issue.record("\(failure)\n\(Seeds.repeating(seed))") }
  }

  private static let words = ["milk", "oat", "rye", "tea", "东京都", "han"]

  private func run(_ host: ServiceHost, _ start: SplitMix64) throws -> String? {
    var random = start
    let peer = HostPeer(host)
    var known: [(params: [JSONMember], token: String, answer: JSONValue)] = []
    func text() -> String { random.pick(Self.words) + " " + random.pick(Self.words) }
    func id(_ entity: String) -> String { "\(entity)/p\(1 + random.below(4))" }
    func write() {
      switch random.below(10) {
      case 0:
        let links = random.oneIn(2) ? #","group":"\#(id("Group"))","tags":["\#(id("Tag"))"]"# : ""
        peer.send(
          "save",
          #"{"insert":[{"entity":"Task","values":{"title":"\#(text())"\#(links)}}]}"#
        )
      case 1:
        let entity = random.pick(["Person", "Group", "Tag"])
        let name = entity == "Group" ? "title" : "name"
        peer.send(
          "save",
          #"{"insert":[{"entity":"\#(entity)","values":{"\#(name)":"\#(text())"}}]}"#
        )
      case 2:
        peer.send("delete", #"{"ids":["\#(id(random.pick(["Person", "Group", "Tag", "Task"])))"]}"#)
      case 3: peer.send("undo")
      default:
        let values: (String, String) = random.pick([
          (id("Task"), #""title":"\#(text())""#), (id("Task"), #""group":"\#(id("Group"))""#),
          (id("Task"), #""tags":{"@add":["\#(id("Tag"))"]}"#), (id("Task"), #""group":null"#),
          (id("Task"), #""tags":["\#(id("Tag"))"]"#),
          (id("Task"), #""completed":\#(random.oneIn(2))"#),
          (id("Group"), #""archived":\#(random.oneIn(3))"#),
          (id("Group"), #""title":"\#(text())""#), (id("Group"), #""owner":"\#(id("Person"))""#),
          (id("Person"), #""name":"\#(text())""#), (id("Tag"), #""name":"\#(text())""#),
        ])
        peer.send("save", #"{"update":[{"id":"\#(values.0)","values":{\#(values.1)}}]}"#)
      }
    }
    func search(_ params: [JSONMember]) throws -> JSONValue {
      let answer = try peer.call("search", JSONValue.object(params).text)
      let ignored = ["tookMicroseconds", "token", "storeToken"]
      return .object((answer.members ?? []).filter { !ignored.contains($0.name) })
    }
    for step in 0..<30 {
      for _ in 0..<1 + random.below(6) { write() }
      if random.oneIn(2) { try host.settle() }
      let params = [
        JSONMember("query", .string(random.pick(Self.words + ["milk oat", "京", "-tea milk"]))),
        JSONMember("highlight", true), JSONMember("objects", true),
      ]
      _ = try peer.call("observe/flush")
      let token = try peer.call("history")["token"]?.string ?? ""
      known.append((params, token, try search(params)))
      guard step % 10 == 9 else { continue }
      let differences = try peer.call("index/verify")["differences"]
      guard differences == [] else { return "step \(step): \(differences?.text ?? "none")" }
      for former in known {
        let past = try search(former.params + [JSONMember("asOf", .string(former.token))])
        guard past == former.answer else {
          return "step \(step): \(former.token) has \(past.text), and had \(former.answer.text)"
        }
      }
    }
    guard let last = known.last else { return "No search" }
    _ = try peer.call("index/rebuild")
    let rebuilt = try search(last.params)
    return rebuilt == last.answer ? nil : "rebuilt: \(rebuilt.text), not \(last.answer.text)"
  }
}
