import CordialValues
import JSON
import PersistentStore
import TestStores
import Testing

private let ranks = """
  {"name":"M","entities":[
    {"name":"Task","identity":"name","attributes":[
      {"name":"name","type":"string"},{"name":"rank","type":"int32","optional":true}],
     "unique":[["rank"]]},
    {"name":"Chore","parent":"Task","attributes":[]}]}
  """

@Suite struct `Unique numbers` {
  private let store: TestStore

  init() throws { store = try TestStore(ranks) }

  // Evidence: P-063d
  @Test(arguments: [-2, -1, 0, 1], ["Task", "Chore"])
  func `are unique across the entity family`(rank: Int, entity: String) async throws {
    try await store.save(#"{"insert":[{"id":"Chore/sa","values":{"rank":\#(rank)}}]}"#)
    let insert = try await store.refusal(
      #"{"insert":[{"id":"\#(entity)/sb","values":{"rank":\#(rank)}}]}"#
    )
    #expect(insert?.code == "uniquenessViolation")
    try await store.save(#"{"insert":[{"id":"\#(entity)/sb"}]}"#)
    let update = try await store.refusal(
      #"{"update":[{"id":"\#(entity)/sb","values":{"rank":\#(rank)}}]}"#
    )
    #expect(update?.code == "uniquenessViolation")
  }

  // Evidence: P-122e
  @Test(arguments: [
    #"{"id":"Task/sa","values":{"rank":2}},{"id":"Task/sb","values":{"rank":3}}"#,
    #"{"id":"Task/sb","values":{"rank":3}},{"id":"Task/sa","values":{"rank":2}}"#,
  ])
  func `stay as stored in a chain of updates, in any order`(updates: String) async throws {
    try await store.save(
      """
      {"insert":[{"id":"Task/sa","values":{"rank":1}},{"id":"Task/sb","values":{"rank":2}},
        {"id":"Task/sc","values":{"rank":3}}]}
      """
    )
    let refusal = try await store.refusal(
      #"{"update":[\#(updates)],"mergePolicy":"storeTrump"}"#
    )
    #expect(refusal == nil)
    #expect(
      try store.lines("Task rank")
        == ["Task/sa v1 rank=1", "Task/sb v1 rank=2", "Task/sc v1 rank=3"]
    )
  }
}
