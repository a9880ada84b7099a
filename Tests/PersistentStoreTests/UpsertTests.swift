import JSON
import ObjectModel
import PersistentStore
import TestStores
import Testing

private let lands = """
  {"name":"Lands","entities":[
    {"name":"Land","identity":"code","attributes":[
      {"name":"code","type":"string"},{"name":"area","type":"int32","default":0},
      {"name":"name","type":"string","optional":true}],
     "relationships":[{"name":"towns","destination":"Town","toMany":true,"inverse":"land"}]},
    {"name":"Town","attributes":[
      {"name":"name","type":"string"},{"name":"people","type":"int32","optional":true},
      {"name":"founded","type":"decimal","optional":true}],
     "unique":[["land","name"]],
     "relationships":[{"name":"land","destination":"Land","inverse":"towns"}]}]}
  """

@Suite struct `An insert of an existing object follows the merge policy` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(lands)
    try await store.save(
      """
      {"insert":[{"id":"Land/sis","values":{"area":103,"name":"Iceland"}},
        {"id":"Town/t1","values":{"name":"Vík","people":750,"land":"Land/sis"}}]}
      """
    )
  }

  private func save(_ policy: String) async throws -> JSONValue {
    try await store.save(
      """
      {"insert":[{"id":"Town/t7","values":{"name":"Selfoss","land":"Land/sis"}},
        {"id":"Land/sis","values":{"name":"Ísland"}},
        {"id":"Town/t8","values":{"name":"Vík","founded":"10.50","land":"Land/sis"}}],
       "update":[{"id":"Town/p1","version":1,"values":{}}],
       "mergePolicy":"\(policy)"}
      """
    )
  }

  // Evidence: P-122a, P-122b
  @Test(arguments: [
    (
      "objectTrump", "Land/sis v2 area=103 name=Ísland", "Town/p1 v2 people=750 founded=10.5",
      "client"
    ),
    (
      "overwrite", "Land/sis v2 area=0 name=Ísland", "Town/p1 v2 people=null founded=10.5",
      "client"
    ),
    (
      "storeTrump", "Land/sis v1 area=103 name=Iceland", "Town/p1 v1 people=750 founded=null",
      "store"
    ),
    (
      "rollback", "Land/sis v1 area=103 name=Iceland", "Town/p1 v1 people=750 founded=null",
      "store"
    ),
  ])
  func `by identity and by unique properties`(
    policy: String,
    land: String,
    town: String,
    whose: String
  ) async throws {
    let answer = try await store.save(
      """
      {"insert":[{"id":"Town/t7","values":{"name":"Selfoss","land":"Land/sis"}},
        {"id":"Land/sis","values":{"name":"Ísland"}},
        {"id":"Town/t8","values":{"name":"Vík","founded":"10.50","land":"Land/sis"}}],
       "mergePolicy":"\(policy)"}
      """
    )
    #expect(
      answer["ids"] == ["Town/t7": "Town/p2", "Land/sis": "Land/sis", "Town/t8": "Town/p1"]
    )
    #expect(
      try store.lines("Land area name; Town people founded") == [
        land, town, "Town/p2 v1 people=null founded=null",
      ]
    )
    let objects = answer["objects"]?.array ?? []
    #expect(objects.map { $0["id"] } == ["Town/p2", "Land/sis", "Town/p1"])
    #expect(objects.last?["version"]?.integer == (whose == "client" ? 2 : 1))
    // What is stored other than sent is told.
    #expect(objects.last?["values"]?["founded"] == (whose == "client" ? "10.5" : .null))
    let merged = answer["merged"]?.array ?? []
    #expect(merged.map { $0["id"] } == ["Land/sis", "Town/p1"])
    #expect(merged.first?["properties"]?["name"] == .string(whose))
  }

  // Evidence: P-122a
  @Test func `error refuses it`() async throws {
    let refused = try await store.refusal(#"{"insert":[{"id":"Land/sis"}]}"#)
    #expect(refused?.code == "uniquenessViolation")
    #expect(refused?.data["existing"] == "Land/sis")
  }

  @Test func `other references of the save refer to the existing object`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Land/t1","values":{"code":"is"}},
        {"id":"Town/t1","values":{"name":"Höfn","land":"Land/t1"}}],"mergePolicy":"objectTrump"}
      """
    )
    #expect(
      try store.lines("Town name land") == [
        "Town/p1 v1 name=Vík land=Land/sis", "Town/p2 v1 name=Höfn land=Land/sis",
      ]
    )
  }

  // Evidence: P-122c
  @Test func `two inserts of one save with the same values are decided by the policy`() async throws
  {
    func save(_ policy: String) -> String {
      """
      {"insert":[{"id":"Land/sno","values":{"area":1}},
        {"id":"Land/t1","values":{"code":"no","area":2}}],"mergePolicy":"\(policy)"}
      """
    }
    #expect(try await store.refusal(save("error"))?.code == "uniquenessViolation")
    let answer = try await store.save(save("objectTrump"))
    #expect(answer["ids"] == ["Land/sno": "Land/sno", "Land/t1": "Land/sno"])
    #expect(answer["merged"]?.array?.map { $0["id"] } == ["Land/sno"])
    #expect(try store.lines("Land area").contains("Land/sno v1 area=2"))
    try await store.save(#"{"delete":["Land/sno"]}"#)
    try await store.save(save("storeTrump"))
    #expect(try store.lines("Land area").contains("Land/sno v1 area=1"))
  }
}

@Suite struct `A merge policy of the program's own` {
  // Evidence: P-123
  @Test func `decides each property that others changed`() async throws {
    var extensions = StoreExtensions()
    extensions.mergePolicies["greater"] = { conflict in
      guard let store = conflict.store.integer else { return .base }
      guard let client = conflict.client?.integer else { return .store }
      return store == client ? .store : .value(.integer(max(store, client) + 100))
    }
    let folder = try TestFolder()
    let store = try PersistentStore(
      container: StoreContainer(path: folder.path),
      model: try ModelDocument.parse(Array(lands.utf8).span),
      mode: .readWrite,
      environment: TestStore.environment(),
      extensions: extensions
    )
    defer { store.close() }
    func save(_ text: String) async throws -> JSONValue {
      let request = SaveRequest(try JSONParser.parse(text))
      let outcome: SaveOutcome = try await withCheckedThrowingContinuation { continuation in
        store.save(request) { continuation.resume(with: $0) }
      }
      return try TestOutcome(outcome, store.model).body
    }
    _ = try await save(#"{"insert":[{"id":"Land/sis","values":{"area":1,"name":"a"}}]}"#)
    _ = try await save(#"{"update":[{"id":"Land/sis","values":{"area":5,"name":"b"}}]}"#)
    let answer = try await save(
      """
      {"update":[{"id":"Land/sis","version":1,"values":{"area":3,"name":"c"}}],
       "mergePolicy":"greater"}
      """
    )
    #expect(answer["merged"]?.array?.first?["properties"] == ["area": "policy", "name": "base"])
    #expect(
      answer["objects"]?.array?.first?["values"]?.members.map { Set($0.map(\.value.text)) }
        == ["105", "\"a\""]
    )
    await #expect(throws: StoreError.self) {
      _ = try await save(
        """
        {"update":[{"id":"Land/sis","version":1,"values":{"area":3}}],"mergePolicy":"none"}
        """
      )
    }
  }
}
