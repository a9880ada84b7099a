import CordialValues
import Foundation
import JSON
import ObjectModel
import Testing
import XcodeModel

// Evidence: P-112a
@Suite struct `An Xcode model with several versions` {
  private let path = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Models/Library.xcdatamodeld").path(
      percentEncoded: false
    )
  private let model: Model
  private let document: JSONValue
  private let notes: [String]

  init() throws {
    let read = try XcodeModel(path: path)
    document = read.document
    notes = read.notes
    model = try ModelDocument.model(from: read.document)
  }

  private func entity(_ name: String) throws -> EntityDescription {
    try #require(model.entity(named: name))
  }

  @Test func `the named version is read without a note`() throws {
    #expect(notes == [])
    #expect(model.name == "Library")
    #expect(model.version == "Library 3")
    #expect(
      model.entities.map(\.name) == ["Book", "Recording", "Shelf", "Work", "Writer", "Setting"]
    )
  }

  @Test func `the chain of versions ends at the named version`() throws {
    let versions = try XcodeModel.versions(path: path)
    #expect(versions.map { $0.document["version"] } == ["Library", "Library 2", "Library 3"])
    #expect(versions.allSatisfy { $0.notes == [] })
    let models = try versions.map { try ModelDocument.model(from: $0.document) }
    #expect(Set(models.map(\.hash)).count == 3)
    #expect(models.last?.hash == model.hash)
  }

  @Test func `entities have the attributes of their parent`() throws {
    let book = try entity("Book")
    #expect(book.attributes.map(\.name) == ["sortTitle", "title", "isbn", "pages"])
    #expect(book.relationships.map(\.name) == ["authors", "shelf"])
    #expect(try entity("Work").isAbstract)
    #expect(!book.isAbstract)
    let title = try #require(book.attributes.first { $0.name == "title" })
    #expect([title.minimumLength, title.maximumLength] == [1, 200])
    #expect(book.transients == ["isOpen"])
  }

  @Test func `patterns, limits and defaults belong to their attributes`() throws {
    let book = try entity("Book")
    #expect(book.attributes.map(\.pattern?.text) == [nil, nil, "[0-9]{9}[0-9X]|[0-9]{13}", nil])
    let pages = try #require(book.attributes.first { $0.name == "pages" })
    #expect(pages.minimum == .integer(0))
    #expect(pages.defaultValue == .integer(0))
    let name = try #require(try entity("Writer").attributes.first { $0.name == "fullName" })
    #expect(name.defaultValue == .string("Unknown"))
    #expect(!name.optional)
  }

  @Test func `derivations are kept`() throws {
    let count = try #require(try entity("Shelf").attributes.first { $0.name == "count" })
    #expect(count.derived == .count("works"))
    let title = try #require(try entity("Work").attributes.first { $0.name == "sortTitle" })
    #expect(title.derived == .text(.canonical, "title"))
  }

  @Test func `relationships keep order, inverse and delete rule`() throws {
    let works = try #require(try entity("Shelf").relationships.first)
    #expect(works.ordered && works.toMany)
    #expect(works.inverse == "shelf")
    #expect(works.deleteRule == .cascade)
    let authors = try #require(try entity("Book").relationships.first)
    #expect(!authors.ordered && authors.toMany)
    #expect(authors.deleteRule == .nullify)
  }

  @Test func `element identifiers are former names`() throws {
    #expect(model.entities.map(\.renamedFrom) == [nil, nil, nil, nil, "Author", nil])
    let writer = try entity("Writer")
    #expect(writer.attributes.map(\.renamedFrom) == ["name", nil])
    #expect(writer.unique == [["email"]])
    #expect(writer.indexes == [["fullName"]])
    #expect(writer.spotlight?.weights.map(\.name) == ["email"])
  }

  @Test func `configurations and fetch requests are kept`() throws {
    #expect(
      document["configurations"] == [
        "Catalogue": ["Book", "Recording", "Shelf", "Work", "Writer"], "Settings": ["Setting"],
      ]
    )
    let part = try ModelDocument.model(
      from: try ModelDocument.document(document, ofConfiguration: "Settings")
    )
    #expect(part.entities.map(\.name) == ["Setting"])
    #expect(
      model.templates.first.map { JSONValue.object($0.params).text } == """
        {"entity":"Book","predicate":"pages > 500","limit":20}
        """
    )
  }
}
