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
    var words = SortedWords()
    /// Words that are to be merged with `words`.
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
  func words(_ db: SQLiteConnection) throws -> SortedWords {
    guard let position = try IndexFile.position(db) else { return SortedWords() }
    let file = try IndexFile.mark(db)
    let known = state.withLock { state -> SortedWords? in
      guard let origin = state.origin, origin.file == file, origin.build == position.build,
        origin.next >= position.next
      else { return nil }
      if !state.later.isEmpty {
        state.later.sort { $0.lexicographicallyPrecedes($1) }
        state.words = state.words.merged(with: state.later)
        state.later = []
      }
      return state.words
    }
    if let known { return known }
    let read = try PreparedStatement(db, "SELECT text FROM word ORDER BY text")
    defer { read.reset() }
    var words = SortedWords()
    while try read.step() {
      let word = read.text(0)
      // Only a damaged file has other texts, which would be syntax in a search's expression.
      if Tokens.isToken(word) { words.append(Array(word.utf8)[...]) }
    }
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

/// Distinct words in the order of their bytes, which equals the order of their code points.
struct SortedWords: Sendable {
  /// The bytes of the words, without separators.
  private(set) var bytes: [UInt8] = []
  /// The end offset of each word.
  private var ends: [UInt32] = []

  var count: Int { ends.count }

  /// Runs a body with the words in the form for C.
  func withVocabulary<Result>(
    _ body: (UnsafePointer<spotlight_vocabulary>) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
        unsafe ends.withUnsafeBufferPointer { ends in
          var vocabulary = unsafe spotlight_vocabulary(
            bytes: bytes.baseAddress,
            ends: ends.baseAddress,
            count: Int64(ends.count)
          )
          return unsafe body(&vocabulary)
        }
      }
    }
  }

  /// The range of a word in `bytes`.
  subscript(index: Int) -> Range<Int> {
    (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
  }

  /// Returns the union of these words and others.
  ///
  /// - Parameter others: Words in the order of their bytes.
  /// - Returns: All words, in the same order.
  func merged(with others: [[UInt8]]) -> SortedWords {
    var merged = SortedWords()
    merged.bytes.reserveCapacity(bytes.count + others.reduce(0) { $0 + $1.count })
    merged.ends.reserveCapacity(count + others.count)
    var index = 0
    for other in others {
      while index < count, bytes[self[index]].lexicographicallyPrecedes(other) {
        merged.append(bytes[self[index]])
        index += 1
      }
      if merged.count > 0, merged.bytes[merged[merged.count - 1]].elementsEqual(other) { continue }
      if index < count, bytes[self[index]].elementsEqual(other) { index += 1 }
      merged.append(other[...])
    }
    while index < count {
      merged.append(bytes[self[index]])
      index += 1
    }
    return merged
  }

  mutating func append(_ word: ArraySlice<UInt8>) {
    // Offsets have 32 bits; words beyond this limit are not searched for typing mistakes.
    guard bytes.count + word.count <= Int(UInt32.max) else { return }
    bytes += word
    ends.append(UInt32(bytes.count))
  }
}
