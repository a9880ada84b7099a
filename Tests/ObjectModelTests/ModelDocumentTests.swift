import CordialValues
import JSON
import ObjectModel
import TestSeeds
import Testing

/// The model of the contract's section 12, without what isn't built yet.
private let todo = """
  {"name": "Todo", "version": "1",
   "entities": [
     {"name": "Group", "identity": null,
      "attributes": [{"name": "title", "type": "string", "optional": true, "default": null}],
      "relationships": [{"name": "tasks", "destination": "Task", "toMany": true,
                         "inverse": "group", "deleteRule": "cascade"}],
      "unique": [["title"]], "indexes": [["title"]],
      "spotlight": {"displayName": "title", "attributes": {"title": 2.0}, "keywords": [],
                    "domain": null, "exclude": null}},
     {"name": "Task", "identity": "code",
      "attributes": [{"name": "code", "type": "string"},
                     {"name": "priority", "type": "int16", "default": 1, "minimum": 0,
                      "maximum": 9},
                     {"name": "state", "type": "string", "default": "open",
                      "enum": ["open", "done"], "minimumLength": 1, "maximumLength": 10},
                     {"name": "due", "type": "date", "optional": true}],
      "relationships": [{"name": "group", "destination": "Group", "inverse": "tasks",
                         "optional": true},
                        {"name": "blocks", "destination": "Task", "toMany": true,
                         "inverse": "blockedBy"},
                        {"name": "blockedBy", "destination": "Task", "toMany": true,
                         "inverse": "blocks", "minimumCount": 0, "maximumCount": 5},
                        {"name": "watchers", "destination": "Group", "toMany": true}],
      "unique": [["group", "state"]], "indexes": []}],
   "values": [], "templates": [], "configurations": {}}
  """

@Suite struct `A model is read from its file` {
  private func model(_ text: String = todo) throws -> Model {
    let bytes = Array(text.utf8)
    return try ModelDocument.parse(bytes.span)
  }

  private func entity(_ name: String) throws -> EntityDescription {
    try #require(try model().entity(named: name))
  }

  private func attribute(_ name: String) throws -> AttributeDescription {
    try #require(try entity("Task").attributes.first { $0.name == name })
  }

  private func relationship(_ entity: String, _ name: String) throws -> RelationshipDescription {
    try #require(try self.entity(entity).relationships.first { $0.name == name })
  }

  @Test func `entities keep the order of the file and are numbered from 1`() throws {
    let model = try model()
    #expect(model.name == "Todo")
    #expect(model.version == "1")
    #expect(model.entities.map(\.name) == ["Group", "Task"])
    #expect(model.entities.map(\.number) == [1, 2])
    #expect(model.entity(2).name == "Task")
    #expect(model.entity(named: "Task")?.number == 2)
    #expect(model.entity(named: "task") == nil)
  }

  @Test func `attributes say what their values may be`() throws {
    let priority = try attribute("priority")
    #expect(priority.type == .int16)
    #expect(!priority.optional)
    #expect(priority.defaultValue == .integer(1))
    #expect(priority.minimum == .integer(0))
    #expect(priority.maximum == .integer(9))
    #expect(priority.allowed == nil)
    let state = try attribute("state")
    #expect(state.allowed == [.string("open"), .string("done")])
    #expect(state.minimumLength == 1)
    #expect(state.maximumLength == 10)
    #expect(try attribute("due").optional)
    #expect(try attribute("due").defaultValue == .null)
    #expect(try attribute("code").defaultValue == .null)
  }

