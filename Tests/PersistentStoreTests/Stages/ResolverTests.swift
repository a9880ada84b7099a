import CordialValues
import PersistentStore
import Testing

@Suite struct `The resolver turns names into keys` {
  private static let stored = """
    {"Group/p1": {"title": "home"}, "Group/p2": {}, "Task/p5": {"code": "x", "group": "Group/p1"},
     "Tag/p3": {"name": "red"}}
    """

  private func check(
    _ request: String,
    _ expected: [String],
    problems: [String] = [],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve(request)
    #expect(StageText(run.layout).lines(resolver.resolved) == expected, sourceLocation: location)
    #expect(lines(resolver.problems) == problems, sourceLocation: location)
  }

  @Test func `a temporary ID names an insert before and after it`() throws {
    try check(
      """
      {"insert": [{"id": "Task/t1", "values": {"group": "Group/tnew", "friends": ["Task/t1"]}},
                  {"id": "Group/tnew"}, {"entity": "Memo", "values": {"task": "Task/t1"}}],
       "update": [{"id": "Task/p5", "values": {"line": "Group/tnew"}}]}
      """,
      [
        "insert Task/t1 group→Group/tnew friends=[Task/t1]", "insert Group/tnew",
        "insert insert[2] task→Task/t1", "update Task/p5 v1 line→Group/tnew",
      ]
    )
  }

  @Test func `new objects get numbers that follow one another`() throws {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve(
      #"{"insert": [{"entity": "Task"}, {"entity": "Group"}, {"entity": "Task"}]}"#
    )
    #expect(resolver.resolved.keys.map { $0?.object } == [6, 3, 7])
  }

  @Test func `an identity names a stored object, and a new one that no stored object is`() throws {
    try check(
      """
      {"insert": [{"id": "Tag/sblue", "values": {"shade": "dark"}}],
       "update": [{"id": "Task/p5", "values": {"tags": ["Tag/sred", "Tag/sblue", "Tag/p3"]}},
                  {"id": "Tag/sred", "values": {"shade": "light"}}]}
      """,
      [
        #"insert Tag/sblue name="blue" shade="dark""#,
        "update Task/p5 v1 tags=[Tag/p3,Tag/sblue]", #"update Tag/p3 v1 shade="light""#,
      ]
    )
  }

