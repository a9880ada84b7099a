import CordialValues
import SQLite
import Synchronization

/// The words of the index in memory, for searches that allow typing mistakes.
///
/// It is read at the first such search. A word stays until the index is rebuilt, so that a search
/// asks the index whether a document with the word is alive.
final class Vocabulary: Sendable {
  /// The rebuild of an index file; another file may have as many.
  private struct Origin: Equatable {
    let file: String?
    let build: Int64?
  }

  private struct State {
    /// The file and the build of the index that the words are of.
    var origin: Origin?
    /// The number of the newest word that was read; words of the build have none.
    var last: Int64 = 0
    var words = SortedWords()
  }

  private let state = Mutex(State())

  /// Returns all words of a snapshot, and possibly later ones.
  ///
  /// - Parameter db: A connection, inside the snapshot's transaction.
  /// - Returns: The words.
  /// - Throws: `SQLiteError`.
  func words(_ db: SQLiteConnection) throws -> SortedWords {
    let origin = Origin(
      file: try IndexFile.mark(db),
      build: try IndexFile.position(db)?.build
    )
    return try state.withLock { state in
      let isFirst = state.origin != origin
      if isFirst { state = State(origin: origin) }
      let read = try PreparedStatement(
        db,
        isFirst
          ? "SELECT number, text FROM word ORDER BY text"
          : "SELECT number, text FROM word WHERE number > ?1 ORDER BY +text"
      )
      defer { read.reset() }
      if !isFirst { read.bind(state.last, at: 1) }
      var added: [[UInt8]] = []
      var last = state.last
      while try read.step() {
        last = max(last, read.optionalInteger(0) ?? 0)
        added.append(Array(read.text(1).utf8))
      }
      guard !added.isEmpty else { return state.words }
      state.words = state.words.merged(with: added)
      state.last = last
      return state.words
    }
  }
}

/// Different words in the order of their bytes, which is that of their code points.
struct SortedWords: Sendable {
  /// The words, one behind the other.
  private(set) var bytes: [UInt8] = []
  /// The offset behind each word.
  private var ends: [UInt32] = []

  var count: Int { ends.count }

  /// The range of a word in `bytes`.
  subscript(index: Int) -> Range<Int> {
    (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
  }

  /// Returns these words and others.
  ///
  /// - Parameter others: Other words, in the order of their bytes.
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
      merged.append(other[...])
    }
    while index < count {
      merged.append(bytes[self[index]])
      index += 1
    }
    return merged
  }

  private mutating func append(_ word: ArraySlice<UInt8>) {
    bytes += word
    ends.append(UInt32(bytes.count))
  }

  /// Returns the index of the first word from `start` on that does not begin with the first bytes
  /// of the word at `start`.
  ///
  /// - Complexity: Logarithmic in the number of words between.
  func end(of start: Int, prefix length: Int) -> Int {
    let prefix = self[start].lowerBound..<self[start].lowerBound + length
    var low = start
    var step = 1
    while low + step < count, begins(low + step, prefix) {
      low += step
      step *= 2
    }
    var high = min(low + step, count)
    while low + 1 < high {
      let middle = (low + high) / 2
      if begins(middle, prefix) { low = middle } else { high = middle }
    }
    return high
  }

  private func begins(_ index: Int, _ prefix: Range<Int>) -> Bool {
    let word = self[index]
    guard word.count >= prefix.count else { return false }
    for offset in 0..<prefix.count
    where bytes[word.lowerBound + offset] != bytes[prefix.lowerBound + offset] {
      return false
    }
    return true
  }
}
