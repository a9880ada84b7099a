import JSON
import PersistentStore
import TestStores
import Testing

private let shelves = """
  {"name":"Shelves","entities":[
    {"name":"Item","abstract":true,"attributes":[
      {"name":"code","type":"string","optional":true},
      {"name":"number","type":"int32","default":7,"optional":true}],
     "unique":[["code"]]},
    {"name":"Book","parent":"Item","attributes":[
      {"name":"pages","type":"int32","optional":true}]},
    {"name":"Disc","parent":"Item","attributes":[
      {"name":"minutes","type":"int32","optional":true}]},
    {"name":"Shelf","attributes":[],"relationships":[
      {"name":"best","destination":"Item","optional":true}]},
    {"name":"Tape","attributes":[
      {"name":"side","type":"string","optional":true},
      {"name":"code","type":"string","optional":true}],"unique":[["side"],["code"]]},
    {"name":"Crate","attributes":[{"name":"name","type":"string","optional":true}],
     "relationships":[{"name":"label","destination":"Label","optional":true}],
     "unique":[["label"],["name"]]},
    {"name":"Label","attributes":[],"relationships":[
      {"name":"tag","destination":"Tag","optional":true}],"unique":[["tag"]]},
    {"name":"Tag","attributes":[{"name":"code","type":"string"}],"unique":[["code"]]},
    {"name":"Node","identity":"key","attributes":[{"name":"key","type":"int64"}],
     "relationships":[{"name":"up","destination":"Node","optional":true}],"unique":[["up"]]}]}
  """

