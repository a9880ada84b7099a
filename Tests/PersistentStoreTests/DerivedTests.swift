import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let library = """
  {"name": "Library", "entities": [
    {"name": "Shelf",
     "attributes": [
       {"name": "title", "type": "string", "optional": true},
       {"name": "count", "type": "int64", "derived": "books.@count"},
       {"name": "pages", "type": "int64", "derived": "books.@sum.pages"},
       {"name": "weight", "type": "double", "derived": "books.@sum.weight"}],
     "relationships": [
       {"name": "books", "destination": "Book", "toMany": true, "inverse": "shelf"}]},
    {"name": "Book",
     "attributes": [
       {"name": "title", "type": "string", "optional": true},
       {"name": "pages", "type": "int32", "default": 1, "optional": true},
       {"name": "weight", "type": "double", "optional": true},
       {"name": "code", "type": "int16", "optional": true},
       {"name": "key", "type": "string", "derived": "canonical:(title)"},
       {"name": "loud", "type": "string", "derived": "uppercase:(title)"},
       {"name": "place", "type": "string", "derived": "shelf.title"},
       {"name": "words", "type": "int64", "derived": "tags.@count"},
       {"name": "rank", "type": "int64", "derived": "tags.@sum.rank"},
       {"name": "friendCount", "type": "int64", "derived": "friends.@count"},
       {"name": "touched", "type": "date", "derived": "now()"}],
     "unique": [["code"]],
     "relationships": [
       {"name": "shelf", "destination": "Shelf", "inverse": "books", "optional": true},
       {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "books"},
       {"name": "friends", "destination": "Book", "toMany": true, "inverse": "friends"}]},
    {"name": "Novel", "parent": "Book"},
    {"name": "Tag",
     "attributes": [
       {"name": "rank", "type": "int16", "default": 1},
       {"name": "uses", "type": "int64", "derived": "books.@count"}],
     "relationships": [
       {"name": "books", "destination": "Book", "toMany": true, "inverse": "tags"}]}]}
  """

@Suite struct `What the store derives is what a fetch computes` {
  private let store: TestStore

  init() throws {
    store = try TestStore(library)
  }

  /// Each stored value beside the computed one, where they differ.
  private func differences() throws -> [String] {
    var found: [String] = []
    for (entity, pairs) in [
      (
        "Shelf",
        ["count": "books.@count", "pages": "books.@sum.pages", "weight": "books.@sum.weight"]
      ),
      (
        "Book",
        [
          "place": "shelf.title", "words": "tags.@count", "rank": "tags.@sum.rank",
          "friendCount": "friends.@count",
        ]
      ), ("Tag", ["uses": "books.@count"]),
    ] {
      let select = pairs.flatMap { [$0.key, $0.value] }.map { "\"\($0)\"" }.joined(separator: ",")
      for object in try store.fetch(#"{"entity":"\#(entity)","select":[\#(select)]}"#) {
        let values = object["values"] ?? .null
        for (stored, computed) in pairs where values[stored] != values[computed] {
          found.append("\(object["id"]?.string ?? "").\(stored): \(values.text)")
        }
      }
    }
    for object in try store.fetch(#"{"entity":"Book","select":["title","key","loud"]}"#) {
      let values = object["values"] ?? .null
      let title = values["title"]?.string
      // The titles of this test fold as Swift lowers them.
      if values["key"]?.string != title?.lowercased()
        || values["loud"]?.string != title?.uppercased()
      {
        found.append("\(object["id"]?.string ?? ""): \(values.text)")
      }
    }
    return found
  }

