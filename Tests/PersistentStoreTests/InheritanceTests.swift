import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

/// Animals with an owner and tags; a dog is one, a puppy is a dog.
private let zoo = """
  {"name": "Zoo", "entities": [
    {"name": "Puppy", "parent": "Dog", "attributes": [{"name": "weeks", "type": "int16"}]},
    {"name": "Animal", "abstract": true,
     "attributes": [{"name": "name", "type": "string"}],
     "relationships": [
       {"name": "owner", "destination": "Person", "inverse": "pets", "optional": true},
       {"name": "friend", "destination": "Animal", "optional": true},
       {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "animals"}],
     "indexes": [["name"]], "spotlight": {"displayName": "name"}},
    {"name": "Dog", "parent": "Animal",
     "attributes": [{"name": "weight", "type": "double", "optional": true}],
     "relationships": [
       {"name": "walker", "destination": "Person", "inverse": "walked", "optional": true}]},
    {"name": "Cat", "parent": "Animal",
     "attributes": [{"name": "weight", "type": "string", "optional": true}]},
    {"name": "Person", "identity": "code",
     "attributes": [{"name": "code", "type": "string"}],
     "relationships": [
       {"name": "pets", "destination": "Animal", "toMany": true, "inverse": "owner",
        "deleteRule": "cascade"},
       {"name": "walked", "destination": "Dog", "toMany": true, "inverse": "walker"}]},
    {"name": "Tag", "attributes": [{"name": "word", "type": "string"}],
     "relationships": [
       {"name": "animals", "destination": "Animal", "toMany": true, "inverse": "tags"}]}]}
  """

@Suite struct `A fetch of a parent finds its children` {
  private let store: TestStore
  /// The first numbers of the entities of the family, behind the abstract root's range.
  private static let range: Int64 = 1 << 45
  private let puppy = "Puppy/p\(1 + range)"
  private let dog = "Dog/p\(1 + 2 * range)"
  private let cat = "Cat/p\(1 + 3 * range)"

  init() async throws {
    store = try TestStore(zoo)
    try await store.save(
      """
      {"insert":[
        {"id":"Person/sann","values":{"pets":["Dog/t1","Cat/t1"],"walked":["Puppy/t1"]}},
        {"id":"Cat/t1","values":{"name":"Mia","weight":"light","friend":"Dog/t1"}},
        {"id":"Dog/t1","values":{"name":"Rex","weight":30.5,"tags":["Tag/t1"]}},
        {"id":"Puppy/t1","values":{"name":"Bo","weeks":7,"friend":"Cat/t1"}},
        {"id":"Tag/t1","values":{"word":"old"}}]}
      """
    )
  }

