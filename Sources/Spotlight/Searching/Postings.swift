/// The counts of index entries in a search; an entry is one word of one document.
package struct Postings: Sendable, Equatable {
  /// The count of entries that the search has read.
  package var read: Int64
  /// The count of entries that the search has not read, because an earlier search counted them.
  package var skipped: Int64

  package init(read: Int64, skipped: Int64) {
    self.read = read
    self.skipped = skipped
  }
}

/// The number of matches of a query, the best matches, and the postings of the search.
typealias Ranked = (total: Int64, hits: [SearchResult.Hit], postings: Postings)
