import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

// Evidence: P-117q
@Suite struct `A migration with the objects of a program` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private static let first = """
    {"name":"M","version":"1","entities":[
      {"name":"Task","attributes":[
         {"name":"title","type":"string"},{"name":"due","type":"string","optional":true}],
       "relationships":[
         {"name":"group","destination":"Group","optional":true,"inverse":"tasks"},
         {"name":"labels","destination":"Label","toMany":true,"inverse":"tasks"}]},
      {"name":"Group","identity":"code","attributes":[{"name":"code","type":"string"}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"group"}]},
      {"name":"Label","relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"inverse":"labels"}]}]}
    """
  private static let second = """
    {"name":"M","version":"2","entities":[
      {"name":"Task","attributes":[
         {"name":"title","type":"string","minimumLength":2},
         {"name":"days","type":"int16","default":7},
         {"name":"folded","type":"string","derived":"canonical:(title)"}],
       "relationships":[
         {"name":"group","destination":"Group","optional":true,"inverse":"tasks"},
         {"name":"labels","destination":"Label","toMany":true,"inverse":"tasks"}]},
      {"name":"Group","identity":"code","attributes":[{"name":"code","type":"string"}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"group"}]},
      {"name":"Label","relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"inverse":"labels"}]},
      {"name":"Note","attributes":[{"name":"text","type":"string"}],
       "relationships":[{"name":"task","destination":"Task","optional":true}]}]}
    """

  private func fill() async throws -> String {
    let store = try TestStore(Self.first, in: folder)
    try await store.save(
      """
      {"insert":[
        {"id":"Label/t1"},{"id":"Label/t2"},
        {"id":"Task/t1","values":{"title":"one","due":"x","labels":["Label/t1"]}},
        {"id":"Task/t2","values":{"title":"two","labels":["Label/t1","Label/t2"]}},
        {"id":"Task/t3","values":{"title":"three"}},
        {"entity":"Group","values":{"code":"g","tasks":["Task/t2","Task/t1"]}}]}
      """
    )
    return try store.snapshot { $0.token.description }
  }

  private func migrate(_ lines: String, at token: String, commits: Bool = true) throws {
    try Migrator.migrate(
      StoreContainer(path: folder.path),
      to: try ModelDocument.parse(Array(Self.second.utf8).span),
      with: try ProgramObjects(Array(lines.utf8), at: token),
      commits: commits,
      environment: TestStore.environment()
    ) { _ in }
  }

  private static let good = """
    {"id":"Group/sg","values":{"code":"g","tasks":["Task/p1","new","Task/p2"]}}
    {"id":"Task/p1","values":{"title":"ONE","days":1,"labels":["Label/p2"],"group":"Group/sg"}}
    {"id":"Task/p2","values":{"title":"two","labels":["Label/p1","Label/p2"],"group":"Group/sg"}}

    {"id":"new","entity":"Task","values":{"title":"four","group":"Group/sg"}}
    {"id":"Task/p3","entity":"Note","values":{"text":"three","task":"new"}}
    {"id":"Label/p1"}
    {"id":"Label/p2","values":{}}
    """

  @Test func `objects stay, change their entity, appear and disappear`() async throws {
    try migrate(Self.good, at: try await fill())
    let store = try TestStore(nil, in: folder)
    #expect(
      try store.lines("Task title days folded group labels") == [
        "Task/p1 v2 title=ONE days=1 folded=one group=Group/sg labels=[Label/p2]",
        "Task/p2 v2 title=two days=7 folded=two group=Group/sg labels=[Label/p1,Label/p2]",
        "Task/p4 v1 title=four days=7 folded=four group=Group/sg labels=[]",
      ]
    )
    #expect(
      try store.lines("Group tasks; Note text task") == [
        "Group/sg v2 tasks=[Task/p1,Task/p4,Task/p2]", "Note/p1 v1 text=three task=Task/p4",
      ]
    )
    let changes = try store.snapshot { snapshot in
      let commits = try snapshot.log.transactions(after: 0, through: .max, limit: 9)
      #expect(commits.last?.context == "migration")
      return try commits[commits.count - 1].changes.map { change in
        "\(change.kind) \(try snapshot.wrappedID(change.key))"
      }
    }
    #expect(
      changes.sorted() == [
        "delete Task/p3", "insert Note/p1", "insert Task/p4", "update Group/sg", "update Label/p1",
        "update Label/p2", "update Task/p1", "update Task/p2",
      ]
    )
    let verified = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
    #expect(verified["problems"] == [])
  }

  @Test(
    arguments: [
      ("{", "line 8 of the program: it is not JSON"),
      (#"{"values":{}}"#, "line 8 of the program: it has neither an id nor an entity"),
      (#"{"id":"Thing/p1"}"#, "Thing: line 8 of the program: the entity Thing does not exist"),
      (#"{"id":"Label/p1"}"#, "Label/p1: line 8 of the program: the id occurs twice"),
      (#"{"entity":"Label","values":3}"#, "its values are not an object"),
      (#"{"entity":"Task","values":{"title":"x"}}"#, "title is shorter than 2"),
      (#"{"entity":"Task","values":{"title":7}}"#, "expected a string"),
      (#"{"entity":"Task"}"#, "Task.title: line 8 of the program: a required value is missing"),
      (#"{"entity":"Task","values":{"title":null}}"#, "title must have a value"),
      (#"{"entity":"Label","values":{"color":1}}"#, "Label has no such property"),
      (#"{"entity":"Label","values":{"tasks":["Task/p9"]}}"#, "no line has the id"),
      (#"{"entity":"Label","values":{"tasks":["Label/p1"]}}"#, "it references a Label"),
      (#"{"entity":"Label","values":{"tasks":"Task/p1"}}"#, "expected a list of IDs"),
      (#"{"entity":"Note","values":{"text":"a","task":["new"]}}"#, "expected an ID or null"),
      (#"{"entity":"Group","values":{"code":"g"}}"#, "the objects do not allow it"),
      (
        #"{"entity":"Group","values":{"code":"h","tasks":["Task/p1"]}}"#,
        "it contradicts another line: group references one object"
      ),
    ]
  )
  func `a mistake of the program leaves the store unchanged`(
    line: String,
    message: String
  )
    async throws
  {
    let token = try await fill()
    let error = try #require(throws: StoreError.self) {
      try migrate(Self.good.replacing("\n\n", with: "\n") + "\n" + line, at: token)
    }
    #expect(error.code == .modelMismatch)
    #expect(error.message.contains(message))
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("Task title").count == 3)
    #expect(store.store.model.version == "1")
  }

  @Test func `a change of the store while the program runs is noticed`() async throws {
    let token = try await fill()
    do {
      let store = try TestStore(nil, in: folder)
      try await store.save(#"{"insert":[{"entity":"Label"}]}"#)
    }
    let error = try #require(throws: StoreError.self) { try migrate(Self.good, at: token) }
    #expect(error.code == .storeBusy)
    #expect(try TestStore(nil, in: folder).ids(#"{"entity":"Label"}"#).count == 3)
  }

  @Test func `a dry run changes nothing`() async throws {
    let token = try await fill()
    try migrate(Self.good, at: token, commits: false)
    #expect(try TestStore(nil, in: folder).store.model.version == "1")
  }
}
