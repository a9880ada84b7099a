import CSpotlight
import Synchronization

/// A cache of the counts of live documents with a phrase, which the searches of one position share.
///
/// Without the cache, a search of several words reads all documents of each word before it ranks
/// the first document.
final class PhraseCounts: Sendable {
  private struct State {
    var position: IndexPosition?
    /// The counts, by the phrase in FTS5's syntax.
    var counts: [String: Int64] = [:]
    /// Whether a live document has a phrase, by the phrase in FTS5's syntax.
    var alive: [String: Bool] = [:]
  }

  private let state = Mutex(State())
  /// The count of phrases at which the cache is emptied.
  private static let phrasesMax = 10_000

  /// Returns the counts of phrases at a position, or nil if any of them is unknown.
  func counts(of phrases: [String], at position: IndexPosition) -> [Int64]? {
    state.withLock { state in
      guard state.position == position else { return nil }
      var counts: [Int64] = []
      for phrase in phrases {
        guard let count = state.counts[phrase] else { return nil }
        counts.append(count)
      }
      return counts
    }
  }

  /// Returns whether a live document has a phrase at a position, or nil if that is unknown.
  func isAlive(_ phrase: String, at position: IndexPosition) -> Bool? {
    state.withLock { $0.position == position ? $0.alive[phrase] : nil }
  }

  /// Caches whether a live document has a phrase at a position.
  func keep(isAlive: Bool, _ phrase: String, at position: IndexPosition) {
    state.withLock { state in
      if state.position != position || state.alive.count >= Self.phrasesMax {
        state = State(position: position)
      }
      state.alive[phrase] = isAlive
    }
  }

  /// Caches the counts of phrases at a position, and removes the counts of any other position.
  func keep(_ counts: some Sequence<Int64>, of phrases: [String], at position: IndexPosition) {
    state.withLock { state in
      if state.position != position || state.counts.count >= Self.phrasesMax {
        state = State(position: position)
      }
      for (phrase, count) in zip(phrases, counts) { state.counts[phrase] = count }
    }
  }
}

extension IndexSnapshot {
  /// Returns the phrases of a query whose counts may be cached, and their position; nil if the
  /// search counts the phrases itself.
  ///
  /// A search of a past commit does not use the cache, because it has other live documents.
  func counted(_ query: SearchQuery) -> (phrases: [String], position: IndexPosition)? {
    guard !isPast, !query.isWord, query.counts == nil, let position = view.position else {
      return nil
    }
    let phrases = query.phraseExpressions
    // Phrases of readings can have too many characters for the cache.
    guard phrases.allSatisfy({ $0.utf8.count <= Self.keptBytesMax }) else { return nil }
    return (phrases, position)
  }

  private static let keptBytesMax = 1024

  /// Caches the counts that a search has read.
  func keepCounts(
    _ search: borrowing spotlight_search,
    of counted: (phrases: [String], position: IndexPosition)?
  ) {
    guard let counted, let counts = unsafe search.documentCounts else { return }
    let read = unsafe UnsafeBufferPointer(start: counts, count: Int(search.phraseCount))
    guard read.count == counted.phrases.count else { return }
    unsafe phraseCounts.keep(read, of: counted.phrases, at: counted.position)
  }
}
