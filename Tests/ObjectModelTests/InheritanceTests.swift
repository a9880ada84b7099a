import CordialValues
import JSON
import ObjectModel
import Testing

@Suite struct `Entities have parents, and models configurations` {
  private func model(_ entities: String, _ rest: String = "") throws -> Model {
    let text = #"{"name":"M","entities":[\#(entities)]\#(rest)}"#
    return try ModelDocument.model(from: try JSONParser.parse(text))
  }

  /// The paths of the faults of a model.
  private func faults(_ entities: String, _ rest: String = "") throws -> [String] {
    do {
      _ = try model(entities, rest)
      return []
    } catch let error as ModelError {
      return error.problems.map(\.path)
    }
  }

  private static let family = """
    {"name":"C","parent":"B","attributes":[{"name":"c","type":"string"}],"unique":[["a","c"]]},
    {"name":"A","attributes":[{"name":"a","type":"string"}],"indexes":[["a"]],"identity":"a",
     "spotlight":{"displayName":"a"}},
    {"name":"B","parent":"A","abstract":true,
     "relationships":[{"name":"b","destination":"A","optional":true}]}
    """

  // Evidence: P-113a
  @Test func `what an ancestor has, its descendants have too`() throws {
    let model = try model(Self.family)
    let c = try #require(model.entity(named: "C"))
    #expect(c.propertyNames == ["a", "c", "b"])
    #expect(c.indexes == [["a"]])
    #expect(c.unique == [["a", "c"]])
    #expect(c.identity?.name == "a")
    #expect(c.spotlight?.displayName == "a")
    #expect(c.familyPosition.ancestors == [2, 3, 1])
    #expect(model.entity(named: "A")?.familyPosition.concreteEntities == [1, 2])
    #expect(model.entity(named: "B")?.familyPosition.concreteEntities == [1])
    #expect(c.relationships.map(\.owner) == [3])
  }

