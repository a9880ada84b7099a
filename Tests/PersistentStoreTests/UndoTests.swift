import JSON
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let garden = """
  {"name":"Garden","entities":[
    {"name":"Bed","attributes":[
      {"name":"name","type":"string","optional":true},
      {"name":"size","type":"int32","optional":true},
      {"name":"count","type":"int64","optional":true,"derived":"plants.@count"}],
     "relationships":[
      {"name":"plants","destination":"Plant","toMany":true,"inverse":"bed",
       "deleteRule":"cascade"}]},
    {"name":"Plant","attributes":[
      {"name":"name","type":"string","optional":true},
      {"name":"height","type":"double","optional":true},
      {"name":"seen","type":"date","optional":true},
      {"name":"photo","type":"binary","optional":true},
      {"name":"notes","type":"json","optional":true},
      {"name":"alive","type":"boolean","default":true}],
     "relationships":[
      {"name":"bed","destination":"Bed","optional":true,"inverse":"plants"},
      {"name":"label","destination":"Label","optional":true,"inverse":"plant"},
      {"name":"likes","destination":"Plant","toMany":true,"inverse":"likedBy"},
      {"name":"likedBy","destination":"Plant","toMany":true,"inverse":"likes"}]},
    {"name":"Label","identity":"text","attributes":[{"name":"text","type":"string"}],
     "relationships":[
      {"name":"plant","destination":"Plant","optional":true,"inverse":"label"}]}]}
  """

/// Every table but the versions.
private let everything = [
  "SELECT 'bed', _id, name, size, count FROM Bed ORDER BY _id",
  """
  SELECT 'plant', _id, name, height, seen, hex(photo), notes, alive, bed, label FROM Plant
  ORDER BY _id
  """,
  "SELECT 'label', _id, text, plant FROM Label ORDER BY _id",
  "SELECT 'likes', source, target FROM cordial_pairs_Plant_likedBy ORDER BY source, target",
]

