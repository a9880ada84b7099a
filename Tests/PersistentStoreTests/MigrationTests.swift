import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

@Suite struct `A migration to another version of the model` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  /// A model of entities, which gives up what earlier versions had.
  private func model(_ version: Int, _ entities: String, removed: [String] = []) -> String {
    let removed = JSONValue.array(removed.map { .string($0) }).text
    return #"{"name":"M","version":"\#(version)","removed":\#(removed),"entities":[\#(entities)]}"#
  }

  /// Makes a store of the first version, fills it, and opens it with the second.
  private func migrate(
    _ first: String,
    _ saves: [String],
    _ second: String,
    removed: [String] = []
  ) async throws -> TestStore {
    var store: TestStore? = try TestStore(model(1, first), in: folder)
    for save in saves { try await store?.save(save) }
    store = nil
    return try TestStore(model(2, second, removed: removed), in: folder)
  }

  /// Why it does not go over: the paths of the problems; the store must be as it was.
  private func refusal(
    _ first: String,
    _ saves: [String],
    _ second: String,
    _ what: String
  ) async throws -> [String] {
    var store: TestStore? = try TestStore(model(1, first), in: folder)
    for save in saves { try await store?.save(save) }
    let before = try store?.lines(what)
    store = nil
    do {
      _ = try TestStore(model(2, second), in: folder)
      return []
    } catch let error as StoreError {
      #expect(error.code == .modelMismatch)
      let again = try TestStore(nil, in: folder)
      #expect(try again.lines(what) == before)
      try await again.save(saves[0])
      let problems = error.data.first { $0.name == "problems" }?.value.array ?? []
      return problems.compactMap { $0["path"]?.string }
    }
  }

  // MARK: Attributes

  private static let task = """
    {"name":"Task","attributes":[
      {"name":"title","type":"string","optional":true},{"name":"size","type":"int16"},
      {"name":"old","type":"string","optional":true}],
     "indexes":[["title"]],"spotlight":{"displayName":"title"}}
    """
  private static let tasks = [
    """
    {"insert":[{"id":"Task/t1","values":{"title":"a","size":1,"old":"x"}},
      {"id":"Task/t2","values":{"size":2}},{"id":"Task/t3","values":{"title":"c","size":3}}]}
    """,
    #"{"delete":["Task/p3"]}"#,
  ]

  // Evidence: P-117a, P-117b, P-117c
  @Test func `attributes are added, removed, renamed, widened and filled in`() async throws {
    let store = try await migrate(
      Self.task,
      Self.tasks,
      """
      {"name":"Task","attributes":[
        {"name":"name","type":"string","default":"none","renamedFrom":"title"},
        {"name":"size","type":"int64"},{"name":"width","type":"double","renamedFrom":"gone"},
        {"name":"rank","type":"int32","default":5},{"name":"due","type":"date","optional":true}],
       "unique":[["name"]],"spotlight":{"displayName":"name"}}
      """.replacing(#""type":"double","#, with: #""type":"double","optional":true,"#),
      removed: ["Task.old"]
    )
    #expect(
      try store.lines("Task name size width rank due") == [
        "Task/p1 v1 name=a size=1 width=null rank=5 due=null",
        "Task/p2 v2 name=none size=2 width=null rank=5 due=null",
      ]
    )
    // History speaks of the new names, and of what was filled in.
    let changes = try store.snapshot {
      try $0.log.transactions(after: 0, through: .max, limit: 100)
    }
    let gone = try #require(changes.dropFirst().first?.changes.first)
    #expect(gone.before.map(\.property).contains("name"))
    #expect(changes.last?.context == "migration")
    #expect(changes.last?.changes.map(\.properties) == [["name"]])
    // Numbers of what is gone are not given again, and what was deleted is known as that.
    let saved = try await store.save(
      #"{"insert":[{"id":"Task/t1","values":{"name":"d","size":4}}]}"#
    )
    #expect(saved["ids"]?["Task/t1"] == "Task/p4")
    let three = try #require(try store.snapshot { try $0.resolve("Task/p3") })
    #expect(try store.snapshot { try $0.wasAllocated(three) })
    try store.foreign("UPDATE Task SET rank = 6 WHERE _id = 1")
    try await store.seal()
    #expect(try store.lines("Task rank").first == "Task/p1 v2 rank=6")
  }

  // Evidence: P-118a
  @Test(arguments: [
    (
      #"{"name":"title","type":"string","optional":true},{"name":"size","type":"boolean"}"#,
      "Task.size"
    ),
    (#"{"name":"title","type":"string"},{"name":"size","type":"int16"}"#, "Task.title"),
    (
      #"{"name":"size","type":"int16"},{"name":"title","type":"string","optional":true},"#
        + #"{"name":"new","type":"string"}"#,
      "Task.new"
    ),
  ])
  func `a migration that cannot be inferred leaves the store unchanged`(
    attributes: String,
    path: String
  ) async throws {
    let paths = try await refusal(
      Self.task,
      Self.tasks,
      #"{"name":"Task","attributes":[\#(attributes),"#
        + #"{"name":"old","type":"string","optional":true}]}"#,
      "Task title size old"
    )
    #expect(paths == [path])
  }

  @Test func `a violated unique set is a problem of the objects`() async throws {
    let saves = [#"{"insert":[{"entity":"A","values":{"x":1}},{"entity":"A","values":{"x":1}}]}"#]
    let entity = #"{"name":"A","attributes":[{"name":"x","type":"int16"}]"#
    let paths = try await refusal(entity + "}", saves, entity + #","unique":[["x"]]}"#, "A x")
    #expect(paths == ["Create indexes and triggers"])
  }

  // Evidence: P-118a
  @Test func `another model altogether is refused, unless there is nothing to lose`() async throws {
    let saves = [#"{"insert":[{"entity":"A"}]}"#]
    #expect(try await refusal(#"{"name":"A"}"#, saves, #"{"name":"B"}"#, "A") == ["M", "A"])
    let empty = try TestFolder()
    _ = try TestStore(model(1, #"{"name":"A"}"#), in: empty)
    let store = try TestStore(model(2, #"{"name":"B"}"#), in: empty)
    try await store.save(#"{"insert":[{"entity":"B"}]}"#)
    #expect(try store.ids(#"{"entity":"B"}"#) == ["B/p1"])
  }

  // MARK: Entities and relationships

  private static let graph = """
    {"name":"Gone"},
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Task","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
       {"name":"group","destination":"Group","inverse":"tasks","optional":true},
       {"name":"tags","destination":"Tag","toMany":true,"inverse":"tasks"}]},
    {"name":"Tag","relationships":[
       {"name":"tasks","destination":"Task","toMany":true,"inverse":"tags"}]}
    """
  private static let graphSaves = [
    """
    {"insert":[{"id":"Group/t1","values":{"title":"g","tasks":["Task/t1","Task/t2"]}},
      {"id":"Group/t2"},{"id":"Task/t1","values":{"tags":["Tag/t1","Tag/t2"]}},
      {"id":"Task/t2","values":{"tags":["Tag/t2"]}},{"id":"Tag/t1"},{"id":"Tag/t2"},
      {"id":"Gone/t1"}]}
    """,
    #"{"update":[{"id":"Task/p2","values":{"tags":["Tag/p1"]}}]}"#,
  ]

  // Evidence: P-117c
  @Test func `entities are renamed, reordered and removed with the references to them`()
    async throws
  {
    let store = try await migrate(
      Self.graph,
      Self.graphSaves,
      """
      {"name":"Label","renamedFrom":"Tag","relationships":[
         {"name":"items","destination":"Item","toMany":true,"inverse":"labels",
          "renamedFrom":"tasks"}]},
      {"name":"Item","renamedFrom":"Task",
       "attributes":[{"name":"title","type":"string","optional":true}],
       "relationships":[
         {"name":"list","destination":"Group","inverse":"tasks","optional":true,
          "renamedFrom":"group"},
         {"name":"labels","destination":"Label","toMany":true,"inverse":"items",
          "renamedFrom":"tags"}]},
      {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
       "relationships":[{"name":"tasks","destination":"Item","toMany":true,"inverse":"list"}]}
      """,
      removed: ["Gone"]
    )
    #expect(
      try store.lines("Group title tasks; Item list labels; Label items") == [
        "Group/p1 v1 title=g tasks=[Item/p1,Item/p2]", "Group/p2 v1 title=null tasks=[]",
        "Item/p1 v1 list=Group/p1 labels=[Label/p1,Label/p2]",
        "Item/p2 v2 list=Group/p1 labels=[Label/p1]",
        "Label/p1 v2 items=[Item/p1,Item/p2]", "Label/p2 v2 items=[Item/p1]",
      ]
    )
    let (found, item) = try store.snapshot { snapshot in
      (try snapshot.log.changeSet(from: 1, through: 2), try snapshot.resolve("Item/p2"))
    }
    let second = try #require(found)
    #expect(second.changes[try #require(item)]?.properties == ["labels"])
    #expect(second.changes.count == 3)
    try await store.save(#"{"update":[{"id":"Label/p2","values":{"items":["Item/p2"]}}]}"#)
    #expect(try store.lines("Item labels").last == "Item/p2 v3 labels=[Label/p1,Label/p2]")
  }

  // Evidence: P-117b, P-118a
  @Test func `a to-one becomes a to-many, and back while each has one`() async throws {
    let many = Self.graph.replacing(
      #"{"name":"group","destination":"Group","inverse":"tasks","optional":true}"#,
      with: #"{"name":"group","destination":"Group","inverse":"tasks","toMany":true}"#
    )
    var store: TestStore? = try await migrate(Self.graph, Self.graphSaves, many)
    let lines = [
      "Group/p1 v1 tasks=[Task/p1,Task/p2]", "Group/p2 v1 tasks=[]",
      "Task/p1 v1 group=[Group/p1]", "Task/p2 v2 group=[Group/p1]",
    ]
    #expect(try store?.lines("Group tasks; Task group") == lines)
    // A process has the store to itself when it has closed it.
    store = nil
    store = try TestStore(
      model(3, Self.graph.replacing(#"{"name":"Gone"},"#, with: ""), removed: ["Gone"]),
      in: folder
    )
    #expect(
      try store?.lines("Group tasks; Task group")
        == lines.map { $0.replacing("group=[Group/p1]", with: "group=Group/p1") }
    )
    store = nil
    // The store had this content before.
    let again = many.replacing(
      #"{"name":"Gone"}"#,
      with: #"{"name":"Gone","versionHashModifier":"4"}"#
    )
    store = try TestStore(model(4, again), in: folder)
    try await store?.save(#"{"update":[{"id":"Group/p2","values":{"tasks":["Task/p1"]}}]}"#)
    store = nil
    let error = #expect(throws: StoreError.self) {
      try TestStore(model(5, Self.graph.replacing("Gone", with: "Five")), in: folder)
    }
    #expect(error?.message.contains("Task.group: objects have several") == true)
  }

  @Test func `a new name may differ by case only or be that of a removed property`() async throws {
    let store = try await migrate(
      #"{"name":"Task","attributes":[{"name":"x","type":"int16"}]},{"name":"Old"},{"name":"Memo"}"#,
      [#"{"insert":[{"entity":"Task","values":{"x":1}},{"entity":"Memo"},{"entity":"Memo"}]}"#],
      """
      {"name":"task","renamedFrom":"Task","attributes":[{"name":"x","type":"int16"}]},
      {"name":"Old","renamedFrom":"Gone"},{"name":"Note","renamedFrom":"Memo"}
      """
    )
    #expect(try store.lines("task x; Note; Old") == ["task/p1 v1 x=1", "Note/p1 v1", "Note/p2 v1"])
  }

  // Evidence: P-117b
  @Test func `inverses, orders and derived values are computed from stored data`() async throws {
    let oneWay = """
      {"name":"Group"},{"name":"Task","attributes":[{"name":"title","type":"string"}],
       "relationships":[{"name":"group","destination":"Group","optional":true}]}
      """
    let store = try await migrate(
      oneWay,
      [
        """
        {"insert":[{"id":"Group/t1"},{"id":"Task/t1","values":{"title":"A","group":"Group/t1"}},
          {"id":"Task/t2","values":{"title":"B","group":"Group/t1"}}]}
        """
      ],
      """
      {"name":"Group","attributes":[{"name":"count","type":"int64","derived":"tasks.@count"}],
       "relationships":[
         {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"group"}]},
      {"name":"Task","attributes":[{"name":"title","type":"string"},
         {"name":"key","type":"string","derived":"lowercase:(title)"}],
       "relationships":[{"name":"group","destination":"Group","optional":true,"inverse":"tasks"}]}
      """
    )
    #expect(
      try store.lines("Group count tasks; Task key")
        == ["Group/p1 v1 count=2 tasks=[Task/p1,Task/p2]", "Task/p1 v1 key=a", "Task/p2 v1 key=b"]
    )
    try await store.save(
      #"{"update":[{"id":"Group/p1","values":{"tasks":{"@add":["Task/p2"],"@at":0}}}]}"#
    )
    #expect(try store.lines("Group tasks") == ["Group/p1 v2 tasks=[Task/p2,Task/p1]"])
  }

  // Evidence: P-117b
  @Test func `properties move up to a new parent, whose objects keep their IDs`() async throws {
    let dog = #"{"name":"name","type":"string"}"#
    let first = """
      {"name":"Dog","attributes":[\(dog),{"name":"weight","type":"double","optional":true}],
       "relationships":[{"name":"owner","destination":"Person","inverse":"dogs","optional":true}]},
      {"name":"Person","relationships":[
        {"name":"dogs","destination":"Dog","toMany":true,"inverse":"owner"}]}
      """
    let store = try await migrate(
      first,
      [
        """
        {"insert":[{"id":"Dog/t1","values":{"name":"Rex","weight":3.5,"owner":"Person/t1"}},
          {"id":"Person/t1"}]}
        """
      ],
      """
      {"name":"Animal","abstract":true,"attributes":[\(dog)],
       "relationships":[{"name":"owner","destination":"Person","inverse":"pets","optional":true}]},
      {"name":"Cat","parent":"Animal"},
      {"name":"Dog","parent":"Animal",
       "attributes":[{"name":"weight","type":"double","optional":true}]},
      {"name":"Person","relationships":[
        {"name":"pets","destination":"Animal","toMany":true,"inverse":"owner",
         "renamedFrom":"dogs"}]}
      """
    )
    try await store.save(
      #"{"insert":[{"id":"Cat/t1","values":{"name":"Mia","owner":"Person/p1"}}]}"#
    )
    let cat = "Cat/p\(1 + 2 * (Int64(1) << 45))"
    #expect(
      try store.lines("Animal name; Person pets")
        == ["Dog/p1 v1 name=Rex", "\(cat) v1 name=Mia", "Person/p1 v1 pets=[Dog/p1,\(cat)]"]
    )
    #expect(try store.lines("Dog weight owner") == ["Dog/p1 v1 weight=3.5 owner=Person/p1"])
  }

  // Evidence: P-118a
  @Test func `entities with equal object numbers cannot get a common parent`() async throws {
    let paths = try await refusal(
      #"{"name":"Dog"},{"name":"Cat"}"#,
      [#"{"insert":[{"entity":"Dog"},{"entity":"Cat"}]}"#],
      #"{"name":"Animal","abstract":true},{"name":"Dog","parent":"Animal"},{"name":"Cat","parent":"Animal"}"#,
      "Dog; Cat"
    )
    #expect(paths == ["Cat"])
  }

  // MARK: What must not be lost in silence

  // Evidence: P-118a
  @Test(arguments: [
    ("int64", "int16"), ("uri", "uuid"), ("string", "json"), ("date", "boolean"),
    ("int64", "boolean"), ("double", "float"),
  ])
  func `a type that does not hold all values is refused, though SQLite stores both alike`(
    old: String,
    new: String
  ) async throws {
    func entity(_ type: String) -> String {
      #"{"name":"A","attributes":[{"name":"x","type":"\#(type)","optional":true}]}"#
    }
    let saves = [#"{"insert":[{"entity":"A"}]}"#]
    #expect(try await refusal(entity(old), saves, entity(new), "A x") == ["A.x"])
  }

  // Evidence: P-118a
  @Test func `chained renames are followed, exchanged names are refused`() async throws {
    func entity(_ attributes: [(String, String?)], _ modifier: Int = 1) -> String {
      let list = attributes.map { name, former in
        let was = former.map { #","renamedFrom":"\#($0)""# } ?? ""
        return #"{"name":"\#(name)","type":"string","optional":true\#(was)}"#
      }
      return #"{"name":"A","versionHashModifier":"\#(modifier)","#
        + #""attributes":[\#(list.joined(separator: ","))]}"#
    }
    let saves = [#"{"insert":[{"entity":"A","values":{"a":"1","b":"2"}}]}"#]
    let first = entity([("a", nil), ("b", nil)])
    #expect(
      try await refusal(first, saves, entity([("a", "b"), ("b", "a")], 2), "A a b")
        == ["A.a", "A.b"]
    )
    let other = try TestFolder()
    var store: TestStore? = try TestStore(model(1, first), in: other)
    try await store?.save(saves[0])
    store = nil
    store = try TestStore(model(2, entity([("b", "a"), ("c", "b")])), in: other)
    #expect(try store?.lines("A b c") == ["A/p1 v1 b=1 c=2"])
  }

  // Evidence: P-117d
  @Test func `changes by an external SQLite client are sealed before the migration`() async throws {
    let first = #"{"name":"A","attributes":[{"name":"x","type":"int16"}],"unique":[["x"]]}"#
    var store: TestStore? = try TestStore(model(1, first), in: folder)
    try await store?.save(#"{"insert":[{"entity":"A","values":{"x":1}}]}"#)
    try store?.foreign("INSERT INTO A(x) VALUES (1) ON CONFLICT(x) DO UPDATE SET x = 2")
    store = nil
    store = try TestStore(model(2, first.replacing(#""int16""#, with: #""int32""#)), in: folder)
    #expect(try store?.lines("A x") == ["A/p1 v2 x=2"])
    let commits = try store?.snapshot {
      try $0.log.transactions(after: 1, through: .max, limit: 9)
    }
    #expect(commits?.map(\.author) == ["external", nil])
    #expect(commits?.map { $0.changes.map(\.kind) } == [[.update], []])
  }

  private static let zoo = """
    {"name":"Animal","abstract":true,"relationships":[
      {"name":"tags","destination":"Tag","toMany":true,"inverse":"animals"}]},
    {"name":"Dog","parent":"Animal"},{"name":"Cat","parent":"Animal"},
    {"name":"Tag","relationships":[
      {"name":"animals","destination":"Animal","toMany":true,"inverse":"tags"}]},
    {"name":"Owner","relationships":[{"name":"pet","destination":"Animal","optional":true}]}
    """
  private static let zooSaves = [
    """
    {"insert":[{"id":"Dog/t1"},{"id":"Cat/t1"},{"id":"Tag/t1","values":
      {"animals":["Dog/t1","Cat/t1"]}},{"id":"Owner/t1","values":{"pet":"Cat/t1"}}]}
    """
  ]

  // Evidence: P-117e
  @Test func `the numbers of a removed entity are not used again`() async throws {
    let store = try await migrate(
      Self.zoo,
      Self.zooSaves,
      Self.zoo.replacing(#"{"name":"Cat","#, with: #"{"name":"Bird","#),
      removed: ["Cat"]
    )
    let saved = try await store.save(#"{"insert":[{"id":"Bird/t1"}]}"#)
    #expect(saved["ids"]?["Bird/t1"] == .string("Bird/p\(1 + 3 * (Int64(1) << 45))"))
    #expect(try store.lines("Owner pet; Tag animals").first == "Owner/p1 v2 pet=null")
  }

  @Test func `a many-to-many moves down to two children, each with its own`() async throws {
    let tags = #"{"name":"tags","destination":"Tag","toMany":true"#
    let store = try await migrate(
      Self.zoo,
      Self.zooSaves,
      """
      {"name":"Animal","abstract":true},
      {"name":"Dog","parent":"Animal","relationships":[\(tags)}]},
      {"name":"Cat","parent":"Animal","relationships":[\(tags)}]},
      {"name":"Tag"},
      {"name":"Owner","relationships":[{"name":"pet","destination":"Animal","optional":true}]}
      """
    )
    let dog = "Dog/p\(1 + (Int64(1) << 45))"
    let cat = "Cat/p\(1 + 2 * (Int64(1) << 45))"
    #expect(
      try store.lines("Dog tags; Cat tags; Owner pet") == [
        "\(dog) v1 tags=[Tag/p1]", "\(cat) v1 tags=[Tag/p1]", "Owner/p1 v1 pet=\(cat)",
      ]
    )
    #expect(try store.rows("SELECT count(*) FROM cordial_pairs_Dog_tags") == ["1"])
    let links = try store.snapshot {
      try $0.log.transactions(after: 0, through: 1, limit: 1)
    }.first?.changes.filter { !$0.linked.isEmpty || $0.properties.contains("tags") }
    #expect(links?.count == 0 || links?.allSatisfy { $0.key.entity != 4 } == true)
  }

  // Evidence: P-118a
  @Test func `links that a relationship may no longer have are not dropped`() async throws {
    let paths = try await refusal(
      Self.zoo,
      Self.zooSaves,
      Self.zoo.replacing(
        #""name":"pet","destination":"Animal""#,
        with: #""name":"pet","destination":"Dog""#
      ),
      "Owner pet"
    )
    #expect(paths == ["Owner.pet"])
  }

  @Test func `a to-one that becomes required is checked even if nothing else changes`() async throws
  {
    let entities =
      #"{"name":"G"},{"name":"T","relationships":[{"name":"g","destination":"G","optional":true}]}"#
    let paths = try await refusal(
      entities,
      [#"{"insert":[{"entity":"G"},{"entity":"T"}]}"#],
      entities.replacing(#","optional":true"#, with: ""),
      "T g"
    )
    #expect(paths == ["T.g"])
  }

  @Test(arguments: [true, false])
  func `an order is kept when the other end becomes a to-many`(ownerFirst: Bool) async throws {
    func entities(_ toMany: String) -> String {
      let task = """
        {"name":"T","relationships":[{"name":"o","destination":"O","inverse":"l"\(toMany)}]}
        """
      let owner = """
        {"name":"O","relationships":[
          {"name":"l","destination":"T","toMany":true,"ordered":true,"inverse":"o"}]}
        """
      return ownerFirst ? "\(owner),\(task)" : "\(task),\(owner)"
    }
    let store = try await migrate(
      entities(#","optional":true"#),
      [
        """
        {"insert":[{"id":"T/t1"},{"id":"T/t2"},{"id":"T/t3"},
          {"id":"O/t1","values":{"l":["T/t3","T/t1","T/t2"]}}]}
        """
      ],
      entities(#","toMany":true"#)
    )
    #expect(try store.lines("O l") == ["O/p1 v1 l=[T/p3,T/p1,T/p2]"])
  }

  // Evidence: P-118a
  @Test func `a configuration removes nothing from a store of the whole model`() async throws {
    let entities = #"{"name":"A"},{"name":"B"}"#
    var store: TestStore? = try TestStore(model(1, entities), in: folder)
    try await store?.save(#"{"insert":[{"entity":"A"},{"entity":"B"}]}"#)
    store = nil
    let part = try ModelDocument.model(
      from: try JSONParser.parse(model(1, #"{"name":"A"}"#)),
      excludedEntities: ["B"]
    )
    let error = #expect(throws: StoreError.self) {
      try PersistentStore(
        container: StoreContainer(path: folder.path),
        model: part,
        mode: .readWrite,
        environment: TestStore.environment()
      )
    }
    #expect(error?.code == .modelMismatch)
    #expect(try TestStore(nil, in: folder).ids(#"{"entity":"B"}"#) == ["B/p1"])
  }

  // MARK: Several versions, and who else is there

  // Evidence: P-117f, P-118b
  @Test func `a chain of versions is migrated stage by stage`() async throws {
    func version(_ number: Int, _ name: String, _ former: String?) throws -> Model {
      let renamed = former.map { #","renamedFrom":"\#($0)""# } ?? ""
      let text = model(
        number,
        #"{"name":"A","attributes":[{"name":"\#(name)","type":"string"\#(renamed)}]}"#
      )
      return try ModelDocument.parse(Array(text.utf8).span)
    }
    let versions = [
      try version(1, "a", nil), try version(2, "b", "a"), try version(3, "c", "b"),
    ]
    var store: TestStore? = try TestStore(versions[0].document.text, in: folder)
    try await store?.save(#"{"insert":[{"entity":"A","values":{"a":"kept"}}]}"#)
    store = nil
    func open(_ earlier: [Model], _ model: Model) throws -> PersistentStore {
      try PersistentStore(
        container: StoreContainer(path: folder.path),
        model: model,
        earlier: { earlier },
        mode: .readWrite,
        environment: TestStore.environment()
      )
    }
    // Straight to the last, nothing tells what became of `a`.
    #expect(throws: StoreError.self) { try open([], versions[2]) }
    try open(Array(versions[..<2]), versions[2]).close()
    let again = try TestStore(nil, in: folder)
    #expect(try again.lines("A c") == ["A/p1 v1 c=kept"])
    #expect(try again.rows("SELECT count(*) FROM cordial_transaction") == ["4"])
    again.store.close()
    // Never a way back.
    let error = #expect(throws: StoreError.self) { try open([], versions[0]) }
    #expect(error?.code == .modelMismatch)
    #expect(error?.message.contains("newer") == true)
  }

  // Evidence: P-117g
  @Test func `a migration needs exclusive access to the store`() async throws {
    let first = #"{"name":"A","attributes":[{"name":"x","type":"int16","optional":true}]}"#
    let other = try TestStore(model(1, first), in: folder)
    try await other.save(#"{"insert":[{"entity":"A"}]}"#)
    let error = #expect(throws: StoreError.self) {
      try TestStore(model(2, #"{"name":"A"}"#), in: folder)
    }
    #expect(error?.code == .storeBusy)
    #expect(try other.lines("A x") == ["A/p1 v1 x=null"])
  }

  // Evidence: P-111a
  @Test func `names for people and former names do not make another version`() async throws {
    let entity = #"{"name":"A","attributes":[{"name":"x","type":"int16","optional":true}]}"#
    let named = entity.replacing(#""name":"x","#, with: #""name":"x","renamedFrom":"w","#)
    let store = try await migrate(entity, [#"{"insert":[{"entity":"A"}]}"#], named)
    #expect(try store.rows("SELECT count(*) FROM cordial_transaction") == ["2"])
    #expect(store.store.model.version == "2")
  }

  // MARK: Random versions

  @Test(arguments: Seeds.first(20))
  func `random versions keep the data that both have`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let types = ["int16", "int32", "int64", "string", "double"]
    var columns = (0..<4).map { ("c\($0)", $0, types[random.below(types.count)]) }
    func entity(
      _ columns: [(name: String, source: Int, type: String)],
      _ former: [Int: String]
    )
      -> String
    {
      let attributes = columns.map { column in
        let renamed = former[column.source].map { #","renamedFrom":"\#($0)""# } ?? ""
        return #"{"name":"\#(column.name)","type":"\#(column.type)","optional":true\#(renamed)}"#
      }
      return #"{"name":"E","attributes":[\#(attributes.joined(separator: ","))]}"#
    }
    var store: TestStore? = try TestStore(model(1, entity(columns, [:])), in: folder)
    /// By row, then the number of the column.
    var rows: [[Int: Int]] = []
    for _ in 0..<6 {
      var row: [Int: Int] = [:]
      for column in columns where !random.oneIn(4) { row[column.1] = random.below(100) }
      let values = columns.compactMap { column in
        row[column.1].map {
          column.2 == "string" ? #""\#(column.0)":"\#($0)""# : #""\#(column.0)":\#($0)"#
        }
      }
      try await store?.save(
        #"{"insert":[{"entity":"E","values":{\#(values.joined(separator: ","))}}]}"#
      )
      rows.append(row)
    }
    for version in 2...5 {
      var former: [Int: String] = [:]
      var removed: [String] = []
      if columns.count > 1, random.oneIn(2) {
        removed = ["E." + columns.remove(at: random.below(columns.count)).0]
      }
      for index in columns.indices where random.oneIn(3) {
        former[columns[index].1] = columns[index].0
        columns[index].0 = "r\(version)_\(index)"
      }
      for index in columns.indices where random.oneIn(3) {
        if columns[index].2 == "int16" { columns[index].2 = "int64" }
        if columns[index].2 == "int32" { columns[index].2 = "double" }
      }
      if random.oneIn(2) {
        columns.append(("n\(version)", 100 + version, types[random.below(types.count)]))
      }
      columns.shuffle(using: &random)
      store = nil
      // A column of another name may take the name of a removed one.
      removed.removeAll { name in columns.contains { "E." + $0.0 == name } }
      store = try TestStore(
        model(version, entity(columns, former), removed: removed),
        in: folder
      )
      let found = try #require(try store?.fetch(#"{"entity":"E"}"#))
      for (object, row) in zip(found, rows) {
        for column in columns {
          let value = object["values"]?[column.0]
          let wanted = row[column.1]
          let same =
            switch value {
            case .string(let text)?: wanted.map { "\($0)" } == text
            case .integer(let number)?: wanted.map { Int64($0) } == number
            case .number(let number)?: wanted.map { Double($0) } == number
            default: wanted == nil
            }
          #expect(same, "seed \(seed), version \(version): \(column), \(object.text)")
        }
      }
      #expect(found.count == rows.count)
    }
  }
}
