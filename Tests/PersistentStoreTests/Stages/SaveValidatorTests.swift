import CordialValues
import JSON
import PersistentStore
import Testing

@Suite struct `The validator checks the objects that the whole save leaves` {
  private static let employee = StagesModel.employee(1)
  private static let stored = """
    {"Group/p1": {"tasks": ["Task/p3"], "reports": ["Report/p1"]}, "Group/p2": {}, "Report/p1": {},
     "Task/p1": {"code": "x"}, "Task/p2": {"code": "y"}, "Task/p3": {"title": "a"},
     "Team/p1": {"players": ["Player/p1"]},
     "Team/p2": {"players": ["Player/p2", "Player/p3", "Player/p4"]},
     "Player/p1": {}, "Player/p2": {}, "Player/p3": {}, "Player/p4": {}, "Player/p5": {},
     "Person/p1": {"email": "a"}, "\(employee)": {"email": "b"}, "Tag/p1": {"name": "red"}}
    """

  private static func update(_ id: String, _ values: String) -> String {
    #"{"id": "\#(id)", "values": {\#(values)}}"#
  }

  /// What the writer looks up once an index of SQLite refuses a row, and the validator once it has
  /// found another problem.
  private func violations(_ request: String) throws -> [SaveProblem] {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve("{\(request)}")
    let graph = try run.plan(resolver).plan.graph
    var check = UniquenessCheck(run.layout, graph, SaveLabels { resolver.labels })
    return try check.violations(includesIndexed: true)
  }

  private func check(
    _ request: String,
    _ expected: [String],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let problems = try StageRun(Self.stored).validate("{\(request)}")
    #expect(lines(problems) == expected, sourceLocation: location)
  }

