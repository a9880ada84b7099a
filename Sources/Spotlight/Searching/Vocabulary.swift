import CSpotlight
import CordialValues
import SQLite
import Synchronization

/// The words of the index in memory, for searches that allow typing mistakes.
///
/// The first such search reads the vocabulary. A word stays until the index is rebuilt, so a search
/// must check in the index whether a live document has the word.
final class Vocabulary: Sendable {
  /// The origin of the words: a file, a build of the file, and the documents below a number.
  private struct Origin: Equatable {
    let file: String?
    let build: Int64
    var next: Int64
  }

  private struct State {
    var origin: Origin?
    var words = WordList()
    /// Words that are to be added to `words`.
    var later: [[UInt8]] = []
  }

  private let state = Mutex(State())
  /// The count of words in `later` at which all words are forgotten.
  private static let laterMax = 100_000

  /// Returns all words of a snapshot, and possibly later words.
  ///
  /// - Parameter db: A connection, inside the snapshot's transaction.
  /// - Returns: The words.
  /// - Throws: `SQLiteError`.
  func words(_ db: SQLiteConnection) throws -> WordList {
    guard let position = try IndexFile.position(db) else { return WordList() }
    let file = try IndexFile.mark(db)
    let known = state.withLock { state -> WordList? in
      guard let origin = state.origin, origin.file == file, origin.build == position.build,
        origin.next >= position.next
      else { return nil }
      if !state.later.isEmpty {
        state.words.add(state.later)
        state.later = []
      }
      return state.words
    }
    if let known { return known }
    let read = try PreparedStatement(db, "SELECT text FROM word ORDER BY text")
    defer { read.reset() }
    var builder = SortedWords.Builder()
    while try read.step() {
      let word = read.text(0)
      // Only a damaged file has other texts, which would be syntax in a search's expression.
      if Tokens.isToken(word) { builder.append(Array(word.utf8)[...]) }
    }
    let words = WordList(SortedWords(builder))
    state.withLock { state in
      state = State(
        origin: Origin(file: file, build: position.build, next: position.next),
        words: words
      )
    }
    return words
  }

  /// Adds the words of new documents, if the words of all earlier documents are known.
  func add(_ words: [String], from known: IndexPosition, to position: IndexPosition) {
    state.withLock { state in
      guard let origin = state.origin, origin.build == known.build, origin.next == known.next,
        state.later.count + words.count <= Self.laterMax
      else { return state = State() }
      state.origin?.next = position.next
      state.later += words.map { Array($0.utf8) }
    }
  }

  /// Forgets all words, which are read again when a search needs them.
  func forget() {
    state.withLock { $0 = State() }
  }
}

/// All words of an index: most of them in one sorted list, and the later ones in a short one.
///
/// A commit adds its words to the short list, so that the next search need not copy all words.
package struct WordList: Sendable {
  /// The lists, which have no word in common.
  package private(set) var parts: [SortedWords]

  package init(_ words: SortedWords = SortedWords()) { parts = [words] }

  /// The least count of words in the short list, and the fraction of all words, at which the lists
  /// become one.
  private static let (laterMin, laterPart) = (1000, 64)

  /// Adds words, which may be known, in any order.
  package mutating func add(_ words: [[UInt8]]) {
    let added = words.filter { !parts[0].contains($0) }.sorted { $0.lexicographicallyPrecedes($1) }
    guard !added.isEmpty else { return }
    let later = (parts.count > 1 ? parts[1] : SortedWords()).merged(with: added)
    if later.count > max(Self.laterMin, parts[0].count / Self.laterPart) {
      parts = [parts[0].merged(with: later.indices.map { Array(later.word($0)) })]
    } else {
      parts = [parts[0], later]
    }
  }

  package func contains(_ word: some Collection<UInt8>) -> Bool {
    parts.contains { $0.contains(word) }
  }
}

