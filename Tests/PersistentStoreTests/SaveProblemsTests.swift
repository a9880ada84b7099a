import JSON
import PersistentStore
import TestStores
import Testing

private let model = """
  {"name":"Office","entities":[
    {"name":"Room","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"desks","destination":"Desk","toMany":true,"inverse":"room","minimumCount":1,
       "maximumCount":2}]},
    {"name":"Desk","attributes":[
      {"name":"size","type":"int16","optional":true,"minimum":0,"maximum":9},
      {"name":"code","type":"string","optional":true}],"unique":[["code"]],
     "relationships":[
      {"name":"room","destination":"Room","optional":true,"inverse":"desks"},
      {"name":"owner","destination":"Owner","optional":true,"inverse":"desks"}]},
    {"name":"Owner","attributes":[{"name":"name","type":"string","optional":true}],
     "relationships":[
      {"name":"desks","destination":"Desk","toMany":true,"inverse":"owner",
       "deleteRule":"deny"}]}]}
  """

@Suite struct `A refused save lists every problem` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[{"id":"Room/sa"},{"id":"Owner/t1"},{"id":"Owner/t2"},
        {"id":"Desk/t1","values":{"room":"Room/sa","owner":"Owner/t1","code":"x","size":1}}]}
      """
    )
  }

  /// `1102 minimum Desk/t1` for each problem.
  private func lines(_ data: JSONValue?) -> [String] {
    (data?["problems"]?.array ?? []).map { problem in
      #expect(problem["message"]?.string?.isEmpty == false)
      return [problem["code"]?.text, problem["rule"]?.string, problem["id"]?.string]
        .map { $0 ?? "-" }.joined(separator: " ")
    }
  }

  // MARK: IDs

  // Evidence: P-063h
  @Test(arguments: [
    (#"{"insert":[{"id":"Room/sb"}]}"#, "1102 minimumCount Room/sb"),
    (#"{"insert":[{"id":"Room/tb","values":{"name":"b"}}]}"#, "1102 minimumCount Room/tb"),
    (#"{"update":[{"id":"Room/p1","values":{"desks":[]}}]}"#, "1102 minimumCount Room/p1"),
    (#"{"update":[{"id":"Room/sa","values":{"desks":[]}}]}"#, "1102 minimumCount Room/sa"),
    (
      #"{"insert":[{"entity":"Desk","values":{"room":"Room/p1"}},{"entity":"Desk","values":{"room":"Room/p1"}}]}"#,
      "1102 maximumCount Room/p1"
    ),
    (
      """
      {"insert":[{"id":"Room/tb","values":{"name":"b"}},{"entity":"Desk","values":{"room":"Room/tb"}},
        {"entity":"Desk","values":{"room":"Room/tb"}},{"entity":"Desk","values":{"room":"Room/tb"}}]}
      """, "1102 maximumCount Room/tb"
    ),
    // The client sent no ID of the room.
    (#"{"update":[{"id":"Desk/p1","values":{"room":null}}]}"#, "1102 minimumCount Room/sa"),
    (#"{"delete":["Desk/p1"]}"#, "1102 minimumCount Room/sa"),
  ])
  func `a count names the ID that the client sent`(save: String, problem: String) async throws {
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == "validationFailed")
    #expect(lines(refusal?.data) == [problem])
  }

  // MARK: Codes

  // Evidence: P-063f, P-063g
  @Test func `a denied delete is listed beside invalid values`() async throws {
    let refusal = try await store.refusal(
      """
      {"insert":[{"id":"Desk/tnew","values":{"size":10}}],
       "update":[{"id":"Desk/p1","values":{"size":-1}}],"delete":["Owner/p1"]}
      """
    )
    #expect(refusal?.code == "validationFailed")
    #expect(
      lines(refusal?.data).sorted() == [
        "1102 maximum Desk/tnew", "1102 minimum Desk/p1", "1106 deny Owner/p1",
      ]
    )
    let denied = refusal?.data["problems"]?.array?.first { $0["code"] == 1106 }
    #expect(denied?["relationship"] == "desks")
    #expect(denied?["holders"] == ["Desk/p1"])
    #expect(refusal?.data["id"] == nil)
  }

  // Evidence: P-063f, P-063g
  @Test func `problems of every code are listed together`() async throws {
    let refusal = try await store.refusal(
      """
      {"insert":[{"id":"Nothing/t1"},{"id":"Desk/t2","values":{"nothing":1,"size":-1}},
        {"id":"Desk/t3","values":{"code":"x"}}],
       "update":[{"id":"Desk/p9","values":{"size":1}},{"id":"desk","values":{}}],
       "delete":["Owner/p1"]}
      """
    )
    #expect(refusal?.code == "validationFailed")
    #expect(
      lines(refusal?.data).sorted() == [
        "1002 entity Nothing/t1", "1003 property Desk/t2", "1101 exists Desk/p9",
        "1102 minimum Desk/t2", "1104 identifier desk", "1105 unique Desk/t3", "1106 deny Owner/p1",
      ]
    )
  }

  // Evidence: P-063g
  @Test(arguments: [
    (#"{"delete":["Owner/p1"]}"#, "deleteDenied", ["1106 deny Owner/p1"]),
    (
      #"{"insert":[{"id":"Desk/t1","values":{"code":"x"}}]}"#, "uniquenessViolation",
      ["1105 unique Desk/t1"]
    ),
    (
      #"{"update":[{"id":"Desk/p8","values":{}}],"delete":["Desk/p9"]}"#, "objectNotFound",
      ["1101 exists Desk/p8", "1101 exists Desk/p9"]
    ),
    (
      #"{"insert":[{"id":"Desk/t1","values":{"a":1}},{"id":"Desk/t2","values":{"b":1}}]}"#,
      "unknownProperty", ["1003 property Desk/t1", "1003 property Desk/t2"]
    ),
    (#"{"insert":[{"id":"Nothing/t1"}]}"#, "unknownEntity", ["1002 entity Nothing/t1"]),
    (#"{"delete":["Desk/x"]}"#, "invalidIdentifier", ["1104 identifier Desk/x"]),
  ])
  func `problems of one code have that code and the members of the first one`(
    save: String,
    code: String,
    problems: [String]
  ) async throws {
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == code)
    #expect(lines(refusal?.data) == problems)
    let first = refusal?.data["problems"]?.array?.first
    for member in refusal?.data.withoutProblems.members ?? [] {
      #expect(first?[member.name] == member.value)
    }
  }

  // Evidence: P-063f
  @Test func `at most 1000 problems are listed`() async throws {
    let inserts = (0..<1100).map { #"{"id":"Desk/t\#($0)","values":{"size":-1}}"# }
    let refusal = try await store.refusal(
      #"{"insert":[\#(inserts.joined(separator: ","))]}"#
    )
    #expect(refusal?.data["problems"]?.array?.count == 1000)
  }

  // Evidence: P-063i
  @Test func `a change of a missing object takes no further part in the save`() async throws {
    let refusal = try await store.refusal(
      """
      {"insert":[{"id":"Nothing/t1","values":{"size":-1}},
        {"id":"Desk/t1","values":{"room":"Room/snone"}},
        {"id":"Desk/t2","values":{"owner":"Nothing/t1"}}],
       "update":[{"id":"Desk/p9","values":{"size":-1,"nothing":2}}]}
      """
    )
    #expect(
      lines(refusal?.data).sorted()
        == ["1002 entity Nothing/t1", "1101 exists Desk/p9", "1101 exists Room/snone"]
    )
  }

  // Evidence: P-061c
  @Test(arguments: [
    #"{"update":[{"id":"Desk/p1","values":{"size":1}},{"id":"Desk/p1","values":{"size":2}}]}"#,
    #"{"update":[{"id":"Desk/p1","values":{"size":1}}],"delete":["Desk/p1"]}"#,
  ])
  func `an object is updated or deleted once`(save: String) async throws {
    let refusal = try await store.refusal(save)
    #expect(refusal?.code == "validationFailed")
    #expect(lines(refusal?.data).first == "1102 once Desk/p1")
  }

  // Evidence: P-062a
  @Test func `an update leaves absent properties as they are`() async throws {
    try await store.save(#"{"update":[{"id":"Desk/p1","values":{"size":5}}]}"#)
    #expect(
      try store.lines("Desk size code room owner")
        == ["Desk/p1 v2 size=5 code=x room=Room/sa owner=Owner/p1"]
    )
  }

  // MARK: Undo

  // Evidence: P-125c
  @Test(arguments: ["error", "storeTrump"])
  func `an undo is refused if another object now has its values`(policy: String) async throws {
    try await store.save(
      #"{"update":[{"id":"Desk/p1","values":{"code":"y"}}],"author":"ann"}"#
    )
    try await store.save(
      #"{"insert":[{"id":"Desk/t2","values":{"code":"x"}}],"author":"bob"}"#
    )
    let refusal = try await store.refusal(
      #"{"undo":1,"author":"ann","mergePolicy":"\#(policy)"}"#
    )
    #expect(refusal?.code == "uniquenessViolation")
    #expect(refusal?.data["id"] == "Desk/p1")
    #expect(refusal?.data["existing"] == "Desk/p2")
  }

  // Evidence: P-126c
  @Test func `an undo without a group to revert changes nothing`() async throws {
    let answer = try await store.save(#"{"undo":1,"author":"nobody"}"#)
    #expect(answer == ["undone": 0, "objects": []])
  }

  // MARK: Conflicts

  // Evidence: P-065d
  @Test func `with a conflict only problems of names are listed`() async throws {
    try await store.save(#"{"update":[{"id":"Desk/p1","values":{"size":2}}]}"#)
    let refusal = try await store.refusal(
      """
      {"insert":[{"id":"Nothing/t1"},{"id":"Desk/t2","values":{"size":-1}},
        {"id":"Desk/t3","values":{"code":"x"}}],
       "update":[{"id":"Desk/p1","version":1,"values":{"size":3,"nothing":1}},
        {"id":"Desk/p9","values":{}},{"id":"desk","values":{}}],
       "delete":["Owner/p1"]}
      """
    )
    #expect(refusal?.code == "saveConflict")
    #expect(
      refusal?.data["conflicts"] == [
        [
          "id": "Desk/p1", "property": "size", "base": 1, "store": 2, "client": 3, "version": 2,
        ]
      ]
    )
    #expect(
      lines(refusal?.data).sorted() == [
        "1002 entity Nothing/t1", "1003 property Desk/p1", "1101 exists Desk/p9",
        "1104 identifier desk",
      ]
    )
  }

  // Evidence: P-065d
  @Test func `a conflict alone has no problems`() async throws {
    try await store.save(#"{"update":[{"id":"Desk/p1","values":{"size":2}}]}"#)
    let refusal = try await store.refusal(
      #"{"update":[{"id":"Desk/p1","version":1,"values":{"size":-1}}],"delete":["Owner/p1"]}"#
    )
    #expect(refusal?.code == "saveConflict")
    #expect(refusal?.data["problems"] == nil)
  }

  // Evidence: P-063j
  @Test(arguments: ["storeTrump", "objectTrump", "overwrite", "rollback"])
  func `a missing object is a problem under every policy`(policy: String) async throws {
    for change in [
      #""update":[{"id":"Desk/p9","version":1,"values":{}}]"#, #""delete":["Desk/p9"]"#,
    ] {
      let refusal = try await store.refusal(#"{\#(change),"mergePolicy":"\#(policy)"}"#)
      #expect(refusal?.code == "objectNotFound")
      #expect(refusal?.data["id"] == "Desk/p9")
    }
  }
}
