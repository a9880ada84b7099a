import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `A map of a model` {
  private let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private static func model(_ version: Int, _ entities: String, map: String = "null") -> String {
    #"{"name":"M","version":"\#(version)","map":\#(map),"entities":[\#(entities)]}"#
  }

  private func parsed(_ text: String) throws -> Model {
    try ModelDocument.parse(Array(text.utf8).span)
  }

  /// Opens the store with a chain of versions.
  private func open(_ chain: [String]) throws -> PersistentStore {
    try TestStore.open(chain, in: folder)
  }

  private func problems(_ chain: [String]) throws -> [JSONValue] {
    let error = try #require(throws: StoreError.self) { try open(chain) }
    #expect(error.code == .modelMismatch)
    return JSONValue.object(error.data)["problems"]?.array ?? []
  }

  private func text(_ problems: [JSONValue]) -> [String] {
    problems.map { "\($0["path"]?.string ?? ""): \($0["message"]?.string ?? "")" }
  }

  /// Returns the changes of the newest commit, which is that of the migration.
  private func newestChanges(_ store: TestStore) throws -> [String] {
    try store.snapshot { snapshot in
      let commits = try snapshot.log.transactions(after: 0, through: .max, limit: 9)
      let newest = try #require(commits.last)
      #expect(newest.context == "migration")
      return try newest.changes.map { change in
        "\(change.kind) \(try snapshot.wrappedID(change.key))"
      }
    }
  }

  private func verify(_ store: TestStore) throws {
    let verified = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
    #expect(verified["problems"] == [])
  }

  // MARK: One entity from several, several from one

  private static let orders = """
    {"name":"Order","attributes":[
       {"name":"amountText","type":"string"},{"name":"kind","type":"string"},
       {"name":"reference","type":"string","optional":true},
       {"name":"done","type":"boolean","default":false}],
     "relationships":[
       {"name":"customers","destination":"Customer","toMany":true,"ordered":true,
        "inverse":"orders"},
       {"name":"tags","destination":"Tag","toMany":true,"inverse":"orders"}]},
    {"name":"Customer","attributes":[
       {"name":"name","type":"string"},{"name":"street","type":"string","optional":true}],
     "relationships":[
       {"name":"orders","destination":"Order","toMany":true,"inverse":"customers"}]},
    {"name":"Supplier","attributes":[{"name":"name","type":"string"}]},
    {"name":"Tag","attributes":[{"name":"text","type":"string"}],
     "relationships":[
       {"name":"top","destination":"Order","optional":true},
       {"name":"orders","destination":"Order","toMany":true,"inverse":"tags"}]}
    """
  private static let contacts = """
    {"name":"Order","attributes":[
       {"name":"total","type":"decimal"},{"name":"kind","type":"string"},
       {"name":"done","type":"boolean","default":false}],
     "relationships":[
       {"name":"customer","destination":"Contact","optional":true,"inverse":"orders"},
       {"name":"tags","destination":"Tag","toMany":true,"inverse":"orders"}]},
    {"name":"Invoice","attributes":[
       {"name":"number","type":"string","optional":true},
       {"name":"done","type":"boolean","default":false}],
     "relationships":[{"name":"tags","destination":"Tag","toMany":true}]},
    {"name":"Contact","attributes":[
       {"name":"name","type":"string"},{"name":"origin","type":"string"}],
     "relationships":[
       {"name":"orders","destination":"Order","toMany":true,"inverse":"customer"},
       {"name":"address","destination":"Address","optional":true,"inverse":"resident"}]},
    {"name":"Address","attributes":[{"name":"street","type":"string"}],
     "relationships":[
       {"name":"resident","destination":"Contact","optional":true,"inverse":"address"}]},
    {"name":"Tag","attributes":[{"name":"text","type":"string"}],
     "relationships":[
       {"name":"top","destination":"Order","optional":true},
       {"name":"orders","destination":"Order","toMany":true,"inverse":"tags"}]}
    """
  private static let contactsMap = """
    {"@from":"1",
     "Order":{"@where":"kind != 'invoice'","total":"CAST(amountText, 'NSDecimalNumber')",
              "customer":"customers[FIRST]"},
     "Invoice":{"@from":"Order","@where":"kind == 'invoice'","number":"reference"},
     "Contact":{"@from":["Customer","Supplier"],"origin":"entity.name","address":"SELF"},
     "Address":{"@from":"Customer","@where":"street != nil"}}
    """

  /// A store with an order, an invoice, two customers and a supplier.
  private func fillOrders(amount: String = "12.50") async throws {
    let store = try TestStore(Self.model(1, Self.orders), in: folder)
    try await store.save(
      """
      {"insert":[
        {"id":"Customer/t1","values":{"name":"Ann","street":"Main"}},
        {"id":"Customer/t2","values":{"name":"Bob"}},
        {"entity":"Supplier","values":{"name":"Sun"}},
        {"id":"Tag/t1","values":{"text":"red","top":"Order/t2"}},
        {"id":"Order/t1","values":{"amountText":"\(amount)","kind":"order",
          "customers":["Customer/t2","Customer/t1"],"tags":["Tag/t1"]}},
        {"id":"Order/t2","values":{"amountText":"none","kind":"invoice","reference":"R1",
          "customers":["Customer/t1"],"tags":["Tag/t1"]}}]}
      """
    )
  }

  // Evidence: P-117m, P-117n
  @Test func `entities are split, merged and extracted, and references follow`() async throws {
    try await fillOrders()
    try open([
      Self.model(1, Self.orders), Self.model(2, Self.contacts, map: Self.contactsMap),
    ]).close()
    let store = try TestStore(nil, in: folder)
    #expect(
      try store.lines("Order total kind done customer tags") == [
        "Order/p1 v2 total=12.5 kind=order done=false customer=Contact/p2 tags=[Tag/p1]"
      ]
    )
    #expect(
      try store.lines("Invoice number done tags")
        == ["Invoice/p1 v1 number=R1 done=false tags=[Tag/p1]"]
    )
    #expect(
      try store.lines("Contact name origin address orders") == [
        "Contact/p1 v1 name=Ann origin=Customer address=Address/p1 orders=[]",
        "Contact/p2 v1 name=Bob origin=Customer address=null orders=[Order/p1]",
        "Contact/p3 v1 name=Sun origin=Supplier address=null orders=[]",
      ]
    )
    #expect(
      try store.lines("Address street resident")
        == ["Address/p1 v1 street=Main resident=Contact/p1"]
    )
    // The reference to the order that is an invoice now has no object of its entity.
    #expect(try store.lines("Tag top orders") == ["Tag/p1 v2 top=null orders=[Order/p1]"])
    try verify(store)
  }

  // Evidence: P-117o
  @Test func `the commit has deletes and inserts of objects that changed their entity`()
    async throws
  {
    try await fillOrders()
    try open([
      Self.model(1, Self.orders), Self.model(2, Self.contacts, map: Self.contactsMap),
    ]).close()
    let store = try TestStore(nil, in: folder)
    #expect(
      try newestChanges(store).sorted() == [
        "delete Customer/p1", "delete Customer/p2", "delete Order/p2", "delete Supplier/p1",
        "insert Address/p1", "insert Contact/p1", "insert Contact/p2", "insert Contact/p3",
        "insert Invoice/p1", "update Order/p1", "update Tag/p1",
      ]
    )
  }

  // MARK: Failures

  // Evidence: P-117p
  @Test func `an expression that fails is counted with examples, and the store stays`()
    async throws
  {
    try await fillOrders(amount: "12,50")
    let chain = [Self.model(1, Self.orders), Self.model(2, Self.contacts, map: Self.contactsMap)]
    let found = try problems(chain)
    #expect(
      text(found) == ["map.Order.total: CAST does not convert the value (1 of them)"]
    )
    #expect(found.first?["count"] == 1)
    #expect(found.first?["examples"] == [["id": "Order/p1", "value": "12,50"]])
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("Order amountText").count == 2)
    #expect(try store.lines("Customer name").count == 2)
  }

  private static let counts = """
    {"name":"Item","attributes":[
      {"name":"a","type":"int64"},{"name":"b","type":"int64"},
      {"name":"note","type":"string","optional":true},
      {"name":"price","type":"decimal","default":"0"}]}
    """
  private static let peers =
    counts.dropLast()
    + #","relationships":[{"name":"peer","destination":"Item","optional":true,"inverse":"peer"}]}"#

  private func fillCounts() async throws {
    let store = try TestStore(Self.model(1, Self.counts), in: folder)
    try await store.save(
      """
      {"insert":[
        {"entity":"Item","values":{"a":6,"b":3,"note":"x","price":"1.5"}},
        {"entity":"Item","values":{"a":1,"b":0}},
        {"entity":"Item","values":{"a":300,"b":0,"note":"long"}}]}
      """
    )
  }

  private func counts(_ attribute: String, _ expression: String) -> [String] {
    let added = Self.counts.replacing(
      #"{"name":"note""#,
      with: #"\#(attribute),{"name":"note""#
    )
    let name = attribute.split(separator: "\"")[3]
    let map = #"{"@from":"1","Item":{"\#(name)":"\#(expression)"}}"#
    return [Self.model(1, Self.counts), Self.model(2, added, map: map)]
  }

  @Test(
    arguments: [
      (#""type":"double","optional":true"#, "a / b", "it divides by zero (2 of them)"),
      (#""type":"int64","optional":true"#, "modulus:by:(a, b)", "it divides by zero (2 of them)"),
      (#""type":"decimal","optional":true"#, "a / price", "it divides by zero (2 of them)"),
      (#""type":"string"#, "note", "the value is nil, and it is required (1 of them)"),
      (#""type":"int16","maximum":100"#, "a", "value is above its maximum (1 of them)"),
      (
        #""type":"int64","optional":true"#, "CAST(note, 'NSNumber')",
        "CAST does not convert the value (2 of them)"
      ),
      (#""type":"int16""#, "a * 200", "the value does not survive as int16 (1 of them)"),
      (
        #""type":"string","enum":["x"],"optional":true"#, "note",
        "value is not one of the values that the model allows (1 of them)"
      ),
    ]
  )
  func `a value that the property does not admit is a failure`(
    type: String,
    expression: String,
    message: String
  ) async throws {
    try await fillCounts()
    let closed = type.hasSuffix("string") ? type + "\"" : type
    let found = try problems(counts(#"{"name":"value",\#(closed)}"#, expression))
    #expect(text(found) == ["map.Item.value: \(message)"])
    #expect(try TestStore(nil, in: folder).lines("Item a").count == 3)
  }

  @Test(
    arguments: [
      (#""type":"double","optional":true"#, "TERNARY(b == 0, nil, a / b)", "2.0 null null"),
      (#""type":"string""#, "CAST(a, 'NSString')", "6 1 300"),
      (#""type":"boolean""#, "TERNARY(note == nil, YES, NO)", "false true false"),
      (#""type":"int64","optional":true"#, "length:(note)", "1 null 4"),
      (#""type":"decimal""#, "price + a", "7.5 1 300"),
      (#""type":"string""#, "'fixed'", "fixed fixed fixed"),
      (
        #""type":"date""#, "CAST(a, 'NSDate')",
        "2001-01-01T00:00:06.000Z 2001-01-01T00:00:01.000Z 2001-01-01T00:05:00.000Z"
      ),
    ]
  )
  func `expressions over the old object give the values`(
    type: String,
    expression: String,
    values: String
  ) async throws {
    try await fillCounts()
    let chain = counts(#"{"name":"value",\#(type)}"#, expression)
    try open(chain).close()
    let lines = try TestStore(nil, in: folder).lines("Item value")
    let expected = values.split(separator: " ").enumerated().map {
      "Item/p\($0 + 1) v2 value=\($1)"
    }
    #expect(lines == expected)
  }

  // MARK: Names

  @Test(
    arguments: [
      (#"{"Item":{}}"#, "map.@from"),
      (#"{"@from":"1","Thing":{}}"#, "map.Thing"),
      (#"{"@from":"1","Item":{"c":"a"}}"#, "map.Item.c"),
      (#"{"@from":"1","Item":{"a":"b +"}}"#, "map.Item.a"),
      (#"{"@from":"1","Item":{"@where":"b >"}}"#, "map.Item.@where"),
      (#"{"@from":"1","Item":{"a":1}}"#, "map.Item.a"),
      (#"{"@from":"1","Item":{"@from":[]}}"#, "map.Item.@from"),
      (#"{"@from":"1","Item":3}"#, "map.Item"),
      ("[]", "map"),
      (#"{"@from":"1","Item":{"peer":"SELF"}}"#, "map.Item.peer"),
    ]
  )
  func `a map that does not fit its model is invalid`(map: String, path: String) throws {
    let error = try #require(throws: ModelError.self) {
      try parsed(Self.model(2, String(Self.peers), map: map))
    }
    #expect(error.problems.map(\.path) == [path])
  }

  @Test(
    arguments: [
      (#"{"@from":"1","Item":{"@from":"Thing"}}"#, "map.Item.@from"),
      (#"{"@from":"1","Item":{"a":"c"}}"#, "map.Item.a"),
      (#"{"@from":"1","Item":{"@where":"c > 1"}}"#, "map.Item.@where"),
      (#"{"@from":"1","Item":{"a":"note"}}"#, nil),
      (#"{"@from":"1","Item":{"note":"SELF"}}"#, "map.Item.note"),
    ] as [(String, String?)]
  )
  func `a name that the old model lacks is a problem of the migration`(
    map: String,
    path: String?
  ) async throws {
    try await fillCounts()
    let later = Self.counts.replacing(#""note""#, with: #""note","userInfo":{"k":"v"}"#)
      .replacing(#""default":"0""#, with: #""default":"1""#)
    let found = try problems([Self.model(1, Self.counts), Self.model(2, later, map: map)])
    #expect(found.contains { $0["path"]?.string == path ?? "map.Item.a" })
    #expect(try TestStore(nil, in: folder).lines("Item a").count == 3)
  }

  @Test func `a map from another version does not apply, and is invalid in a chain`() async throws {
    try await fillCounts()
    let later = Self.counts.replacing(#""default":"0""#, with: #""default":"1""#)
    let map = #"{"@from":"7","Item":{"a":"a + 1"}}"#
    let second = Self.model(2, later, map: map)
    let error = try #require(throws: StoreError.self) {
      try open([Self.model(1, Self.counts), second])
    }
    #expect(error.code == .modelInvalid)
    #expect(error.message.contains("the version before it is 1"))
    try open([second]).close()
    #expect(try TestStore(nil, in: folder).lines("Item a").first == "Item/p1 v1 a=6")
  }

  @Test func `a map may name the hash of the previous version`() async throws {
    try await fillCounts()
    let hash = try parsed(Self.model(1, Self.counts)).hash
    let later = Self.counts.replacing(#""default":"0""#, with: #""default":"1""#)
    let map = #"{"@from":"\#(hash)","Item":{"a":"a + 1"}}"#
    try open([Self.model(2, later, map: map)]).close()
    #expect(try TestStore(nil, in: folder).lines("Item a").first == "Item/p1 v2 a=7")
  }

  // MARK: Removed objects

  @Test func `objects that no entity takes are a loss, except in a chain`() async throws {
    try await fillCounts()
    let later = Self.counts.replacing(#""default":"0""#, with: #""default":"1""#)
    let second = Self.model(2, later, map: #"{"@from":"1","Item":{"@where":"b > 0"}}"#)
    let found = try problems([second])
    #expect(found.map { $0["path"] } == ["Item"])
    #expect(found.map { $0["count"] } == [2])
    try open([Self.model(1, Self.counts), second]).close()
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("Item a") == ["Item/p1 v2 a=6"])
    let saved = try await store.save(#"{"insert":[{"id":"Item/t1","values":{"a":1,"b":1}}]}"#)
    #expect(saved["ids"]?["Item/t1"] == "Item/p4")
  }

  @Test func `a split does not lose values, links or references`() async throws {
    let first = """
      {"name":"Order","attributes":[
         {"name":"kind","type":"string"},{"name":"note","type":"string","optional":true}],
       "relationships":[{"name":"tags","destination":"Tag","toMany":true}]},
      {"name":"Tag","relationships":[{"name":"top","destination":"Order","optional":true}]}
      """
    let second = first + #",{"name":"Invoice","attributes":[{"name":"kind","type":"string"}]}"#
    let map = """
      {"@from":"1","Order":{"@where":"kind == 'o'"},
       "Invoice":{"@from":"Order","@where":"kind == 'i'"}}
      """
    do {
      let store = try TestStore(Self.model(1, first), in: folder)
      try await store.save(
        """
        {"insert":[{"id":"Tag/t1","values":{"top":"Order/t2"}},
          {"id":"Order/t1","values":{"kind":"o","note":"kept","tags":["Tag/t1"]}},
          {"id":"Order/t2","values":{"kind":"i","note":"lost","tags":["Tag/t1"]}}]}
        """
      )
    }
    let found = try problems([Self.model(2, second, map: map)])
    #expect(
      found.map { "\($0["path"]?.string ?? "") \($0["count"]?.integer ?? 0)" }.sorted()
        == ["Order.note 1", "Order.tags 1", "Tag.top 1"]
    )
    try open([Self.model(1, first), Self.model(2, second, map: map)]).close()
    let store = try TestStore(nil, in: folder)
    #expect(
      try store.lines("Order note tags; Tag top")
        == ["Order/p1 v2 note=kept tags=[Tag/p1]", "Tag/p1 v2 top=null"]
    )
    try verify(store)
  }

  @Test func `an expression of a relationship that fails is a failure`() async throws {
    try await fillCounts()
    let added =
      Self.counts.dropLast()
      + #","relationships":[{"name":"same","destination":"Item","optional":true},"#
      + #"{"name":"all","destination":"Item","toMany":true}]}"#
    for (name, expression) in [("same", "TERNARY(a / b == 2, SELF, SELF)"), ("all", "SELF")] {
      let text = name == "all" ? "TERNARY(a / b == 2, SELF, SELF)" : expression
      let map = #"{"@from":"1","Item":{"\#(name)":"\#(text)"}}"#
      let found = try problems([Self.model(1, Self.counts), Self.model(2, String(added), map: map)])
      #expect(self.text(found) == ["map.Item.\(name): it divides by zero (2 of them)"])
    }
  }

  @Test func `the order of a list remains where only some members have a rule`() async throws {
    func entities(_ type: String) -> String {
      """
      {"name":"List","relationships":[
         {"name":"items","destination":"A","toMany":true,"ordered":true,"inverse":"list"}]},
      {"name":"A","abstract":true,"relationships":[
         {"name":"list","destination":"List","optional":true,"inverse":"items"}]},
      {"name":"B","parent":"A"},
      {"name":"D","parent":"A","attributes":[{"name":"x","type":"\(type)","default":1}]}
      """
    }
    let list: String
    do {
      let store = try TestStore(Self.model(1, entities("int16")), in: folder)
      try await store.save(
        """
        {"insert":[{"id":"D/t1"},{"id":"B/t1"},{"id":"B/t2"},{"id":"D/t2"},
          {"id":"List/t1","values":{"items":["D/t1","B/t1","B/t2","D/t2"]}}]}
        """
      )
      list = try store.lines("List items")[0]
    }
    let map = #"{"@from":"1","D":{"x":"x + 100"}}"#
    try open([
      Self.model(1, entities("int16")), Self.model(2, entities("int32"), map: map),
    ]).close()
    let store = try TestStore(nil, in: folder)
    #expect(try store.lines("List items") == [list])
    try verify(store)
  }

  @Test func `a configuration leaves out the rules of its other entities`() throws {
    let text = #"""
      {"name":"M","configurations":{"Main":["A"]},
       "map":{"@from":"1","A":{"x":"1"},"B":{"y":"2"}},
       "entities":[{"name":"A","attributes":[{"name":"x","type":"int16"}]},
         {"name":"B","attributes":[{"name":"y","type":"int16"}]}]}
      """#
    let part = try ModelDocument.document(try JSONParser.parse(text), ofConfiguration: "Main")
    #expect(try ModelDocument.model(from: part).map?.rules.map(\.entity) == ["A"])
  }

  @Test func `an object that two entities of one destination take is ambiguous`() async throws {
    let first = """
      {"name":"Base","abstract":true},{"name":"A","parent":"Base"},
      {"name":"Owner","relationships":[{"name":"base","destination":"Base","optional":true}]}
      """
    let second = first + #",{"name":"B","parent":"Base"}"#
    do {
      let store = try TestStore(Self.model(1, first), in: folder)
      try await store.save(
        #"{"insert":[{"id":"A/t1"},{"entity":"Owner","values":{"base":"A/t1"}}]}"#
      )
    }
    let map = #"{"@from":"1","B":{"@from":"A"}}"#
    let found = try problems([Self.model(1, first), Self.model(2, second, map: map)])
    #expect(found.map { $0["path"] } == ["Owner.base"])
  }

  // MARK: Families and lists

  @Test func `an entity becomes abstract, and its objects become its descendants`() async throws {
    let first = """
      {"name":"Party","attributes":[
         {"name":"name","type":"string"},{"name":"isFirm","type":"boolean"}],
       "relationships":[
         {"name":"friends","destination":"Party","toMany":true,"ordered":true}]}
      """
    let second = """
      {"name":"Party","abstract":true,"attributes":[{"name":"name","type":"string"}],
       "relationships":[
         {"name":"friends","destination":"Party","toMany":true,"ordered":true}]},
      {"name":"Person","parent":"Party"},
      {"name":"Firm","parent":"Party","relationships":[
         {"name":"staff","destination":"Person","toMany":true,"ordered":true}]}
      """
    do {
      let store = try TestStore(Self.model(1, first), in: folder)
      try await store.save(
        """
        {"insert":[
          {"id":"Party/t1","values":{"name":"Ann","isFirm":false}},
          {"id":"Party/t2",
           "values":{"name":"Bob","isFirm":false,"friends":["Party/t3","Party/t1"]}},
          {"id":"Party/t3",
           "values":{"name":"Sun","isFirm":true,"friends":["Party/t2","Party/t1"]}}]}
        """
      )
    }
    let map = """
      {"@from":"1","Person":{"@from":"Party","@where":"isFirm == NO"},
       "Firm":{"@from":"Party","@where":"isFirm == YES","staff":"friends"}}
      """
    try open([Self.model(1, first), Self.model(2, second, map: map)]).close()
    let later = try TestStore(nil, in: folder)
    let lines = try later.lines("Party name friends")
    #expect(lines.count == 3)
    let people = try later.ids(#"{"entity":"Person"}"#)
    let firms = try later.ids(#"{"entity":"Firm"}"#)
    #expect(people.count == 2 && firms.count == 1)
    let (ann, bob, firm) = (people[0], people[1], firms[0])
    #expect(
      try later.lines("Party name friends").sorted()
        == [
          "\(ann) v1 name=Ann friends=[]",
          "\(bob) v1 name=Bob friends=[\(firm),\(ann)]",
          "\(firm) v1 name=Sun friends=[\(bob),\(ann)]",
        ].sorted()
    )
    #expect(try later.lines("Firm staff") == ["\(firm) v1 staff=[\(bob),\(ann)]"])
    try verify(later)
    #expect(
      try newestChanges(later).filter { $0.hasPrefix("delete") }
        == ["delete Party/p1", "delete Party/p2", "delete Party/p3"]
    )
  }
}
