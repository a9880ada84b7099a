package import CordialValues

/// The result of a search.
package struct SearchResult: Sendable {
  /// A matching object with its score.
  package struct Hit: Sendable {
    package let key: ObjectKey
    package let score: Double
    /// The number of its document.
    let document: Int64
    /// The terms that the object has, where the request wants them.
    package var explanation: [TermShare] = []
  }

  /// The number of matching documents.
  package let total: Int64
  /// Whether more words differ by typing mistakes than were searched, so that `total` is a lower
  /// bound.
  package var isAtLeast = false
  /// The hits of the requested window, best first, then by ID.
  package let hits: [Hit]
  /// All matching objects, where the request wants them; otherwise empty.
  package var all: [ObjectKey] = []
  /// The words that no document contains.
  package let missing: [String]
  /// Without a hit: the words without which there are some, and how many.
  package var omit: [(word: String, total: Int64)] = []
  /// Without a hit: for words of `missing`, the words of the index that are nearest to them.
  package var instead: [(word: String, nearest: [String])] = []
  package let highlighter: Highlighter
  package var postings = Postings(read: 0, skipped: 0)
}
