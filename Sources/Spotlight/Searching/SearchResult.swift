package import CordialValues

/// The result of a search.
package struct SearchResult: Sendable {
  /// A matching object with its score.
  package struct Hit: Sendable {
    package let key: ObjectKey
    package let score: Double
    /// The number of the object's document.
    let document: Int64
    /// The terms that the object has, if the request wants them.
    package var explanation: [TermShare] = []
  }

  /// The number of matching documents.
  package let total: Int64
  /// Whether the search left out some words with typing mistakes, so that `total` is a lower bound.
  package var isAtLeast = false
  /// The hits of the requested window, best first, then by ID.
  package let hits: [Hit]
  /// All matching objects if the request wants them; otherwise empty.
  package var all: [ObjectKey] = []
  /// The words of the query that no document contains.
  package let missing: [String]
  /// Without a hit: the words whose omission gives hits, with the count of these hits.
  package var omit: [(word: String, total: Int64)] = []
  /// Without a hit: the nearest words of the index for each word of `missing`.
  package var instead: [(word: String, nearest: [String])] = []
  package let highlighter: Highlighter
  package var postings = Postings(read: 0, skipped: 0)
}
