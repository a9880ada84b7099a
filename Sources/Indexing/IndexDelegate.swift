package import CordialValues
package import JSON
package import Spotlight

/// An object for which a program decides the content of the search index.
package struct IndexCandidate: Sendable {
  /// The name of the object's entity.
  package let entity: String
  package let id: ObjectID
  /// The object's attributes and to-ones, in the form of the protocol: `{"title": "Milk", …}`.
  package let values: JSONValue
  /// The names of the indexed texts, in the order of the texts in `content`.
  package let fields: [String]
  /// The content of the search index for the object, as the model defines it.
  package let content: DocumentContent
}

/// A program's decisions about the search index, which replace the content that the model defines.
package struct IndexDelegate: Sendable {
  /// The name of the index, which is part of its file's name.
  package let name: String
  /// A version, which changes when the program decides differently.
  package let version: String
  /// The closure that returns the content of an object; nil for an object that is not indexed.
  ///
  /// The closure returns a text or nil for each of the object's `fields`. Several threads call the
  /// closure, and its result must depend on the object alone.
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

/// The reason why an object of an indexed entity is not indexed.
package enum IndexExclusion: String, Sendable {
  /// The object matches the `exclude` predicate that the model has for its entity.
  case exclude
  /// The program's delegate excludes the object.
  case delegate
}
