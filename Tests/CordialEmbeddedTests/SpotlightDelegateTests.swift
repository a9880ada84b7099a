import Cordial
import CordialEmbedded
import CordialValues
import Foundation
import Synchronization
import TestStores
import Testing

private struct Memo: ObjectValue {
  static let entity = "Memo"
  var id: WrappedID
  var title: String?
  var body: String?
  var isSecret: Bool
}

/// A delegate whose texts depend on another property of the object, and that leaves some out.
private struct MemoDelegate: SpotlightDelegate {
  var indexName = "memos"
  var indexVersion = "1"
  var suffix = ""

  func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet? {
    guard object.entity == "Memo", object.values["isSecret"] != .bool(true) else { return nil }
    var set = object.attributeSet
    if case .string(let body)? = object.values["body"] {
      set.texts["title", default: ""] += " \(body)"
    }
    set.texts["title", default: ""] += suffix
    if set.texts["title"]?.contains("private") == true { set.domain = "private" }
    return set
  }
}

/// A delegate that returns a text that the model does not index.
private struct WrongDelegate: SpotlightDelegate {
  let indexName = "wrong"

  func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet? {
    SpotlightAttributeSet(texts: ["titel": "milk"])
  }
}

@Suite struct `A delegate of the search index` {
  private static let model = """
    {"name": "Memos", "version": "1", "entities": [
      {"name": "Memo", "attributes": [
        {"name": "title", "type": "string", "optional": true},
        {"name": "body", "type": "string", "optional": true},
        {"name": "place", "type": "string", "optional": true},
        {"name": "isSecret", "type": "boolean", "default": false}],
       "spotlight": {"displayName": "title", "domain": "place"}}]}
    """

  private func open(
    _ location: StoreDescription.Location,
    _ delegate: (any SpotlightDelegate)?
  ) async throws -> Container {
    try await Container(
      model: .json(Self.model),
      stores: [StoreDescription(at: location)],
      spotlight: delegate,
      arguments: []
    )
  }

  private func save(_ client: Client, _ memos: [Memo]) async throws -> (SaveResult, [WrappedID]) {
    var changes = SaveRequest()
    var temporary: [WrappedID] = []
    for memo in memos {
      try changes.insert { id in
        temporary.append(id)
        return Memo(id: id, title: memo.title, body: memo.body, isSecret: memo.isSecret)
      }
    }
    let result = try await client.save(changes)
    return (result, temporary.compactMap { result.ids[$0] })
  }

  private func memo(_ title: String, body: String? = nil, isSecret: Bool = false) -> Memo {
    Memo(id: .integer(0), title: title, body: body, isSecret: isSecret)
  }

  private func found(_ client: Client, _ query: String, at token: String) async throws -> [String] {
    try await client.search(SearchRequest(query, at: token)).hits.map { "\($0.id)" }.sorted()
  }

  // Evidence: P-111e
  @Test func `decides what is indexed, and follows every property of an object`() async throws {
    let container = try await open(.memory, MemoDelegate())
    let client = try await container.client()
    let (saved, ids) = try await save(
      client,
      [memo("milk", body: "oat"), memo("milk", isSecret: true), memo("tea")]
    )
    #expect(try await found(client, "milk", at: saved.token) == ["\(ids[0])"])
    #expect(try await found(client, "oat", at: saved.token) == ["\(ids[0])"])

    // Neither property is a text of the model's `spotlight`.
    var changes = SaveRequest()
    let (oat, secret) = (memo("milk", body: "oat"), memo("milk", isSecret: true))
    try changes.update(oat.with(ids[0]), to: memo("milk", body: "rye").with(ids[0]))
    try changes.update(secret.with(ids[1]), to: memo("milk").with(ids[1]))
    let token = try await client.save(changes).token
    #expect(try await found(client, "oat", at: token) == [])
    #expect(try await found(client, "rye", at: token) == ["\(ids[0])"])
    #expect(try await found(client, "milk", at: token) == ["\(ids[0])", "\(ids[1])"])

    let values = try await client.search(SearchRequest("rye", at: token), as: Memo.self)
    #expect(values.map(\.body) == ["rye"] && values.map(\.id) == [ids[0]])
    // A completed word, and a display name as the delegate has it.
    #expect(try await client.suggestions(for: "ry") == ["rye", "milk rye"])
    let strict = SearchRequest("mlik", match: .all, at: token)
    #expect(try await client.search(strict).instead["mlik"] == ["milk"])
    let forgiving = try await client.search(SearchRequest("mlik", at: token))
    #expect(forgiving.hits.allSatisfy { $0.hitClass == .mistakes && $0.missing.isEmpty })
    #expect(forgiving.hits.first?.matched == [.init(word: "mlik", form: "milk", kind: "mistake")])
    #expect(forgiving.totals == [.exact: 0, .forms: 0, .mistakes: 2, .partial: 0])
    try await container.close()
  }