  @Test(
    arguments: [
      (#""insert": [{"id": "Report/t1"}]"#, ["required Report/t1.group"]),
      (
        """
        "insert": [{"id": "Report/t1"}],
        "update": [{"id": "Group/p1", "values": {"reports": {"@add": ["Report/t1"]}}}]
        """, []
      ),
      (
        #""insert": [{"id": "Report/t1"}, {"id": "Group/t1", "values": {"reports": ["Report/t1"]}}]"#,
        []
      ),
      (
        #""update": [{"id": "Report/p1", "values": {"group": null}}]"#, ["required Report/p1.group"]
      ),
      (#""update": [{"id": "Group/p1", "values": {"reports": []}}]"#, ["required Report/p1.group"]),
      (#""delete": ["Group/p1"]"#, ["deny Group/p1"]),
      (
        """
        "update": [{"id": "Group/p1", "values": {"reports": {"@remove": ["Report/p1"]}}},
                   {"id": "Group/p2", "values": {"reports": {"@add": ["Report/p1"]}}}]
        """, []
      ),
      (
        """
        "update": [{"id": "Group/p2", "values": {"reports": {"@add": ["Report/p1"]}}},
                   {"id": "Group/p1", "values": {"reports": {"@remove": ["Report/p1"]}}}]
        """, []
      ),
      (
        """
        "update": [{"id": "Group/p1", "values": {"reports": {"@remove": ["Report/p1"]}}}],
        "delete": ["Report/p1"]
        """, []
      ),
      (#""insert": [{"id": "Report/t1"}], "delete": ["Report/t1"]"#, []),
    ] as [(String, [String])]
  )
  func `a required to-one may be given from the other end`(
    request: String,
    expected: [String]
  ) throws {
    try check(request, expected)
  }

  @Test(arguments: [
    (#""insert": [{"id": "Task/t1", "values": {"rank": -1}}]"#, ["minimum Task/t1.rank"]),
    (#""insert": [{"id": "Task/t1", "values": {"rank": null}}]"#, ["required Task/t1.rank"]),
    (#""update": [{"id": "Task/p1", "values": {"rank": null}}]"#, ["required Task/p1.rank"]),
    (#""insert": [{"id": "Tag/t1"}]"#, ["required Tag/t1.name"]),
    // A value that could not be read is one problem only.
    (#""insert": [{"id": "Task/t1", "values": {"rank": "x"}}]"#, ["type Task/t1.rank"]),
    (#""insert": [{"id": "Report/t1", "values": {"group": 1}}]"#, ["type Report/t1.group"]),
    (
      #""insert": [{"id": "Team/t1", "values": {"players": ["Player/p9"]}}]"#,
      ["exists Player/p9"]
    ),
    (
      #""update": [{"id": "Task/p1", "values": {"rank": -1}}], "delete": ["Task/p2"]"#,
      [
        "minimum Task/p1.rank"
      ]
    ),
  ])
  func `values are checked once`(request: String, expected: [String]) throws {
    try check(request, expected)
  }

  @Test(
    arguments: [
      ([update("Task/p1", #""code": "y""#), update("Task/p2", #""code": "x""#)], "", []),
      ([update("Task/p1", #""code": "y""#)], "", ["unique Task/p1"]),
      ([update("Task/p1", #""code": "y""#), update("Task/p2", #""code": null"#)], "", []),
      ([update("Task/p1", #""code": "y""#)], #""Task/p2""#, []),
      (
        [update("Task/p1", #""code": "z""#), update("Task/p2", #""code": "z""#)], "",
        [
          "unique Task/p2"
        ]
      ),
      ([update("Task/p1", #""title": "a""#)], "", []),
      ([update("Task/p1", #""title": "a", "group": "Group/p1""#)], "", ["unique Task/p1"]),
      (
        [
          update("Task/p1", #""title": "a""#),
          update("Group/p1", #""tasks": {"@add": ["Task/p1"]}"#),
        ],
        "", ["unique Task/p1"]
      ),
      (
        [update("Task/p1", #""title": "a""#), update("Group/p1", #""tasks": ["Task/p1"]"#)], "", []
      ),
      ([update(employee, #""email": "a""#)], "", ["unique \(employee)"]),
      ([update(employee, #""email": "a""#), update("Person/p1", #""email": "b""#)], "", []),
    ] as [([String], String, [String])]
  )
  func `unique values are compared in the end state`(
    updates: [String],
    deleted: String,
    expected: [String]
  ) throws {
    let found = try violations(
      #""update": [\#(updates.joined(separator: ", "))], "delete": [\#(deleted)]"#
    )
    #expect(found.map { "\($0.rule) \($0.id)" } == expected)
  }

  @Test(
    arguments: [
      (#"{"id": "Task/t1", "values": {"code": "x"}}"#, ["unique Task/t1"]),
      (#"{"entity": "Task"}, {"entity": "Task"}"#, []),
      (
        #"{"id": "Task/t1", "values": {"code": "z"}}, {"id": "Task/t2", "values": {"code": "z"}}"#,
        ["unique Task/t2"]
      ),
      (#"{"id": "Employee/t1", "values": {"email": "a"}}"#, ["unique Employee/t1"]),
      (#"{"id": "Person/t1", "values": {"email": "b"}}"#, ["unique Person/t1"]),
      (
        """
        {"id": "Person/t1", "values": {"email": "c"}}, {"id": "Employee/t1", "values": {"email": "c"}}
        """, ["unique Employee/t1"]
      ), (#"{"id": "Tag/sred"}"#, ["unique Tag/sred"]),
    ] as [(String, [String])]
  )
  func `a new object has unique values of its own`(inserts: String, expected: [String]) throws {
    let found = try violations(#""insert": [\#(inserts)]"#)
    #expect(found.map { "\($0.rule) \($0.id)" } == expected)
  }

  @Test func `the hint names the object that has the values`() throws {
    let found = try violations(#""insert": [{"id": "Task/t1", "values": {"code": "x"}}]"#)
    #expect(
      found.first?.details == [
        JSONMember("properties", ["code"]), JSONMember("existing", "Task/p1"),
      ]
    )
    #expect(found.first?.code == .uniquenessViolation)
  }

  @Test func `sets of a family are looked up before SQLite can report them`() throws {
    let run = try StageRun(Self.stored)
    let plan = try run.plan(
      """
      {"insert": [{"id": "Employee/t1", "values": {"email": "a"}},
                  {"id": "Task/t1", "values": {"code": "x"}}]}
      """
    ).plan
    for (includesIndexed, expected) in [
      (false, ["Employee/t1"]), (true, ["Employee/t1", "Task/t1"]),
    ] {
      var check = UniquenessCheck(run.layout, plan.graph, SaveLabels())
      let found = try check.violations(includesIndexed: includesIndexed)
      #expect(found.map(\.id) == expected)
    }
  }

  @Test(
    arguments: [
      (#""insert": [{"id": "Team/t1"}]"#, ["minimumCount Team/t1.players"]),
      (
        #""insert": [{"id": "Team/t1"}, {"id": "Player/t1", "values": {"team": "Team/t1"}}]"#, []
      ),
      (
        #""update": [{"id": "Player/p1", "values": {"team": null}}]"#,
        ["minimumCount Team/p1.players"]
      ),
      (#""delete": ["Player/p1"]"#, ["minimumCount Team/p1.players"]),
      (#""delete": ["Player/p1", "Team/p1"]"#, []),
      (
        #""update": [{"id": "Player/p5", "values": {"team": "Team/p2"}}]"#,
        ["maximumCount Team/p2.players"]
      ),
      (
        #""update": [{"id": "Player/p5", "values": {"team": "Team/p2"}}], "delete": ["Player/p2"]"#,
        []
      ),
      (
        """
        "update": [{"id": "Team/p1", "values": {"players": ["Player/p2"]}},
                   {"id": "Team/p2", "values": {"players": {"@add": ["Player/p1"]}}}]
        """, []
      ),
      (
        """
        "update": [{"id": "Team/p1", "values": {"players":
          {"@add": ["Player/p2", "Player/p3", "Player/p4"]}}}]
        """, ["maximumCount Team/p1.players", "minimumCount Team/p2.players"]
      ),
    ] as [(String, [String])]
  )
  func `members are counted in the end state`(request: String, expected: [String]) throws {
    try check(request, expected)
  }

  @Test func `members are counted without loading them`() throws {
    let run = try StageRun(Self.stored)
    let problems = try run.validate(
      #"{"update": [{"id": "Player/p5", "values": {"team": "Team/p1"}}]}"#
    )
    #expect(problems.problems.isEmpty)
    #expect(run.objects.lookups["memberCount"] == 1)
    #expect(run.objects.lookups["members"] == nil)
  }

  @Test func `all problems are reported at once`() throws {
    try check(
      """
      "insert": [{"id": "Report/t1"}, {"id": "Task/t1", "values": {"rank": -1, "nope": 1}},
                 {"id": "Team/t1"}, {"id": "Task/t2", "values": {"code": "x"}},
                 {"id": "Tag/sred"}],
      "update": [{"id": "Player/p1", "values": {"team": null}},
                 {"id": "Task/p2", "values": {"rank": "x"}}],
      "delete": ["Group/p1"]
      """,
      [
        "property Task/t1.nope", "type Task/p2.rank", "deny Group/p1",
        "required Report/t1.group", "minimum Task/t1.rank",
        "minimumCount Team/p1.players", "minimumCount Team/t1.players",
        "unique Task/t2", "unique Tag/sred",
      ]
    )
  }

  /// The update of the object that does not exist might have set the required relationship.
  @Test func `required to-ones are not checked when an update names an unknown object`() throws {
    try check(
      """
      "insert": [{"id": "Report/t1"}, {"id": "Task/t1", "values": {"rank": -1}}],
      "update": [{"id": "Player/p9", "values": {"team": null}}]
      """,
      ["exists Player/p9", "minimum Task/t1.rank"]
    )
  }

  @Test func `1,000 problems are reported at most`() throws {
    let inserts = (1...1100).map { #"{"id": "Report/t\#($0)"}"# }.joined(separator: ",")
    let problems = try StageRun(Self.stored).validate(#"{"insert": [\#(inserts)]}"#)
    #expect(problems.problems.count == ProblemList.problemsMax)
    #expect(problems.error?.problems.count == 1000)
  }
}
