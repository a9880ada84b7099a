import JSON
import ObjectModel
import PersistentStore
import TestStores
import Testing

/// Numbers in the range of an entity that an earlier version of the model had.
///
/// The log has objects of it; tables have none, and references and requests name none.
@Suite struct `A number of a retired entity` {
  private static func model(_ version: Int, has special: Bool) -> String {
    let others = special ? #"{"name":"Special","parent":"Group"},"# : ""
    let removed = special ? "[]" : #"["Special"]"#
    return """
      {"name":"M","version":"\(version)","removed":\(removed),"entities":[
        {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
         "relationships":[
           {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
        \(others){"name":"Other","parent":"Group"},
        {"name":"Task","attributes":[{"name":"title","type":"string","optional":true}],
         "relationships":[
           {"name":"group","destination":"Group","inverse":"tasks","optional":true}]}]}
      """
  }

  private let store: TestStore
  /// The number of an object that the retired entity had.
  private let number: String

  init() async throws {
    let folder = try TestFolder()
    let wrapped: String
    do {
      let first = try TestStore(Self.model(1, has: true), in: folder)
      let ids = try await first.save(
        """
        {"insert":[{"id":"Group/t1","values":{"title":"g"}},{"id":"Special/t2"},
          {"id":"Other/t3"},{"id":"Task/t4","values":{"title":"t","group":"Group/t1"}}],
         "author":"ann"}
        """
      )["ids"]
      wrapped = try #require(ids?["Special/t2"]?.string)
    }
    number = String(wrapped.dropFirst("Special/p".count))
    store = try TestStore(Self.model(2, has: false), in: folder)
    try #require(store.store.model.retired.count == 1)
  }

  private static let everything = "Group title; Other title; Task title group"

  private func problems() throws -> JSONValue? {
    try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
  }

  @Test(arguments: [
    #"{"update":[{"id":"Group/pN","values":{"title":"x"}}]}"#,
    #"{"update":[{"id":"Group/pN","values":{"tasks":["Task/p1"]}}]}"#,
    #"{"update":[{"id":"Group/pN","version":1,"values":{"title":"x"}}]}"#,
    #"{"update":[{"id":"Other/pN","values":{"title":"x"}}]}"#,
    #"{"update":[{"id":"Task/p1","values":{"group":"Group/pN"}}]}"#,
    #"{"insert":[{"entity":"Task","values":{"group":"Group/pN"}}]}"#,
    #"{"insert":[{"entity":"Group","values":{"tasks":{"@add":["Task/p1"]}}}],"#
      + #""delete":["Group/pN"]}"#,
    #"{"delete":["Group/pN"]}"#, #"{"delete":["Other/pN","Group/p1"]}"#,
  ])
  func `is that of no object where a client sends it`(request: String) async throws {
    let before = try store.lines(Self.everything)
    let refusal = try await store.refusal(request.replacing("N", with: number))
    #expect(refusal?.code != "internalError")
    if refusal != nil { #expect(try store.lines(Self.everything) == before) }
    if !request.contains("delete") { #expect(refusal != nil) }
    #expect(try problems() == [])
  }

  @Test func `is that of no object where a client reads it`() throws {
    let reader = try store.store.makeReader()
    try reader.snapshot { _ in }
    for (id, isFound) in [
      ("Group/p\(number)", false), ("Other/p\(number)", false), ("Group/p1", true),
    ] {
      var writer = JSONWriter()
      let isWritten = try reader.write(id, to: &writer) { _, _ in }
      #expect(isWritten == isFound, "\(id)")
    }
    let predicate = "group.objectID == 'Group/p\(number)'"
    let refusal = try store.refusal(
      ofFetch: #"{"entity":"Task","predicate":"\#(predicate)"}"#
    )
    #expect(refusal?.code != "internalError")
  }

  @Test func `does no harm where an external client stores it`() async throws {
    try store.foreign(
      """
      UPDATE Task SET "group" = \(number);
      INSERT INTO Task(title, "group") VALUES ('other', \(number))
      """
    )
    try await store.seal()
    let tasks = try store.lines("Task group")
    #expect(tasks.count == 2 && tasks.allSatisfy { $0.hasSuffix("group=null") }, "\(tasks)")
    #expect(try problems() != [])
    for request in [
      #"{"update":[{"id":"Task/p1","values":{"title":"u"}}],"author":"ann"}"#,
      #"{"undo":1,"author":"ann"}"#, #"{"redo":1,"author":"ann"}"#,
      #"{"update":[{"id":"Group/p1","values":{"tasks":{"@add":["Task/p2"]}}}],"author":"ann"}"#,
      #"{"undo":1,"author":"ann"}"#,
      #"{"update":[{"id":"Task/p1","values":{"group":"Group/p1"}}]}"#,
      #"{"delete":["Task/p1","Task/p2"],"author":"ann"}"#, #"{"undo":1,"author":"ann"}"#,
      #"{"delete":["Group/p1"]}"#,
    ] {
      let refusal = try await store.refusal(request)
      #expect(refusal?.code != "internalError", "\(request)")
    }
    _ = try store.lines(Self.everything)
    _ = try problems()
  }

  @Test(arguments: ["-9223372036854775808", "9223372036854775807", "-1", "0"])
  func `is one of many numbers that a reference may have`(reference: String) async throws {
    try store.foreign(#"UPDATE Task SET "group" = \#(reference)"#)
    try await store.seal()
    let tasks = try store.lines("Task group")
    #expect(tasks.count == 1 && tasks.allSatisfy { $0.hasSuffix("group=null") }, "\(tasks)")
    for request in [
      #"{"update":[{"id":"Task/p1","values":{"title":"u"}}],"author":"ann"}"#,
      #"{"undo":1,"author":"ann"}"#, #"{"delete":["Task/p1"],"author":"ann"}"#,
      #"{"undo":1,"author":"ann"}"#, #"{"delete":["Group/p1"]}"#,
    ] {
      let refusal = try await store.refusal(request)
      #expect(refusal?.code != "internalError", "\(request)")
    }
  }
}
