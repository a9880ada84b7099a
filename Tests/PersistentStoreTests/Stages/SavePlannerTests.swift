import CordialValues
import JSON
import PersistentStore
import Testing

@Suite struct `The planner sets both ends` {
  private static let stored = """
    {"Group/p1": {"tasks": ["Task/p1"]}, "Group/p2": {}, "Task/p1": {"memo": "Memo/p1"},
     "Task/p2": {"tags": ["Tag/p2"]}, "Memo/p1": {"task": "Task/p1"}, "Memo/p2": {}, "Memo/p3": {},
     "Tag/p1": {"name": "red"}, "Tag/p2": {"name": "blue"}}
    """

  private func check(
    _ request: String,
    _ expected: [String],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let run = try StageRun(Self.stored)
    let plan = try run.plan(request).plan
    #expect(StageText(run.layout).lines(plan) == expected, sourceLocation: location)
  }

  @Test func `of a one-to-many`() throws {
    try check(
      #"{"insert": [{"id": "Task/t1", "values": {"group": "Group/p1"}}]}"#,
      ["insert Task/t1 group=Group/p1"]
    )
    try check(
      """
      {"insert": [{"id": "Task/t1"}],
       "update": [{"id": "Group/p1", "values": {"tasks": ["Task/t1", "Task/p2"]}}]}
      """,
      [
        "insert Task/t1 group=Group/p1", "update Task/p2 group=Group/p1",
        "update Task/p1 group=null",
      ]
    )
    try check(
      """
      {"update": [{"id": "Group/p2", "values": {"tasks": {"@add": ["Task/p1"]}}},
                  {"id": "Group/p1", "values": {"tasks": {"@remove": ["Task/p1"]}}}]}
      """,
      ["update Task/p1 group=Group/p2"]
    )
  }

  @Test func `of link rows, each of which is one whichever end names it`() throws {
    try check(
      """
      {"update": [{"id": "Task/p1", "values": {"tags": ["Tag/p1"], "friends": ["Task/p2"]}},
                  {"id": "Tag/p1", "values": {"tasks": {"@add": ["Task/p1"]}}},
                  {"id": "Task/p2", "values": {"friends": {"@add": ["Task/p1", "Task/p2"]}}}]}
      """,
      [
        "link Task/p1.tags Tag/p1", "link Task/p1.friends Task/p2",
        "link Task/p2.friends Task/p2", "increment [Task/p1,Tag/p1,Task/p2]",
      ]
    )
    try check(
      """
      {"insert": [{"id": "Task/t1", "values": {"tags": ["Tag/snew"]}}, {"id": "Tag/snew"}]}
      """,
      [
        "insert Task/t1", #"insert Tag/snew name="new""#, "link Task/t1.tags Tag/snew",
        "increment [Task/t1,Tag/snew]",
      ]
    )
  }

  @Test func `of link rows that end as they are stored, which are no change`() throws {
    try check(
      """
      {"update": [{"id": "Task/p1", "values": {"tags": {"@add": ["Tag/p1"]}}},
                  {"id": "Tag/p1", "values": {"tasks": {"@remove": ["Task/p1"]}}},
                  {"id": "Task/p2", "values": {"tags": []}},
                  {"id": "Tag/p2", "values": {"tasks": ["Task/p2"]}}]}
      """,
      []
    )
  }

  @Test func `but counts only the owner where there is no inverse`() throws {
    try check(
      #"{"update": [{"id": "Group/p1", "values": {"colors": {"@add": ["Tag/p1"]}}}]}"#,
      ["link Group/p1.colors Tag/p1", "increment [Group/p1]"]
    )
  }

  @Test func `of a one-to-one, which the later claim gets`() throws {
    try check(
      #"{"update": [{"id": "Memo/p2", "values": {"task": "Task/p1"}}]}"#,
      ["update Memo/p2 task=Task/p1", "update Memo/p1 task=null", "update Task/p1 memo=Memo/p2"]
    )
    try check(
      """
      {"update": [{"id": "Memo/p2", "values": {"task": "Task/p1"}},
                  {"id": "Memo/p3", "values": {"task": "Task/p1"}}]}
      """,
      [
        "update Memo/p2 task=null", "update Memo/p1 task=null", "update Task/p1 memo=Memo/p3",
        "update Memo/p3 task=Task/p1",
      ]
    )
    try check(
      #"{"update": [{"id": "Task/p1", "values": {"memo": null}}]}"#,
      ["update Memo/p1 task=null", "update Task/p1 memo=null"]
    )
    try check(
      """
      {"insert": [{"id": "Memo/t1", "values": {"task": "Task/p1"}}],
       "update": [{"id": "Task/p2", "values": {"memo": "Memo/t1"}}]}
      """,
      [
        "insert Memo/t1 task=Task/p2", "update Memo/p1 task=null", "update Task/p1 memo=null",
        "update Task/p2 memo=Memo/t1",
      ]
    )
  }