  @Test func `has an index of its own, which another version rebuilds`() async throws {
    let folder = try TestFolder()
    let place = StoreDescription.Location.folder(folder.path + "/Memos.cordial")
    var token = ""
    let versions: [((any SpotlightDelegate)?, String)] = [
      (MemoDelegate(), "oat"), (MemoDelegate(indexVersion: "2", suffix: " new"), "new"),
      (nil, "milk"),
    ]
    for (delegate, word) in versions {
      let container = try await open(place, delegate)
      let client = try await container.client()
      if token.isEmpty { token = try await save(client, [memo("milk", body: "oat")]).0.token }
      for query in ["milk", "oat", "new"] {
        let isFound = query == word || query == "milk" || delegate != nil && query == "oat"
        #expect(try await found(client, query, at: token).isEmpty == !isFound, "\(query), \(word)")
      }
      try await container.close()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/Memos.cordial")
    #expect(Set(names).isSuperset(of: ["index-memos.sqlite", "index.sqlite"]))
  }

  @Test func `deletes a domain until it is restored, and stops and starts`() async throws {
    let folder = try TestFolder()
    let place = StoreDescription.Location.folder(folder.path + "/Memos.cordial")
    let first = try await open(place, MemoDelegate())
    let client = try await first.client()
    let index = try first.searchIndex()
    let (saved, ids) = try await save(client, [memo("milk private"), memo("milk")])
    #expect(try await found(client, "milk", at: saved.token).count == 2)
    try await index.delete(domains: ["private"])
    #expect(try await found(client, "milk", at: saved.token) == ["\(ids[1])"])
    let later = try await save(client, [memo("milk private"), memo("milk")]).0
    #expect(try await found(client, "milk", at: later.token).count == 2)
    try await first.close()

    let second = try await open(place, MemoDelegate())
    let (again, reopened) = (try await second.client(), try second.searchIndex())
    #expect(try await found(again, "milk", at: later.token).count == 2)
    try await reopened.stopIndexing()
    #expect(!reopened.isIndexing)
    let third = try await save(again, [memo("milk")]).0
    await #expect(throws: ClientError.self) { try await found(again, "milk", at: third.token) }
    try await reopened.startIndexing()
    #expect(try await found(again, "milk", at: third.token).count == 3)
    try await reopened.restore(domains: ["private"])
    #expect(reopened.isIndexing)
    #expect(try await found(again, "milk", at: third.token).count == 5)
    try await reopened.rebuild()
    #expect(try await found(again, "milk", at: third.token).count == 5)
    try await second.close()
  }

  @Test func `tells each advance of the index`() async throws {
    let container = try await open(.memory, MemoDelegate())
    let client = try await container.client()
    var updates = try container.searchIndex().updates.makeAsyncIterator()
    let saved = try await save(client, [memo("milk")]).0
    var update = await updates.next()
    // The index may tell of earlier commits before.
    while let known = update, known.token != saved.token { update = await updates.next() }
    #expect(update?.token == saved.token && update?.storeID.isEmpty == false)
    #expect(throws: ClientError.self) { _ = try container.searchIndex("other") }
    try await container.close()
  }

  @Test func `is refused with a name that a file cannot have, and with texts of no attribute`()
    async throws
  {
    for name in ["", "a/b", "ä", String(repeating: "a", count: 65)] {
      let error = await #expect(throws: ContainerError.self) {
        _ = try await open(.memory, MemoDelegate(indexName: name))
      }
      #expect(error?.message.contains("cannot have the name") == true, "\(name)")
    }
    let container = try await open(.memory, WrongDelegate())
    let client = try await container.client()
    let saved = try await save(client, [memo("milk")]).0
    var error: ClientError?
    // The first attempt of the index may take longer than a search waits for it.
    for _ in 1...10 where error?.message.contains("in time") ?? true {
      error = await #expect(throws: ClientError.self) {
        try await found(client, "milk", at: saved.token)
      }
    }
    #expect(error?.message.contains("titel") == true, "\(error?.message ?? "")")
    // The store itself goes on.
    _ = try await save(client, [memo("tea")])
    try await container.close()
  }
}

extension Memo {
  fileprivate func with(_ id: WrappedID) -> Memo {
    var memo = self
    memo.id = id
    return memo
  }
}
