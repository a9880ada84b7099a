import Foundation
import Testing

/// `Tests/Models/Library.xcdatamodeld`, as a user of Xcode hands it to the program.
@Suite struct `A store that follows the versions of an Xcode model` {
  private let fixture: Fixture
  private let store: String
  private let model = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Models/Library.xcdatamodeld").path(
      percentEncoded: false
    )

  init() throws {
    fixture = try Fixture()
    store = try fixture.store(model: model + "/Library.xcdatamodel")
    let insert: JSON = [
      ["id": "Author/t1", "values": ["name": "Ünal"]],
      ["id": "Book/t2", "values": ["title": "Été", "pages": 3, "authors": ["Author/t1"]]],
      ["id": "Recording/t3", "values": ["title": "Fugue", "seconds": .double(1.5)]],
      ["id": "Shelf/t4", "values": ["label": "A", "works": ["Recording/t3", "Book/t2"]]],
    ]
    let params: JSON = ["insert": insert]
    let saved = try fixture.run(["save", store], input: params.text)
    guard saved.code == 0 else { throw Failure(saved.errors) }
  }

  // Evidence: P-112a, P-117b, P-117f
  @Test func `keeps its objects under the new names, in their order`() throws {
    let peer = Peer(try Child(["serve", store, "--model", model]))
    #expect(try peer.call("model")["version"] == "Library 3")
    let writers = try peer.call("fetch", ["entity": "Writer", "select": ["fullName", "email"]])
    #expect(
      writers["objects"]?.array?.map { $0["values"] } == [["fullName": "Ünal", "email": nil]]
    )
    let shelf = try peer.call(
      "fetch",
      ["entity": "Shelf", "select": ["count": "count", "works": "works"], "include": ["works"]]
    )
    #expect(shelf["objects"]?[0]?["values"]?["count"] == 2)
    let works = shelf["objects"]?[0]?["values"]?["works"]?.array ?? []
    let titles = works.map { shelf["included"]?[$0.string ?? ""]?["values"]?["title"] }
    #expect(titles == ["Fugue", "Été"])
    let folded = try peer.call(
      "fetch",
      ["entity": "Work", "sort": ["sortTitle"], "select": ["sortTitle"]]
    )
    #expect(folded["objects"]?.array?.map { $0["values"]?["sortTitle"] } == ["ete", "fugue"])
    #expect(try peer.call("store/verify")["problems"] == [])
  }

  // Evidence: P-114b, P-117f
  @Test func `has the rules of the last version`() throws {
    let peer = Peer(try Child(["serve", store, "--model", model]))
    let book: JSON = ["entity": "Book", "values": ["title": "B", "isbn": "12-3"]]
    #expect(try peer.errorCode("save", ["insert": [book]]) == 1102)
    #expect(try peer.call("fetch", ["template": "longBooks"])["objects"] == [])
    let deleted = try peer.call("delete", ["entity": "Shelf", "predicate": "label == 'A'"])
    #expect(deleted["count"] == 1)
    #expect(try peer.call("fetch", ["entity": "Work", "result": "count"])["count"] == 0)
    #expect(try peer.call("fetch", ["entity": "Writer", "result": "count"])["count"] == 1)
  }

  // Evidence: P-006a, P-006b, P-112a
  @Test func `is made for a configuration too`() throws {
    let part = fixture.path("Part.cordial")
    let made = try fixture.run(["init", part, "--model", model, "--configuration", "Settings"])
    #expect(made.code == 0, "\(made.errors)")
    #expect(try fixture.run(["fetch", part, "Setting", "--count"]).output == "0\n")
    #expect(try fixture.run(["fetch", part, "Book"]).code == 1)
  }
}