  @Test func `and reports properties that change without being sent`() throws {
    let run = try StageRun(Self.stored)
    let plan = try run.plan(
      """
      {"update": [{"id": "Group/p2", "values": {"tasks": ["Task/p1"]}},
                  {"id": "Memo/p2", "values": {"task": "Task/p1"}}]}
      """
    ).plan
    #expect(
      plan.followed == [
        run.objects.key("Task/p1"): ["group", "memo"], run.objects.key("Memo/p1"): ["task"],
      ]
    )
  }
}

@Suite struct `The planner applies delete rules to the graph that the save leaves` {
  private static let stored = """
    {"Group/p1": {"tasks": ["Task/p1", "Task/p2"], "queue": ["Task/p2", "Task/p3"],
                  "colors": ["Tag/p1"]},
     "Group/p2": {}, "Task/p1": {"memo": "Memo/p1", "tags": ["Tag/p1"], "friends": ["Task/p3"]},
     "Task/p2": {}, "Task/p3": {}, "Memo/p1": {"task": "Task/p1"}, "Memo/p2":
     {"writer": "Person/p1"}, "Person/p1": {}, "Report/p1": {"group": "Group/p2"},
     "Tag/p1": {"name": "red"}}
    """

  @Test(arguments: [
    // To-ones without inverse are nullified, and so are those of the other end.
    (#""delete": ["Person/p1"]"#, ["update Memo/p2 writer=null", "delete Person/p1"]),
    (#""delete": ["Memo/p1"]"#, ["update Task/p1 memo=null", "delete Memo/p1"]),
    (
      #""delete": ["Tag/p1"]"#,
      [
        "delete Tag/p1", "unlink Task/p1.tags Tag/p1", "unlink Group/p1.colors Tag/p1",
        "increment [Task/p1,Tag/p1,Group/p1]",
      ]
    ),
    (
      #""delete": ["Group/p1"]"#,
      [
        "update Task/p3 line=null", "delete Group/p1", "delete Task/p1", "delete Task/p2",
        "delete Memo/p1", "unlink Group/p1.colors Tag/p1", "unlink Task/p1.tags Tag/p1",
        "unlink Task/p1.friends Task/p3", "increment [Group/p1,Task/p1,Tag/p1,Task/p3]",
      ]
    ),
    // What joined cascades, and what left does not.
    (
      """
      "insert": [{"id": "Task/t1", "values": {"group": "Group/p2"}}],
      "update": [{"id": "Task/p2", "values": {"group": "Group/p2"}},
                 {"id": "Report/p1", "values": {"group": "Group/p1"}}],
      "delete": ["Group/p2"]
      """,
      [
        "insert Task/t1 group=Group/p2", "update Task/p2 group=Group/p2",
        "update Report/p1 group=Group/p1", "delete Group/p2", "delete Task/t1", "delete Task/p2",
      ]
    ),
    (
      #""insert": [{"id": "Task/t1"}], "delete": ["Task/t1"]"#,
      ["insert Task/t1", "delete Task/t1"]
    ),
    // What denies may be deleted with it.
    (#""delete": ["Group/p2", "Report/p1"]"#, ["delete Group/p2", "delete Report/p1"]),
  ])
  func `deleting`(request: String, expected: [String]) throws {
    let run = try StageRun(Self.stored)
    let planner = try run.plan("{\(request)}")
    #expect(StageText(run.layout).lines(planner.plan) == expected)
    #expect(planner.problems.problems.isEmpty)
  }

  @Test func `the rule deny names the objects that remain`() throws {
    let planner = try StageRun(Self.stored).plan(#"{"delete": ["Group/p2"]}"#)
    #expect(lines(planner.problems) == ["deny Group/p2"])
    #expect(
      planner.problems.problems.first?.details == [
        JSONMember("relationship", "reports"), JSONMember("holders", ["Report/p1"]),
      ]
    )
  }
}

@Suite struct `The planner moves as few members as possible` {
  private static let stored = """
    {"Group/p1": {"queue": ["Task/p1", "Task/p2", "Task/p3", "Task/p4"],
                  "colors": ["Tag/p1", "Tag/p2"]},
     "Task/p1": {}, "Task/p2": {}, "Task/p3": {}, "Task/p4": {}, "Task/p5": {}, "Task/p6": {},
     "Tag/p1": {"name": "red"}, "Tag/p2": {"name": "blue"}, "Tag/p3": {"name": "green"}}
    """

  @Test(
    arguments: [
      (#""queue": ["Task/p1", "Task/p2", "Task/p3", "Task/p4"]"#, []),
      (
        #""queue": ["Task/p1", "Task/p2", "Task/p4", "Task/p3"]"#,
        ["position Group/p1.queue Task/p4=163840", "increment [Group/p1]"]
      ),
      (
        #""queue": ["Task/p4", "Task/p1", "Task/p2", "Task/p3"]"#,
        ["position Group/p1.queue Task/p4=0", "increment [Group/p1]"]
      ),
      (
        #""queue": {"@add": ["Task/p1"], "@at": 3}"#,
        ["position Group/p1.queue Task/p1=327680", "increment [Group/p1]"]
      ),
      (
        #""queue": {"@add": ["Task/p5"], "@at": 1}"#,
        [
          "update Task/p5 line=Group/p1", "position Group/p1.queue Task/p5=98304 joins",
          "increment [Group/p1]",
        ]
      ),
      // The trigger appends one member, and changes no version of the owner.
      (#""queue": {"@add": ["Task/p5"]}"#, ["update Task/p5 line=Group/p1"]),
      // It appends several in the order in which they are written.
      (
        #""queue": {"@add": ["Task/p6", "Task/p5"]}"#,
        ["update Task/p6 line=Group/p1", "update Task/p5 line=Group/p1"]
      ),
      (#""queue": {"@remove": ["Task/p2"]}"#, ["update Task/p2 line=null"]),
      (
        #""colors": ["Tag/p2", "Tag/p1"]"#,
        ["position Group/p1.colors Tag/p2=0", "increment [Group/p1]"]
      ),
      (
        #""colors": ["Tag/p3", "Tag/p1"]"#,
        [
          "link Group/p1.colors Tag/p3", "unlink Group/p1.colors Tag/p2",
          "position Group/p1.colors Tag/p3=0 joins", "increment [Group/p1]",
        ]
      ),
    ] as [(String, [String])]
  )
  func `of a stored owner`(sent: String, expected: [String]) throws {
    let run = try StageRun(Self.stored)
    let plan = try run.plan(#"{"update": [{"id": "Group/p1", "values": {\#(sent)}}]}"#).plan
    #expect(StageText(run.layout).lines(plan) == expected)
  }

  @Test func `of a new owner`() throws {
    let run = try StageRun(Self.stored)
    let plan = try run.plan(
      #"{"insert": [{"id": "Group/t1", "values": {"queue": ["Task/p6", "Task/p5"]}}]}"#
    ).plan
    #expect(
      StageText(run.layout).lines(plan) == [
        "insert Group/t1", "update Task/p6 line=Group/t1", "update Task/p5 line=Group/t1",
        "position Group/t1.queue Task/p6=65536 joins",
        "position Group/t1.queue Task/p5=131072 joins",
      ]
    )
  }

  @Test func `an offset beyond the order is a problem`() throws {
    let planner = try StageRun(Self.stored).plan(
      #"{"update": [{"id": "Group/p1", "values": {"queue": {"@add": ["Task/p5"], "@at": 5}}}]}"#
    )
    #expect(lines(planner.problems) == ["place Group/p1.queue"])
  }

  @Test(
    arguments: [
      ([nil, nil], [10, 20]), ([5, nil], [5, 15]), ([nil, 5], [-5, 5]),
      ([10, nil, 20], [10, 15, 20]),
      ([3, 1, 2], [-9, 1, 2]), ([1, nil, 2], [10, 20, 30]), ([], []), ([7, 7], [-3, 7]),
      ([10, 40, 30, 20, 50], [10, 13, 16, 20, 50]),
    ] as [([Int64?], [Int64])]
  )
  func `sort positions stay where they ascend`(present: [Int64?], expected: [Int64]) {
    #expect(SortPositions.assign(present, gap: 10) == expected)
  }
}

@Suite struct `The planner reads only the members that it needs` {
  @Test(arguments: [
    "Group/p1.tasks Task", "Group/p1.queue Task", "Tag/p1.tasks Task", "Group/p1.colors Tag",
    "Team/p1.players Player",
  ])
  func `an edit of a list of 100,000 members`(list: String) throws {
    let parts = list.split { ". ".contains($0) }.map(String.init)
    let run = try StageRun(#"{"Group/p1": {}, "Tag/p1": {"name": "red"}, "Team/p1": {}}"#)
    let owner = run.objects.key(parts[0])
    let toMany = try #require(
      run.layout.entity(owner).relationships.first { $0.name == parts[1] }
    )
    let members = (2...100_001).map { Int64($0) }
    for member in members + [100_002] { run.objects.add(toMany.target(member)) }
    run.objects.setMembers(members, of: toMany, owner)
    let plan = try run.plan(
      """
      {"update": [{"id": "\(parts[0])", "values": {"\(parts[1])":
        {"@add": ["\(parts[2])/p100002"], "@remove": ["\(parts[2])/p77"]}}}]}
      """
    ).plan
    #expect(plan.graph.updates.count + Array(plan.graph.links).count == 2)
    let asked = run.objects.lookups
    for lookup in ["members", "holders", "linkSources", "positions", "row"] {
      #expect(asked[lookup] == nil, "\(asked)")
    }
    #expect(asked.values.reduce(0, +) <= 20, "\(asked)")
  }
}
