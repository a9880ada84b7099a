import CordialValues
import JSON
import PersistentStore
import TestStores
import Testing

private let people = """
  {"name":"People","entities":[
    {"name":"Person","attributes":[
      {"name":"name","type":"string","optional":true},{"name":"age","type":"int16","optional":true},
      {"name":"sex","type":"string","optional":true}],
     "relationships":[
      {"name":"friends","destination":"Person","toMany":true,"inverse":"friendOf"},
      {"name":"friendOf","destination":"Person","toMany":true,"inverse":"friends"}]}]}
  """

@Suite struct `A merge policy decides property by property` {
  private let store: TestStore

  /// A client that knows version 1 changed name and age; somebody else changed age and sex.
  init() async throws {
    store = try TestStore(people)
    try await store.save(
      #"{"insert":[{"id":"Person/t1","values":{"name":"base","age":1,"sex":"base"}}]}"#
    )
    try await store.save(
      #"{"update":[{"id":"Person/p1","values":{"age":2,"sex":"store"}}],"author":"other"}"#
    )
  }

  private func save(_ policy: String) async throws -> JSONValue {
    try await store.save(
      """
      {"update":[{"id":"Person/p1","version":1,"values":{"name":"client","age":3}}],
       "mergePolicy":"\(policy)"}
      """
    )
  }

  // Evidence: P-069a, P-069d, P-069e
  @Test(arguments: [
    ("storeTrump", "name=client age=2 sex=store", #"{"age":"store","sex":"store"}"#),
    ("objectTrump", "name=client age=3 sex=store", #"{"age":"client","sex":"store"}"#),
    ("overwrite", "name=client age=3 sex=base", #"{"age":"client","sex":"base"}"#),
    ("rollback", "name=base age=2 sex=store", #"{"age":"store","sex":"store","name":"store"}"#),
  ])
  func `name, age and sex`(policy: String, values: String, merged: String) async throws {
    let answer = try await save(policy)
    let version = policy == "rollback" ? 2 : 3
    #expect(try store.lines("Person name age sex") == ["Person/p1 v\(version) \(values)"])
    let told = try #require(answer["merged"]?.array?.first)
    #expect(told["id"] == "Person/p1")
    let wanted = try JSONParser.parse(merged).members ?? []
    #expect(told["properties"]?.members?.count == wanted.count)
    for member in wanted { #expect(told["properties"]?[member.name] == member.value) }
    // What was sent and is not stored, and what was stored and not sent, is in the answer.
    let stored = answer["objects"]?.array?.first?["values"]
    #expect(stored?["age"] == (["storeTrump", "rollback"].contains(policy) ? 2 : nil))
    #expect(stored?["sex"] == (policy == "overwrite" ? "base" : nil))
    #expect(answer["objects"]?.array?.first?["version"]?.integer == Int64(version))
  }

  @Test func `error reports base, store and client, and writes nothing`() async throws {
    let refused = try await store.refusal(
      #"{"update":[{"id":"Person/p1","version":1,"values":{"name":"client","age":3}}]}"#
    )
    #expect(refused?.code == "saveConflict")
    #expect(try store.lines("Person name age") == ["Person/p1 v2 name=base age=2"])
  }

  @Test func `without a version, or with the newest, nothing is merged`() async throws {
    for version in ["", #""version":3,"#] {
      let answer = try await store.save(
        """
        {"update":[{"id":"Person/p1",\(version)"values":{"sex":"x"}}],"mergePolicy":"rollback"}
        """
      )
      #expect(answer["merged"] == nil)
    }
  }

  @Test(arguments: [
    ("objectTrump", "[Person/p2,Person/p4]"), ("storeTrump", "[Person/p2,Person/p4]"),
    ("overwrite", "[Person/p3,Person/p4]"), ("rollback", "[Person/p2]"),
  ])
  func `to-manys merge as sets`(policy: String, friends: String) async throws {
    // Known are 3; somebody else puts 2 in and takes 3 out; the client has 3 and puts 4 in.
    try await store.save(
      """
      {"insert":[{"id":"Person/t2"},{"id":"Person/t3"},{"id":"Person/t4"}],
       "update":[{"id":"Person/p1","values":{"friends":["Person/t3"]}}]}
      """
    )
    try await store.save(#"{"update":[{"id":"Person/p1","values":{"friends":["Person/p2"]}}]}"#)
    try await store.save(
      """
      {"update":[{"id":"Person/p1","version":3,"values":{"friends":["Person/p3","Person/p4"]}}],
       "mergePolicy":"\(policy)"}
      """
    )
    let first = try store.lines("Person friends").first
    #expect(first?.hasSuffix("friends=\(friends)") == true, "\(first ?? "")")
  }

  @Test(arguments: [
    ("objectTrump", 0), ("overwrite", 0), ("storeTrump", 1), ("rollback", 1),
  ])
  func `a delete of what others changed`(policy: String, left: Int) async throws {
    try await store.save(
      #"{"delete":[{"id":"Person/p1","version":1}],"mergePolicy":"\#(policy)"}"#
    )
    #expect(try store.ids(#"{"entity":"Person"}"#).count == left)
  }
}