@Suite struct `Undo reads the history backwards` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(garden)
    try await store.save(
      """
      {"insert":[{"id":"Bed/t1","values":{"name":"north","size":4}},
        {"id":"Plant/t1","values":{"name":"rose","height":0.1,"seen":"2024-02-29T12:00:00.123Z",
          "photo":"AAH/","notes":{"a":[1,null,"x"]},"bed":"Bed/t1","label":"Label/srose"}},
        {"id":"Plant/t2","values":{"name":"lily","bed":"Bed/t1","likes":["Plant/t1"]}},
        {"id":"Label/srose"}],"author":"ann"}
      """
    )
  }

  private func all() throws -> [String] { try everything.flatMap { try store.rows($0) } }

  @discardableResult
  private func revert(_ text: String) async throws -> JSONValue { try await store.save(text) }

  // Evidence: P-124b
  @Test func `undo restores cascaded objects with their IDs and references`() async throws {
    let before = try all()
    try await store.save(#"{"delete":["Bed/p1"],"author":"ann"}"#)
    #expect(try store.ids(#"{"entity":"Plant"}"#) == [])
    let answer = try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(answer["undone"] == 1)
    #expect(try all() == before)
    let ids = answer["objects"]?.array?.compactMap { $0["id"]?.string }.sorted()
    #expect(ids == ["Bed/p1", "Label/srose", "Plant/p1", "Plant/p2"])
    // A version never falls: the delete, and coming back, are changes like others.
    let version = try store.rows("SELECT _version FROM Bed")
    #expect(version == ["2"])
    try await revert(#"{"redo":1,"author":"ann"}"#)
    #expect(try store.ids(#"{"entity":"Bed"}"#) == [])
    try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(try all() == before)
  }

  @Test func `undo deletes an insert`() async throws {
    let answer = try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(try all() == [])
    #expect(
      answer["objects"]?.array?.contains(["id": "Label/srose", "deleted": true]) == true
    )
    #expect(try await revert(#"{"undo":1,"author":"ann"}"#)["undone"] == 0)
  }

  // Evidence: P-125a
  @Test func `another author's later change is a conflict and stays`() async throws {
    try await store.save(
      #"{"update":[{"id":"Bed/p1","values":{"name":"a","size":1}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"size":2}}],"author":"bob"}"#)
    let refused = try await store.refusal(#"{"undo":1,"author":"ann"}"#)
    #expect(refused?.code == "saveConflict")
    #expect(
      refused?.data["conflicts"] == [
        [
          "id": "Bed/p1", "property": "size", "base": 1, "store": 2, "client": 4,
          "version": 3,
        ]
      ]
    )
    #expect(try store.lines("Bed name size") == ["Bed/p1 v3 name=a size=2"])
    try await revert(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    #expect(try store.lines("Bed name size") == ["Bed/p1 v4 name=north size=2"])
  }

  @Test func `a change that its author undid is no conflict`() async throws {
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"size":1}}],"author":"ann"}"#)
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"size":2}}],"author":"bob"}"#)
    try await revert(#"{"undo":1,"author":"bob"}"#)
    try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(try store.lines("Bed size") == ["Bed/p1 v5 size=4"])
    // Done again it stands.
    try await revert(#"{"redo":1,"author":"bob","mergePolicy":"storeTrump"}"#)
  }

  // Evidence: P-125b, P-125e
  @Test func `an insert that others reference stays`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Bed/t1","values":{"name":"south"}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Plant/p1","values":{"bed":"Bed/p2"}}]}"#)
    #expect(try await store.refusal(#"{"undo":1,"author":"ann"}"#)?.code == "saveConflict")
    try await revert(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    #expect(try store.ids(#"{"entity":"Bed"}"#) == ["Bed/p1", "Bed/p2"])
  }

  // Evidence: P-125e
  @Test func `a to-one to an object deleted later is a conflict or null`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Bed/t1","values":{"name":"south"}}]}"#
    )
    try await store.save(
      #"{"update":[{"id":"Plant/p1","values":{"bed":"Bed/p2"}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Plant/p2","values":{"bed":null}}]}"#)
    try await store.save(#"{"delete":["Bed/p1"],"author":"bob"}"#)
    #expect(try await store.refusal(#"{"undo":1,"author":"ann"}"#)?.code == "saveConflict")
    try await revert(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    #expect(try store.rows("SELECT bed FROM Plant WHERE _id = 1") == ["null"])
  }

  // Evidence: P-126a
  @Test func `adjacent commits of one context are one group`() async throws {
    for size in 5...7 {
      try await store.save(
        """
        {"update":[{"id":"Bed/p1","values":{"size":\(size)}}],"author":"ann","context":"typing"}
        """
      )
      try await store.save(
        #"{"update":[{"id":"Plant/p2","values":{"height":\#(size)}}],"author":"bob"}"#
      )
    }
    try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(try store.rows("SELECT size FROM Bed") == ["4"])
    try await revert(#"{"undo":2,"author":"bob"}"#)
    #expect(try store.rows("SELECT height FROM Plant WHERE _id = 2") == ["5.0"])
    try await revert(#"{"redo":1,"author":"ann"}"#)
    #expect(try store.rows("SELECT size FROM Bed") == ["7"])
  }

  // Evidence: P-126a
  @Test func `undo of a context reverts groups of that context only`() async throws {
    try await store.save(
      #"{"update":[{"id":"Bed/p1","values":{"size":5}}],"author":"ann","context":"import"}"#
    )
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"name":"n"}}],"author":"ann"}"#)
    #expect(try await revert(#"{"undo":1,"author":"ann","only":"none"}"#)["undone"] == 0)
    try await revert(#"{"undo":1,"author":"ann","only":"import"}"#)
    #expect(try store.lines("Bed name size") == ["Bed/p1 v4 name=n size=4"])
  }

  // Evidence: P-126b
  @Test func `groups undone together are redone one by one`() async throws {
    for size in 5...7 {
      try await store.save(
        #"{"update":[{"id":"Bed/p1","values":{"size":\#(size)}}],"author":"ann"}"#
      )
    }
    #expect(try await revert(#"{"undo":3,"author":"ann"}"#)["undone"] == 3)
    #expect(try store.lines("Bed size") == ["Bed/p1 v5 size=4"])
    for size in 5...7 {
      try await revert(#"{"redo":1,"author":"ann"}"#)
      #expect(try store.rows("SELECT size FROM Bed") == ["\(size)"])
    }
    #expect(try await revert(#"{"redo":1,"author":"ann"}"#)["undone"] == 0)
  }

  // Evidence: P-126b
  @Test func `an ordinary save ends redo`() async throws {
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"size":5}}],"author":"ann"}"#)
    try await revert(#"{"undo":1,"author":"ann"}"#)
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"name":"x"}}],"author":"ann"}"#)
    #expect(try await revert(#"{"redo":1,"author":"ann"}"#)["undone"] == 0)
    try await revert(#"{"undo":1,"author":"ann"}"#)
    #expect(try store.lines("Bed name size").first?.hasSuffix("name=north size=4") == true)
  }

  // Evidence: P-124d, P-121a
  @Test func `undo works after a restart, and its dry run changes nothing`() async throws {
    let folder = store.folder
    try await store.save(#"{"update":[{"id":"Bed/p1","values":{"size":5}}],"author":"ann"}"#)
    store.store.close()
    let again = try TestStore(nil, in: folder)
    let outcome = try await again.outcome(#"{"undo":1,"author":"ann","dryRun":true}"#)
    #expect(outcome.dryRun?.updates == ["Bed/p1"])
    #expect(try again.rows("SELECT size FROM Bed") == ["5"])
    try await again.save(#"{"undo":1,"author":"ann"}"#)
    #expect(try again.rows("SELECT size FROM Bed") == ["4"])
    again.store.close()
    let third = try TestStore(nil, in: folder)
    try await third.save(#"{"redo":1,"author":"ann"}"#)
    #expect(try third.rows("SELECT size FROM Bed") == ["5"])
  }

  @Test func `both ends of a one-to-one agree after undo`() async throws {
    func save(_ author: String, _ change: String) async throws {
      try await store.save(#"{"author":"\#(author)",\#(change)}"#)
    }
    try await save("a", #""insert":[{"id":"Plant/t1","values":{"name":"n"}}]"#)
    try await save("c", #""insert":[{"id":"Label/sx","values":{"plant":"Plant/p3"}}]"#)
    try await save("b", #""update":[{"id":"Plant/p3","values":{"label":null}}]"#)
    try await save("c", #""update":[{"id":"Plant/p3","values":{"label":"Label/sx"}}]"#)
    try await save("a", #""insert":[{"id":"Plant/t1","values":{"label":"Label/sx"}}]"#)
    try await save("c", #""update":[{"id":"Plant/p3","values":{"label":"Label/sx"}}]"#)
    for (author, count) in [("a", 2), ("c", 1), ("c", 1), ("b", 1), ("c", 1), ("a", 1)] {
      try await revert(
        #"{"undo":\#(count),"author":"\#(author)","mergePolicy":"storeTrump"}"#
      )
      let problems = try store.snapshot { snapshot in
        var verification = StoreVerification(snapshot)
        return try verification.run()["problems"]
      }
      #expect(problems == [], "\(author)")
    }
  }

  @Test func `undo increments the versions of objects with external changes`() async throws {
    try store.foreign("DELETE FROM Plant WHERE _id = 2")
    try await store.seal()
    try await revert(#"{"undo":1,"author":"external"}"#)
    #expect(try store.rows("SELECT count FROM Bed") == ["2"])
  }

  // Evidence: P-124c
  @Test func `undo reverts changes of an external client for its author`() async throws {
    let before = try all()
    try store.foreign("UPDATE Plant SET name = 'x', height = 9; DELETE FROM Plant WHERE _id = 2")
    try await store.seal()
    try await revert(#"{"undo":1,"author":"external"}"#)
    #expect(try all() == before)
  }

  // Evidence: P-127a
  @Test(arguments: Seeds.first(8))
  func `random commits, back and forth`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var states = [try all()]
    for step in 0..<25 {
      let text = try change(step, &random)
      do {
        try await store.save(text)
      } catch let error as StoreError where error.code == .objectNotFound {
        continue
      }
      let state = try all()
      if state != states.last { states.append(state) }
    }
    let last = states.count - 1
    for place in stride(from: last - 1, through: 0, by: -1) {
      let answer = try await revert(#"{"undo":1,"author":"ann"}"#)
      #expect(answer["undone"] == 1, "\(Seeds.repeating(seed))")
      #expect(try all() == states[place], "\(Seeds.repeating(seed)): back to \(place)")
    }
    let far = random.below(last) + 1
    for place in 1...far {
      try await revert(#"{"redo":1,"author":"ann"}"#)
      #expect(try all() == states[place], "\(Seeds.repeating(seed)): on to \(place)")
    }
    try await revert(#"{"undo":\#(far),"author":"ann"}"#)
    #expect(try all() == states[0], "\(Seeds.repeating(seed)): all at once")
    // The versions that the rows have are those that the log says.
    let wrong = try store.rows(
      """
      SELECT _id FROM Plant WHERE _version <> (SELECT version FROM cordial_change
        WHERE entity = 2 AND object = Plant._id AND version IS NOT NULL
        ORDER BY number DESC LIMIT 1)
      """
    )
    #expect(wrong == [], "\(Seeds.repeating(seed))")
  }

  /// A save of one to three changes of which some mean nothing.
  private func change(_ step: Int, _ random: inout SplitMix64) throws -> String {
    func bed() -> String { random.below(4) == 0 ? "null" : "\"Bed/p\(random.below(4) + 1)\"" }
    func plant() -> String { "Plant/p\(random.below(8) + 1)" }
    switch random.below(9) {
    case 0:
      return """
        {"insert":[{"id":"Bed/t1","values":{"size":\(step)}},
          {"id":"Plant/t1","values":{"bed":"Bed/t1","name":"p\(step)","likes":["\(plant())"]}}],
         "author":"ann"}
        """
    case 1:
      return """
        {"insert":[{"id":"Plant/t1","values":{"height":\(step).5,"bed":\(bed())}},
          {"id":"Label/sl\(step)","values":{"plant":"Plant/t1"}}],"author":"ann"}
        """
    case 2: return #"{"delete":["Bed/p\#(random.below(4) + 1)"],"author":"ann"}"#
    case 3: return #"{"delete":["\#(plant())"],"author":"ann"}"#
    case 4:
      return #"{"update":[{"id":"\#(plant())","values":{"label":"Label/srose"}}],"author":"ann"}"#
    case 5:
      return """
        {"update":[{"id":"\(plant())","values":{"likes":["\(plant())","\(plant())"]}}],
         "author":"ann"}
        """
    case 6:
      return #"{"update":[{"id":"\#(plant())","values":{"bed":\#(bed())}}],"author":"ann"}"#
    case 7:
      return """
        {"updateMatching":{"entity":"Plant","predicate":"height = nil OR height < \(step)",
         "set":{"height":{"@expression":"bed.size + 1"},"alive":false}},"author":"ann"}
        """
    default:
      return """
        {"update":[{"id":"\(plant())","values":{"name":"n\(step)","notes":[\(step)],
          "photo":null,"seen":"2020-01-0\(step % 9 + 1)T00:00:00Z"}}],"author":"ann"}
        """
    }
  }
}
