import CordialValues
import JSON
import PersistentStore
import TestStores
import Testing

private let model = """
  {"name":"Todo","entities":[
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
      {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Task","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
      {"name":"group","destination":"Group","optional":true,"inverse":"tasks"},
      {"name":"labels","destination":"Label","toMany":true,"inverse":"tasks"}]},
    {"name":"Label","identity":"name","attributes":[
      {"name":"name","type":"string"},{"name":"color","type":"string","optional":true}],
     "relationships":[
      {"name":"tasks","destination":"Task","toMany":true,"inverse":"labels"}]}]}
  """

@Suite struct `A delete of an object that another save changed` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"a","group":"Group/t1"}},{"id":"Group/t1"},
        {"id":"Label/sred"}]}
      """
    )
    try await store.save(
      """
      {"update":[{"id":"Task/p1","values":{"title":"b"}},
        {"id":"Label/sred","values":{"color":"r"}}],"author":"other"}
      """
    )
  }

  private let deletes = #"[{"id":"Task/p1","version":1},{"id":"Label/sred","version":1}]"#

  // Evidence: P-069f
  @Test(arguments: ["storeTrump", "rollback"])
  func `is skipped, and the answer holds the whole object`(policy: String) async throws {
    let answer = try await store.save(#"{"delete":\#(deletes),"mergePolicy":"\#(policy)"}"#)
    #expect(
      answer["merged"]
        == [["id": "Task/p1", "delete": "store"], ["id": "Label/sred", "delete": "store"]]
    )
    #expect(
      answer["objects"] == [
        ["id": "Task/p1", "version": 2, "values": ["title": "b", "group": "Group/p1"]],
        ["id": "Label/sred", "version": 2, "values": ["name": "red", "color": "r"]],
      ]
    )
    #expect(try store.ids(#"{"entity":"Task"}"#) == ["Task/p1"])
  }

  // Evidence: P-060e, P-069f
  @Test(arguments: [
    ("objectTrump", JSONValue.string("client")), ("storeTrump", JSONValue.string("store")),
  ])
  func `names the object by its identity`(policy: String, outcome: JSONValue) async throws {
    let answer = try await store.save(
      #"{"delete":[{"id":"Label/p1","version":1}],"mergePolicy":"\#(policy)"}"#
    )
    #expect(answer["merged"] == [["id": "Label/sred", "delete": outcome]])
  }

  // Evidence: P-069f
  @Test(arguments: ["objectTrump", "overwrite"])
  func `is carried out and reported`(policy: String) async throws {
    let answer = try await store.save(#"{"delete":\#(deletes),"mergePolicy":"\#(policy)"}"#)
    #expect(
      answer["merged"]
        == [["id": "Task/p1", "delete": "client"], ["id": "Label/sred", "delete": "client"]]
    )
    #expect(answer["objects"] == [])
    #expect(try store.lines("Task; Label") == [])
  }

  // Evidence: P-065c
  @Test func `is a conflict about the object under error`() async throws {
    let refusal = try await store.refusal(#"{"delete":\#(deletes)}"#)
    #expect(refusal?.code == "saveConflict")
    #expect(
      refusal?.data["conflicts"] == [
        ["id": "Task/p1", "property": nil, "version": 2],
        ["id": "Label/sred", "property": nil, "version": 2],
      ]
    )
  }

  // Evidence: P-069f
  @Test func `is not reported with the present version or without a version`() async throws {
    let answer = try await store.save(
      #"{"delete":[{"id":"Task/p1","version":2},"Label/sred"],"mergePolicy":"storeTrump"}"#
    )
    #expect(answer["merged"] == nil)
    #expect(try store.lines("Task; Label") == [])
  }
}

@Suite struct `A whole list of a one-to-many` {
  private let store: TestStore
  /// The token with which the client read the members 1 and 2.
  private let read: StoreToken
  /// The token after another save added 3 and removed 2.
  private let now: StoreToken

  init() async throws {
    store = try TestStore(model)
    read = try await store.outcome(
      """
      {"insert":[{"id":"Group/t1","values":{"title":"old","tasks":["Task/t1","Task/t2"]}},
        {"id":"Task/t1"},{"id":"Task/t2"},{"id":"Task/t3"},{"id":"Task/t4"}]}
      """
    ).token
    now = try await store.outcome(
      """
      {"update":[{"id":"Task/p3","values":{"group":"Group/p1"}},
        {"id":"Task/p2","values":{"group":null}}],"author":"other"}
      """
    ).token
  }

  private func save(
    _ basis: String,
    _ tasks: String,
    policy: String = "error"
  ) -> String {
    """
    {"update":[{"id":"Group/p1",\(basis)"values":{"title":"new","tasks":\(tasks)}}],
     "mergePolicy":"\(policy)"}
    """
  }

  private let known = #""version":1,"#
  private let sent = #"["Task/p1","Task/p2","Task/p4"]"#

  // Evidence: P-069g, P-069k
  @Test(arguments: [
    ("storeTrump", "Group/p1 v2 title=new tasks=[Task/p1,Task/p3,Task/p4]", #"{"tasks":"client"}"#),
    (
      "objectTrump", "Group/p1 v2 title=new tasks=[Task/p1,Task/p3,Task/p4]", #"{"tasks":"client"}"#
    ),
    ("overwrite", "Group/p1 v2 title=new tasks=[Task/p1,Task/p2,Task/p4]", #"{"tasks":"client"}"#),
    (
      "rollback", "Group/p1 v1 title=old tasks=[Task/p1,Task/p3]",
      #"{"tasks":"store","title":"store"}"#
    ),
  ])
  func `that contradicts another save is decided by the policy`(
    policy: String,
    line: String,
    merged: String
  ) async throws {
    let exact = #""version":1,"asOf":"\#(read)","#
    for basis in policy == "rollback" ? [known, exact] : [known] {
      let answer = try await store.save(save(basis, sent, policy: policy))
      #expect(try store.lines("Group title tasks") == [line])
      #expect(
        answer["merged"]
          == [["id": "Group/p1", "properties": try JSONParser.parse(merged)]]
      )
      let stored = answer["objects"]?.array?.first?["values"]?["tasks"]
      switch policy {
      case "overwrite": #expect(stored == nil)
      case "rollback": #expect(stored == ["Task/p1", "Task/p3"])
      default: #expect(stored == ["Task/p1", "Task/p3", "Task/p4"])
      }
    }
  }

  // Evidence: P-069h
  @Test func `that contradicts another save is a conflict under error`() async throws {
    for basis in [known, #""version":1,"asOf":"\#(read)","#] {
      do {
        try await store.save(save(basis, sent))
        Issue.record("The save was accepted")
      } catch let error as StoreError {
        #expect(error.code == .saveConflict)
        guard case .text(let hint) = try #require(error.hint) else { throw error }
        #expect(hint.contains("asOf"))
        #expect(hint.contains("@remove"))
        #expect(
          error.data.first { $0.name == "conflicts" }?.value == [
            [
              "id": "Group/p1", "property": "tasks", "base": ["Task/p1", "Task/p2"],
              "store": ["Task/p1", "Task/p3"], "client": ["Task/p1", "Task/p2", "Task/p4"],
              "version": 1,
            ]
          ]
        )
      }
    }
    #expect(
      try store.lines("Group title tasks") == ["Group/p1 v1 title=old tasks=[Task/p1,Task/p3]"]
    )
  }

  // Evidence: P-069g
  @Test(arguments: ["error", "storeTrump", "objectTrump", "overwrite", "rollback"])
  func `that was read after the other save is stored as sent`(policy: String) async throws {
    let basis = #""version":1,"asOf":"\#(now)","#
    let answer = try await store.save(save(basis, #"["Task/p1","Task/p4"]"#, policy: policy))
    #expect(answer["merged"] == nil)
    #expect(
      try store.lines("Group title tasks") == ["Group/p1 v2 title=new tasks=[Task/p1,Task/p4]"]
    )
  }

  // Evidence: P-069g
  @Test func `that agrees with the other save is stored as sent`() async throws {
    let answer = try await store.save(save(known, #"["Task/p1","Task/p3","Task/p4"]"#))
    #expect(answer["merged"] == nil)
    #expect(
      try store.lines("Group tasks") == ["Group/p1 v2 tasks=[Task/p1,Task/p3,Task/p4]"]
    )
  }

  // Evidence: P-069i
  @Test func `without a version is stored as sent`() async throws {
    let answer = try await store.save(save("", #"["Task/p2"]"#))
    #expect(answer["merged"] == nil)
    #expect(try store.lines("Group tasks") == ["Group/p1 v2 tasks=[Task/p2]"])
  }

  // Evidence: P-069i
  @Test func `is not needed where members are added and removed`() async throws {
    let edit = #"{"@add":["Task/p2","Task/p4"],"@remove":["Task/p1"]}"#
    let answer = try await store.save(save(known, edit))
    #expect(answer["merged"] == nil)
    #expect(
      try store.lines("Group tasks") == ["Group/p1 v2 tasks=[Task/p2,Task/p3,Task/p4]"]
    )
  }

  // Evidence: P-069j
  @Test func `with asOf but without a version is invalid`() async throws {
    let refusal = try await store.refusal(save(#""asOf":"\#(read)","#, sent))
    #expect(refusal?.code == "invalidRequest")
  }

  // Evidence: P-069j
  @Test func `with an asOf that the log does not have has expired`() async throws {
    let unknown = StoreToken(
      generation: read.generation,
      number: read.number,
      mark: read.mark &+ 1
    )
    let refusal = try await store.refusal(save(#""version":1,"asOf":"\#(unknown)","#, sent))
    #expect(refusal?.code == "historyExpired")
    #expect(refusal?.data["oldest"]?.string != nil)
  }

  // Evidence: P-069j
  @Test(arguments: ["nonsense", "1-1-1"], [#""name":"x""#, #""tasks":{"@add":["Task/p1"]}"#])
  func `an asOf that is unknown is refused whatever it is for`(
    token: String,
    values: String
  ) async throws {
    let refusal = try await store.refusal(
      #"{"update":[{"id":"Group/p1","version":1,"asOf":"\#(token)","values":{\#(values)}}]}"#
    )
    #expect(refusal?.code == (token == "nonsense" ? "invalidRequest" : "historyExpired"))
  }
}

@Suite struct `A rollback returns the stored to-many` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"a","labels":["Label/sx"]}},{"id":"Label/sx"},
        {"id":"Label/sy"},{"id":"Label/sz"}]}
      """
    )
    try await store.save(
      #"{"update":[{"id":"Task/p1","values":{"labels":{"@add":["Label/sy"]}}}]}"#
    )
  }

  // Evidence: P-069e
  @Test(arguments: [
    #"["Label/sz"]"#, #"{"@add":["Label/sz"]}"#, #"{"@remove":["Label/sx"]}"#,
  ])
  func `where another save changed it`(labels: String) async throws {
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p1","version":1,"values":{"title":"b","labels":\(labels)}}],
       "mergePolicy":"rollback"}
      """
    )
    #expect(
      answer["objects"] == [
        [
          "id": "Task/p1", "version": 2,
          "values": ["title": "a", "labels": ["Label/sx", "Label/sy"]],
        ]
      ]
    )
    #expect(
      answer["merged"]
        == [["id": "Task/p1", "properties": ["labels": "store", "title": "store"]]]
    )
  }

  // Evidence: P-069e
  @Test func `where another save changed only another property`() async throws {
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"c"}}]}"#)
    let answer = try await store.save(
      """
      {"update":[{"id":"Task/p1","version":2,"values":{"labels":["Label/sz"]}}],
       "mergePolicy":"rollback"}
      """
    )
    #expect(
      answer["objects"] == [
        ["id": "Task/p1", "version": 3, "values": ["labels": ["Label/sx", "Label/sy"]]]
      ]
    )
  }
}

@Suite struct `A list that is stored differently than sent is returned` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      #"{"insert":[{"id":"Group/t1"},{"id":"Task/t1"},{"id":"Task/t2"},{"id":"Label/sx"}]}"#
    )
  }

  // Evidence: P-060d
  @Test(arguments: [
    // A later change removes a member.
    (
      #""update":[{"id":"Group/p1","values":{"tasks":["Task/p1","Task/p2"]}},{"id":"Task/p2","values":{"group":null}}]"#,
      #"{"tasks":["Task/p1"]}"#
    ),
    // A delete removes a member.
    (
      #""update":[{"id":"Group/p1","values":{"tasks":["Task/p1","Task/p2"]}}],"delete":["Task/p2"]"#,
      #"{"tasks":["Task/p1"]}"#
    ),
    (
      #""update":[{"id":"Task/p1","values":{"labels":{"@add":["Label/sx"]}}}],"delete":["Label/sx"]"#,
      #"{"labels":[]}"#
    ),
    // A later list takes a member.
    (
      #""insert":[{"id":"Group/t1","values":{"tasks":["Task/p1"]}},{"id":"Group/t2","values":{"tasks":["Task/p1"]}}]"#,
      #"{"tasks":[]}"#
    ),
    // The list of the other end ends a link row.
    (
      #""update":[{"id":"Task/p1","values":{"labels":["Label/sx"]}},{"id":"Label/sx","values":{"tasks":[]}}]"#,
      #"{"labels":[]}"#
    ),
  ])
  func `after another change of the save`(save: String, values: String) async throws {
    let answer = try await store.save("{\(save)}")
    #expect(answer["objects"]?.array?.first?["values"] == (try JSONParser.parse(values)))
    for object in answer["objects"]?.array?.dropFirst() ?? [] {
      #expect(object["values"]?["tasks"] == nil)
    }
  }

  // Evidence: P-060d
  @Test func `a list that is stored as sent is not returned`() async throws {
    let answer = try await store.save(
      #"{"update":[{"id":"Group/p1","values":{"tasks":["Task/p2","Task/p1"]}}]}"#
    )
    #expect(answer["objects"] == [["id": "Group/p1", "version": 1]])
  }
}
