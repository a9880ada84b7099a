package import CordialValues
package import JSON
package import Spotlight

/// An object of which a program decides what the search index has.
package struct IndexCandidate: Sendable {
  /// The name of the object's entity.
  package let entity: String
  package let id: ObjectID
  /// The object's attributes and to-ones, in the form of the protocol: `{"title": "Milk", …}`.
  package let values: JSONValue
  /// The names of the indexed texts, in the order of those of `content`.
  package let fields: [String]
  /// What the index has of the object by the model.
  package let content: DocumentContent
}

/// What a program decides about the search index, in place of the model.
package struct IndexDelegate: Sendable {
  /// The name of the index, a part of the name of its file.
  package let name: String
  /// A text that differs from the former one where the program now decides differently.
  package let version: String
  /// Returns what the index has of an object, with a text or nil for each of its `fields`; nil for
  /// an object that is not indexed.
  ///
  /// It runs on several threads, and its result must depend on the object alone.
  package let content: @Sendable (IndexCandidate) throws -> DocumentContent?

  package init(
    name: String,
    version: String,
    content: @escaping @Sendable (IndexCandidate) throws -> DocumentContent?
  ) {
    self.name = name
    self.version = version
    self.content = content
  }
}

/// Why an object of an indexed entity is not indexed.
package enum IndexExclusion: String, Sendable {
  /// It matches the predicate of the model.
  case exclude
  /// The program's delegate leaves it out.
  case delegate
}