@Suite struct `Inserts that match an object of the entity family` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(shelves)
  }

  /// The values of all items, without their IDs, which are long in a family.
  private func items() throws -> [String] {
    try store.fetch(#"{"entity":"Item"}"#).map { object in
      let id = object["id"]?.string ?? ""
      let values = (object["values"]?.members ?? []).map { "\($0.name)=\($0.value.text)" }
      return ([String(id.prefix { $0 != "/" }), "v\(object["version"]?.text ?? "")"] + values)
        .joined(separator: " ")
    }
  }

  private func insert(_ inserts: String, _ policy: String) -> String {
    #"{"insert":[\#(inserts)],"mergePolicy":"\#(policy)"}"#
  }

  private let two = """
    {"id":"Book/t1","values":{"code":"a","number":1,"pages":1}},
    {"id":"Book/t2","values":{"code":"a","pages":2}}
    """

  // Evidence: P-122c
  @Test(arguments: [
    ("objectTrump", #"Book v1 code="a" number=1 pages=2"#, "client"),
    ("overwrite", #"Book v1 code="a" number=7 pages=2"#, "client"),
    ("storeTrump", #"Book v1 code="a" number=1 pages=1"#, "store"),
    ("rollback", #"Book v1 code="a" number=1 pages=1"#, "store"),
  ])
  func `two inserts of one save become one object`(
    policy: String,
    item: String,
    outcome: String
  ) async throws {
    let answer = try await store.save(insert(two, policy))
    let id = try #require(answer["ids"]?["Book/t1"])
    #expect(answer["ids"] == ["Book/t1": id, "Book/t2": id])
    #expect(answer["objects"]?.array?.map { $0["id"] } == [id, id])
    #expect(try items() == [item])
    #expect(answer["merged"]?.array?.map { $0["id"] } == [id])
    #expect(
      answer["merged"]?.array?.first?["properties"]?["pages"] == .string(outcome)
    )
  }

  // Evidence: P-060c, P-122c
  @Test func `the earlier of two inserts is returned as the later one leaves it`() async throws {
    let answer = try await store.save(insert(two, "objectTrump"))
    #expect(answer["objects"]?.array?.map { $0["values"]?["pages"] } == [2, nil])
    let again = try await store.save(
      insert(
        #"{"id":"Book/t1","values":{"code":"a","number":4}},"#
          + #"{"id":"Book/t2","values":{"code":"a"}}"#,
        "overwrite"
      )
    )
    #expect(again["objects"]?.array?.map { $0["values"]?["number"] } == [7, 7])
  }

  // Evidence: P-122h
  @Test func `an insert matches what earlier inserts make of stored objects`() async throws {
    let ids = try await store.save(
      insert(
        #"{"id":"Tape/t1","values":{"side":"a","code":"x"}},"#
          + #"{"id":"Tape/t2","values":{"side":"b","code":"y"}}"#,
        "error"
      )
    )["ids"]
    // The first gives the object another code, which the second has; the former code is free.
    let answer = try await store.save(
      insert(
        #"{"id":"Tape/t3","values":{"side":"a","code":"z"}},"#
          + #"{"id":"Tape/t4","values":{"code":"z"}},{"id":"Tape/t5","values":{"code":"x"}}"#,
        "objectTrump"
      )
    )
    #expect(answer["ids"]?["Tape/t3"] == ids?["Tape/t1"])
    #expect(answer["ids"]?["Tape/t4"] == ids?["Tape/t1"])
    let new = answer["ids"]?["Tape/t5"]
    #expect(new != nil && new != ids?["Tape/t1"] && new != ids?["Tape/t2"])
  }

  // Evidence: P-122h
  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]])
  func `the match of an insert does not depend on the order of referenced inserts`(
    order: [Int]
  ) async throws {
    // Each crate has its own label, and each label its own tag.
    let chain = [
      #"{"id":"Crate/t1","values":{"label":"Label/t1"}}"#,
      #"{"id":"Label/t1","values":{"tag":"Tag/t1"}}"#,
      #"{"id":"Tag/t1","values":{"code":"a"}}"#,
    ]
    let first = try await store.save(insert(chain.joined(separator: ","), "error"))
    let answer = try await store.save(
      insert(order.map { chain[$0] }.joined(separator: ","), "objectTrump")
    )
    #expect(answer["ids"]?.members?.count == 3)
    for id in first["ids"]?.members ?? [] { #expect(answer["ids"]?[id.name] == id.value) }
  }

  // Evidence: P-122c
  @Test func `the earlier of two inserts stays, though it references a later one`() async throws {
    let crates = """
      {"id":"Crate/t1","values":{"name":"a","label":"Label/t1"}},
      {"id":"Crate/t2","values":{"name":"a"}},{"id":"Label/t1"}
      """
    let answer = try await store.save(insert(crates, "storeTrump"))
    #expect(answer["ids"]?["Crate/t1"] == "Crate/p1")
    #expect(answer["ids"]?["Crate/t2"] == "Crate/p1")
    #expect(try store.lines("Crate name label") == ["Crate/p1 v1 name=a label=Label/p1"])
  }

  // Evidence: P-122f
  @Test func `an insert that changes one of two sets with a property in common`() async throws {
    let store = try TestStore(
      """
      {"name":"Discs","entities":[{"name":"Disc","identity":"code","attributes":[
        {"name":"code","type":"string"},{"name":"shelf","type":"int32","optional":true},
        {"name":"number","type":"int32","optional":true},
        {"name":"title","type":"string","optional":true}],
       "unique":[["shelf","number"],["shelf","title"]]}]}
      """
    )
    try await store.save(
      #"{"insert":[{"id":"Disc/sx","values":{"shelf":1,"number":1,"title":"T"}}]}"#
    )
    try await store.save(
      """
      {"insert":[{"id":"Disc/sx","values":{"shelf":2}},
        {"id":"Disc/sy","values":{"shelf":1,"number":9,"title":"T"}}],
       "mergePolicy":"objectTrump"}
      """
    )
    #expect(
      try store.lines("Disc shelf number title")
        == ["Disc/sx v2 shelf=2 number=1 title=T", "Disc/sy v1 shelf=1 number=9 title=T"]
    )
  }

  @Test func `an insert that references itself matches references to its object`() async throws {
    // By its identity it is the first node, and by the object that it references the second one.
    try await store.save(
      insert(
        #"{"id":"Node/i1"},{"id":"Node/i2","values":{"up":"Node/i1"}}"#,
        "error"
      )
    )
    let refusal = try await store.refusal(
      insert(#"{"id":"Node/i1","values":{"up":"Node/i1"}}"#, "objectTrump")
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(try store.ids(#"{"entity":"Node","sort":["key"]}"#) == ["Node/i1", "Node/i2"])
  }

  // Evidence: P-122f
  @Test func `an insert that matches two objects is refused at any position`() async throws {
    try await store.save(
      insert(
        #"{"id":"Tape/t1","values":{"side":"a","code":"x"}},"#
          + #"{"id":"Tape/t2","values":{"side":"b","code":"y"}}"#,
        "error"
      )
    )
    let refusal = try await store.refusal(
      insert(
        #"{"id":"Tape/t3","values":{"side":"a","code":"y"}},"#
          + #"{"id":"Tape/t4","values":{"side":"b","code":"x"}}"#,
        "objectTrump"
      )
    )
    #expect(refusal?.code == "uniquenessViolation")
    let problems = refusal?.data["problems"]?.array ?? []
    #expect(Set(problems.compactMap { $0["id"]?.string }) == ["Tape/t3", "Tape/t4"])
  }

  // Evidence: P-122c
  @Test func `two inserts of one save are refused under error by their sent IDs`() async throws {
    let refusal = try await store.refusal(insert(two, "error"))
    #expect(refusal?.code == "uniquenessViolation")
    #expect(
      refusal?.data.withoutProblems
        == ["id": "Book/t2", "properties": ["code"], "existing": "Book/t1"]
    )
    #expect(try items() == [])
  }

  // Evidence: P-122c
  @Test func `what references either insert references the one object`() async throws {
    let answer = try await store.save(
      insert(two + #",{"id":"Shelf/t1","values":{"best":"Book/t2"}}"#, "storeTrump")
    )
    #expect(
      try store.fetch(#"{"entity":"Shelf"}"#).first?["values"]?["best"]
        == answer["ids"]?["Book/t1"]
    )
  }

  // Evidence: P-122d
  @Test(arguments: [
    ("objectTrump", #"Book v2 code="a" number=9 pages=5"#, "client"),
    ("overwrite", #"Book v2 code="a" number=9 pages=null"#, "client"),
    ("storeTrump", #"Book v1 code="a" number=1 pages=5"#, "store"),
    ("rollback", #"Book v1 code="a" number=1 pages=5"#, "store"),
  ])
  func `a stored object of another entity keeps its entity`(
    policy: String,
    item: String,
    outcome: String
  ) async throws {
    let ids = try await store.save(
      #"{"insert":[{"id":"Book/t1","values":{"code":"a","number":1,"pages":5}}]}"#
    )["ids"]
    let book = try #require(ids?["Book/t1"])
    let answer = try await store.save(
      insert(#"{"id":"Disc/t1","values":{"code":"a","number":9}}"#, policy)
    )
    #expect(answer["ids"] == ["Disc/t1": book])
    #expect(answer["objects"]?.array?.map { $0["id"] } == [book])
    #expect(answer["merged"]?.array?.first?["properties"]?["number"] == .string(outcome))
    #expect(try items() == [item])
  }

  // Evidence: P-122d
  @Test(arguments: ["objectTrump", "overwrite", "storeTrump", "rollback"])
  func `a property that its entity does not have is unknown`(policy: String) async throws {
    try await store.save(#"{"insert":[{"id":"Book/t1","values":{"code":"a"}}]}"#)
    let refusal = try await store.refusal(
      insert(#"{"id":"Disc/t1","values":{"code":"a","minutes":9}}"#, policy)
    )
    #expect(refusal?.code == "unknownProperty")
    #expect(refusal?.data["id"] == "Disc/t1")
    #expect(refusal?.data["property"] == "minutes")
  }

  // Evidence: P-122d
  @Test func `an object of another entity is refused under error`() async throws {
    let ids = try await store.save(#"{"insert":[{"id":"Book/t1","values":{"code":"a"}}]}"#)["ids"]
    let refusal = try await store.refusal(
      insert(#"{"id":"Disc/t1","values":{"code":"a"}}"#, "error")
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(refusal?.data["id"] == "Disc/t1")
    #expect(refusal?.data["existing"] == ids?["Book/t1"])
  }

  // Evidence: P-122g
  @Test func `an insert does not match an object that the save deletes`() async throws {
    let ids = try await store.save(#"{"insert":[{"id":"Book/t1","values":{"code":"a"}}]}"#)["ids"]
    let book = ids?["Book/t1"]?.string ?? ""
    let answer = try await store.save(
      """
      {"insert":[{"id":"Disc/t1","values":{"code":"a","minutes":9}}],"delete":["\(book)"],
       "mergePolicy":"objectTrump"}
      """
    )
    #expect(answer["merged"] == nil)
    #expect(try items() == [#"Disc v1 code="a" number=7 minutes=9"#])
  }
}

private let ranks = """
  {"name":"Ranks","entities":[
    {"name":"Task","attributes":[
      {"name":"title","type":"string","optional":true},
      {"name":"rank","type":"int32","optional":true},
      {"name":"slot","type":"int32","optional":true},
      {"name":"day","type":"int32","optional":true}],
     "unique":[["rank"],["slot","day"]]}]}
  """

@Suite struct `An update that takes the unique values of another object` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(ranks)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"rank":1,"slot":1,"day":1}},
        {"id":"Task/t2","values":{"rank":2,"slot":2,"day":1}}]}
      """
    )
  }

  // Evidence: P-122e
  @Test(arguments: ["storeTrump", "rollback"])
  func `keeps its stored unique values when the store wins`(policy: String) async throws {
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p2","values":{"title":"new","rank":1,"slot":1}}],
       "mergePolicy":"\(policy)"}
      """
    )
    #expect(
      answer["merged"]
        == [["id": "Task/p2", "properties": ["rank": "store", "slot": "store"]]]
    )
    #expect(
      answer["objects"]
        == [["id": "Task/p2", "version": 2, "values": ["rank": 2, "slot": 2]]]
    )
    #expect(
      try store.lines("Task title rank slot day")[1]
        == "Task/p2 v2 title=new rank=2 slot=2 day=1"
    )
  }

  // Evidence: P-122e
  @Test(arguments: ["error", "objectTrump", "overwrite"])
  func `is refused when the store does not win`(policy: String) async throws {
    let refusal = try await store.refusal(
      #"{"update":[{"id":"Task/p2","values":{"rank":1}}],"mergePolicy":"\#(policy)"}"#
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(
      refusal?.data.withoutProblems
        == ["id": "Task/p2", "properties": ["rank"], "existing": "Task/p1"]
    )
  }

  // Evidence: P-122e
  @Test(arguments: ["storeTrump", "rollback"])
  func `is stored if the other object loses the values`(policy: String) async throws {
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"rank":2}},{"id":"Task/p2","values":{"rank":1}}],
       "mergePolicy":"\(policy)"}
      """
    )
    #expect(answer["merged"] == nil)
    #expect(try store.lines("Task rank") == ["Task/p1 v2 rank=2", "Task/p2 v2 rank=1"])
    try await store.save(
      #"{"update":[{"id":"Task/p1","values":{"rank":1}}],"delete":["Task/p2"],"mergePolicy":"\#(policy)"}"#
    )
    #expect(try store.lines("Task rank") == ["Task/p1 v3 rank=1"])
  }

  // Evidence: P-122f
  @Test func `an insert that matches two objects is refused under every policy`() async throws {
    for policy in ["error", "objectTrump", "overwrite", "storeTrump", "rollback"] {
      let refusal = try await store.refusal(
        #"{"insert":[{"id":"Task/t9","values":{"rank":1,"slot":2,"day":1}}],"mergePolicy":"\#(policy)"}"#
      )
      #expect(refusal?.code == "uniquenessViolation", "\(policy)")
      #expect(
        refusal?.data["problems"]?.array?.map { $0["existing"] } == ["Task/p1", "Task/p2"]
      )
    }
  }
}