  // Evidence: P-115a
  @Test func `a save stores and returns derived values`() async throws {
    let saved = try await store.save(
      """
      {"insert":[
        {"id":"Book/t1","values":{"title":"Été","pages":10,"weight":0.5,"shelf":"Shelf/t1",
          "tags":["Tag/t1"]}},
        {"id":"Shelf/t1","values":{"title":"A"}},{"id":"Tag/t1","values":{"rank":7}}]}
      """
    )
    let values = try #require(saved["objects"]?.array?.map { $0["values"] ?? .null })
    #expect(values[0]["key"] == "ete")
    #expect(values[0]["loud"] == "ÉTÉ")
    #expect(values[0]["place"] == "A")
    #expect(values[0]["words"] == 1)
    #expect(values[0]["rank"] == 7)
    #expect(values[0]["touched"]?.string != nil)
    #expect(values[1] == ["count": 1, "pages": 10, "weight": 0.5])
    #expect(values[2] == ["uses": 1])
    let updated = try await store.save(
      #"{"update":[{"id":"Book/p1","values":{"pages":12,"title":null}}]}"#
    )
    #expect(updated["objects"]?.array?.first?["values"]?["key"] == JSONValue.null)
    #expect(
      try store.lines("Shelf count pages weight") == ["Shelf/p1 v1 count=1 pages=12 weight=0.5"]
    )
  }

  // Evidence: P-115d
  @Test func `clients cannot write a derived attribute`() async throws {
    let refused = try await store.refusal(#"{"insert":[{"entity":"Shelf","values":{"count":3}}]}"#)
    #expect(refused?.code == "validationFailed")
    #expect(refused?.data["problems"]?.array?.first?["rule"] == "derived")
  }

  /// It is no change that a client made: an edit of the shelf does not conflict with a new book.
  // Evidence: P-115e
  @Test func `a change of a derived value increments no version and is logged`() async throws {
    try await store.save(#"{"insert":[{"id":"Shelf/t1","values":{"title":"A"}}]}"#)
    try await store.save(#"{"insert":[{"id":"Book/t1","values":{"shelf":"Shelf/p1"}}]}"#)
    try await store.save(#"{"update":[{"id":"Shelf/p1","version":1,"values":{"title":"B"}}]}"#)
    #expect(try store.lines("Shelf title count") == ["Shelf/p1 v2 title=B count=1"])
    let changes = try store.snapshot { try $0.log.changeSet(from: 1, through: 2)?.changes }
    let shelf = try #require(try store.snapshot { try $0.resolve("Shelf/p1") })
    #expect(changes?[shelf]?.properties == ["count", "pages"])
    #expect(changes?[shelf]?.kind == .update)
  }

  // Evidence: P-115b
  @Test func `a foreign client sees it in its own transaction`() throws {
    try store.foreign(
      """
      INSERT INTO Shelf(title) VALUES ('A'), ('B');
      INSERT INTO Book(title, pages, shelf) VALUES ('x', 5, 1), ('y', 6, 1);
      UPDATE Book SET shelf = 2, pages = 8 WHERE title = 'y';
      UPDATE Shelf SET title = 'C' WHERE title = 'B';
      INSERT INTO Tag(rank) VALUES (3);
      INSERT INTO cordial_pairs_Book_tags VALUES (1, 1), (2, 1);
      UPDATE Tag SET rank = 4;
      """
    )
    #expect(try store.rows("SELECT count, pages FROM Shelf ORDER BY _id") == ["1|5", "1|8"])
    #expect(
      try store.rows("SELECT place, words, rank FROM Book ORDER BY _id") == ["A|1|4", "C|1|4"]
    )
    #expect(try store.rows("SELECT uses FROM Tag") == ["2"])
    #expect(
      try store.rows("SELECT abs(touched - 1000 * strftime('%s', 'now')) < 60000 FROM Book LIMIT 1")
        == ["1"]
    )
  }

  // Evidence: P-115c
  @Test func `sealing corrects replaced rows and text that needs ICU`()
    async throws
  {
    try store.foreign(
      """
      INSERT INTO Shelf(title) VALUES ('A');
      INSERT INTO Book(title, code, pages, weight, shelf) VALUES ('Über', 1, 10, 0.25, 1);
      INSERT OR REPLACE INTO Book(title, code, pages, weight, shelf) VALUES ('Öl', 1, 3, 0.5, 1);
      INSERT OR IGNORE INTO Book(title, code, pages, weight, shelf) VALUES ('No', 1, 3, 0.5, 1);
      """
    )
    try await store.seal()
    #expect(
      try store.lines("Shelf count pages weight") == ["Shelf/p1 v1 count=1 pages=3 weight=0.5"]
    )
    #expect(try store.lines("Book title key") == ["Book/p2 v1 title=Öl key=ol"])
  }

  // Evidence: P-115c
  @Test func `texts of another ICU version are rebuilt`() async throws {
    try await store.save(#"{"insert":[{"id":"Book/t1","values":{"title":"ABC"}}]}"#)
    let folder = store.folder
    store.store.close()
    try store.foreign(
      """
      UPDATE cordial_meta SET value = 'another' WHERE name = 'unicode';
      UPDATE Book SET key = 'old';
      """
    )
    let again = try TestStore(nil, in: folder)
    #expect(try again.lines("Book key") == ["Book/p1 v1 key=abc"])
  }

  // Evidence: P-115c
  @Test func `texts of another ICU version are not compared`() throws {
    func compared(_ comparesTexts: Bool) throws -> Set<String> {
      try store.snapshot { snapshot in
        let queries = DerivedValues.wrongValueQueries(
          in: snapshot.model,
          comparesTexts: comparesTexts
        )
        return Set(queries.map(\.property))
      }
    }
    #expect(try compared(true).subtracting(try compared(false)) == ["key", "loud"])
  }

  @Test(arguments: Seeds.first(12))
  func `random saves and foreign statements`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    try await store.save(
      #"{"insert":[{"id":"Shelf/t1"},{"id":"Shelf/t2"},{"id":"Tag/t1"},{"id":"Tag/t2"}]}"#
    )
    for step in 0..<40 {
      let book = 1 + random.below(12)
      let novel = (1 << 45) + 1 + random.below(6)
      let id = random.oneIn(3) ? "Novel/p\(novel)" : "Book/p\(book)"
      let shelf = random.oneIn(4) ? "null" : "\"Shelf/p\(1 + random.below(2))\""
      let tags = (1...2).filter { _ in random.oneIn(2) }.map { "\"Tag/p\($0)\"" }
        .joined(separator: ",")
      let values = """
        {"title":"T\(random.below(3))","pages":\(random.below(9)),"shelf":\(shelf),
         "weight":\(random.below(9)).5,"tags":[\(tags)]}
        """
      let entity = random.oneIn(3) ? "Novel" : "Book"
      let table = random.oneIn(3) ? "Novel" : "Book"
      switch random.below(10) {
      case 0, 1, 2:
        _ = try await store.refusal(#"{"insert":[{"entity":"\#(entity)","values":\#(values)}]}"#)
      case 3, 4: _ = try await store.refusal(#"{"update":[{"id":"\#(id)","values":\#(values)}]}"#)
      case 5: _ = try await store.refusal(#"{"delete":["\#(id)"]}"#)
      case 6:
        let friends = (0..<3).map { _ in "\"Book/p\(1 + random.below(6))\"" }.joined(separator: ",")
        _ = try await store.refusal(
          #"{"update":[{"id":"\#(id)","values":{"friends":[\#(friends)]}}]}"#
        )
      case 7:
        _ = try await store.refusal(
          #"{"update":[{"id":"Shelf/p1","values":{"title":"S\#(step)","books":["\#(id)"]}}]}"#
        )
      case 8:
        try store.foreign(
          """
          INSERT OR REPLACE INTO \(table)(code, title, pages, shelf) \
          VALUES (\(random.below(3)), 'F', \(random.below(9)), \(1 + random.below(2)));
          UPDATE OR IGNORE \(table) SET shelf = \(1 + random.below(3)), weight = 1.5 \
          WHERE _id % 3 = \(random.below(3));
          """
        )
      default:
        try store.foreign(
          """
          DELETE FROM cordial_pairs_Book_tags WHERE target = \(1 + random.below(2)) AND source % 2 = 0;
          DELETE FROM \(table) WHERE _id % 5 = \(random.below(5));
          UPDATE Tag SET rank = \(random.below(9));
          INSERT OR IGNORE INTO cordial_pairs_Book_tags SELECT _id, 1 FROM \(table);
          """
        )
      }
      try await store.seal()
      let found = try differences()
      #expect(found == [], "seed \(seed), step \(step)")
      guard found.isEmpty else { return }
    }
  }

  private static let tree = """
    {"name":"M","entities":[{"name":"m","attributes":[
      {"name":"x","type":"int32","optional":true},
      {"name":"c","type":"int64","derived":"kids.@count"},
      {"name":"s","type":"int64","derived":"kids.@sum.x"},
      {"name":"px","type":"int32","derived":"up.x"}],
     "relationships":[
      {"name":"kids","destination":"m","toMany":true,"inverse":"up"},
      {"name":"up","destination":"m","optional":true,"inverse":"kids"}]}]}
    """

  /// Its entity is named as an alias could be, and its objects lead to their like and to themselves.
  @Test func `derived values follow references to the own entity and to the object itself`()
    async throws
  {
    let store = try TestStore(Self.tree)
    try await store.save(
      """
      {"insert":[{"id":"m/t1","values":{"x":5,"up":"m/t1"}},
        {"id":"m/t2","values":{"x":7,"up":"m/t1"}}]}
      """
    )
    let lines = ["m/p1 v1 c=2 s=12 px=5", "m/p2 v1 c=0 s=0 px=5"]
    #expect(try store.lines("m c s px") == lines)
    try store.foreign("REPLACE INTO m(_id, x, up) VALUES (2, 8, 1)")
    try await store.seal()
    #expect(
      try store.lines("m c s px").map { $0.split(separator: " ", maxSplits: 2)[2] } == [
        "c=2 s=13 px=5", "c=0 s=0 px=5",
      ]
    )
  }

  private static let crowd = """
    {"name":"M","entities":[{"name":"m","attributes":[
      {"name":"n","type":"string","optional":true},{"name":"x","type":"int32","default":1},
      {"name":"s","type":"int64","derived":"of.@sum.x"}],"unique":[["n"]],
     "relationships":[
      {"name":"to","destination":"m","toMany":true,"inverse":"of"},
      {"name":"of","destination":"m","toMany":true,"inverse":"to"}]}]}
    """

  @Test func `a sum excludes a deleted member whose unique value an insert takes`() async throws {
    let store = try TestStore(Self.crowd)
    try await store.save(
      """
      {"insert":[{"id":"m/t1","values":{"n":"a","x":2,"of":["m/t1","m/t2"]}},
        {"id":"m/t2","values":{"n":"b","x":5}}]}
      """
    )
    #expect(try store.lines("m s") == ["m/p1 v1 s=7", "m/p2 v1 s=0"])
    try await store.save(#"{"insert":[{"id":"m/t3","values":{"n":"b"}}],"delete":["m/p2"]}"#)
    #expect(try store.lines("m s") == ["m/p1 v2 s=2", "m/p3 v1 s=0"])
  }

  // Evidence: P-115a, P-115c
  @Test func `sums of decimals are exact, in families and over links, and sealed`() async throws {
    let store = try TestStore(
      """
      {"name":"M","entities":[
        {"name":"Cart","attributes":[
           {"name":"one","type":"decimal","derived":"items.@sum.price"},
           {"name":"many","type":"decimal","derived":"seen.@sum.price"}],
         "relationships":[
           {"name":"items","destination":"Item","toMany":true,"inverse":"cart"},
           {"name":"seen","destination":"Item","toMany":true}]},
        {"name":"Item","attributes":[{"name":"price","type":"decimal","optional":true}],
         "relationships":[
           {"name":"cart","destination":"Cart","optional":true,"inverse":"items"}]},
        {"name":"Book","parent":"Item"}]}
      """
    )
    func sums() throws -> [String] {
      try store.lines("Cart one many").map { String($0.split(separator: " ", maxSplits: 2)[2]) }
    }
    try await store.save(#"{"insert":[{"id":"Cart/t1"},{"entity":"Cart"}]}"#)
    #expect(try sums() == ["one=0 many=0", "one=0 many=0"])
    let saved = try await store.save(
      """
      {"insert":[
        {"id":"Item/t1","values":{"price":"0.1","cart":"Cart/p1"}},
        {"id":"Book/t2","values":{"price":"12345678901234567890.2","cart":"Cart/p1"}},
        {"id":"Item/t3","values":{"cart":"Cart/p1"}}],
       "update":[{"id":"Cart/p2","values":{"seen":["Item/t1","Book/t2"]}}]}
      """
    )
    #expect(saved["objects"]?.array?.last?["values"]?["many"] == "12345678901234567890.3")
    #expect(
      try sums() == ["one=12345678901234567890.3 many=0", "one=0 many=12345678901234567890.3"]
    )
    try store.foreign(
      "UPDATE Item SET price = '0.25', cart = 2 WHERE price = '0.1'; INSERT INTO Cart DEFAULT VALUES"
    )
    try await store.seal()
    #expect(
      try sums() == [
        "one=12345678901234567890.2 many=0", "one=0.25 many=12345678901234567890.45",
        "one=0 many=0",
      ]
    )
    // A sum of more than 38 digits is missing.
    let nines = String(repeating: "9", count: 38)
    try await store.save(
      """
      {"insert":[{"entity":"Item","values":{"price":"\(nines)","cart":"Cart/p3"}},
        {"entity":"Item","values":{"price":"1","cart":"Cart/p3"}}]}
      """
    )
    #expect(try sums().last == "one=null many=0")
    let wrong = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
    #expect(wrong == [])
  }

  @Test func `a sum beyond 64 bits is a problem of the save`() async throws {
    let store = try TestStore(
      Self.tree.replacing(#""type":"int32""#, with: #""type":"int64""#)
    )
    let refused = try await store.refusal(
      """
      {"insert":[{"id":"m/t1"},{"id":"m/t2","values":{"x":\(Int64.max),"up":"m/t1"}},
        {"id":"m/t3","values":{"x":1,"up":"m/t1"}}]}
      """
    )
    #expect(refused?.code == "validationFailed")
    #expect(refused?.data["problems"]?.array?.first?["property"] == "m.s")
    #expect(try store.ids(#"{"entity":"m"}"#) == [])
  }
}
