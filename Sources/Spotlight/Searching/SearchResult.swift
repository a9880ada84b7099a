package import CordialValues

/// The result of a search.
package struct SearchResult: Sendable {
  /// A matching object with its score.
  package struct Hit: Sendable {
    package let key: ObjectKey
    package let score: Double
    /// The number of the object's document.
    let document: Int64
    /// The class of the hit.
    package var hitClass = HitClass.exact
    /// A bit for each word of the query that the object has.
    var words: UInt64 = .max
    /// The terms that the object has, if the request wants them.
    package var explanation: [TermShare] = []
  }

  /// How well an object has the words of a forgiving query, best first.
  package enum HitClass: Int, Sendable {
    /// The object has all words as they were typed.
    case exact = 1
    /// The object has some words in another form.
    case forms
    /// The object has some words with typing mistakes.
    case mistakes
    /// The object has most of the words.
    case partial
  }

  /// The number of matching documents.
  package var total: Int64
  /// The number of matching documents of each class that the search has read; empty for a search
  /// that forgives nothing.
  package var totals: [(hitClass: HitClass, total: Int64)] = []
  /// Whether the search left out some words with typing mistakes, so that `total` is a lower bound.
  package var isAtLeast = false
  /// The hits of the requested window, best first, then by ID.
  package var hits: [Hit]
  /// All matching objects if the request wants them; otherwise empty.
  package var all: [ObjectKey] = []
  /// The words of the query that no document contains.
  package var missing: [String]
  /// Without a hit: the words whose omission gives hits, with the count of these hits.
  package var omit: [(word: String, total: Int64)] = []
  /// Without a hit: the nearest words of the index for each word of `missing`.
  package var instead: [(word: String, nearest: [String])] = []
  package let highlighter: Highlighter
  /// The highlighters of the classes that the search has read; empty for a search that forgives
  /// nothing.
  package var highlighters: [HitClass: Highlighter] = [:]
  package var postings = Postings(read: 0, skipped: 0)

  /// Returns the highlighter of a hit, which knows the forms of the hit's class.
  package func highlighter(of hit: Hit) -> Highlighter {
    highlighters[hit.hitClass] ?? highlighter
  }
}
