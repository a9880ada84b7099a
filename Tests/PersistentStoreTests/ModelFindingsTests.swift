import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let league = """
  {"name":"League","entities":[
    {"name":"Team","attributes":[
      {"name":"name","type":"string","optional":true},
      {"name":"size","type":"int32","default":0}],
     "unique":[["name"]],
     "relationships":[
      {"name":"players","destination":"Player","toMany":true,"inverse":"team",
       "deleteRule":"cascade"},
      {"name":"games","destination":"Game","toMany":true,"inverse":"home"}]},
    {"name":"Player","attributes":[
      {"name":"name","type":"string","optional":true},
      {"name":"goals","type":"int16","optional":true}],
     "relationships":[
      {"name":"team","destination":"Team","optional":true,"inverse":"players"},
      {"name":"shirt","destination":"Shirt","optional":true,"inverse":"player",
       "deleteRule":"cascade"},
      {"name":"skills","destination":"Skill","toMany":true,"inverse":"players"},
      {"name":"friends","destination":"Player","toMany":true,"inverse":"friends"},
      {"name":"likes","destination":"Player","toMany":true,"inverse":"likedBy"},
      {"name":"likedBy","destination":"Player","toMany":true,"inverse":"likes"}]},
    {"name":"Shirt","attributes":[{"name":"number","type":"int64","default":1}],
     "relationships":[
      {"name":"player","destination":"Player","optional":true,"inverse":"shirt"}]},
    {"name":"Skill","identity":"code","attributes":[
      {"name":"code","type":"string"},{"name":"level","type":"int32","default":1}],
     "relationships":[
      {"name":"players","destination":"Player","toMany":true,"inverse":"skills",
       "deleteRule":"deny"}]},
    {"name":"Game","attributes":[{"name":"place","type":"string","optional":true}],
     "relationships":[{"name":"home","destination":"Team","inverse":"games"}]}]}
  """

/// What `ModelBasedTests` found, each as short as it can be.
@Suite struct `Defects that the plain model found` {
  private let store: TestStore

  init() throws {
    store = try TestStore(league)
  }

