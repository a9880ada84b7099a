import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let model = """
  {"name":"Posts","entities":[
    {"name":"Post","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
      {"name":"tags","destination":"Tag","toMany":true,"inverse":"posts"}]},
    {"name":"Tag","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"posts","destination":"Post","toMany":true,"inverse":"tags"}]}]}
  """

@Suite struct `A link row to an object that an external client deleted` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[{"id":"Post/t1","values":{"title":"a","tags":["Tag/sx","Tag/sy"]}},
        {"id":"Tag/sx"},{"id":"Tag/sy"}]}
      """
    )
    try store.foreign("DELETE FROM Tag WHERE name = 'x'")
    try await store.seal()
  }

  private func links() throws -> [String] {
    try store.rows("SELECT source, target FROM cordial_pairs_Post_tags ORDER BY 1, 2")
  }

  /// A save that sends the members which a fetch returns, and a title with them.
  private func drop(_ values: String) async throws {
    #expect(try store.lines("Post tags") == ["Post/p1 v1 tags=[Tag/sy]"])
    #expect(try links() == ["1|1", "1|2"])
    try await store.save(
      #"{"update":[{"id":"Post/p1","values":{\#(values)}}],"author":"ann"}"#
    )
    #expect(try links() == ["1|2"])
  }

  // Evidence: P-125d
  @Test func `stays dropped when the save that dropped it is undone`() async throws {
    try await drop(#""title":"b","tags":["Tag/sy"]"#)
    let undone = try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(undone["undone"] == 1)
    #expect(
      undone["objects"] == [["id": "Post/p1", "version": 3, "values": ["title": "a"]]]
    )
    #expect(try store.lines("Post title tags") == ["Post/p1 v3 title=a tags=[Tag/sy]"])
    #expect(try links() == ["1|2"])
    try await store.save(#"{"redo":1,"author":"ann"}"#)
    #expect(try store.lines("Post title tags") == ["Post/p1 v4 title=b tags=[Tag/sy]"])
  }

  // Evidence: P-125d
  @Test func `does not stop the undo of a save that changed nothing else`() async throws {
    try await drop(#""tags":["Tag/sy"]"#)
    let undone = try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(undone["undone"] == 1)
    #expect(try links() == ["1|2"])
  }

  // Evidence: P-071c
  @Test func `is named by the identity of the object in the history`() async throws {
    try await drop(#""tags":["Tag/sy"]"#)
    let changes = try store.snapshot { snapshot in
      let head = snapshot.head.number
      let commits = try snapshot.log.transactions(after: head - 1, through: head, limit: 1)
      return try (commits.first?.changes ?? []).map { change in
        let others = try change.unlinked.values.joined()
          .map { try snapshot.wrappedID($0).description }
        return ([try snapshot.wrappedID(change.key).description] + others).joined(separator: " ")
      }
    }
    #expect(changes.sorted() == ["Post/p1 Tag/sx", "Tag/sx Post/p1"])
  }
}
