package import CordialValues
package import JSON

/// What a search index has of one object.
package struct IndexedContent: Sendable, Equatable {
  /// The texts, in the order of the entity's `fields`; nil for a missing text.
  package let texts: [String?]
  /// The values of the entity's `boosts`, in their order: numbers, and dates in milliseconds since
  /// 1970; nil for a missing value.
  package let boosts: [Double?]
  /// The domain of the object; nil for none.
  package let domain: String?

  package init(texts: [String?], boosts: [Double?], domain: String? = nil) {
    self.texts = texts
    self.boosts = boosts
    self.domain = domain
  }
}

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
  package let content: IndexedContent
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
  package let content: @Sendable (IndexCandidate) throws -> IndexedContent?

  package init(
    name: String,
    version: String,
    content: @escaping @Sendable (IndexCandidate) throws -> IndexedContent?
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
