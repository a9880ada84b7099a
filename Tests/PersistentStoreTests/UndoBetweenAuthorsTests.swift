import JSON
import PersistentStore
import TestStores
import Testing

/// Undo of one author's changes among those of others.
@Suite struct `Undo between authors` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(
      """
      {"name":"Notes","entities":[
        {"name":"Note","attributes":[
          {"name":"x","type":"int64","optional":true},{"name":"y","type":"int64","optional":true}],
         "relationships":[
          {"name":"groups","destination":"Group","toMany":true,"inverse":"notes"},
          {"name":"parent","destination":"Note","optional":true}]},
        {"name":"Group","attributes":[{"name":"name","type":"string","optional":true}],
         "relationships":[
          {"name":"notes","destination":"Note","toMany":true,"inverse":"groups"}]}]}
      """
    )
  }

  private func update(_ author: String, _ values: String, _ context: String = "") async throws {
    try await store.save(
      """
      {"update":[{"id":"Note/p1","values":\(values)}],"author":"\(author)","context":"\(context)"}
      """
    )
  }

  private func undo(_ policy: String = "error") async throws -> JSONValue {
    try await store.save(#"{"undo":1,"author":"a","mergePolicy":"\#(policy)"}"#)
  }

  private func refusal() async throws -> JSONValue? {
    try await store.refusal(#"{"undo":1,"author":"a"}"#)?.data["conflicts"]
  }

  // Evidence: P-125a
  @Test func `another author's write before the group's first write is no conflict`() async throws {
    try await store.save(#"{"insert":[{"id":"Note/t1","values":{"x":1,"y":1}}]}"#)
    try await update("a", #"{"x":2}"#, "typing")
    try await update("b", #"{"y":3}"#)
    try await update("a", #"{"y":4}"#, "typing")
    #expect(try await undo()["undone"] == 1)
    #expect(try store.lines("Note x y") == ["Note/p1 v5 x=1 y=3"])
    try await store.save(#"{"redo":1,"author":"a"}"#)
    #expect(try store.lines("Note x y") == ["Note/p1 v6 x=2 y=4"])
  }

  // Evidence: P-125a
  @Test func `another author's write between two writes of the group is a conflict`() async throws {
    try await store.save(#"{"insert":[{"id":"Note/t1","values":{"x":1,"y":1}}]}"#)
    try await update("a", #"{"y":2}"#, "typing")
    try await update("b", #"{"y":3}"#)
    try await update("a", #"{"y":4}"#, "typing")
    let conflict = try await refusal()?.array?.first
    #expect(conflict?["property"] == "y")
    #expect(conflict?["base"] == 2)
    #expect(conflict?["client"] == 1)
  }

  // Evidence: P-125a
  @Test func `another author's earlier link is no conflict`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Note/t1","values":{"x":1}},{"id":"Group/t1"}]}"#
    )
    try await update("a", #"{"x":2}"#, "typing")
    try await update("b", #"{"groups":["Group/p1"]}"#)
    try await update("a", #"{"groups":[]}"#, "typing")
    #expect(try await undo()["undone"] == 1)
    let found = try store.ids(#"{"entity":"Note","predicate":"x == 1 AND groups.@count == 1"}"#)
    #expect(found == ["Note/p1"])
  }

  // Evidence: P-125e
  @Test(arguments: [true, false])
  func `inserted objects that another author linked stay`(isFromNote: Bool) async throws {
    try await store.save(
      #"{"insert":[{"id":"Note/t1","values":{"x":1}},{"id":"Group/t1"}],"author":"a"}"#
    )
    let link =
      isFromNote
      ? #"{"id":"Note/p1","values":{"groups":["Group/p1"]}}"#
      : #"{"id":"Group/p1","values":{"notes":["Note/p1"]}}"#
    try await store.save(#"{"update":[\#(link)],"author":"b"}"#)
    let conflicts = try #require(try await refusal()?.array)
    #expect(conflicts.count == 1)
    #expect(try await undo("storeTrump")["undone"] == 1)
    #expect(try store.ids(#"{"entity":"Note","predicate":"groups.@count == 1"}"#) == ["Note/p1"])
    #expect(try store.ids(#"{"entity":"Group"}"#) == ["Group/p1"])
  }

  // Evidence: P-125a, P-125e
  @Test func `inserted objects that the group linked again itself are deleted`() async throws {
    let insert = #"{"insert":[{"id":"Note/t1"},{"id":"Group/t1"}],"author":"a","context":"typing"}"#
    try await store.save(insert)
    try await update("b", #"{"groups":["Group/p1"]}"#)
    try await update("a", #"{"groups":[]}"#, "typing")
    try await update("a", #"{"groups":["Group/p1"]}"#, "typing")
    #expect(try await refusal() == nil)
    #expect(try store.ids(#"{"entity":"Note"}"#) == [])
    #expect(try store.ids(#"{"entity":"Group"}"#) == [])
  }

  // Evidence: P-125e
  @Test(arguments: [#"{"x":1}"#, #"{"x":1,"groups":["Group/p1"]}"#])
  func `an inserted object that another author deleted is no conflict`(
    values: String
  ) async throws {
    try await store.save(#"{"insert":[{"id":"Group/t1","values":{"name":"g"}}]}"#)
    try await store.save(
      #"{"insert":[{"id":"Note/t1","values":\#(values)}],"author":"a"}"#
    )
    try await store.save(#"{"delete":["Note/p1"],"author":"b"}"#)
    #expect(try await undo()["undone"] == 1)
    #expect(try store.ids(#"{"entity":"Note"}"#) == [])
    #expect(try store.lines("Group name notes").first?.contains("name=g") == true)
  }
}
