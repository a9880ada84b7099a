import Testing

@Suite struct `A search over the wire` {
  private let fixture: Fixture
  private let peer: Peer
  private let token: JSON

  init() throws {
    fixture = try Fixture()
    peer = Peer(try Child(["serve", try fixture.store()]))
    let inserts: JSON = [
      task("Buy milk"), task("Milk the cow"), task("Write a letter"),
      ["entity": "Group", "values": ["title": "Milk"]],
    ]
    token = try peer.call("save", ["insert": inserts])["token"] ?? .null
  }

  // Evidence: P-090a, P-094b
  @Test func `returns hits with the requested parts`() throws {
    let params: JSON = [
      "query": "milk", "entities": ["Task"], "highlight": true, "objects": true, "at": token,
    ]
    let found = try peer.call("search", params)
    #expect(found["token"] == token)
    #expect(found["storeToken"] == token)
    #expect(found["total"] == 2)
    #expect(found["missing"] == nil)
    #expect((found["tookMicroseconds"]?.integer ?? -1) >= 0)
    let hits = found["hits"]?.array ?? []
    let byID = Dictionary(grouping: hits) { $0["id"]?.string ?? "" }
    #expect(byID.keys.sorted() == ["Task/p1", "Task/p2"])
    let first = byID["Task/p1"]?.first
    #expect(first?["title"] == "Buy milk")
    #expect(first?["highlights"] == ["title": [[4, 8]]])
    #expect(first?["object"] == (try peer.call("fetch", ["ids": ["Task/p1"]])["objects"]?[0]))
    #expect(byID["Task/p2"]?.first?["highlights"] == ["title": [[0, 4]]])
  }

  // Evidence: P-090a
  @Test func `has a window, unfinished words and the words that are in no document`() throws {
    let all = try peer.call("search", ["query": "mil", "prefix": true, "at": token])
    #expect(all["total"] == 3)
    let ids = all["hits"]?.array?.map { $0["id"] } ?? []
    #expect(ids.count == 3)
    for offset in 0..<3 {
      let params: JSON = [
        "query": "mil", "prefix": true, "limit": 1, "offset": .integer(Int64(offset)),
      ]
      let page = try peer.call("search", params)
      #expect(page["total"] == 3)
      #expect(page["hits"]?.array?.map { $0["id"] } == [ids[offset]])
    }
    let none = try peer.call("search", ["query": "milk zebra", "match": "all"])
    #expect(none["total"] == 0)
    #expect(none["missing"] == ["zebra"])
  }

  // Evidence: P-095c
  @Test func `reports the progress of the index`() throws {
    _ = try peer.call("search", ["query": "milk", "at": token])
    let status = try peer.call("index/status")
    #expect(status["token"] == token)
    #expect(status["behind"] == 0)
    #expect(status["documents"] == 4)
    #expect((status["bytes"]?.integer ?? 0) > 0)
    #expect(status["state"] == "ready")
    let verified = try peer.call("index/verify")
    #expect(verified == ["token": token, "checked": 4, "differences": []])
  }
}
