package import CordialValues

/// An object as the index takes it.
package struct IndexedDocument: Sendable {
  package let key: ObjectKey
  /// By the entity's indexed attributes, in the order of the model; nil when the object is gone,
  /// or not to be indexed.
  package let texts: [String?]?
  /// Whether the index cannot have it yet.
  package let isNew: Bool

  package init(key: ObjectKey, texts: [String?]?, isNew: Bool) {
    self.key = key
    self.texts = texts
    self.isNew = isNew
  }
}

/// What stands between two positions of the log, for the index.
package struct IndexBatch: Sendable {
  /// The position that it leads to.
  package let through: StoreToken
  /// How many commits stand behind that.
  package let behind: Int64
  package let documents: [IndexedDocument]

  package init(through: StoreToken, behind: Int64, documents: [IndexedDocument]) {
    self.through = through
    self.behind = behind
    self.documents = documents
  }
}

/// Where the index reads the log and the objects in it; used on the index's own thread.
///
/// What it throws is no `SQLiteError`: those are of the index's own file.
package protocol DocumentSource: AnyObject {
  /// What follows a position, at most some thousand changes of it.
  ///
  /// - Parameter token: The position that the index has.
  /// - Returns: nil when the store does not know the position, and the index starts over.
  /// - Throws: The source's own errors.
  func batch(after token: StoreToken) throws -> IndexBatch?

  /// Every object there is, in one snapshot, a portion at a time.
  ///
  /// - Parameter take: Takes a portion.
  /// - Returns: The position that the snapshot shows.
  /// - Throws: The source's own errors, and what `take` throws.
  func everything(_ take: ([IndexedDocument]) throws -> Void) throws -> StoreToken
}
