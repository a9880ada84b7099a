import JSON
import TestStores
import Testing

@Suite struct `Selected lists and orders by aggregates` {
  private func filled() async throws -> TestStore {
    let store = try TestStore(
      """
      {"name": "Work", "entities": [
        {"name": "Group", "identity": "code", "attributes": [{"name": "code", "type": "string"}],
         "relationships": [
           {"name": "tasks", "destination": "Task", "toMany": true, "ordered": true,
            "inverse": "group"}]},
        {"name": "Task", "attributes": [
           {"name": "title", "type": "string", "optional": true},
           {"name": "due", "type": "date", "optional": true},
           {"name": "data", "type": "binary", "optional": true},
           {"name": "size", "type": "double", "optional": true},
           {"name": "facts", "type": "json", "optional": true}],
         "relationships": [
           {"name": "group", "destination": "Group", "inverse": "tasks", "optional": true},
           {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "tasks"}]},
        {"name": "Tag", "attributes": [{"name": "name", "type": "string"}],
         "relationships": [
           {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "tags"}]}]}
      """
    )
    try await store.save(
      """
      {"insert":[{"id":"Tag/t1","values":{"name":"x"}},{"id":"Tag/t2","values":{"name":"y"}},
        {"id":"Group/ta","values":{"code":"a","tasks":["Task/t2","Task/t1"]}},
        {"id":"Group/tb","values":{"code":"b","tasks":[]}},
        {"id":"Group/tc","values":{"code":"c","tasks":["Task/t3"]}},
        {"id":"Task/t1","values":{"title":"\\"one\\"","due":"2026-01-02T03:04:05.678Z",
          "data":"AAEC","size":0.1,"facts":{"o":{"b":1},"t":true},"tags":["Tag/t1","Tag/t2"]}},
        {"id":"Task/t2","values":{"title":null,"tags":["Tag/t2"]}},
        {"id":"Task/t3","values":{"title":"three","size":3}}]}
      """
    )
    return store
  }

  private func values(_ select: String) async throws -> JSONValue? {
    let request = #"{"entity":"Group","select":{"v":"\#(select)"},"limit":1}"#
    return try await filled().fetch(request).first?["values"]?["v"]
  }

  // Evidence: P-056a, P-052p
  @Test(arguments: [
    ("tasks.title", #"[null,"\"one\""]"#), ("tasks.due", #"[null,"2026-01-02T03:04:05.678Z"]"#),
    ("tasks.data", #"[null,"AAEC"]"#), ("tasks.size", "[null,0.1]"),
    ("tasks.facts.o", #"[null,{"b":1}]"#), ("tasks.facts.t", "[null,true]"),
    ("tasks.tags.name", #"["y","x"]"#), ("tasks.tags", #"["Tag/p2","Tag/p1"]"#),
    ("tasks.group", #"["Group/sa"]"#), ("tasks.group.code", #"["a"]"#),
    ("SELF", #""Group/sa""#), ("objectID", #""Group/sa""#), ("entity.name", #""Group""#),
  ])
  func `a path over to-manys is a list`(path: String, list: String) async throws {
    #expect(try await values(path)?.text == list)
  }

  // Evidence: P-055a
  @Test func `objects sort by aggregates, and pages continue`() async throws {
    let store = try await filled()
    func ids(_ sort: String) throws -> [String] {
      try store.ids(#"{"entity":"Group","sort":["\#(sort)"]}"#)
    }
    #expect(try ids("-tasks.@count") == ["Group/sa", "Group/sc", "Group/sb"])
    #expect(try ids("tasks.@max.size") == ["Group/sb", "Group/sa", "Group/sc"])
    #expect(try ids("tasks.@max.title") == ["Group/sb", "Group/sa", "Group/sc"])
    #expect(try ids("-tasks.@sum.size") == ["Group/sc", "Group/sa", "Group/sb"])
  }
}
