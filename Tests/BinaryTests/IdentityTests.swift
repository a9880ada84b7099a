import Testing

@Suite struct `Inserts and deletes of objects with an identity` {
  private static let model = """
    {"name":"Posts","version":"1","entities":[
      {"name":"Tag","identity":"name",
       "attributes":[{"name":"name","type":"string"},
                     {"name":"note","type":"string","optional":true}],
       "relationships":[
         {"name":"posts","destination":"Post","toMany":true,"inverse":"tags"},
         {"name":"leads","destination":"Post","toMany":true,"inverse":"main"}]},
      {"name":"Post","identity":"number",
       "attributes":[{"name":"number","type":"int64"},
                     {"name":"title","type":"string","optional":true}],
       "relationships":[
         {"name":"tags","destination":"Tag","toMany":true,"inverse":"posts"},
         {"name":"main","destination":"Tag","inverse":"leads","optional":true}]}]}
    """

  private let fixture: Fixture
  private let store: String
  private let writer: Peer
  private let reader: Peer

  init() throws {
    fixture = try Fixture()
    store = try fixture.store(model: try fixture.write(Self.model, to: "model.json"))
    let daemon = try fixture.daemon(store)
    writer = try daemon.connect()
    reader = try daemon.connect()
  }

  private func insertPost() throws {
    try writer.call(
      "save",
      [
        "insert": [
          ["id": "Tag/sred"],
          ["id": "Post/i7", "values": ["title": "a", "main": "Tag/sred", "tags": ["Tag/sred"]]],
        ]
      ]
    )
  }

  /// The first of the objects that the next `changes` is about.
  private func reportedObject() throws -> JSON? {
    try reader.changes()["updates"]?[0]?["objects"]?[0]
  }

  // Evidence: P-031a, P-071c
  @Test func `deleted objects are named by identity in history and notifications`() throws {
    try insertPost()
    try reader.call("observe", ["fetch": ["entity": "Post"]])
    try reader.call("observe", ["fetch": ["entity": "Tag"], "mode": "ids"])
    try writer.call("save", ["delete": ["Post/i7", "Tag/sred"]])
    let updates = try reader.changes()["updates"]
    let removed = updates?[0]?["remove"]?[0]
    #expect(removed?["id"] == "Post/i7")
    #expect(removed?["last"]?["main"] == "Tag/sred")
    #expect(removed?["last"]?["number"] == 7)
    #expect(updates?[1]?["remove"]?[0]?["id"] == "Tag/sred")
    let last = try reader.call("history")["transactions"]?.array?.last
    let changes = last?["changes"]?.array ?? []
    #expect(Set(changes.compactMap { $0["id"]?.string }) == ["Post/i7", "Tag/sred"])
    let before = changes.first { $0["id"] == "Post/i7" }?["before"]
    #expect(before?["main"] == "Tag/sred")
    #expect(before?["tags"] == ["@add": ["Tag/sred"], "@remove": []])
  }

  @Test func `a former to-one to a deleted object is named by its identity`() throws {
    try insertPost()
    try writer.call(
      "save",
      ["update": [["id": "Post/i7", "values": ["main": nil]]], "delete": ["Tag/sred"]]
    )
    let changes = try reader.call("history")["transactions"]?.array?.last?["changes"]?.array ?? []
    let post = changes.first { $0["id"] == "Post/i7" }
    #expect(post?["change"] == "update")
    #expect(post?["before"]?["main"] == "Tag/sred")
    #expect(changes.contains { $0["id"] == "Tag/sred" && $0["change"] == "delete" })
  }

  // Evidence: P-082e
  @Test func `an identity without an object is awaited repeatedly`() throws {
    let observed = try reader.call("observe", ["ids": ["Tag/sblue", "Tag/sred"]])
    #expect(observed["result"]?["objects"] == [nil, nil])
    #expect(observed["result"]?["missing"]?["Tag/sblue"] == "unknown")
    for round in 0..<3 {
      let note: JSON = "round \(round)"
      try writer.call("save", ["insert": [["id": "Tag/sblue", "values": ["note": note]]]])
      let inserted = try reportedObject()
      #expect(inserted?["id"] == "Tag/sblue" && inserted?["change"] == "insert")
      #expect(inserted?["object"]?["values"]?["note"] == note)
      // Another of the entity is none of theirs.
      try writer.call("save", ["insert": [["id": "Tag/sgreen\(round)"]]])
      try writer.call("save", ["update": [["id": "Tag/sblue", "values": ["note": "x"]]]])
      #expect(try reportedObject()?["change"] == "update")
      try writer.call("save", ["delete": ["Tag/sblue"]])
      let deleted = try reportedObject()
      #expect(deleted?["id"] == "Tag/sblue" && deleted?["change"] == "delete")
      #expect(deleted?["last"]?["note"] == "x")
    }
  }

  // Evidence: P-082e
  @Test func `another object with the same identity is an update`() throws {
    try writer.call(
      "save",
      ["insert": [["id": "Tag/sred"], ["id": "Tag/sblue", "values": ["note": "one"]]]]
    )
    // The first deletion of such a client has every subscription start over.
    try ForeignClient.write(store, "DELETE FROM Tag WHERE name = 'red'")
    #expect(try reader.call("fetch", ["entity": "Tag"])["objects"]?.array?.count == 1)
    try reader.call("observe", ["ids": ["Tag/sblue"]])
    for sql in [
      "DELETE FROM Tag; INSERT INTO Tag(name, note) VALUES('blue', 'two')",
      "INSERT OR REPLACE INTO Tag(name, note) VALUES('blue', 'two')",
    ] {
      try ForeignClient.write(store, sql)
      let changed = try reportedObject()
      #expect(changed?["id"] == "Tag/sblue" && changed?["change"] == "update", "\(sql)")
      #expect(changed?["object"]?["values"]?["note"] == "two")
      try writer.call("save", ["update": [["id": "Tag/sblue", "values": ["note": "three"]]]])
      #expect(try reportedObject()?["object"]?["values"]?["note"] == "three")
    }
  }

  // Evidence: P-065b, P-082a
  @Test func `a version that a many-to-many increments is reported at both ends`() throws {
    try insertPost()
    try writer.call("save", ["insert": [["id": "Tag/sblue"]]])
    for entity in ["Post", "Tag"] as [JSON] {
      try reader.call("observe", ["fetch": ["entity": entity]])
    }
    try reader.call("observe", ["fetch": ["entity": "Post"], "mode": "signal"])
    try writer.call(
      "save",
      ["update": [["id": "Tag/sblue", "values": ["posts": ["@add": ["Post/i7"]]]]]]
    )
    let updates = try reader.changes()["updates"]
    #expect(updates?.array?.count == 3)
    for (index, id) in ["Post/i7", "Tag/sblue"].enumerated() {
      let update = updates?[index]?["update"]?[0]
      #expect(update?["id"]?.string == id)
      #expect(update?["object"]?["version"] == 2)
    }
    #expect(updates?[2]?["signal"] == true)
  }
}