  @Test func `relationships know both ends`() throws {
    let tasks = try relationship("Group", "tasks")
    #expect(tasks.destination == 2)
    #expect(tasks.toMany)
    #expect(tasks.inverse == "group")
    #expect(tasks.deleteRule == .cascade)
    #expect(tasks.storage == .inverseColumn)
    let group = try relationship("Task", "group")
    #expect(group.deleteRule == .nullify)
    #expect(group.optional)
    #expect(group.storage == .column)
    let blocks = try relationship("Task", "blocks")
    #expect(blocks.minimumCount == 0)
    #expect(blocks.maximumCount == nil)
    #expect(try relationship("Task", "blockedBy").maximumCount == 5)
    #expect(
      try relationship("Task", "watchers").storage
        == .linkTable(entity: 2, relationship: "watchers", owns: true)
    )
  }

  /// Both sides of a many-to-many name one table of pairs, and one of them keeps it.
  @Test func `one side of a many-to-many owns the link table`() throws {
    guard
      case .linkTable(let entity, let name, let owns) = try relationship("Task", "blocks").storage,
      case .linkTable(let otherEntity, let otherName, let otherOwns) =
        try relationship("Task", "blockedBy").storage
    else {
      Issue.record("A many-to-many is kept in pairs")
      return
    }
    #expect(entity == otherEntity && name == otherName && owns != otherOwns)
  }

  @Test func `identity, uniqueness, indexes and search are the entity's`() throws {
    let group = try entity("Group")
    let task = try entity("Task")
    #expect(group.identity == nil)
    #expect(task.identity?.name == "code")
    #expect(group.unique == [["title"]])
    #expect(task.unique == [["group", "state"]])
    #expect(task.indexes == [])
    #expect(group.spotlight?.displayName == "title")
    #expect(group.spotlight?.weights.map(\.name) == ["title"])
    #expect(group.spotlight?.weights.map(\.weight) == [2])
    #expect(task.spotlight == nil)
    #expect(task.property(named: "due")?.name == "due")
    #expect(task.property(named: "group")?.name == "group")
    #expect(task.property(named: "nothing") == nil)
    #expect(task.propertyNames.count == 8)
  }

  // Evidence: P-110c
  @Test func `absence and null have the same meaning`() throws {
    let short = try model(
      #"{"name":"M","entities":[{"name":"A","attributes":[{"name":"x","type":"string"}]}]}"#
    )
    let long = try model(
      """
      {"name":"M","version":"1","values":[],"templates":[],"configurations":{},
       "entities":[{"name":"A","identity":null,"relationships":[],"unique":[],"indexes":[],
        "spotlight":null,"attributes":[{"name":"x","type":"string","optional":false,"default":null,
         "minimum":null,"maximum":null,"minimumLength":null,"maximumLength":null,"enum":null}]}]}
      """
    )
    #expect(short.entities.first?.attributes == long.entities.first?.attributes)
    #expect(long.entities.first?.attributes.first?.allowed == nil)
  }
}

/// Every fault has its path, and all are told at once.
@Suite struct `A model file's faults` {
  /// Expects exactly these paths, in any order.
  private func check(
    _ document: String,
    _ paths: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let bytes = Array(document.utf8)
    do throws(ModelError) {
      _ = try ModelDocument.parse(bytes.span)
      #expect(paths.isEmpty, "\(document)", sourceLocation: sourceLocation)
    } catch {
      #expect(
        error.problems.map(\.path).sorted() == paths.sorted(),
        "\(document)\n\(error.message)",
        sourceLocation: sourceLocation
      )
      #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    }
  }