  @Test func `the identity of a new object is found in its values too`() throws {
    try check(
      """
      {"insert": [{"id": "Tag/t1", "values": {"name": "blue"}},
                  {"id": "Task/t1", "values": {"tags": ["Tag/sblue"]}}]}
      """,
      [#"insert Tag/t1 name="blue""#, "insert Task/t1 tags=[Tag/t1]"]
    )
  }

  @Test(arguments: [
    (#"{"insert": [{"id": "Nope/t1"}]}"#, "entity Nope/t1"),
    (#"{"insert": [{"id": "Task/7"}]}"#, "identifier Task/7"),
    (#"{"insert": [{"id": "Task/p9"}]}"#, "identifier Task/p9"),
    (#"{"insert": [{"id": "Task/sblue"}]}"#, "identifier Task/sblue"),
    (#"{"update": [{"id": "Nope/p1"}]}"#, "entity Nope/p1"),
    (#"{"update": [{"id": "Task/t1"}]}"#, "identifier Task/t1"),
    (#"{"update": [{"id": "cordial://other/Task/p5"}]}"#, "identifier cordial://other/Task/p5"),
    (#"{"update": [{"id": "Task/p9"}]}"#, "exists Task/p9"),
    (#"{"delete": ["Task/p9"]}"#, "exists Task/p9"),
    (#"{"delete": ["Tag/sblue"]}"#, "exists Tag/sblue"),
  ])
  func `a change whose object is unknown is one problem and left out`(
    request: String,
    problem: String
  ) throws {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve(request)
    #expect(lines(resolver.problems) == [problem])
    #expect(StageText(run.layout).lines(resolver.resolved) == [])
    #expect(!resolver.skippedParts.isEmpty)
  }

  @Test func `a missing object is reported once however often the request names it`() throws {
    try check(
      """
      {"update": [{"id": "Task/p5", "values": {"title": "a", "group": "Group/p9"}},
                  {"id": "Group/p9", "values": {"title": "b"}},
                  {"id": "Group/p1", "values": {"tasks": {"@add": ["Task/p5", "Task/p9"]}}},
                  {"id": "Group/p2", "values": {"tasks": ["Task/p9"]}}],
       "delete": ["Group/p9"]}
      """,
      [#"update Task/p5 v1 title="a""#, "update Group/p1 v1", "update Group/p2 v1"],
      problems: ["exists Group/p9", "exists Task/p9"]
    )
  }

  @Test func `an unknown property is a problem and the other values are read`() throws {
    try check(
      """
      {"insert": [{"id": "Task/t1", "values": {"nope": 1, "title": "a"}}],
       "update": [{"id": "Task/p5", "values": {"title": "b", "never": 2}}]}
      """,
      [#"insert Task/t1 title="a""#, #"update Task/p5 v1 title="b""#],
      problems: ["property Task/t1.nope", "property Task/p5.never"]
    )
  }

  @Test(
    arguments: [
      (#""due": "2026-01-02T03:04:05Z""#, #"due="2026-01-02T03:04:05.000Z""#, nil),
      (#""price": "10.50""#, #"price="10.5""#, nil), (#""rank": 7"#, "rank=7", nil),
      (#""title": null"#, "title=null", nil), (#""title": 1"#, "", "type Task/p5.title"),
      (#""rank": 40000"#, "", "type Task/p5.rank"), (#""due": "soon""#, "", "type Task/p5.due"),
      (#""group": null"#, "group→null", nil), (#""group": 1"#, "", "type Task/p5.group"),
      (#""group": "Tag/p3""#, "", "type Task/p5.group"),
      (#""tags": null"#, "", "type Task/p5.tags"), (#""tags": [null]"#, "", "type Task/p5.tags"),
      (#""tags": {"@add": ["Tag/p3"], "@at": 0}"#, "", "type Task/p5.tags"),
      (#""tags": {"@add": ["Tag/p3"]}"#, "tags+[Tag/p3]-[]", nil),
      (#""tags": {"@add": ["Tag/p3"], "@remove": ["Tag/sred"]}"#, "tags+[]-[Tag/p3]", nil),
    ] as [(String, String, String?)]
  )
  func `wire values become typed values`(sent: String, read: String, problem: String?) throws {
    try check(
      #"{"update": [{"id": "Task/p5", "values": {\#(sent)}}]}"#,
      ["update Task/p5 v1" + (read.isEmpty ? "" : " " + read)],
      problems: problem.map { [$0] } ?? []
    )
  }

  @Test(arguments: [
    (#""update": [{"id": "Task/p5"}, {"id": "Task/p5"}]"#, "once Task/p5"),
    (#""update": [{"id": "Task/p5"}], "delete": ["Task/p5"]"#, "once Task/p5"),
    (#""update": [{"id": "Tag/sred"}], "delete": ["Tag/p3"]"#, "once Tag/p3"),
    (#""insert": [{"id": "Task/t1"}, {"id": "Task/t1"}]"#, "unique Task/t1"),
    (#""insert": [{"id": "Task/t1"}], "update": [{"id": "Task/t1"}]"#, "once Task/t1"),
    (#""update": [{"id": "Task/p5", "version": 2}]"#, "version Task/p5"),
    (#""update": [{"id": "Tag/sred", "values": {"name": "pink"}}]"#, "identity Tag/sred.name"),
    (#""insert": [{"id": "Tag/sa", "values": {"name": "b"}}]"#, "identity Tag/sa.name"),
  ])
  func `a contradiction within the request is a problem`(request: String, problem: String) throws {
    #expect(lines(try StageRun(Self.stored).resolve("{\(request)}").problems) == [problem])
  }

  @Test func `a problem names an object by the ID that the client sent`() throws {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve(
      #"{"update": [{"id": "Tag/sred"}, {"id": "Group/p1", "values": {"tasks": ["Task/p5"]}}]}"#
    )
    #expect(resolver.labels[run.objects.key("Tag/p3")] == "Tag/sred")
    #expect(resolver.labels[run.objects.key("Task/p5")] == "Task/p5")
  }
}

@Suite struct `The resolver matches inserts with objects` {
  private static let stored = """
    {"Group/p1": {}, "Task/p1": {"code": "x"}, "Task/p2": {"group": "Group/p1", "title": "mop"},
     "Tag/p3": {"name": "red", "shade": "dark"}, "Person/p1": {"email": "a"},
     "\(StagesModel.employee(1))": {"email": "b", "desk": 4}}
    """

  private func check(
    _ policy: String,
    _ request: String,
    _ expected: [String],
    problems: [String] = [],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let run = try StageRun(Self.stored)
    let resolver = try run.resolve(#"{"mergePolicy": "\#(policy)", \#(request)}"#)
    #expect(StageText(run.layout).lines(resolver.resolved) == expected, sourceLocation: location)
    #expect(lines(resolver.problems) == problems, sourceLocation: location)
  }

  @Test(arguments: [
    ("error", [#"insert Task/t1 title="a" code="x""#]),
    ("objectTrump", [#"update Task/p1 v1 title="a" code="x""#]),
    (
      "overwrite",
      [
        #"update Task/p1 v1 title="a" code="x" rank=0 due=null price=null"#
          + " group→null line→null memo→null"
      ]
    ),
    ("storeTrump", ["update Task/p1 v1"]), ("rollback", ["update Task/p1 v1"]),
    ("mine", [#"insert Task/t1 title="a" code="x""#]),
  ])
  func `an insert that matches a stored object follows the policy`(
    policy: String,
    expected: [String]
  ) throws {
    try check(
      policy,
      #""insert": [{"id": "Task/t1", "values": {"title": "a", "code": "x"}}]"#,
      expected
    )
  }

  @Test(arguments: [
    (#"{"id": "Tag/sred", "values": {"shade": "pale"}}"#, #"update Tag/p3 v1 shade="pale""#),
    (
      #"{"entity": "Tag", "values": {"name": "red", "shade": "pale"}}"#,
      #"update Tag/p3 v1 name="red" shade="pale""#
    ),
    (
      #"{"entity": "Task", "values": {"group": "Group/p1", "title": "mop", "rank": 3}}"#,
      #"update Task/p2 v1 title="mop" rank=3 group→Group/p1"#
    ),
    // A null is equal to no other value.
    (#"{"id": "Task/t1", "values": {"code": null}}"#, "insert Task/t1 code=null"),
    // The object keeps its entity.
    (
      #"{"entity": "Person", "values": {"email": "b", "name": "Bo"}}"#,
      #"update \#(StagesModel.employee(1)) v1 email="b" name="Bo""#
    ),
    (#"{"entity": "Employee", "values": {"email": "a"}}"#, #"update Person/p1 v1 email="a""#),
  ])
  func `an identity and each unique set find the object`(insert: String, expected: String) throws {
    // A null that was sent is the default of the attribute.
    let expected = expected.replacing(" code=null", with: "")
    try check("objectTrump", #""insert": [\#(insert)]"#, [expected])
  }

  @Test func `an insert that matches two objects is a problem and stays an insert`() throws {
    try check(
      "objectTrump",
      #""insert": [{"id": "Task/t1", "values": {"code": "x", "group": "Group/p1", "title": "mop"}}]"#,
      [#"insert Task/t1 title="mop" code="x" group→Group/p1"#],
      problems: ["unique Task/t1", "unique Task/t1"]
    )
  }

  @Test func `a property that the object's entity does not have is a problem`() throws {
    try check(
      "objectTrump",
      #""insert": [{"id": "Employee/t1", "values": {"email": "a", "desk": 2}}]"#,
      [#"update Person/p1 v1 email="a""#],
      problems: ["property Employee/t1.desk"]
    )
  }

  @Test func `inserts that match an earlier insert are one object`() throws {
    let inserts = """
      "insert": [{"id": "Task/t1", "values": {"code": "y"}},
                 {"id": "Task/t2", "values": {"code": "y", "rank": 2}},
                 {"id": "Memo/t1", "values": {"task": "Task/t2"}}]
      """
    try check(
      "objectTrump",
      inserts,
      [
        #"insert Task/t1 code="y""#, "insert Memo/t1 task→Task/t1",
        #"update Task/t1 v0 code="y" rank=2"#,
      ]
    )
    try check(
      "storeTrump",
      inserts,
      [#"insert Task/t1 code="y""#, "insert Memo/t1 task→Task/t1", "update Task/t1 v0"]
    )
    try check(
      "error",
      inserts,
      [
        #"insert Task/t1 code="y""#, #"insert Task/t2 code="y" rank=2"#,
        "insert Memo/t1 task→Task/t2",
      ]
    )
  }

  @Test(arguments: ["Tag/sred", "Tag/p3"])
  func `an insert does not match an object that the save deletes`(deleted: String) throws {
    try check(
      "objectTrump",
      #""insert": [{"id": "Tag/sred"}], "delete": ["\#(deleted)"]"#,
      [#"insert Tag/sred name="red""#, "delete Tag/p3"]
    )
  }

  @Test func `an object that an insert matches is updated by no other change`() throws {
    try check(
      "objectTrump",
      #""insert": [{"id": "Tag/sred"}], "update": [{"id": "Tag/p3"}]"#,
      ["update Tag/p3 v1", "update Tag/p3 v1"],
      problems: ["once Tag/p3"]
    )
  }
}