  // P-069: the list names nobody who is gone.
  @Test func `a list with an object deleted later is merged`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Player/t1","values":{"skills":["Skill/sgo"]}},{"id":"Skill/sgo"}]}
      """
    )
    try await store.save(
      #"{"update":[{"id":"Player/p1","values":{"skills":[]}}],"delete":["Skill/sgo"]}"#
    )
    let refused = try await store.refusal(
      """
      {"update":[{"id":"Player/p1","version":1,"values":{"skills":[]}}],
       "mergePolicy":"objectTrump"}
      """
    )
    #expect(refused?.code == nil)
  }

  // P-069: `goals` is what others changed.
  @Test func `a merge sees the changes of an external REPLACE`() async throws {
    try await store.save(#"{"insert":[{"id":"Player/t1","values":{"goals":1}}]}"#)
    try store.foreign("INSERT OR REPLACE INTO Player(_id, goals) VALUES (1, 2)")
    try await store.seal()
    let answer = try await store.save(
      """
      {"update":[{"id":"Player/p1","version":1,"values":{"goals":3}}],
       "mergePolicy":"storeTrump"}
      """
    )
    let objects = try store.lines("Player goals")
    #expect(answer["merged"]?.array?.count == 1)
    #expect(objects.first?.hasSuffix("goals=2") == true)
  }

  // P-069: what came back by undo has other values than the version that the client knew.
  @Test func `a merge sees objects deleted and inserted again`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Player/t1","values":{"goals":1,"name":"a"}}],"author":"bob"}"#
    )
    try await store.save(
      #"{"update":[{"id":"Player/p1","values":{"goals":2}}],"author":"ann","context":"x"}"#
    )
    try await store.save(#"{"delete":["Player/p1"],"author":"ann","context":"x"}"#)
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(try store.lines("Player goals").first?.hasSuffix("goals=1") == true)
    try await store.save(
      """
      {"update":[{"id":"Player/p1","version":2,"values":{"goals":7}}],
       "mergePolicy":"storeTrump"}
      """
    )
    let objects = try store.lines("Player goals")
    #expect(objects.first?.hasSuffix("goals=1") == true)
  }

  // P-125: the foreign client's later change is a conflict.
  @Test func `undo sees the changes of an external REPLACE`() async throws {
    try await store.save(#"{"insert":[{"id":"Player/t1","values":{"goals":1}}],"author":"bob"}"#)
    try await store.save(
      #"{"update":[{"id":"Player/p1","values":{"goals":2}}],"author":"ann"}"#
    )
    try store.foreign("INSERT OR REPLACE INTO Player(_id, goals) VALUES (1, 3)")
    try await store.seal()
    let refused = try await store.refusal(#"{"undo":1,"author":"ann"}"#)
    let objects = try store.lines("Player goals")
    #expect(refused?.code == "saveConflict")
    #expect(objects.first?.hasSuffix("goals=3") == true)
  }

  // P-125, P-062: what stays keeps its relationships, or loses them at both ends.
  @Test func `an insert that undo leaves has both ends of its one-to-one`() async throws {
    try await store.save(#"{"insert":[{"id":"Shirt/t1"}],"author":"bob"}"#)
    try await store.save(
      #"{"insert":[{"id":"Player/t1","values":{"shirt":"Shirt/p1"}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Player/p1","values":{"goals":1}}],"author":"bob"}"#)
    try await store.save(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    let problems = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
    #expect(problems == [])
  }

  // P-125: what stays does so with everything that the group gave it.
  @Test func `an insert that undo leaves keeps its link rows`() async throws {
    try await store.save(#"{"insert":[{"id":"Skill/sgo"}],"author":"bob"}"#)
    try await store.save(
      #"{"insert":[{"id":"Player/t1","values":{"skills":["Skill/sgo"]}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Player/p1","values":{"goals":1}}],"author":"bob"}"#)
    let answer = try await store.save(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    #expect(answer["undone"] == 1)
    #expect(try store.lines("Player skills") == ["Player/p1 v2 skills=[Skill/sgo]"])
  }

  // P-127: all undone, the store is as it was before.
  @Test func `undo restores unique names that were passed between objects`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Team/t1","values":{"name":"a"}},{"id":"Team/t2","values":{"name":"b"}}],
       "author":"bob"}
      """
    )
    try await store.save(
      """
      {"update":[{"id":"Team/p1","values":{"name":"c"}},{"id":"Team/p2","values":{"name":"a"}}],
       "author":"ann"}
      """
    )
    let refused = try await store.refusal(#"{"undo":1,"author":"ann"}"#)
    #expect(refused?.code == nil)
  }

  // P-127: all undone, the store is as it was before.
  @Test(arguments: ["error", "storeTrump"])
  func `undo restores an object whose identity a later insert took`(
    policy: String
  )
    async throws
  {
    try await store.save(#"{"insert":[{"id":"Skill/sgo","values":{"level":5}}],"author":"bob"}"#)
    try await store.save(#"{"delete":["Skill/sgo"],"author":"ann","context":"x"}"#)
    try await store.save(#"{"insert":[{"id":"Skill/sgo"}],"author":"ann","context":"x"}"#)
    let refused = try await store.refusal(
      #"{"undo":1,"author":"ann","mergePolicy":"\#(policy)"}"#
    )
    let objects = try store.lines("Skill level")
    #expect(refused?.code == nil)
    #expect(objects.first?.hasSuffix("level=5") == true)
  }

  // P-061: in the order given; a one-to-one follows it.
  @Test func `the later insert determines the target of a to-one`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Team/t1"},{"id":"Team/t2","values":{"players":["Player/t1"]}},
        {"id":"Player/t1","values":{"team":"Team/t1"}}]}
      """
    )
    let objects = try store.lines("Player team")
    #expect(objects == ["Player/p1 v1 team=Team/p1"])
  }

  // P-071: a change that counts a version stands in the history, or counts none.
  @Test func `a link inserted and deleted in one save increments no version`() async throws {
    try await store.save(#"{"insert":[{"id":"Skill/sgo"}]}"#)
    try await store.save(
      """
      {"insert":[{"id":"Player/t1","values":{"skills":["Skill/sgo"]}}],
       "update":[{"id":"Skill/sgo","values":{"players":[]}}]}
      """
    )
    let objects = try store.lines("Skill")
    #expect(objects == ["Skill/sgo v1"])
  }

  // P-126: `context` takes only groups of it.
  @Test func `groups that were undone together keep their contexts`() async throws {
    for number in 1...2 {
      try await store.save(
        #"{"insert":[{"id":"Shirt/t1"}],"author":"ann","context":"x\#(number)"}"#
      )
    }
    try await store.save(#"{"undo":2,"author":"ann"}"#)
    let answer = try await store.save(#"{"redo":1,"author":"ann","only":"x1"}"#)
    #expect(answer["undone"] == 1)
  }

  // P-065, P-070: versions count at most one for each commit.
  @Test func `an external transaction increments a version once`() async throws {
    try await store.save(#"{"insert":[{"id":"Skill/sgo"},{"id":"Player/t1"}]}"#)
    try store.foreign(
      """
      UPDATE Skill SET level = 9;
      INSERT INTO cordial_pairs_Player_skills(source, target) VALUES (1, 1)
      """
    )
    try await store.seal()
    let objects = try store.lines("Skill;Player")
    #expect(objects == ["Skill/sgo v2", "Player/p1 v2"])
  }

  // P-125: an object that is already deleted is no conflict, in whatever order the two came.
  // Evidence: P-125e
  @Test(arguments: [
    #"{"id":"Skill/sgo","values":{"players":["Player/t1"]}},{"id":"Player/t1"}"#,
    #"{"id":"Player/t1"},{"id":"Skill/sgo","values":{"players":["Player/t1"]}}"#,
  ])
  func `a link row deleted with its object is no conflict`(inserts: String) async throws {
    try await store.save(#"{"insert":[\#(inserts)],"author":"ann"}"#)
    try await store.save(#"{"delete":["Player/p1"],"author":"bob"}"#)
    let undone = try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(undone["undone"] == 1)
    #expect(try store.lines("Skill;Player") == [])
  }

  // P-125: what somebody changed later is a conflict, or is left.
  @Test func `a link row that a group left unchanged stays as others changed it`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Player/t1","values":{"skills":["Skill/sgo"]}},{"id":"Skill/sgo"}]}"#
    )
    for skills in ["", #""Skill/sgo""#] {
      try await store.save(
        """
        {"update":[{"id":"Player/p1","values":{"skills":[\(skills)]}}],
         "author":"ann","context":"x"}
        """
      )
    }
    try await store.save(#"{"update":[{"id":"Player/p1","values":{"skills":[]}}],"author":"bob"}"#)
    try await store.save(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    let objects = try store.lines("Player skills")
    #expect(objects.first?.hasSuffix("skills=[]") == true)
  }

  // P-065, P-125: what becomes null counts a version.
  @Test func `an insert that undo leaves does not reference deleted objects`() async throws {
    try await store.save(#"{"insert":[{"id":"Team/t1"}],"author":"ann"}"#)
    try await store.save(
      #"{"insert":[{"id":"Player/t1","values":{"team":"Team/p1"}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Player/p1","values":{"goals":1}}],"author":"bob"}"#)
    try await store.save(#"{"undo":2,"author":"ann","mergePolicy":"storeTrump"}"#)
    let objects = try store.lines("Player team")
    #expect(objects != ["Player/p1 v2 team=null"])
  }

  // P-124: each object is told.
  @Test func `an insert that undo leaves and that loses a link row is reported`() async throws {
    try await store.save(#"{"insert":[{"id":"Player/t1"}],"author":"ann"}"#)
    try await store.save(
      #"{"insert":[{"id":"Skill/sgo","values":{"players":["Player/p1"]}}],"author":"ann"}"#
    )
    try await store.save(#"{"update":[{"id":"Skill/sgo","values":{"level":2}}],"author":"bob"}"#)
    let answer = try await store.save(#"{"undo":2,"author":"ann","mergePolicy":"storeTrump"}"#)
    let told = answer["objects"]?.array?.compactMap { $0["id"]?.string }
    #expect(try store.lines("Skill players") == ["Skill/sgo v3 players=[]"])
    #expect(told?.contains("Skill/sgo") == true)
  }

  // P-118: a row that was replaced by one with the same values did not change.
  @Test func `undo succeeds after an external REPLACE that left a reference`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Player/t1"},{"id":"Team/t1","values":{"players":["Player/t1"]}}]}"#
    )
    try await store.save(
      #"{"insert":[{"id":"Team/t1","values":{"players":["Player/p1"]}}],"author":"bob"}"#
    )
    try store.foreign("REPLACE INTO Player(_id, goals, team) VALUES (1, 3, 2)")
    try await store.seal()
    try await store.save(#"{"undo":1,"author":"bob"}"#)
    #expect(try store.lines("Player goals team") == ["Player/p1 v4 goals=3 team=Team/p1"])
    // Nor is the team, which is gone since, what undoing the REPLACE would have to restore.
    try await store.save(#"{"undo":1,"author":"external"}"#)
    #expect(try store.lines("Player goals team") == ["Player/p1 v5 goals=null team=Team/p1"])
  }

  // P-119: all violations of all groups, though each is found by SQLite's index first.
  @Test func `an undo of several groups reports all that it violates`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Team/t1","values":{"name":"a"}},{"id":"Team/t2","values":{"name":"b"}}]}"#
    )
    try await store.save(#"{"delete":["Team/p1"],"author":"ann"}"#)
    try await store.save(#"{"delete":["Team/p2"],"author":"ann"}"#)
    try await store.save(
      #"{"insert":[{"id":"Team/t1","values":{"name":"a"}},{"id":"Team/t2","values":{"name":"b"}}]}"#
    )
    let refused = try #require(await store.refusal(#"{"undo":2,"author":"ann"}"#))
    let problems = refused.data["problems"]?.array ?? []
    #expect(problems.compactMap { $0["existing"]?.string }.sorted() == ["Team/p3", "Team/p4"])
    #expect(try store.lines("Team name") == ["Team/p3 v1 name=a", "Team/p4 v1 name=b"])
  }

  // P-119: what one group violates, another takes back.
  @Test func `an undo of several groups may violate uniqueness in between`() async throws {
    try await store.save(#"{"insert":[{"id":"Team/t1","values":{"name":"z"}}]}"#)
    for name in ["a", "b"] {
      try await store.save(
        #"{"update":[{"id":"Team/p1","values":{"name":"\#(name)"}}],"author":"ann"}"#
      )
    }
    try await store.save(#"{"insert":[{"id":"Team/t1","values":{"name":"a"}}],"author":"bob"}"#)
    try await store.save(#"{"undo":2,"author":"ann"}"#)
    #expect(try store.lines("Team name") == ["Team/p1 v4 name=z", "Team/p2 v1 name=a"])
    let changes = try store.snapshot { snapshot in
      let head = snapshot.head.number
      return try snapshot.log.transactions(after: head - 1, through: head, limit: 1)
        .flatMap(\.changes)
    }
    #expect(changes.map(\.key.object) == [1])
    let refused = try await store.refusal(
      #"{"update":[{"id":"Team/p1","values":{"name":"a"}}]}"#
    )
    #expect(refused?.code == "uniquenessViolation")
  }

  // P-071: a link row inserted and deleted in one commit changed nothing.
  @Test func `linking and unlinking an object with itself is no change`() async throws {
    try await store.save(#"{"insert":[{"id":"Player/t1"}]}"#)
    let before = try store.snapshot { $0.head.number }
    try store.foreign(
      """
      INSERT INTO cordial_pairs_Player_friends(source, target) VALUES (1, 1);
      DELETE FROM cordial_pairs_Player_friends;
      """
    )
    try await store.seal()
    let changes = try store.snapshot { snapshot in
      try snapshot.log.transactions(after: before, through: snapshot.head.number, limit: 9)
        .flatMap(\.changes)
    }
    #expect(changes.isEmpty)
  }

  // P-125a: a later revert of the same commit is a later change.
  @Test func `an undo of one context skips no commits of another context`() async throws {
    try await store.save(#"{"insert":[{"id":"Team/t1"}],"author":"ann","context":"q"}"#)
    try await store.save(
      """
      {"insert":[{"id":"Player/t1","values":{"team":"Team/p1"}}],"author":"ann","context":"p"}
      """
    )
    try await store.save(#"{"undo":2,"author":"ann"}"#)
    try await store.save(#"{"redo":2,"author":"ann"}"#)
    let refused = try await store.refusal(#"{"undo":1,"author":"ann","only":"q"}"#)
    #expect(refused?.code == "saveConflict")
    #expect(try store.lines("Player team").count == 1)
  }

  // P-063f
  @Test func `an ID of an unknown entity is one problem among others`() async throws {
    try await store.save(#"{"insert":[{"id":"Skill/sa"},{"id":"Team/t1"}]}"#)
    let refused = try #require(
      await store.refusal(
        """
        {"insert":[{"entity":"Team"}],"delete":["Team/p1"],
         "update":[{"id":"Nope/sx","values":{}},{"id":"Skill/i5","values":{}},
           {"id":"Team/p999","values":{}}]}
        """
      )
    )
    #expect(refused.data["problems"]?.array?.count == 3)
  }
}
