import JSON
import PersistentHistory
import PersistentStore
import StoreLayout
import Testing

@Suite struct `The merger compares with what other saves changed` {
  /// Task/p1 was changed twice since version 1: its title, its group and its tags.
  private func run(isPurged: Bool = false) throws -> StageRun {
    var run = try StageRun(
      """
      {"Group/p1": {}, "Group/p2": {"tasks": ["Task/p1"]}, "Tag/p1": {"name": "red"},
       "Tag/p2": {"name": "blue"}, "Tag/p3": {"name": "green"}, "Task/p2": {"code": "taken"},
       "Task/p1": {"@version": 3, "title": "c", "rank": 5, "tags": ["Tag/p1", "Tag/p3"]}}
      """
    )
    run.history = PlainHistory(
      [
        run.row(1, "Task/p1", .update, #""title":"a""#, version: 2),
        run.row(2, "Task/p1", .update, #""title":"b","group":1"#, version: 3),
        run.row(3, "Task/p1", .link, "tags", other: 3),
      ],
      isPurged: isPurged
    )
    return run
  }

  private func check(
    _ run: StageRun,
    _ request: String,
    _ expected: [String],
    decisions: [String: MergeDecision] = [:],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let merger = try run.merge(request, decisions: decisions)
    #expect(StageText(run.layout).lines(merger) == expected, sourceLocation: location)
  }

  private static let sent = #"update Task/p1 v3 title="mine" rank=9"#

  @Test(arguments: [
    (
      "error",
      [
        #"conflict Task/p1.title "a" "c" "mine""#,
        #"conflict Task/p1.group "Group/p1" "Group/p2" null"#,
        #"conflict Task/p1.tags ["Tag/sred"] ["Tag/sred","Tag/sgreen"] null"#, sent,
      ]
    ),
    (
      "storeTrump",
      ["update Task/p1 v3 rank=9", "merged Task/p1 title=store group=store tags=store"]
    ),
    ("objectTrump", [sent, "merged Task/p1 title=client group=store tags=store"]),
    (
      "overwrite",
      [
        sent + " group→Group/p1 tags=[Tag/p1]",
        "merged Task/p1 title=client group=base tags=base",
      ]
    ),
    (
      "rollback",
      ["update Task/p1 v3", "merged Task/p1 title=store group=store tags=store rank=store"]
    ),
    (
      "mine",
      [
        #"update Task/p1 v3 rank=9 title="a+c+mine" group→Group/p1"#,
        "merged Task/p1 title=policy group=base tags=store",
      ]
    ),
  ])
  func `each policy decides property by property`(policy: String, expected: [String]) throws {
    try check(
      try run(),
      """
      {"update": [{"id": "Task/p1", "version": 1, "values": {"title": "mine", "rank": 9}}],
       "mergePolicy": "\(policy)"}
      """,
      expected,
      decisions: [
        "mine": { conflict in
          switch conflict.property {
          case "title":
            let values = [conflict.base, conflict.store, conflict.client ?? .null]
            return .value(.string(values.compactMap(\.string).joined(separator: "+")))
          case "group": return .base
          default: return .client
          }
        }
      ]
    )
  }

  @Test(arguments: [
    ("objectTrump", #"["Tag/p1","Tag/p2"]"#, "tags+[Tag/p2]-[]", "client"),
    ("storeTrump", #"["Tag/p1","Tag/p2"]"#, "tags+[Tag/p2]-[]", "client"),
    ("objectTrump", "[]", "tags+[]-[Tag/p1]", "client"),
    ("objectTrump", #"["Tag/p1"]"#, "", "store"),
    ("overwrite", #"["Tag/p2"]"#, "tags=[Tag/p2]", "client"),
    ("overwrite", #"{"@add": ["Tag/p2"]}"#, "tags=[Tag/p1,Tag/p2]", "client"),
    ("objectTrump", #"{"@remove": ["Tag/p1"]}"#, "tags+[]-[Tag/p1]", "client"),
    ("rollback", #"["Tag/p2"]"#, "", "store"),
  ])
  func `a list merges as what the client added and removed`(
    policy: String,
    list: String,
    link: String,
    outcome: String
  ) throws {
    let run = try run()
    let merger = try run.merge(
      """
      {"update": [{"id": "Task/p1", "version": 2, "values": {"tags": \(list)}}],
       "mergePolicy": "\(policy)"}
      """
    )
    let lines = StageText(run.layout).lines(merger)
    // Under `overwrite` the title and the group go back too, which another test asserts.
    let update = lines.first?.replacing(#" title="b""#, with: "")
      .replacing(" group→Group/p1", with: "")
    #expect(update == "update Task/p1 v3" + (link.isEmpty ? "" : " " + link))
    #expect(lines.last?.hasSuffix(" tags=\(outcome)") == true, "\(lines)")
  }

  @Test func `an order that the client sends holds, with the members of others after it`() throws {
    var run = try StageRun(
      """
      {"Tag/p1": {"name": "a"}, "Tag/p2": {"name": "b"}, "Tag/p3": {"name": "c"},
       "Group/p1": {"@version": 2, "colors": ["Tag/p1", "Tag/p2", "Tag/p3"]}}
      """
    )
    run.history = PlainHistory([
      run.row(1, "Group/p1", .link, "colors", other: 3),
      run.row(2, "Group/p1", .update, version: 2),
    ])
    for (policy, expected) in [
      ("objectTrump", ["update Group/p1 v2 colors=[Tag/p2,Tag/p1,Tag/p3]", "client"]),
      ("storeTrump", ["update Group/p1 v2", "store"]),
      ("overwrite", ["update Group/p1 v2 colors=[Tag/p2,Tag/p1]", "client"]),
    ] {
      try check(
        run,
        """
        {"update": [{"id": "Group/p1", "version": 1, "values": {"colors": ["Tag/p2", "Tag/p1"]}}],
         "mergePolicy": "\(policy)"}
        """,
        [expected[0], "merged Group/p1 colors=\(expected[1])"]
      )
    }
  }

  @Test(arguments: [
    ("error", ["conflict Task/p1"], 0),
    ("objectTrump", ["delete Task/p1", "merged Task/p1 delete=client"], 0),
    ("overwrite", ["delete Task/p1", "merged Task/p1 delete=client"], 0),
    ("storeTrump", ["merged Task/p1 delete=store"], 1),
    ("rollback", ["merged Task/p1 delete=store"], 1), ("mine", ["merged Task/p1 delete=store"], 1),
  ])
  func `a delete with an older version follows the policy`(
    policy: String,
    expected: [String],
    skipped: Int
  ) throws {
    let run = try run()
    let merger = try run.merge(
      #"{"delete": [{"id": "Task/p1", "version": 2}], "mergePolicy": "\#(policy)"}"#
    )
    #expect(StageText(run.layout).lines(merger) == expected)
    #expect(merger.skippedDeletes.count == skipped)
  }

  @Test func `the present version conflicts with nothing`() throws {
    try check(
      try run(),
      """
      {"update": [{"id": "Task/p1", "version": 3, "values": {"title": "mine"}}],
       "delete": [{"id": "Task/p2", "version": 1}]}
      """,
      [#"update Task/p1 v3 title="mine""#, "delete Task/p2"]
    )
  }

  @Test func `without a log all sent properties count as changed`() throws {
    func request(_ policy: String) -> String {
      """
      {"update": [{"id": "Task/p1", "version": 1, "values": {"rank": 9}}],
       "mergePolicy": "\(policy)"}
      """
    }
    let run = try run(isPurged: true)
    try check(
      run,
      request("error"),
      ["conflict Task/p1.rank null 5 9", "update Task/p1 v3 rank=9"]
    )
    try check(
      run,
      request("objectTrump"),
      ["update Task/p1 v3 rank=9", "merged Task/p1 rank=client"]
    )
    try check(run, request("storeTrump"), ["update Task/p1 v3", "merged Task/p1 rank=store"])
    let error = #expect(throws: StoreError.self) { try run.merge(request("overwrite")) }
    #expect(error?.code == .historyExpired)
  }

  @Test(arguments: [
    (
      "", ["update Task/p1 v3 rank=9", "merged Task/p1 code=store"]
    ),
    (
      #", {"id": "Task/p2", "values": {"code": "free"}}"#,
      [
        #"update Task/p1 v3 rank=9 code="taken""#, #"update Task/p2 v1 code="free""#,
      ]
    ),
  ])
  func `an update leaves unique values to the object that keeps them`(
    others: String,
    expected: [String]
  ) throws {
    for policy in ["storeTrump", "rollback"] {
      try check(
        try run(),
        """
        {"update": [{"id": "Task/p1", "values": {"rank": 9, "code": "taken"}}\(others)],
         "mergePolicy": "\(policy)"}
        """,
        expected
      )
    }
  }

  @Test func `an update takes the unique values of an object that the save deletes`() throws {
    try check(
      try run(),
      """
      {"update": [{"id": "Task/p1", "values": {"code": "taken"}}], "delete": ["Task/p2"],
       "mergePolicy": "storeTrump"}
      """,
      [#"update Task/p1 v3 code="taken""#, "delete Task/p2"]
    )
  }

  @Test(arguments: [("objectTrump", "client"), ("storeTrump", "store")])
  func `the outcome of an insert that matches an object is reported`(
    policy: String,
    outcome: String
  ) throws {
    let merger = try run().merge(
      """
      {"insert": [{"id": "Tag/sred", "values": {"shade": "pale", "name": "red"}}],
       "mergePolicy": "\(policy)"}
      """
    )
    let lines = StageText(try StagesModel.layout()).lines(merger)
    #expect(lines.last == "merged Tag/p1 shade=\(outcome)")
  }
}

@Suite struct `The merger reads the members of one-to-manys from the log` {
  /// Task/p2 joined the group with the first row, and Task/p3 left it with the second.
  private func run() throws -> StageRun {
    var run = try StageRun(
      """
      {"Group/p1": {"tasks": ["Task/p1", "Task/p2"]}, "Group/p2": {}, "Task/p1": {}, "Task/p2": {},
       "Task/p3": {}}
      """
    )
    run.history = PlainHistory([
      run.row(1, "Task/p2", .update, #""group":2"#, version: 2),
      run.row(2, "Task/p3", .update, #""group":1"#, version: 2),
    ])
    return run
  }

  private static let base = #"conflict Group/p1.tasks ["Task/p1","Task/p3"] ["Task/p1","Task/p2"] "#

  @Test(
    arguments: [
      // The client does not know of Task/p2.
      (["Task/p1"], nil, true),
      // It believes that Task/p3 is a member.
      (["Task/p1", "Task/p2", "Task/p3"], nil, true), (["Task/p1", "Task/p2"], nil, false),
      (["Task/p2"], nil, false), (["Task/p1"], "2", false),
      (["Task/p1", "Task/p2", "Task/p3"], "1", true), (["Task/p1"], "1", false),
    ] as [([String], String?, Bool)]
  )
  func `a list that contradicts other saves is a conflict`(
    sent: [String],
    token: String?,
    isConflict: Bool
  ) throws {
    let list = JSONValue.array(sent.map { .string($0) }).text
    let asOf = token.map { #""asOf": "\#($0)", "# } ?? ""
    let merger = try run().merge(
      """
      {"update": [{"id": "Group/p1", "version": 1, \(asOf)"values": {"tasks": \(list)}}]}
      """
    )
    #expect(merger.conflicts.map(\.property) == (isConflict ? ["tasks"] : []))
    #expect(merger.conflicts.map(\.isMembership) == (isConflict ? [true] : []))
    guard isConflict, token == nil else { return }
    let lines = StageText(try StagesModel.layout()).lines(merger)
    #expect(lines.first == Self.base + list)
  }

  @Test(arguments: [
    ("objectTrump", "[]", " tasks+[]-[Task/p1,Task/p3]", "client"),
    ("storeTrump", #"["Task/p1"]"#, " tasks+[]-[Task/p3]", "client"),
    ("objectTrump", #"["Task/p1", "Task/p3"]"#, "", "store"),
    ("overwrite", #"["Task/p1"]"#, " tasks=[Task/p1]", "client"),
    ("rollback", #"["Task/p1"]"#, "", "store"),
  ])
  func `a policy merges the list`(
    policy: String,
    list: String,
    link: String,
    outcome: String
  ) throws {
    let run = try run()
    let merger = try run.merge(
      """
      {"update": [{"id": "Group/p1", "version": 1, "values": {"tasks": \(list)}}],
       "mergePolicy": "\(policy)"}
      """
    )
    #expect(
      StageText(run.layout).lines(merger) == [
        "update Group/p1 v1" + link, "merged Group/p1 tasks=\(outcome)",
      ]
    )
  }

  @Test func `members that are added and removed contradict nothing`() throws {
    let merger = try run().merge(
      """
      {"update": [{"id": "Group/p1", "version": 1,
                   "values": {"tasks": {"@add": ["Task/p3"], "@remove": ["Task/p2"]}}}]}
      """
    )
    #expect(merger.conflicts.isEmpty)
  }

  @Test func `an unknown token is refused`() throws {
    let error = #expect(throws: StoreError.self) {
      try run().merge(
        """
        {"update": [{"id": "Group/p1", "version": 1, "asOf": "9", "values": {"tasks": []}}]}
        """
      )
    }
    #expect(error?.code == .historyExpired)
  }
}
