package import CordialValues

/// The content that the index stores for an object.
package struct DocumentContent: Sendable, Equatable {
  /// The texts of the entity's `fields`, in their order.
  package let texts: [String?]
  /// The values of the entity's `boosts`, in their order: numbers, and dates in milliseconds since
  /// 1970; nil for a missing value.
  package let boosts: [Double?]
  /// The domain of the object, by which its documents can be deleted; nil for none.
  package let domain: String?

  package init(texts: [String?], boosts: [Double?] = [], domain: String? = nil) {
    self.texts = texts
    self.boosts = boosts
    self.domain = domain
  }
}

/// An object with its content in the index.
package struct IndexedDocument: Sendable {
  package let key: ObjectKey
  /// The content; nil if the object was deleted or is not to be indexed.
  package let content: DocumentContent?
  /// Whether the object is new, so that the index has no document of it yet.
  package let isNew: Bool
  /// The first and the last commit of the batch that may have altered the object's texts.
  ///
  /// Between these two commits, the object may have had other texts.
  package let commits: ClosedRange<Int64>

  package init(
    key: ObjectKey,
    content: DocumentContent?,
    isNew: Bool,
    commits: ClosedRange<Int64>
  ) {
    self.key = key
    self.content = content
    self.isNew = isNew
    self.commits = commits
  }
}

extension IndexedDocument {
  /// Returns whether the index has a document of the object.
  ///
  /// - Parameter domains: The domains whose objects the index leaves out.
  /// - Returns: Whether the object has content and belongs to none of `domains`.
  func isIndexed(without domains: Set<String>) -> Bool {
    guard let content else { return false }
    return content.domain.map { !domains.contains($0) } ?? true
  }
}

/// The changes between two positions of the log, as documents of the index.
package struct IndexBatch: Sendable {
  /// The position at the end of the batch.
  package let through: StoreToken
  /// The count of commits in the log after `through`.
  package let remainingCommits: Int64
  package let documents: [IndexedDocument]
  /// The commits at which objects of an entity may have had texts that the batch lacks, by entity
  /// number.
  package let unknown: [Int: Range<Int64>]

  /// Whether the commits of the batch change nothing in the index.
  var indexesNothing: Bool { documents.isEmpty && unknown.isEmpty }

  /// The number of the commit as of which the source read the texts; greater than the number of
  /// `through` if commits remain.
  var read: Int64 { through.number + remainingCommits }

  package init(
    through: StoreToken,
    remainingCommits: Int64,
    documents: [IndexedDocument],
    unknown: [Int: Range<Int64>] = [:]
  ) {
    self.unknown = unknown
    self.through = through
    self.remainingCommits = remainingCommits
    self.documents = documents
  }
}

/// The source of the log and its objects for the index, used on the index's own thread.
///
/// Its methods throw no `SQLiteError`, so that such an error always concerns the index's own file.
package protocol DocumentSource: AnyObject {
  /// Returns the changes after a position, a few thousand at most.
  ///
  /// - Parameter token: The position of the index.
  /// - Returns: The batch, or nil if the store does not know the position. The index then rebuilds
  ///   itself from all objects.
  /// - Throws: The source's own errors.
  func batch(after token: StoreToken) throws -> IndexBatch?

  /// Reads all objects in one snapshot, and passes them to a closure in portions.
  ///
  /// - Parameter body: Receives a portion of the objects, with their content as of the snapshot's
  ///   commit.
  /// - Returns: The position of the snapshot.
  /// - Throws: The source's own errors, and the errors of `body`.
  func eachObject(_ body: ([IndexedDocument]) throws -> Void) throws -> StoreToken
}
