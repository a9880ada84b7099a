import CSpotlight
import Synchronization

/// What the searches of one position have read about phrases and words, which later searches of the
/// position need not read again.
///
/// Without the cache, a search of several words reads all documents of each word before it ranks
/// the first document.
final class TermCache: Sendable {
  struct State {
    fileprivate var position: IndexPosition?
    /// The counts of live documents, by the phrase in FTS5's syntax.
    var counts: [String: Int64] = [:]
    /// Whether a live document has a phrase, by the phrase in FTS5's syntax.
    var alive: [String: Bool] = [:]
    /// The words that differ by typing mistakes, by the typed word.
    var near: [String: NearWords] = [:]
    /// The forms that a forgiving search finds, by the typed word.
    var forms: [String: [SearchQuery.Term.Form]] = [:]
  }

  private let state = Mutex(State())
  /// The counts of short values, and of lists of words, at which the cache is emptied.
  private static let (phrasesMax, listsMax) = (10_000, 1000)

  /// Returns a value at a position, or nil if it is unknown.
  func value<Value>(
    _ values: any KeyPath<State, [String: Value]> & Sendable,
    of key: String,
    at position: IndexPosition
  ) -> Value? {
    state.withLock { $0.position == position ? $0[keyPath: values][key] : nil }
  }

  /// Caches a value at a position, and removes all values of any other position.
  func keep<Value>(
    _ value: Value,
    _ values: any WritableKeyPath<State, [String: Value]> & Sendable,
    of key: String,
    at position: IndexPosition
  ) {
    state.withLock { state in
      Self.prepare(&state, position)
      state[keyPath: values][key] = value
    }
  }

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

  /// Caches the counts of phrases at a position, and removes all values of any other position.
  func keep(_ counts: some Sequence<Int64>, of phrases: [String], at position: IndexPosition) {
    state.withLock { state in
      Self.prepare(&state, position)
      for (phrase, count) in zip(phrases, counts) { state.counts[phrase] = count }
    }
  }

  private static func prepare(_ state: inout State, _ position: IndexPosition) {
    let isFull =
      max(state.counts.count, state.alive.count) >= phrasesMax
      || max(state.near.count, state.forms.count) >= listsMax
    if state.position != position || isFull { state = State(position: position) }
  }
}

extension IndexSnapshot {
  /// The position whose values may be cached; nil for a past commit, which has other live
  /// documents.
  var cachedPosition: IndexPosition? { isPast ? nil : view.position }

  /// Returns a cached value, or computes and caches it.
  func cached<Value>(
    _ values: any WritableKeyPath<TermCache.State, [String: Value]> & Sendable,
    _ key: String,
    _ compute: () throws -> Value
  ) rethrows -> Value {
    guard let position = cachedPosition, key.utf8.count <= Self.keptBytesMax else {
      return try compute()
    }
    if let known = termCache.value(values, of: key, at: position) { return known }
    let value = try compute()
    termCache.keep(value, values, of: key, at: position)
    return value
  }

  /// Returns the phrases of a query whose counts may be cached, and their position; nil if the
  /// search counts the phrases itself.
  func counted(_ query: SearchQuery) -> (phrases: [String], position: IndexPosition)? {
    guard !query.isWord, query.counts == nil, let position = cachedPosition else { return nil }
    let phrases = query.phraseExpressions
    // Phrases of readings can have too many characters for the cache.
    guard phrases.allSatisfy({ $0.utf8.count <= Self.keptBytesMax }) else { return nil }
    return (phrases, position)
  }

  static let keptBytesMax = 1024

  /// Caches the counts that a search has read.
  func keepCounts(
    _ search: borrowing spotlight_search,
    of counted: (phrases: [String], position: IndexPosition)?
  ) {
    guard let counted, let counts = unsafe search.documentCounts else { return }
    let read = unsafe UnsafeBufferPointer(start: counts, count: Int(search.phraseCount))
    guard read.count == counted.phrases.count else { return }
    unsafe termCache.keep(read, of: counted.phrases, at: counted.position)
  }
}