  // Evidence: P-113c
  @Test func `each object has its own entity and the properties of that entity`() throws {
    let objects = try store.fetch(#"{"entity":"Animal","sort":["name"]}"#)
    let ownValues: [JSONValue] = [
      [
        "name": "Bo", "owner": nil, "friend": .string(cat), "weight": nil, "walker": "Person/sann",
        "weeks": 7,
      ],
      ["name": "Mia", "owner": "Person/sann", "friend": .string(dog), "weight": "light"],
      ["name": "Rex", "owner": "Person/sann", "friend": nil, "weight": 30.5, "walker": nil],
    ]
    #expect(objects.map { $0["id"]?.string } == [puppy, cat, dog])
    for (object, wanted) in zip(objects, ownValues) {
      let values = try #require(object["values"]?.members)
      #expect(Set(values.map(\.name)) == Set(wanted.members?.map(\.name) ?? []))
      for member in wanted.members ?? [] {
        #expect(object["values"]?[member.name] == member.value, "\(member.name)")
      }
    }
  }

  // Evidence: P-113c
  @Test func `a fetch without subentities excludes the objects of descendants`() throws {
    #expect(try store.ids(#"{"entity":"Dog"}"#) == [puppy, dog])
    #expect(try store.ids(#"{"entity":"Dog","subentities":false}"#) == [dog])
    #expect(try store.ids(#"{"entity":"Animal","subentities":false}"#) == [])
    #expect(try store.ids(#"{"entity":"Puppy"}"#) == [puppy])
  }

  // Evidence: P-113d
  @Test(arguments: [
    (#"owner.code == "ann""#, ["Dog", "Cat"]), (#"friend.name == "Mia""#, ["Puppy"]),
    ("friend != nil", ["Puppy", "Cat"]), ("tags.@count == 1", ["Dog"]),
    (#"ANY tags.word == "old""#, ["Dog"]), ("friend == \"Cat/p\(1 + 3 * (1 << 45))\"", ["Puppy"]),
    ("friend.friend.name == \"Rex\"", ["Puppy"]), ("SELF == friend", []),
  ])
  func `predicates and key paths cover the entity family`(
    predicate: String,
    wanted: [String]
  ) throws {
    let request: JSONValue = ["entity": "Animal", "predicate": .string(predicate)]
    #expect(try store.ids(request.text).map { $0.prefix { $0 != "/" } } == wanted.map { $0[...] })
  }

  @Test func `to-manys to a parent name each object by its own entity`() throws {
    let select = #"{"entity":"Person","select":["pets","walked","pets.@count"]}"#
    let values = try #require(try store.fetch(select).first?["values"])
    #expect(values["pets"] == [.string(dog), .string(cat)])
    #expect(values["walked"] == [.string(puppy)])
    #expect(values["pets.@count"] == 2)
    #expect(
      try store.ids(#"{"entity":"Person","predicate":"ANY pets.name BEGINSWITH \"M\""}"#)
        == ["Person/sann"]
    )
  }

  // Evidence: P-113e
  @Test func `an ID may name the parent entity`() async throws {
    let number = dog.split(separator: "/")[1]
    try await store.save(#"{"update":[{"id":"Animal/\#(number)","values":{"weight":31}}]}"#)
    #expect(
      try store.lines("Dog weight") == ["\(puppy) v1 weight=null", "\(dog) v2 weight=31.0"]
    )
    #expect(try store.snapshot { try $0.resolve("Dog/p1").map { $0.object } } == 1)
    #expect(try store.snapshot { try $0.resolve("Dog/p1").map($0.exists) == false })
  }

  // Evidence: P-113b
  @Test func `an abstract entity has no objects of its own`() async throws {
    let refused = try await store.refusal(
      #"{"insert":[{"entity":"Animal","values":{"name":"X"}}]}"#
    )
    #expect(refused?.code == "invalidRequest")
    #expect(try store.rows("SELECT name FROM sqlite_master WHERE name = 'Animal'") == [])
  }

  @Test func `a to-one to a child refuses another child`() async throws {
    let refused = try await store.refusal(
      #"{"update":[{"id":"Person/sann","values":{"walked":["\#(cat)"]}}]}"#
    )
    #expect(refused?.code == "validationFailed")
  }

  @Test func `delete rules and inverses cover the entity family`() async throws {
    let outcome = try await store.outcome(#"{"delete":["Person/sann"]}"#)
    #expect(Set(outcome.ids) == ["Person/sann", dog, cat])
    #expect(try store.ids(#"{"entity":"Animal"}"#) == [puppy])
    let left = try #require(try store.fetch(#"{"entity":"Animal"}"#).first?["values"])
    #expect(left["friend"] == JSONValue.null)
    #expect(left["walker"] == JSONValue.null)
  }

  @Test func `a many-to-many is one table, and a change of both ends`() async throws {
    try await store.save(#"{"update":[{"id":"Tag/p1","values":{"animals":["\#(cat)"]}}]}"#)
    #expect(
      try store.lines("Tag animals; Animal tags") == [
        "Tag/p1 v2 animals=[\(cat)]", "\(puppy) v1 tags=[]", "\(dog) v2 tags=[]",
        "\(cat) v2 tags=[Tag/p1]",
      ]
    )
  }

  // Evidence: P-113g
  @Test func `foreign clients get numbers of the right range, and are logged`() async throws {
    try store.foreign(
      """
      INSERT INTO Dog(name) VALUES ('Wau');
      INSERT INTO cordial_pairs_Animal_tags VALUES ((SELECT max(_id) FROM Dog), 1);
      """
    )
    let newest = try await store.seal()
    let added = "Dog/p\(2 + 2 * Self.range)"
    #expect(try store.ids(#"{"entity":"Animal","predicate":"name == \"Wau\""}"#) == [added])
    #expect(try store.lines("Tag animals") == ["Tag/p1 v2 animals=[\(dog),\(added)]"])
    let changes = try store.snapshot { snapshot in
      let set = try #require(try snapshot.log.changeSet(from: newest - 1, through: newest))
      return try set.changes.keys.map { "\(try snapshot.wrappedID($0))" }.sorted()
    }
    #expect(changes == [added, "Tag/p1"])
    #expect(throws: (any Error).self) {
      try store.foreign("INSERT INTO Dog(_id, name) VALUES (5, 'out of range')")
    }
  }

  @Test func `pages of a parent continue over its children`() throws {
    var after: String?
    var seen: [String] = []
    repeat {
      let text = #"{"entity":"Animal","sort":["-name"],"limit":1}"#
      var request = FetchRequest(try JSONParser.parse(text))
      request.after = after
      try store.snapshot { snapshot in
        let plan = try snapshot.plan(request)
        let page = try snapshot.page(plan)
        seen += try page.objects.map { "\(try snapshot.wrappedID(plan.key($0)))" }
        after =
          try page.hasMore
          ? page.objects.last.flatMap { try snapshot.cursor(plan, after: $0) } : nil
      }
    } while after != nil && seen.count < 9
    #expect(seen == [dog, cat, puppy])
  }

  @Test func `what is included is of its own entity`() throws {
    let included = try store.snapshot { snapshot in
      var writer = JSONWriter()
      let person = try #require(snapshot.model.entity(named: "Person"))
      try snapshot.writeIncluded(["pets"], of: person, [1], bytesMax: 1 << 20, to: &writer)
      return try JSONParser.parse(writer.bytes.span)
    }
    #expect(included[cat]?["values"]?["weight"] == "light")
    #expect(included[dog]?["values"]?["weight"] == 30.5)
    #expect(included.members?.count == 2)
  }

  @Test func `a descendant may have an identity that its ancestor lacks`() async throws {
    let store = try TestStore(
      """
      {"name":"M","entities":[
        {"name":"Thing","abstract":true,"attributes":[{"name":"name","type":"string"}]},
        {"name":"Book","parent":"Thing","identity":"isbn","attributes":[
          {"name":"isbn","type":"string"},{"name":"pages","type":"int64","optional":true}]},
        {"name":"Car","parent":"Thing","identity":"plate","attributes":[
          {"name":"plate","type":"int64"}]},
        {"name":"Pen","parent":"Thing"}]}
      """
    )
    try await store.save(
      #"""
      {"insert":[{"id":"Book/sA%20B","values":{"name":"one","pages":7}},
        {"id":"Car/i5","values":{"name":"two"}},{"id":"Pen/t1","values":{"name":"three"}}]}
      """#
    )
    let objects = try store.fetch(#"{"entity":"Thing","sort":["name"]}"#)
    try #require(objects.count == 3)
    #expect(
      objects[0]
        == [
          "id": "Book/sA%20B", "version": 1,
          "values": ["name": "one", "isbn": "A B", "pages": 7],
        ]
    )
    #expect(objects[1]["values"] == ["name": "three"])
    #expect(
      objects[2] == ["id": "Car/i5", "version": 1, "values": ["name": "two", "plate": 5]]
    )
    let narrow = try store.fetch(
      #"{"entity":"Thing","sort":["-name"],"select":{"n":"name"},"predicate":"name != 'three'"}"#
    )
    try #require(narrow.count == 2)
    #expect(narrow[0] == ["id": "Car/i5", "version": 1, "values": ["n": "two"]])
    #expect(narrow[1] == ["id": "Book/sA%20B", "version": 1, "values": ["n": "one"]])
  }

  // Evidence: P-113f
  @Test func `a unique set of an ancestor covers the whole family`() async throws {
    let store = try TestStore(
      """
      {"name":"M","entities":[
        {"name":"P","identity":"code","attributes":[{"name":"code","type":"string"},
          {"name":"mail","type":"string","optional":true}],"unique":[["mail"]]},
        {"name":"C","parent":"P"}]}
      """
    )
    try await store.save(#"{"insert":[{"id":"P/sa","values":{"mail":"x"}}]}"#)
    let same = try await store.refusal(#"{"insert":[{"id":"C/sa"}]}"#)
    #expect(same?.code == "uniquenessViolation")
    #expect(same?.data["existing"] == "P/sa")
    try await store.save(#"{"insert":[{"id":"C/sb"}]}"#)
    let mail = try await store.refusal(#"{"update":[{"id":"C/sb","values":{"mail":"x"}}]}"#)
    #expect(mail?.data["properties"] == ["mail"])
  }
}
