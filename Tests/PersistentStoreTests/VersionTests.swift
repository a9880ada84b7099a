import JSON
import TestStores
import Testing

@Suite struct `What changed since the version that a save is based on` {
  private let store: TestStore

  /// A task with label 1, and two more labels, all at version 1.
  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"Milk","labels":["Label/t1"]}},
        {"id":"Label/t1"},{"id":"Label/t2"},{"id":"Label/t3"}]}
      """
    )
  }

  private func relabel(_ change: String) async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"labels":\#(change)}}]}"#)
  }

  /// Expects a save to be refused as a conflict, with these properties.
  private func check(
    _ save: String,
    _ conflicts: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try store.lines("Task title labels; Label name tasks")
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == "saveConflict", sourceLocation: sourceLocation)
    #expect(
      refusal?.data["conflicts"]?.text == conflicts.split(separator: "\n").joined(),
      sourceLocation: sourceLocation
    )
    #expect(
      try store.lines("Task title labels; Label name tasks") == before,
      sourceLocation: sourceLocation
    )
  }

  // Evidence: P-065c
  @Test func `a many-to-many conflict is reported at both ends with its members`() async throws {
    try await relabel(#"{"@add":["Label/p2"],"@remove":["Label/p1"]}"#)
    try await check(
      #"{"update":[{"id":"Task/p1","version":1,"values":{"labels":["Label/p3"]}}]}"#,
      """
      [{"id":"Task/p1","property":"labels","base":["Label/p1"],"store":["Label/p2"],
      "client":["Label/p3"],"version":2}]
      """
    )
    try await check(
      #"{"update":[{"id":"Label/p2","version":1,"values":{"name":"red"}}]}"#,
      """
      [{"id":"Label/p2","property":"tasks","base":[],"store":["Task/p1"],"client":null,"version":2}]
      """
    )
  }

  @Test func `the former members are those of the known version`() async throws {
    try await relabel(#"["Label/p1","Label/p2"]"#)
    try await relabel(#"["Label/p3"]"#)
    for (version, base) in [(1, #"["Label/p1"]"#), (2, #"["Label/p1","Label/p2"]"#)] {
      try await check(
        #"{"update":[{"id":"Task/p1","version":\#(version),"values":{"title":"Oat milk"}}]}"#,
        """
        [{"id":"Task/p1","property":"labels","base":\(base),"store":["Label/p3"],"client":null,
        "version":3}]
        """
      )
    }
  }

  // Evidence: P-065c
  @Test func `without a log the whole object is a conflict`() async throws {
    try await relabel(#"{"@add":["Label/p2"]}"#)
    try await relabel(#"{"@remove":["Label/p2"]}"#)
    try await check(
      #"{"update":[{"id":"Task/p1","version":1,"values":{"title":"Oat milk"}}]}"#,
      #"[{"id":"Task/p1","property":null,"version":3}]"#
    )
    try await check(
      #"{"delete":[{"id":"Task/p1","version":2}]}"#,
      #"[{"id":"Task/p1","property":null,"version":3}]"#
    )
  }

  @Test(arguments: [
    #""delete":[{"id":"Label/p1","version":1}]"#,
    #""update":[{"id":"Task/p1","values":{"labels":[]}},{"id":"Label/p1","version":1,"values":{"name":"red"}}]"#,
  ])
  func `versions are compared before the save increments them`(rest: String) async throws {
    let update = #""update":[{"id":"Task/p1","values":{"labels":{"@remove":["Label/p1"]}}}]"#
    let save = rest.contains("update") ? "{\(rest)}" : "{\(update),\(rest)}"
    try await store.save(save)
    #expect(try store.lines("Task labels") == ["Task/p1 v2 labels=[]"])
  }

  // Evidence: P-065e
  @Test(arguments: [
    #"{"update":[{"id":"Task/p1","version":2,"values":{"title":"Oat milk"}}]}"#,
    #"{"delete":[{"id":"Task/p1","version":9}]}"#,
  ])
  func `a version ahead of the store is invalid`(save: String) async throws {
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == "validationFailed")
    let problem = refusal?.data["problems"]?.array?.first
    #expect(problem?["id"] == "Task/p1")
    #expect(problem?["rule"] == "version")
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=Milk"])
  }
}