  // Evidence: P-113g
  @Test func `each entity of a family has numbers of its own, which a store can fix`() throws {
    let model = try model(Self.family)
    #expect(model.slots == ["A": 0, "C": 1, "B": 2])
    let ranges = model.entities.map(\.numbers)
    for (index, range) in ranges.enumerated() {
      #expect(model.key(2, range.lowerBound).entity == (index == 2 ? 2 : index + 1))
      for other in ranges[(index + 1)...] { #expect(!range.overlaps(other)) }
    }
    let document = try JSONParser.parse(#"{"name":"M","entities":[\#(Self.family)]}"#)
    let fixed = try ModelDocument.model(from: document, slots: ["C": 0, "B": 5])
    #expect(fixed.slots == ["C": 0, "B": 5, "A": 1])
    let alone = try self.model(#"{"name":"A"}"#)
    #expect(alone.entities[0].numbers == 1...EntityDescription.numberMax)
    #expect(alone.slots == [:])
  }

  // Evidence: P-113h
  @Test func `faults of families`() throws {
    #expect(try faults(#"{"name":"A","parent":"B"}"#) == ["entities[0].parent"])
    #expect(try faults(#"{"name":"A","parent":"A"}"#) == ["entities[0].parent"])
    #expect(
      try faults(#"{"name":"A","parent":"B"},{"name":"B","parent":"A"}"#)
        == ["entities[0].parent", "entities[1].parent"]
    )
    let parent = #"{"name":"A","identity":"x","attributes":[{"name":"x","type":"string"}]}"#
    #expect(
      try faults(
        parent + #",{"name":"B","parent":"A","attributes":[{"name":"X","type":"int16"}]}"#
      ) == ["entities[1]"]
    )
    #expect(
      try faults(
        parent
          + #",{"name":"B","parent":"A","identity":"y","attributes":[{"name":"y","type":"int16"}]}"#
      ) == ["entities[1].identity"]
    )
    #expect(
      try faults(
        ([#"{"name":"A"}"#] + (0..<100).map { #"{"name":"B\#($0)","parent":"A"}"# })
          .joined(separator: ",")
      ) == ["entities[0]"]
    )
  }

  @Test func `an inverse may be inherited at the other end`() throws {
    let entities = """
      {"name":"P","relationships":[{"name":"o","destination":"Q","inverse":"ps"}]},
      {"name":"R","parent":"P"},
      {"name":"Q","relationships":[{"name":"ps","destination":"P","toMany":true,"inverse":"o"}]}
      """
    #expect(try faults(entities) == [])
    let wrong = entities.replacing(#""destination":"P""#, with: #""destination":"R""#)
    #expect(try faults(wrong) == ["entities[0].relationships[0].inverse"])
  }

  // Evidence: P-114a
  @Test func `a configuration is a part of a model, with the ancestors of its entities`() throws {
    let text = """
      {"name":"M","entities":[{"name":"A"},{"name":"B","parent":"A"},{"name":"C",
       "relationships":[{"name":"b","destination":"B","optional":true}]}],
       "configurations":{"Local":["B"],"Wrong":["C"],"All":["A","B","C"]},
       "templates":[{"name":"t","entity":"C"},{"name":"u","entity":"B"}]}
      """
    let document = try JSONParser.parse(text)
    let part = try ModelDocument.document(document, ofConfiguration: "Local")
    let model = try ModelDocument.model(from: part)
    #expect(model.entities.map(\.name) == ["A", "B"])
    #expect(model.templates.map(\.name) == ["u"])
    #expect(model.hash != (try ModelDocument.model(from: document).hash))
    let all = try ModelDocument.document(document, ofConfiguration: "All")
    #expect(
      try ModelDocument.model(from: all).hash == ModelDocument.model(from: document).hash
    )
    for name in ["Wrong", "None"] {
      #expect(throws: ModelError.self) {
        try ModelDocument.document(document, ofConfiguration: name)
      }
    }
    #expect(
      try faults(#"{"name":"A"}"#, #","configurations":{"L":["A","B"],"K":1}"#)
        == ["configurations.L[1]", "configurations.K"]
    )
  }

  // Evidence: P-114b
  @Test func `a pattern is compiled with the model, and covers the whole text`() throws {
    func attribute(_ members: String) -> String {
      #"{"name":"A","attributes":[{"name":"x",\#(members)}]}"#
    }
    let made = try model(attribute(#""type":"string","optional":true,"pattern":"[a-c]+é""#))
    let x = try #require(made.entities.first?.attributes.first)
    #expect(x.timedViolation(by: .string("abé")) == nil)
    #expect(x.timedViolation(by: .null) == nil)
    #expect(x.timedViolation(by: .string("abéd"))?.rule == "pattern")
    #expect(x.timedViolation(by: .string(""))?.rule == "pattern")
    let hostile = try model(attribute(#""type":"string","pattern":"(a+)+b""#))
    #expect(
      hostile.entities.first?.attributes.first?
        .timedViolation(by: .string(String(repeating: "a", count: 64)))?.rule == "pattern"
    )
    #expect(
      try faults(attribute(#""type":"string","pattern":"(""#))
        == ["entities[0].attributes[0].pattern"]
    )
    #expect(
      try faults(attribute(#""type":"int16","pattern":"1""#))
        == ["entities[0].attributes[0].pattern"]
    )
  }

  // Evidence: P-114d
  @Test func `a function computes only transient attributes, which descendants have too`() throws {
    let computed = #"{"name":"x","type":"string","transient":true,"computed":"f"}"#
    let made = try model(
      #"{"name":"A","attributes":[\#(computed)]},{"name":"B","parent":"A","attributes":[]}"#
    )
    #expect(made.entities.map { $0.computed(named: "x")?.function } == ["f", "f"])
    #expect(made.entities.map { $0.property(named: "x") == nil } == [true, true])
    #expect(made.functions == ["f"])
    let error = try #require(throws: ModelError.self) {
      try model(#"{"name":"A","attributes":[{"name":"x","type":"string","computed":"f"}]}"#)
    }
    #expect(error.problems.map(\.message) == ["Only a transient attribute is computed"])
  }

  // Evidence: P-114c
  @Test func `a transient attribute is known and not stored`() throws {
    let made = try model(
      #"{"name":"A","attributes":[{"name":"x","type":"string","transient":true}]}"#
    )
    #expect(made.entities.first?.attributes == [])
    #expect(made.entities.first?.transients == ["x"])
    #expect(
      try faults(
        """
        {"name":"A","attributes":[{"name":"x","type":"string","transient":true},
        {"name":"X","type":"string"}]}
        """
      ) == ["entities[0].attributes[1].name"]
    )
  }
}