/// Distinct words in the order of their bytes, which equals the order of their code points.
package struct SortedWords: Sendable {
  /// Collects words in their order.
  package struct Builder {
    fileprivate(set) var bytes: [UInt8] = []
    fileprivate(set) var ends: [UInt32] = []

    mutating func append(_ word: ArraySlice<UInt8>) {
      // Offsets have 32 bits; words beyond this limit are not searched for typing mistakes.
      guard bytes.count + word.count <= Int(UInt32.max) else { return }
      bytes += word
      ends.append(UInt32(bytes.count))
    }
  }

  /// The bytes of the words, without separators.
  let bytes: [UInt8]
  /// The end offset of each word.
  private let ends: [UInt32]
  /// What the searches in C know of the words.
  private let shared: [UInt16]
  private let triples: [UInt64]

  package var count: Int { ends.count }
  var indices: Range<Int> { ends.indices }

  package init(_ builder: Builder = Builder()) {
    let (bytes, ends) = (builder.bytes, builder.ends)
    var shared = Array(repeating: UInt16(0), count: ends.count)
    let bitmapSize = Int(spotlight_bitmap_size(Int64(ends.count)))
    var triples = Array(repeating: UInt64(0), count: bitmapSize * Int(SPOTLIGHT_TRIPLES_MAX))
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
        unsafe spotlight_describe_words(
          bytes.baseAddress,
          ends,
          Int64(ends.count),
          &shared,
          &triples
        )
      }
    }
    (self.bytes, self.ends, self.shared, self.triples) = (bytes, ends, shared, triples)
  }

  /// Creates the list of distinct words in the order of their bytes.
  package init(_ words: [[UInt8]]) { self = SortedWords().merged(with: words) }

  /// Runs a body with the words in the form for C.
  func withVocabulary<Result>(
    _ body: (UnsafePointer<spotlight_vocabulary>) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
        unsafe ends.withUnsafeBufferPointer { ends in
          unsafe shared.withUnsafeBufferPointer { shared in
            unsafe triples.withUnsafeBufferPointer { triples in
              var vocabulary = unsafe spotlight_vocabulary(
                bytes: bytes.baseAddress,
                ends: ends.baseAddress,
                shared: shared.baseAddress,
                triples: triples.baseAddress,
                count: Int64(ends.count)
              )
              return unsafe body(&vocabulary)
            }
          }
        }
      }
    }
  }

  /// The range of a word in `bytes`.
  subscript(index: Int) -> Range<Int> {
    (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
  }

  /// Returns the bytes of a word.
  func word(_ index: Int) -> ArraySlice<UInt8> { bytes[self[index]] }

  /// Returns the union of these words and others.
  ///
  /// - Parameter others: Words in the order of their bytes.
  /// - Returns: All words, in the same order.
  func merged(with others: [[UInt8]]) -> SortedWords {
    var merged = Builder()
    merged.bytes.reserveCapacity(bytes.count + others.reduce(0) { $0 + $1.count })
    merged.ends.reserveCapacity(count + others.count)
    var index = 0
    var last: ArraySlice<UInt8>?
    for other in others where !(last?.elementsEqual(other) ?? false) {
      let end = max(index, firstIndex(from: other))
      merged.append(self, index..<end)
      index = end
      merged.append(other[...])
      if index < count, word(index).elementsEqual(other) { index += 1 }
      last = other[...]
    }
    merged.append(self, index..<count)
    return SortedWords(merged)
  }
}

extension SortedWords.Builder {
  /// Appends successive words of a list.
  fileprivate mutating func append(_ words: SortedWords, _ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let (first, last) = (words[range.lowerBound].lowerBound, words[range.upperBound - 1].upperBound)
    guard bytes.count + last - first <= Int(UInt32.max) else { return }
    let offset = bytes.count - first
    bytes += words.bytes[first..<last]
    for index in range { ends.append(UInt32(words[index].upperBound + offset)) }
  }
}
