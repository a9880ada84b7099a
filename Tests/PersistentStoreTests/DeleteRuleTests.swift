import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Delete rules` {
  /// A parent with children under one rule, each child with grandchildren under another.
  private func model(_ rule: String, _ deeper: String = "cascade", optional: Bool = true) -> String
  {
    """
    {"name": "Rules", "version": "1", "entities": [
      {"name": "Parent", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [{"name": "children", "destination": "Child", "toMany": true,
         "inverse": "parent", "deleteRule": "\(rule)"}]},
      {"name": "Child", "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [
         {"name": "parent", "destination": "Parent", "inverse": "children",
          "optional": \(optional)},
         {"name": "grandchildren", "destination": "Grandchild", "toMany": true,
          "inverse": "child", "deleteRule": "\(deeper)"}]},
      {"name": "Grandchild", "attributes": [],
       "relationships": [{"name": "child", "destination": "Child", "inverse": "grandchildren",
         "optional": true}]}]}
    """
  }

  /// Parent p1 with children p1 and p2, parent p2 with child p3; children 1 and 3 have one each.
  private func family(
    _ rule: String,
    _ deeper: String = "cascade",
    optional: Bool = true
  )
    async throws -> TestStore
  {
    let store = try TestStore(model(rule, deeper, optional: optional))
    try await store.save(
      """
      {"insert":[{"id":"Parent/t1"},{"id":"Parent/t2"},
        {"id":"Child/t1","values":{"parent":"Parent/t1"}},
        {"id":"Child/t2","values":{"parent":"Parent/t1"}},
        {"id":"Child/t3","values":{"parent":"Parent/t2"}},
        {"id":"Grandchild/t1","values":{"child":"Child/t1"}},
        {"id":"Grandchild/t2","values":{"child":"Child/t3"}}]}
      """
    )
    return store
  }

  private let all = "Parent; Child parent; Grandchild child"

  @Test func `nullify clears references and increments the owners`() async throws {
    let store = try await family("nullify")
    try await store.save(#"{"delete":["Parent/p1"]}"#)
    #expect(
      try store.lines(all) == [
        "Parent/p2 v1", "Child/p1 v2 parent=null", "Child/p2 v2 parent=null",
        "Child/p3 v1 parent=Parent/p2", "Grandchild/p1 v1 child=Child/p1",
        "Grandchild/p2 v1 child=Child/p3",
      ]
    )
  }

  @Test func `nullify of a to-one that must have a value is a problem`() async throws {
    let store = try await family("nullify", optional: false)
    let before = try store.lines(all)
    let refusal = try await store.refusal(#"{"delete":["Parent/p1"]}"#)
    #expect(refusal?.code == "validationFailed")
    #expect(
      refusal?.data["problems"]?.array?.map { $0["id"]?.string } == ["Child/p1", "Child/p2"]
    )
    #expect(try store.lines(all) == before)
    // With its children it goes.
    try await store.save(#"{"delete":["Child/p1","Parent/p1","Child/p2"]}"#)
    #expect(try store.ids(#"{"entity":"Parent"}"#) == ["Parent/p2"])
  }

  // Evidence: P-064b
  @Test func `cascade deletes and reports all referenced objects`() async throws {
    let store = try await family("cascade")
    let outcome = try await store.outcome(#"{"delete":["Parent/p1"]}"#)
    #expect(outcome.count == 1)
    #expect(outcome.ids.sorted() == ["Child/p1", "Child/p2", "Grandchild/p1", "Parent/p1"])
    #expect(
      try store.lines(all) == [
        "Parent/p2 v1", "Child/p3 v1 parent=Parent/p2", "Grandchild/p2 v1 child=Child/p3",
      ]
    )
  }

  // Evidence: P-064a
  @Test func `deny refuses the delete and names the referenced objects`() async throws {
    let store = try await family("deny")
    let before = try store.lines(all)
    let refusal = try await store.refusal(#"{"delete":["Parent/p1"]}"#)
    #expect(refusal?.code == "deleteDenied")
    #expect(
      refusal?.data.withoutProblems == [
        "id": "Parent/p1", "relationship": "children", "holders": ["Child/p1", "Child/p2"],
      ]
    )
    #expect(try store.lines(all) == before)
    // What goes too does not hold it, and what is moved away in the same save neither.
    try await store.save(
      """
      {"update":[{"id":"Child/p2","values":{"parent":"Parent/p2"}}],
       "delete":["Child/p1","Parent/p1"]}
      """
    )
    #expect(try store.ids(#"{"entity":"Child"}"#) == ["Child/p2", "Child/p3"])
  }

  @Test func `a deny below a cascade stops the whole delete`() async throws {
    let store = try await family("cascade", "deny")
    #expect(try await store.refusal(#"{"delete":["Parent/p1"]}"#)?.code == "deleteDenied")
    #expect(try store.ids(#"{"entity":"Parent"}"#) == ["Parent/p1", "Parent/p2"])
  }

  /// A dangling to-one reads null, wherever it is read.
  @Test func `noAction leaves a to-one that reads null`() async throws {
    let store = try await family("noAction")
    try await store.save(#"{"delete":["Parent/p1"]}"#)
    #expect(
      try store.lines("Child parent") == [
        "Child/p1 v1 parent=null", "Child/p2 v1 parent=null", "Child/p3 v1 parent=Parent/p2",
      ]
    )
    for (predicate, ids) in [
      ("parent == nil", ["Child/p1", "Child/p2"]), ("parent != nil", ["Child/p3"]),
      ("parent.name == nil", ["Child/p1", "Child/p2", "Child/p3"]),
      (#"parent == \"Parent/p1\""#, []), (#"parent != \"Parent/p2\""#, ["Child/p1", "Child/p2"]),
    ] {
      #expect(
        try store.ids(#"{"entity":"Child","predicate":"\#(predicate)"}"#) == ids,
        "\(predicate)"
      )
    }
  }

  // Evidence: P-061a
  @Test func `delete rules apply to the graph that the rest of the save leaves`() async throws {
    let store = try await family("cascade")
    try await store.save(
      """
      {"update":[{"id":"Child/p1","values":{"parent":"Parent/p2"}},
                 {"id":"Child/p2","values":{"name":"updated"}}],
       "delete":["Parent/p1"]}
      """
    )
    #expect(
      try store.lines("Child parent name") == [
        "Child/p1 v2 parent=Parent/p2 name=null", "Child/p3 v1 parent=Parent/p2 name=null",
      ]
    )
  }

  @Test func `a save may insert into a group that it deletes`() async throws {
    let store = try await family("cascade")
    try await store.save(
      """
      {"insert":[{"id":"Child/t1","values":{"parent":"Parent/p1"}}],"delete":["Parent/p1"]}
      """
    )
    #expect(try store.ids(#"{"entity":"Child"}"#) == ["Child/p3"])
  }

  @Test func `a delete by predicate applies delete rules`() async throws {
    let store = try await family("cascade")
    let outcome = try await store.outcome(
      #"{"deleteMatching":{"entity":"Parent","predicate":"SELF != \"Parent/p2\""}}"#
    )
    #expect(outcome.count == 1)
    #expect(try store.ids(#"{"entity":"Child"}"#) == ["Child/p3"])
  }

  @Test func `one transaction has all deleted objects with their last values`() async throws {
    let store = try await family("cascade")
    try await store.save(#"{"delete":["Parent/p1"],"author":"ann"}"#)
    let changes = try store.snapshot {
      try $0.log.transactions(after: 1, through: $0.head.number, limit: 10)
    }
    #expect(changes.count == 1)
    #expect(changes.first?.changes.count == 4)
    #expect(changes.first?.changes.allSatisfy { $0.kind == .delete } == true)
  }

  // MARK: Cycles

  private func ring(_ rule: String) async throws -> TestStore {
    let store = try TestStore(
      """
      {"name": "Ring", "version": "1", "entities": [
        {"name": "Node", "attributes": [], "relationships": [
          {"name": "next", "destination": "Node", "inverse": "previous", "optional": true,
           "deleteRule": "\(rule)"},
          {"name": "previous", "destination": "Node", "inverse": "next", "optional": true},
          {"name": "links", "destination": "Node", "toMany": true, "inverse": "linkedBy",
           "deleteRule": "\(rule)"},
          {"name": "linkedBy", "destination": "Node", "toMany": true, "inverse": "links"}]}]}
      """
    )
    try await store.save(
      #"{"insert":[{"id":"Node/t1"},{"id":"Node/t2"},{"id":"Node/t3"},{"id":"Node/t4"}]}"#
    )
    try await store.save(
      """
      {"update":[{"id":"Node/p1","values":{"next":"Node/p2","links":["Node/p1","Node/p2"]}},
        {"id":"Node/p2","values":{"next":"Node/p3"}},
        {"id":"Node/p3","values":{"next":"Node/p1"}}]}
      """
    )
    return store
  }

  @Test func `a cascade through a cycle ends`() async throws {
    let store = try await ring("cascade")
    try await store.save(#"{"delete":["Node/p2"]}"#)
    #expect(try store.lines("Node next previous") == ["Node/p4 v1 next=null previous=null"])
  }

  @Test func `a cycle with deny can only be deleted as a whole`() async throws {
    let store = try await ring("deny")
    #expect(try await store.refusal(#"{"delete":["Node/p2","Node/p3"]}"#)?.code == "deleteDenied")
    try await store.save(#"{"delete":["Node/p1","Node/p2","Node/p3"]}"#)
    #expect(try store.ids(#"{"entity":"Node"}"#) == ["Node/p4"])
  }

  @Test func `nullify clears both references of a cycle`() async throws {
    let store = try await ring("nullify")
    try await store.save(#"{"delete":["Node/p2"]}"#)
    #expect(
      try store.lines("Node next previous links linkedBy") == [
        "Node/p1 v3 next=null previous=Node/p3 links=[Node/p1] linkedBy=[Node/p1]",
        "Node/p3 v3 next=Node/p1 previous=null links=[] linkedBy=[]",
        "Node/p4 v1 next=null previous=null links=[] linkedBy=[]",
      ]
    )
  }

  @Test func `link rows of deleted objects are deleted`() async throws {
    let store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"labels":["Label/t1","Label/t2"]}},{"id":"Label/t1"},
        {"id":"Label/t2"}]}
      """
    )
    try await store.save(#"{"delete":["Label/p1"]}"#)
    #expect(
      try store.lines("Task labels; Label tasks") == [
        "Task/p1 v2 labels=[Label/p2]", "Label/p2 v1 tasks=[Task/p1]",
      ]
    )
    #expect(try store.rows("SELECT count(*) FROM cordial_pairs_Task_labels") == ["1"])
  }
}
