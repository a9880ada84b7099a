import PersistentStore
import TestStores
import Testing

@Suite struct `Indexes of a model` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"Task","identity":"code","attributes":[
         {"name":"code","type":"string"},{"name":"title","type":"string","sorted":"localized"},
         {"name":"rank","type":"int64"}],
       "relationships":[{"name":"next","destination":"Task","optional":true}],
       "indexes":[["rank"],["-rank","title"],["code"],["next"]]},
      {"name":"Note","parent":"Task","attributes":[{"name":"text","type":"string"}]}]}
    """

  private func unused(_ store: TestStore) throws -> [String] {
    try store.snapshot { try $0.unusedIndexes() }
      .map { "\($0.entity) by \($0.keys.joined(separator: ", "))" }
  }

  // Evidence: P-108
  @Test func `are unused until a request needs them`() throws {
    let store = try TestStore(Self.model)
    let all = ["rank", "-rank, title", "title:localized"]
    let (tasks, notes) = (all.map { "Task by \($0)" }, all.map { "Note by \($0)" })
    #expect(try unused(store) == tasks + notes)
    _ = try store.ids(#"{"entity":"Note","predicate":"rank == 1"}"#)
    #expect(try unused(store) == tasks + notes.dropFirst())
    _ = try store.fetch(
      #"{"entity":"Task","sort":["-rank","title"],"limit":2,"subentities":false}"#
    )
    #expect(try unused(store) == [tasks[0], tasks[2]] + notes.dropFirst())
    _ = try store.fetch(
      #"{"entity":"Task","sort":["title:localized"],"limit":2,"select":["title"]}"#
    )
    let left = try unused(store)
    #expect(left == [tasks[0], notes[1]])
    #expect(try unused(store) == left)
  }
}
