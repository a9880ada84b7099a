/// The entries of the index, one for each word of each document.
package struct Postings: Sendable, Equatable {
  /// The number of those that a search has read.
  package var read: Int64
  /// The number of those that it has not read, because an earlier search had counted them.
  package var skipped: Int64

  package init(read: Int64, skipped: Int64) {
    self.read = read
    self.skipped = skipped
  }
}

/// The number of matches of a query, the best ones, and the postings of the search.
typealias Ranked = (total: Int64, hits: [SearchResult.Hit], postings: Postings)
