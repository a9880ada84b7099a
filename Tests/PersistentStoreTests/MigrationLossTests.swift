import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `A migration that would remove data` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private static func model(_ version: Int, _ entities: String, removed: String = "[]") -> String {
    #"{"name":"M","version":"\#(version)","removed":\#(removed),"entities":[\#(entities)]}"#
  }

  private static let group = #"{"name":"Group","attributes":[{"name":"title","type":"string"}]}"#
  private static let memo = """
    {"name":"Memo","identity":"code","attributes":[
      {"name":"code","type":"string"},{"name":"due","type":"date","optional":true}],
     "relationships":[{"name":"group","destination":"Group","optional":true}]}
    """
  private static let task = """
    {"name":"Task","attributes":[
      {"name":"title","type":"string"},{"name":"color","type":"string","optional":true}]}
    """
  private static let first = model(1, [group, memo, task].joined(separator: ","))
  private static let plainTask = #"{"name":"Task","attributes":[{"name":"title","type":"string"}]}"#

  /// What remains without memos and colours.
  private static let rest = [group, plainTask].joined(separator: ",")

  /// A store of the first model with two memos and one coloured task of two.
  private func fill() async throws {
    let store = try TestStore(Self.first, in: folder)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"g"}},
        {"entity":"Memo","values":{"code":"a","due":"2026-01-02T03:04:05.678Z","group":"Group/t1"}},
        {"entity":"Memo","values":{"code":"b"}},
        {"entity":"Task","values":{"title":"x","color":"red"}},
        {"entity":"Task","values":{"title":"y"}}],"author":"editor"}
      """
    )
  }

  /// Opens the store with a chain of versions.
  private func open(_ chain: [String]) throws -> PersistentStore {
    try TestStore.open(chain, in: folder)
  }

  private func refusal(_ chain: [String]) throws -> (StoreError, JSONValue) {
    let error = try #require(throws: StoreError.self) { try open(chain) }
    return (error, .object(error.data))
  }

  // Evidence: P-117j
  @Test func `what would be lost is listed with counts, and the store stays`() async throws {
    try await fill()
    let (error, data) = try refusal([Self.model(2, Self.rest)])
    #expect(error.code == .modelMismatch)
    let problems = data["problems"]?.array ?? []
    #expect(problems.map { $0["path"] } == ["Memo", "Task.color"])
    #expect(problems.map { $0["count"] } == [2, 1])
    let nearest = try #require(data["nearest"]?.array?.first)
    #expect(nearest["version"] == "2")
    #expect(nearest["differences"] == ["- Task.color", "- Memo"])
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("Task color") == ["Task/p1 v1 color=red", "Task/p2 v1 color=null"])
    #expect(try store.lines("Memo code").count == 2)
  }

  // Evidence: P-117j
  @Test(arguments: ["removed", "chain"])
  func `it succeeds where the model names it or a chain lacks it`(how: String) async throws {
    try await fill()
    let names = how == "removed" ? #"["Memo","Task.color"]"# : "[]"
    let second = Self.model(2, Self.rest, removed: names)
    try open(how == "removed" ? [second] : [Self.first, second]).close()
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=x", "Task/p2 v1 title=y"])
    #expect(try store.rows("SELECT count(*) FROM sqlite_master WHERE name = 'Memo'") == ["0"])
  }

  @Test func `one name of two is not enough`() async throws {
    try await fill()
    let second = Self.model(2, Self.rest, removed: #"["Task.color"]"#)
    let (_, data) = try refusal([second])
    #expect(data["problems"]?.array?.map { $0["path"] } == ["Memo"])
  }

  @Test func `what has no data is removed without being named`() async throws {
    _ = try TestStore(Self.first, in: folder)
    try open([Self.model(2, Self.plainTask)]).close()
    let store = try TestStore(nil, in: folder)
    #expect(store.store.model.entities.map(\.name) == ["Task"])
  }

  @Test func `links count, unless they remain at the other end`() async throws {
    let both = """
      {"name":"A","relationships":[
        {"name":"b","destination":"B","inverse":"a","optional":true},
        {"name":"many","destination":"B","toMany":true}]},
      {"name":"B","relationships":[{"name":"a","destination":"A","toMany":true,"inverse":"b"}]}
      """
    do {
      let store = try TestStore(Self.model(1, both), in: folder)
      try await store.save(
        """
        {"insert":[{"id":"B/t1"},{"id":"B/t2"},
          {"id":"A/t1","values":{"b":"B/t1","many":["B/t1","B/t2"]}}]}
        """
      )
    }
    let (_, data) = try refusal([Self.model(2, #"{"name":"A"},{"name":"B"}"#)])
    #expect(data["problems"]?.array?.map { $0["path"] } == ["A.b", "A.many"])
    #expect(data["problems"]?.array?.map { $0["count"] } == [1, 2])
    let oneEnd = """
      {"name":"A"},{"name":"B","relationships":[{"name":"a","destination":"A","toMany":true}]}
      """
    try open([Self.model(2, oneEnd, removed: #"["A.many"]"#)]).close()
    #expect(try TestStore(nil, in: folder).lines("B a") == ["B/p1 v1 a=[A/p1]", "B/p2 v1 a=[]"])
  }

  /// Makes a store of a model, saves, and returns the paths of the problems with another model.
  private func problems(_ before: String, _ save: String, _ after: String) async throws -> [String]
  {
    do {
      let store = try TestStore(Self.model(1, before), in: folder)
      try await store.save(save)
    }
    let (_, data) = try refusal([Self.model(2, after)])
    return (data["problems"]?.array ?? []).compactMap { $0["path"]?.string }
  }

  private static func entity(_ name: String, _ attributes: String, former: String? = nil) -> String
  {
    let renamed = former.map { #","renamedFrom":"\#($0)""# } ?? ""
    return #"{"name":"\#(name)"\#(renamed),"attributes":[\#(attributes)]}"#
  }

  private static let text = #"{"name":"v","type":"string","optional":true}"#

  @Test func `a former name is not ignored where the store has both`() async throws {
    let both = Self.text + #",{"name":"w","type":"string","optional":true}"#
    let one = #"{"name":"v","type":"string","optional":true,"renamedFrom":"w"}"#
    let paths = try await problems(
      Self.entity("X", both),
      #"{"insert":[{"entity":"X","values":{"v":"v1","w":"w1"}}]}"#,
      Self.entity("X", one)
    )
    #expect(paths == ["X.v"])
    let error = try #require(throws: StoreError.self) {
      try open([Self.model(1, Self.entity("X", both)), Self.model(2, Self.entity("X", one))])
    }
    #expect(error.message.contains("It is renamed from w"))
  }

  @Test func `an attribute that becomes derived loses its values`() async throws {
    let before = Self.text + #",{"name":"n","type":"string","optional":true}"#
    let after = Self.text + #",{"name":"n","type":"string","derived":"uppercase:(v)"}"#
    let paths = try await problems(
      Self.entity("X", before),
      #"{"insert":[{"entity":"X","values":{"v":"a","n":"own"}}]}"#,
      Self.entity("X", after)
    )
    #expect(paths == ["X.n"])
    try open([Self.model(2, Self.entity("X", after), removed: #"["X.n"]"#)]).close()
    #expect(try TestStore(nil, in: folder).lines("X n") == ["X/p1 v1 n=A"])
  }

  // Evidence: P-117e
  @Test func `an entity does not take the name of a removed one with its numbers`() async throws {
    do {
      let store = try TestStore(
        Self.model(1, Self.entity("P", Self.text) + "," + Self.entity("Q", Self.text)),
        in: folder
      )
      try await store.save(#"{"insert":[{"entity":"P"},{"entity":"Q"}]}"#)
    }
    try open([Self.model(2, Self.entity("P", Self.text), removed: #"["Q"]"#)]).close()
    let (error, _) = try refusal([Self.model(3, Self.entity("Q", Self.text, former: "P"))])
    #expect(error.message.contains("the name of a removed entity"))
  }

  // Evidence: P-117e
  @Test func `a new entity with the former name of another begins after its numbers`() async throws
  {
    do {
      let store = try TestStore(Self.model(1, Self.entity("P", Self.text)), in: folder)
      try await store.save(#"{"insert":[{"entity":"P"},{"entity":"P"}]}"#)
    }
    let renamed = Self.entity("Q", Self.text, former: "P") + "," + Self.entity("P", Self.text)
    try open([Self.model(2, renamed)]).close()
    let store = try TestStore(nil, in: folder)
    let saved = try await store.save(#"{"insert":[{"id":"P/t1"}]}"#)
    #expect(saved["ids"]?["P/t1"] == "P/p3")
  }

  @Test func `a required to-one needs an object that exists`() async throws {
    func entities(_ optional: Bool) -> String {
      """
      {"name":"G"},{"name":"T","relationships":[
        {"name":"g","destination":"G","optional":\(optional)}]}
      """
    }
    do {
      let store = try TestStore(Self.model(1, entities(true)), in: folder)
      try await store.save(#"{"insert":[{"id":"G/t1"},{"entity":"T","values":{"g":"G/t1"}}]}"#)
      try store.foreign("DELETE FROM G")
      try await store.seal()
    }
    let (_, data) = try refusal([Self.model(2, entities(false))])
    #expect(data["problems"]?.array?.map { $0["path"] } == ["T.g"])
  }

  // Evidence: P-117e
  @Test func `removed entities of two families keep their names`() async throws {
    let families = """
      {"name":"Animal"},{"name":"Cat","parent":"Animal"},
      {"name":"Vehicle"},{"name":"Truck","parent":"Vehicle"},{"name":"Alone","abstract":true},
      {"name":"Ref","relationships":[{"name":"a","destination":"Alone","optional":true}]}
      """
    do {
      let store = try TestStore(Self.model(1, families), in: folder)
      try await store.save(#"{"insert":[{"entity":"Cat"},{"entity":"Truck"},{"entity":"Ref"}]}"#)
    }
    let rest = #"{"name":"Animal"},{"name":"Vehicle"}"#
    try open([Self.model(2, rest, removed: #"["Cat","Truck","Ref","Alone"]"#)]).close()
    try open([Self.model(3, #"{"name":"Animal"}"#)]).close()
    let names = try TestStore(nil, in: folder).snapshot { snapshot in
      try snapshot.log.transactions(after: 0, through: .max, limit: 9)[0].changes
        .map { try snapshot.wrappedID($0.key).entity }
    }
    #expect(names == ["Cat", "Truck", "Ref"])
  }

  // MARK: The log

  // Evidence: P-117e
  @Test func `the log has the deletes of a removed entity, with values and IDs`() async throws {
    try await fill()
    let rest = Self.group.replacing(
      #""name":"Group""#,
      with: #""name":"Folder","renamedFrom":"Group""#
    )
    try open([Self.model(2, rest, removed: #"["Memo","Task"]"#)]).close()
    let store = try TestStore(nil, in: folder)
    let (ids, before) = try store.snapshot { snapshot in
      let commits = try snapshot.log.transactions(after: 0, through: .max, limit: 100)
      let deletes = try #require(commits.last).changes
      #expect(deletes.allSatisfy { $0.kind == .delete })
      let ids = try deletes.map { try snapshot.wrappedID($0.key).description }
      let memo = snapshot.model.entity(deletes[0].key.entity)
      let values = try deletes[0].before.map { try snapshot.json($0, of: memo) }
      let inserted = try commits[0].changes.map { try snapshot.wrappedID($0.key).description }
      #expect(inserted == ["Folder/p1", "Memo/sa", "Memo/sb", "Task/p1", "Task/p2"])
      return (ids, values)
    }
    #expect(ids == ["Memo/sa", "Memo/sb", "Task/p1", "Task/p2"])
    #expect(before == ["a", "2026-01-02T03:04:05.678Z", "Folder/p1"])
  }

  // Evidence: P-117e
  @Test func `an entity that returns does not give its former numbers again`() async throws {
    try await fill()
    try open([Self.model(2, Self.group, removed: #"["Memo","Task"]"#)]).close()
    try open([Self.model(3, Self.rest)]).close()
    let store = try TestStore(nil, in: folder)
    let saved = try await store.save(
      #"{"insert":[{"id":"Task/t1","values":{"title":"z"}}]}"#
    )
    #expect(saved["ids"]?["Task/t1"] == "Task/p3")
  }

  // Evidence: P-126c
  @Test func `an undo stops at the migration`() async throws {
    try await fill()
    try open([Self.first, Self.model(2, Self.group)]).close()
    let store = try TestStore(nil, in: folder)
    let refusal = try await store.refusal(#"{"undo":1,"author":"editor"}"#)
    #expect(refusal?.code == "historyExpired")
  }

  // Evidence: P-117c
  @Test func `filling in a default increments the version and is logged once`() async throws {
    func entity(_ rules: String) -> String {
      let attributes = ["x", "y"].map { #"{"name":"\#($0)","type":"int16"\#(rules)}"# }
      return #"{"name":"A","attributes":[\#(attributes.joined(separator: ","))]}"#
    }
    do {
      let store = try TestStore(Self.model(1, entity(#","optional":true"#)), in: folder)
      try await store.save(#"{"insert":[{"entity":"A"},{"entity":"A","values":{"x":1,"y":2}}]}"#)
    }
    try open([Self.model(2, entity(#","default":7"#))]).close()
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("A x y") == ["A/p1 v2 x=7 y=7", "A/p2 v1 x=1 y=2"])
    let change = try store.snapshot {
      try $0.log.transactions(after: 0, through: .max, limit: 9).last?.changes
    }
    #expect(change?.map(\.properties) == [["x", "y"]])
    #expect(try store.rows("SELECT version FROM cordial_change WHERE kind = 1") == ["2"])
  }

  @Test func `the log follows names that pass from one property to another`() async throws {
    func entity(_ first: String, _ second: String, _ third: String) -> String {
      let attributes = [("x", first), ("y", second), ("z", third)].map { name, former in
        #"{"name":"\#(name)","type":"string","optional":true\#(former)}"#
      }
      return #"{"name":"A","attributes":[\#(attributes.joined(separator: ","))]}"#
    }
    let before = """
      {"name":"A","attributes":[{"name":"x","type":"string"},{"name":"y","type":"string"}]}
      """
    do {
      let store = try TestStore(Self.model(1, before), in: folder)
      try await store.save(#"{"insert":[{"entity":"A","values":{"x":"1","y":"2"}}]}"#)
      try await store.save(#"{"delete":["A/p1"]}"#)
    }
    try open([
      Self.model(2, entity("", #","renamedFrom":"x""#, #","renamedFrom":"y""#))
    ]).close()
    let values = try TestStore(nil, in: folder).snapshot {
      try $0.log.transactions(after: 0, through: .max, limit: 9)[1].changes[0].before
    }
    #expect(
      values == [
        LoggedValue(property: "y", value: "1"), LoggedValue(property: "z", value: "2"),
      ]
    )
  }
}

@Suite struct `A chain of versions` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private static func version(_ name: String, _ attribute: String, _ former: String?) -> String {
    let renamed = former.map { #","renamedFrom":"\#($0)""# } ?? ""
    return #"{"name":"\#(name)","version":"\#(name)","entities":[{"name":"A","attributes":["#
      + #"{"name":"\#(attribute)","type":"string","optional":true\#(renamed)}]}]}"#
  }

  private func open(_ chain: [String]) throws -> PersistentStore {
    let models = try chain.map { try ModelDocument.parse(Array($0.utf8).span) }
    return try PersistentStore(
      container: StoreContainer(path: folder.path),
      model: models[models.count - 1],
      earlier: { Array(models.dropLast()) },
      mode: .readWrite,
      environment: TestStore.environment()
    )
  }

  private func fill(_ model: String) async throws {
    let store = try TestStore(model, in: folder)
    try await store.save(#"{"insert":[{"entity":"A","values":{"a":"kept"}}]}"#)
  }

  private static let later = [version("C", "b", "a"), version("C", "c", "b")]

  // Evidence: P-117f
  @Test func `a version is known by its content, whatever its name`() async throws {
    try await fill(Self.version("C 1", "a", nil))
    try open([Self.version("C", "a", nil)] + Self.later).close()
    #expect(try TestStore(nil, in: folder).lines("A c") == ["A/p1 v1 c=kept"])
  }

  // Evidence: P-117k
  @Test func `a store of no version keeps its data and is told the nearest`() async throws {
    // The first version was edited in place: the store's had no index.
    let edited = Self.version("C", "a", nil).replacing(
      #""attributes""#,
      with: #""indexes":[["a"]],"attributes""#
    )
    try await fill(Self.version("C", "a", nil))
    let error = try #require(throws: StoreError.self) { try open([edited] + Self.later) }
    #expect(error.code == .modelMismatch)
    let data = JSONValue.object(error.data)
    #expect(data["problems"]?.array?.map { $0["path"] } == ["A.a"])
    let differences = data["nearest"]?.array?.map { $0["differences"] }
    #expect(differences?.contains(["~ A: indexes"]) == true)
    #expect(try TestStore(nil, in: folder).lines("A a") == ["A/p1 v1 a=kept"])
  }

  // Evidence: P-117f
  @Test func `two versions with the same content are refused`() async throws {
    try await fill(Self.version("C", "a", nil))
    let error = #expect(throws: StoreError.self) {
      try open([Self.version("C 1", "a", nil), Self.version("C 2", "a", nil)] + Self.later)
    }
    #expect(error?.code == .modelInvalid)
    #expect(error?.message.contains("C 1 and C 2") == true)
    // A modifier tells them apart (P-111c).
    let other = Self.version("C", "a", nil).replacing(
      #""attributes""#,
      with: #""versionHashModifier":"2","attributes""#
    )
    try open([Self.version("C", "a", nil), other] + Self.later).close()
    #expect(try TestStore(nil, in: folder).lines("A c") == ["A/p1 v1 c=kept"])
  }

  // Evidence: P-111a, P-111c
  @Test func `what does not count for the hash follows the file`() async throws {
    try await fill(Self.version("C", "a", nil))
    let text = Self.version("D", "a", nil).replacing(
      #""attributes""#,
      with: #""userInfo":{"help":"shown"},"attributes""#
    )
    try open([text]).close()
    let store = try TestStore(nil, in: folder)
    #expect(store.store.model.name == "D")
    let entity = store.store.model.document["entities"]?.array?.first
    #expect(entity?["userInfo"]?["help"] == "shown")
    #expect(try store.rows("SELECT count(*) FROM cordial_transaction") == ["2"])
  }

  // Evidence: P-114a
  @Test func `a configuration never opens a store of the whole model`() throws {
    let whole = #"{"name":"M","entities":[{"name":"A"},{"name":"B"}]}"#
    _ = try TestStore(whole, in: folder)
    let part = try ModelDocument.model(
      from: try JSONParser.parse(#"{"name":"M","entities":[{"name":"A"}]}"#),
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
    #expect(error?.message.contains("B: the configuration does not have it") == true)
    #expect(try TestStore(whole, in: folder).store.model.entities.count == 2)
  }

  // Evidence: P-117i
  @Test func `a dry run performs every stage and writes nothing`() async throws {
    try await fill(Self.version("C", "a", nil))
    do {
      let store = try TestStore(nil, in: folder)
      try await store.save(#"{"insert":[{"entity":"A","values":{"a":"kept"}}]}"#)
    }
    let unique = Self.later[1].replacing(#""attributes""#, with: #""unique":[["c"]],"attributes""#)
    let chain = try [Self.version("C", "a", nil), Self.later[0], unique].map {
      try ModelDocument.parse(Array($0.utf8).span)
    }
    func dryRun(_ chain: [Model]) throws -> Int {
      var stages = 0
      try Migrator.dryRun(
        StoreContainer(path: folder.path),
        over: chain,
        environment: TestStore.environment()
      ) { stages = $0.count }
      return stages
    }
    // The problem is in the second stage.
    let error = #expect(throws: StoreError.self) { try dryRun(chain) }
    #expect(error?.code == .modelMismatch)
    #expect(error?.message.contains("A.c") == true)
    #expect(try dryRun(Array(chain[..<2])) == 1)
    #expect(try dryRun(Array(chain[..<1])) == 0)
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("A a") == ["A/p1 v1 a=kept", "A/p2 v1 a=kept"])
    #expect(try store.rows("SELECT count(*) FROM cordial_transaction") == ["3"])
  }
}