  /// Faults of one entity `A`, beside which there is `B` with attribute `n` and to-one `a`.
  private func check(
    entity members: String,
    _ paths: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    check(
      """
      {"name":"M","entities":[{"name":"A"\(members)},
       {"name":"B","attributes":[{"name":"n","type":"int16","optional":true}],
        "relationships":[{"name":"a","destination":"A","inverse":"bs"}]}]}
      """.replacing(
        #","inverse":"bs""#,
        with: members.contains(#""name":"bs""#) ? #","inverse":"bs""# : ""
      ),
      paths.map { "entities[0]." + $0 },
      sourceLocation: sourceLocation
    )
  }

  private func check(
    attribute members: String,
    _ paths: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    check(
      entity: #","attributes":[{"name":"x",\#(members)}]"#,
      paths.map { "attributes[0]." + $0 },
      sourceLocation: sourceLocation
    )
  }

  private func check(
    relationship members: String,
    _ paths: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    check(
      entity: #","relationships":[{"name":"bs",\#(members)}]"#,
      paths.map { "relationships[0]." + $0 },
      sourceLocation: sourceLocation
    )
  }

  @Test func `of the file`() {
    check("", [""])
    check("{", [""])
    check("[]", [""])
    check("null", [""])
    check("{}", ["name", "entities"])
    check(#"{"name":"M"}"#, ["entities"])
    check(#"{"name":"M","entities":[]}"#, [])
    check(#"{"name":1,"version":2,"entities":{}}"#, ["name", "version", "entities"])
    check(#"{"name":"M","entities":[],"entites":[1]}"#, ["entites"])
    check(#"{"name":"M","entities":[{"name":"A"},{"name":"A"}]}"#, ["entities[1].name"])
  }

  /// An entity is a table of its name, and SQLite's tables do not differ by case.
  @Test func `of entities whose names differ by case only`() {
    check(#"{"name":"M","entities":[{"name":"Task"},{"name":"task"}]}"#, ["entities[1].name"])
  }

  @Test func `of names`() {
    for name in [
      "", "1a", "a b", "a-b", "a.b", "a/b", "é", "_a", "a\\n", "cordial_x", "Cordial_x", "sqlite_x",
      "SQLITE_master", String(repeating: "x", count: 65),
    ] {
      check(#"{"name":"M","entities":[{"name":"\#(name)"}]}"#, ["entities[0].name"])
      check(entity: #","attributes":[{"name":"\#(name)","type":"string"}]"#, ["attributes[0].name"])
      check(
        entity: #","relationships":[{"name":"\#(name)","destination":"B"}]"#,
        ["relationships[0].name"]
      )
    }
    for name in ["a", "A", "aB_9", "cordial", String(repeating: "x", count: 64)] {
      check(#"{"name":"M","entities":[{"name":"\#(name)"}]}"#, [])
    }
  }

  @Test func `of entities`() {
    check(entity: "", [])
    check(entity: #","attributes":1"#, ["attributes"])
    check(entity: #","relationships":"x""#, ["relationships"])
    check(entity: #","atributes":[1]"#, ["atributes"])
    check(
      entity: #","attributes":[{"name":"x","type":"string"},{"name":"X","type":"string"}]"#,
      ["attributes[1].name"]
    )
    check(
      entity:
        #","attributes":[{"name":"x","type":"string"}],"relationships":[{"name":"x","destination":"B"}]"#,
      ["relationships[0].name"]
    )
    for identity in [#""y""#, "1", "true", #"["x"]"#] {
      check(
        entity: #","attributes":[{"name":"x","type":"string"}],"identity":\#(identity)"#,
        ["identity"]
      )
    }
    for type in ["double", "float", "decimal", "boolean", "date", "uri", "binary", "json"] {
      check(
        entity: #","attributes":[{"name":"x","type":"\#(type)"}],"identity":"x""#,
        ["identity"]
      )
    }
    for type in ["string", "int16", "int32", "int64", "uuid"] {
      check(entity: #","attributes":[{"name":"x","type":"\#(type)"}],"identity":"x""#, [])
    }
    check(
      entity: #","attributes":[{"name":"x","type":"string","optional":true}],"identity":"x""#,
      ["identity"]
    )
  }

  @Test func `of unique sets and indexes`() {
    for member in ["unique", "indexes"] {
      for (sets, faults) in [
        (#"[["x"]]"#, []), (#"[["x","b"]]"#, []), (#"[["bs"]]"#, [0]), (#"[["y"]]"#, [0]),
        (#"[[]]"#, [0]), (#"["x"]"#, [0]), (#"[["x"],["x",1],["y"]]"#, [1, 2]),
        (#"[{"x":1}]"#, [0]),
      ] as [(String, [Int])] {
        check(
          entity: """
            ,"attributes":[{"name":"x","type":"string"}],
            "relationships":[{"name":"b","destination":"B"},
                             {"name":"bs","destination":"B","toMany":true,"inverse":"a"}],
            "\(member)":\(sets)
            """,
          faults.map { "\(member)[\($0)]" }
        )
      }
      check(entity: #","\#(member)":"x""#, [member])
    }
  }

  @Test func `of attributes`() {
    check(attribute: #""type":"string""#, [])
    check(attribute: #""type":"text""#, ["type"])
    check(attribute: #""type":"String""#, ["type"])
    check(attribute: #""type":1"#, ["type"])
    check(attribute: #""optional":true"#, ["type"])
    check(attribute: #""type":"string","optional":"yes""#, ["optional"])
    check(attribute: #""type":"string","optional":1"#, ["optional"])
    check(attribute: #""type":"string","minimumLength":-1"#, ["minimumLength"])
    check(attribute: #""type":"string","maximumLength":1.5"#, ["maximumLength"])
    check(attribute: #""type":"string","maximumLength":"9""#, ["maximumLength"])
    check(attribute: #""type":"int16","default":"1""#, ["default"])
    check(attribute: #""type":"int16","default":32768"#, ["default"])
    check(attribute: #""type":"int16","minimum":-32769,"maximum":1.5"#, ["minimum", "maximum"])
    check(attribute: #""type":"uuid","default":"x""#, ["default"])
    check(attribute: #""type":"date","default":"2026-02-29T00:00:00Z""#, ["default"])
    check(attribute: #""type":"string","enum":["a",1,"b",true]"#, ["enum", "enum"])
    for contradiction in [
      #""type":"int16","minimum":2,"maximum":1"#, #""type":"string","default":"b","enum":["a"]"#,
      #""type":"string","minimumLength":2,"maximumLength":1"#,
      #""type":"string","default":"b","pattern":"a""#, #""type":"int16","default":3,"maximum":2"#,
    ] {
      check(entity: #","attributes":[{"name":"x",\#(contradiction)}]"#, ["attributes[0]"])
    }
    check(
      relationship:
        #""destination":"B","toMany":true,"inverse":"a","minimumCount":2,"maximumCount":1"#,
      ["minimumCount"]
    )
    check(attribute: #""type":"string","defaultt":"x""#, ["defaultt"])
  }

  /// What is no list of values is a fault, not a list that nothing is in.
  @Test func `of an enum that is no list`() {
    check(attribute: #""type":"string","enum":"a""#, ["enum"])
    check(attribute: #""type":"string","enum":{"a":1}"#, ["enum"])
  }

  @Test func `of relationships`() {
    check(relationship: #""destination":"B","toMany":true,"inverse":"a""#, [])
    check(
      entity: #","relationships":[{"name":"x","destination":"C"}]"#,
      ["relationships[0].destination"]
    )
    check(entity: #","relationships":[{"name":"x"}]"#, ["relationships[0].destination"])
    check(
      entity: #","relationships":[{"name":"x","destination":1}]"#,
      ["relationships[0].destination"]
    )
    check(
      entity: #","relationships":[{"name":"x","destination":"B","inverse":"nothing"}]"#,
      ["relationships[0].inverse"]
    )
    // B.a exists, but does not reference A.
    check(
      entity: #","relationships":[{"name":"x","destination":"B","inverse":"a"}]"#,
      ["relationships[0].inverse"]
    )
    // An attribute is no inverse.
    check(
      entity: #","relationships":[{"name":"x","destination":"B","inverse":"n"}]"#,
      ["relationships[0].inverse"]
    )
    check(
      relationship: #""destination":"B","inverse":"a","toMany":"yes""#,
      ["toMany"]
    )
    check(
      relationship: #""destination":"B","inverse":"a","deleteRule":"Cascade""#,
      ["deleteRule"]
    )
    check(
      relationship:
        #""destination":"B","inverse":"a","toMany":true,"minimumCount":-1,"maximumCount":"2""#,
      ["minimumCount", "maximumCount"]
    )
    check(relationship: #""destination":"B","inverse":"a","rule":"x""#, ["rule"])
  }

  /// A member of the wrong type is a fault; to read over it would drop what was meant.
  @Test func `of members of the wrong type`() {
    check(
      entity: #","relationships":[{"name":"x","destination":"B","inverse":1}]"#,
      ["relationships[0].inverse"]
    )
    let attributes = #","attributes":[{"name":"x","type":"string"}]"#
    check(entity: attributes + #","spotlight":{"displayName":1}"#, ["spotlight.displayName"])
    check(entity: attributes + #","spotlight":{"attributes":["x"]}"#, ["spotlight.attributes"])
    check(entity: attributes + #","spotlight":{"attributes":"x"}"#, ["spotlight.attributes"])
  }

  @Test func `of what is searched`() {
    let attributes = #","attributes":[{"name":"x","type":"string"},{"name":"n","type":"int16"}]"#
    check(entity: attributes + #","spotlight":{"displayName":"x"}"#, [])
    check(entity: attributes + #","spotlight":{"displayName":"y"}"#, ["spotlight.displayName"])
    check(entity: attributes + #","spotlight":{"displayName":"n"}"#, ["spotlight.displayName"])
    check(
      entity: attributes + #","spotlight":{"attributes":{"x":0,"n":1,"y":1}}"#,
      ["spotlight.attributes.x", "spotlight.attributes.n", "spotlight.attributes.y"]
    )
    check(
      entity: attributes + #","spotlight":{"attributes":{"x":"1"}}"#,
      ["spotlight.attributes.x"]
    )
    check(entity: attributes + #","spotlight":{"attributes":{"x":-1}}"#, ["spotlight.attributes.x"])
    check(entity: attributes + #","spotlight":{"title":"x"}"#, ["spotlight.title"])
    check(entity: attributes + #","spotlight":{"boost":{"n":0.5}}"#, [])
    check(
      entity: attributes + #","spotlight":{"boost":{"n":0,"x":1,"y":1}}"#,
      ["spotlight.boost.n", "spotlight.boost.x", "spotlight.boost.y"]
    )
    check(entity: attributes + #","spotlight":{"exclude":"n >"}"#, ["spotlight.exclude"])
    check(
      entity: attributes + #","spotlight":{"keywords":["x","y.n",1]}"#,
      ["spotlight.keywords[0]", "spotlight.keywords[1]", "spotlight.keywords[2]"]
    )
    check(entity: attributes + #","spotlight":{"domain":"n"}"#, [])
    check(entity: attributes + #","spotlight":{"domain":"y"}"#, ["spotlight.domain"])
    check(entity: attributes + #","spotlight":{"domain":1}"#, ["spotlight.domain"])
    check(entity: attributes + #","spotlight":true"#, ["spotlight"])
  }

  // Evidence: P-110e
  @Test func `all at once`() {
    check(
      """
      {"name":"M","colour":"red","entities":[
        {"name":"A","attributes":[{"name":"x","type":"text"},{"name":"2","type":"string"}],
         "identity":"z"},
        {"name":"B","relationships":[{"name":"a","destination":"C"},
                                     {"name":"b","destination":"A","deleteRule":"x"}]},
        {"name":"A"}]}
      """,
      [
        "colour", "entities[0].attributes[0].type", "entities[0].attributes[1].name",
        "entities[0].identity", "entities[1].relationships[0].destination",
        "entities[1].relationships[1].deleteRule", "entities[2].name",
      ]
    )
  }

  // Evidence: P-110e
  @Test func `of members that another property has`() {
    check(entity: #","renamedFrom":"Z""#, [])
    check(relationship: #""destination":"B","inverse":"a","toMany":true,"ordered":true"#, [])
    check(
      entity: #","relationships":[{"name":"one","destination":"B","ordered":true}]"#,
      ["relationships[0].ordered"]
    )
  }

  // Evidence: P-111g
  @Test func `of synonyms`() {
    func check(_ synonyms: String, _ paths: [String]) {
      self.check(
        entity: """
          ,"attributes":[{"name":"t","type":"string"}],"spotlight":{"displayName":"t",
          "synonyms":\(synonyms)}
          """,
        paths.map { "spotlight.synonyms" + $0 }
      )
    }
    let long = String(repeating: "x", count: 201)
    check("[]", [])
    check(#"[["photo", "picture"], {"words": ["a", "b"], "attributes": ["t"]}]"#, [])
    check(#"[{"from": "tv", "to": ["television"]}, {"from": ["a", "b c"], "to": ["d"]}]"#, [])
    check("{}", [""])
    check("[[]]", ["[0]"])
    check(#"[["photo"]]"#, ["[0]"])
    check(#"["photo"]"#, ["[0]"])
    check(#"[["photo", 5]]"#, ["[0]"])
    check(#"[["photo", " "]]"#, ["[0]"])
    check("[[\"photo\", \"\(long)\"]]", ["[0]"])
    check(#"[{"words": ["a", "b"], "attributes": ["none"]}]"#, ["[0].attributes"])
    check(#"[{"words": ["a", "b"], "attributes": []}]"#, ["[0].attributes"])
    check(#"[{"from": "tv"}]"#, ["[0].to"])
    check(#"[{"from": "tv", "to": []}]"#, ["[0].to"])
    check(#"[{"from": 1, "to": ["a"]}]"#, ["[0].from"])
    check(#"[{"from": "tv", "to": ["a"], "words": ["b"]}]"#, ["[0].words"])
    let many = (0...1000).map { "\"w\($0)\"" }.joined(separator: ",")
    check("[[\(many)]]", ["[0]"])
  }

  // Evidence: P-111f
  @Test func `of languages that Snowball does not have`() throws {
    check(attribute: #""type":"string","optional":true,"language":"de""#, [])
    check(attribute: #""type":"string","optional":true,"language":"german""#, [])
    check(attribute: #""type":"string","optional":true,"language":"klingon""#, ["language"])
    check(attribute: #""type":"string","optional":true,"language":"""#, ["language"])
    check(attribute: #""type":"string","optional":true,"language":5"#, ["language"])
    check(attribute: #""type":"uri","optional":true,"language":"de""#, ["language"])
    let text = """
      {"name":"M","entities":[{"name":"A","attributes":[
        {"name":"x","type":"string","language":"Deutsch"}]}]}
      """
    let bytes = Array(text.utf8)
    let error = #expect(throws: ModelError.self) { try ModelDocument.parse(bytes.span) }
    #expect(try #require(error).message.contains("english, finnish, french, german, greek"))
  }

  @Test(arguments: Seeds.first(20))
  func `a changed file is a model or faults, never a trap`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let original = Array(todo.utf8)
    for _ in 0..<50 {
      var bytes = original
      for _ in 0...random.below(3) {
        let place = random.below(bytes.count)
        let length = min(random.below(30), bytes.count - place)
        switch random.below(4) {
        case 0: bytes[place] = random.pick(Array("{}[]\",:01ae".utf8))
        case 1: bytes.removeSubrange(place..<place + length)
        case 2:
          bytes.insert(contentsOf: bytes[place..<place + length], at: random.below(bytes.count))
        default:
          let pieces = ["null", "true", "\"Task\"", "\"group\"", "{}", "[[]]", "-1", "\"title\""]
          bytes.insert(contentsOf: random.pick(pieces).utf8, at: place)
        }
      }
      do throws(ModelError) {
        let model = try ModelDocument.parse(bytes.span)
        for entity in model.entities {
          #expect(model.entity(entity.number).name == entity.name, "\(Seeds.repeating(seed))")
          for relationship in entity.relationships {
            let destination = model.entity(relationship.destination)
            if let inverse = relationship.inverse {
              #expect(destination.property(named: inverse) != nil, "\(Seeds.repeating(seed))")
            }
          }
        }
      } catch {
        #expect(!error.problems.isEmpty, "\(Seeds.repeating(seed))")
      }
    }
  }
}

@Suite struct `A model's hash names its version` {
  private func hash(_ text: String) throws -> String {
    let bytes = Array(text.utf8)
    return try ModelDocument.parse(bytes.span).hash
  }

  @Test func `it is a SHA-256 in hexadecimal`() throws {
    let hash = try hash(todo)
    #expect(hash.utf8.count == 64)
    #expect(hash.allSatisfy { $0.isHexDigit && !$0.isUppercase })
  }

  // Evidence: P-111a
  @Test func `formatting and order don't change it`() throws {
    let expected = try hash(todo)
    let document = try JSONParser.parse(todo)
    #expect(try hash(document.text) == expected)
    #expect(try hash(document.prettyText) == expected)
    #expect(try hash(todo.replacing("Todo", with: #"\u0054odo"#)) == expected)
    #expect(try hash(reversed(document).text) == expected)
  }

  // Evidence: P-111a
  @Test func `names for people don't change it`() throws {
    let expected = try hash(todo)
    for (old, new) in [
      ("\"version\": \"1\"", "\"version\": \"2\""), ("\"Todo\"", "\"Done\""),
      ("\"minimum\": 1", "\"minimum\": 1, \"userInfo\": {\"help\": \"text\"}"),
    ] where todo.contains(old) {
      #expect(try hash(todo.replacing(old, with: new)) == expected, "\(new)")
    }
    let modified = "\"due\", \"versionHashModifier\": \"2\","
    #expect(try hash(todo.replacing("\"due\",", with: modified)) != expected)
  }

  // Evidence: P-111a, P-111f
  @Test func `what a search forgives doesn't change it`() throws {
    func model(_ language: String, _ synonyms: String) -> String {
      """
      {"name": "Shop", "entities": [{"name": "Item", "attributes": [
        {"name": "language", "type": "string"\(language)},
        {"name": "place", "type": "composite", "members": [
          {"name": "city", "type": "string"\(language)}]},
        {"name": "shape", "type": "json", "default": {"type": "a", "language": "LANGUAGE"}}],
        "spotlight": {"displayName": "language", "attributes": {"language": 2}\(synonyms)}}]}
      """
    }
    let expected = try hash(model("", ""))
    let synonyms = #", "synonyms": [["photo", "picture"], {"from": "tv", "to": ["television"]}]"#
    #expect(try hash(model(#", "language": "de""#, "")) == expected)
    #expect(try hash(model(#", "language": "english""#, synonyms)) == expected)
    // Members of the same name elsewhere count.
    let other = model("", "").replacing("LANGUAGE", with: "de")
    #expect(try hash(other) != expected)
    #expect(
      try hash(model("", "").replacing(#""language": 2"#, with: #""language": 3"#)) != expected
    )
  }

  @Test func `each part of the model changes the hash`() throws {
    var hashes: Set<String> = [try hash(todo)]
    let changes = [
      ("\"type\": \"int16\"", "\"type\": \"int32\""), ("cascade", "deny"),
      ("\"default\": 1", "\"default\": 2"),
      ("\"maximum\": 9", "\"maximum\": 8"), ("[[\"title\"]], \"indexes\"", "[], \"indexes\""),
      ("2.0", "2.5"),
      ("\"due\", \"type\": \"date\", \"optional\": true", "\"due\", \"type\": \"date\""),
      ("\"maximumCount\": 5", "\"maximumCount\": 6"), ("[\"group\", \"state\"]", "[\"state\"]"),
      ("[\"open\", \"done\"]", "[\"open\", \"closed\"]"), ("\"due\"", "\"dueDate\""),
    ]
    for (old, new) in changes {
      #expect(todo.contains(old), "\(old)")
      hashes.insert(try hash(todo.replacing(old, with: new)))
    }
    #expect(hashes.count == changes.count + 1)
  }

  /// Members of objects and lists of named things backwards; other lists keep their order.
  private func reversed(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let members):
      return .object(members.reversed().map { JSONMember($0.name, reversed($0.value)) })
    case .array(let elements):
      let isSet = elements.allSatisfy { $0["name"] != nil }
      return .array(isSet ? elements.reversed().map(reversed) : elements)
    default: return value
    }
  }
}
