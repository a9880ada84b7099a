import JSON
import PersistentStore
import TestStores
import Testing

private let codes = """
  {"name":"Codes","entities":[
    {"name":"Part","identity":"code","attributes":[
      {"name":"code","type":"string"},
      {"name":"name","type":"string","optional":true},
      {"name":"size","type":"int32","optional":true}],
     "relationships":[
      {"name":"next","destination":"Part","optional":true,"inverse":"former"},
      {"name":"former","destination":"Part","toMany":true,"inverse":"next"}],
     "unique":[["name"]]}]}
  """

@Suite struct `Identities of inserts` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(codes)
    try await store.save(#"{"insert":[{"id":"Part/sx","values":{"name":"a","size":1}}]}"#)
  }

  // Evidence: P-122f
  @Test(arguments: ["error", "objectTrump", "overwrite"])
  func `an insert is not one with an object of another identity`(policy: String) async throws {
    let refused = try #require(
      await store.refusal(
        #"{"insert":[{"id":"Part/sy","values":{"name":"a"}}],"mergePolicy":"\#(policy)"}"#
      )
    )
    #expect(refused.code == "uniquenessViolation")
    #expect(refused.data["existing"] == "Part/sx" && refused.data["id"] == "Part/sy")
    #expect(try store.lines("Part name size") == [#"Part/sx v1 name=a size=1"#])
  }

  // P-122a, P-122b: `merged` lists every property that the store keeps, the identity included.
  @Test(arguments: ["storeTrump", "rollback"])
  func `merged reports that the stored object keeps its identity`(policy: String) async throws {
    for insert in [
      #"{"id":"Part/sy","values":{"name":"a","size":2}}"#,
      #"{"id":"Part/t1","values":{"name":"a","size":2,"code":"y"}}"#,
    ] {
      let answer = try await store.save(
        #"{"insert":[\#(insert)],"mergePolicy":"\#(policy)"}"#
      )
      let ids = (answer["ids"]?.members ?? []).map(\.value)
      #expect(ids == ["Part/sx"])
      let told = answer["merged"]?.array?.first?["properties"]?.members ?? []
      #expect(told.map(\.name).sorted() == ["code", "name", "size"])
      #expect(told.allSatisfy { $0.value == "store" })
    }
  }

  // P-122c
  @Test(arguments: [
    ("objectTrump", "size=3"), ("overwrite", "size=3"), ("storeTrump", "size=2"),
    ("rollback", "size=2"),
  ])
  func `two inserts with one identity are one object`(policy: String, size: String) async throws {
    let answer = try await store.save(
      """
      {"insert":[{"id":"Part/sy","values":{"size":2}},{"id":"Part/sy","values":{"size":3}}],
       "mergePolicy":"\(policy)"}
      """
    )
    #expect(answer["ids"]?.text == #"{"Part/sy":"Part/sy"}"#)
    #expect(answer["objects"]?.array?.count == 2)
    #expect(try store.lines("Part size").contains("Part/sy v1 \(size)"))
  }

  @Test func `two inserts with one identity violate it under error`() async throws {
    let refused = try #require(
      await store.refusal(#"{"insert":[{"id":"Part/sy"},{"id":"Part/sy"}]}"#)
    )
    #expect(refused.code == "uniquenessViolation")
    #expect(refused.data["properties"] == ["code"])
  }

  @Test func `two inserts with one temporary ID are a problem`() async throws {
    let refused = try #require(
      await store.refusal(
        """
        {"insert":[{"id":"Part/t1","values":{"code":"p"}},{"id":"Part/t1","values":{"code":"q"}}],
         "mergePolicy":"objectTrump"}
        """
      )
    )
    #expect(refused.code == "validationFailed")
  }

  // Evidence: P-063k
  @Test(arguments: ["error", "objectTrump", "storeTrump"])
  func `a reference names the new object where the save deletes the old one`(
    policy: String
  ) async throws {
    let answer = try await store.save(
      """
      {"insert":[{"id":"Part/sz","values":{"next":"Part/sx"}},
        {"id":"Part/t1","values":{"size":5,"code":"x"}}],
       "delete":["Part/sx"],"mergePolicy":"\(policy)"}
      """
    )
    #expect(answer["ids"]?["Part/t1"] == "Part/sx")
    #expect(
      Set(try store.lines("Part size next"))
        == ["Part/sz v1 size=null next=Part/sx", "Part/sx v1 size=5 next=null"]
    )
  }

  @Test func `inserts match the values that earlier inserts give to new objects`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Part/sp","values":{"name":"p"}},
        {"id":"Part/t1","values":{"code":"p","name":"q"}},{"id":"Part/t2","values":{"code":"r",
        "name":"p"}}],"mergePolicy":"objectTrump"}
      """
    )
    #expect(
      Set(try store.lines("Part name"))
        == ["Part/sx v1 name=a", "Part/sp v1 name=q", "Part/sr v1 name=p"]
    )
  }

  @Test(arguments: ["error", "objectTrump", "overwrite", "storeTrump", "rollback"])
  func `an insert has the identity of its ID`(policy: String) async throws {
    let refused = try #require(
      await store.refusal(
        #"{"insert":[{"id":"Part/sx","values":{"code":"y"}}],"mergePolicy":"\#(policy)"}"#
      )
    )
    #expect(refused.code == "validationFailed")
    #expect(refused.data["problems"]?.array?.first?["rule"] == "identity")
  }

  // P-064
  @Test func `an identity is not changed under any policy`() async throws {
    try await store.save(#"{"update":[{"id":"Part/sx","values":{"size":2}}]}"#)
    for policy in ["error", "objectTrump", "overwrite", "storeTrump", "rollback"] {
      let refused = try await store.refusal(
        """
        {"update":[{"id":"Part/sx","version":2,"values":{"code":"y"}}],"mergePolicy":"\(policy)"}
        """
      )
      #expect(refused?.code == "validationFailed", "\(policy)")
    }
  }
}
