import CordialValues
import SQLite

/// The newest commit of a store, and whether unsealed changes follow it.
package struct HistoryHead: Sendable, Equatable {
  package let number: Int64
  package let mark: UInt32
  /// The number of the commit's last change.
  package let lastChange: Int64
  /// The number of the last change in the log; greater than `lastChange` when an external client
  /// made changes that are not sealed yet.
  package let lastLogged: Int64
  /// Whether a to-one may reference an object that does not exist.
  package let mayDangle: Bool

  package init(
    number: Int64,
    mark: UInt32,
    lastChange: Int64,
    lastLogged: Int64,
    mayDangle: Bool
  ) {
    self.mayDangle = mayDangle
    self.number = number
    self.mark = mark
    self.lastChange = lastChange
    self.lastLogged = lastLogged
  }

  package var isSealed: Bool { lastLogged <= lastChange }

  /// The head without the unsealed changes after its commit.
  package var sealed: HistoryHead {
    HistoryHead(
      number: number,
      mark: mark,
      lastChange: lastChange,
      lastLogged: min(lastLogged, lastChange),
      mayDangle: mayDangle
    )
  }

  /// Returns the head as of an earlier commit, without unsealed changes.
  package func at(_ entry: CommitTable.Entry, mayDangle: Bool) -> HistoryHead {
    HistoryHead(
      number: entry.token.number,
      mark: entry.token.mark,
      lastChange: entry.lastChange,
      lastLogged: entry.lastChange,
      mayDangle: mayDangle
    )
  }

  /// The head's position in the log.
  package var position: LogPosition { LogPosition(commit: number, lastChange: lastChange) }
}

/// The valid commit and change numbers, limited so that the next numbers cannot overflow.
enum LogNumbers {
  private static let all = 0...Int64.max >> 1

  /// Returns a commit or change number that was read from the log, if the number is valid.
  ///
  /// - Parameter number: The number of a commit or of a change.
  /// - Returns: The number.
  /// - Throws: `SQLiteError` with the code `corrupt` for a number that no writer can have assigned.
  static func checked(_ number: Int64) throws -> Int64 {
    guard all.contains(number) else {
      throw SQLiteError(.corrupt, "The log has the number \(number)")
    }
    return number
  }
}

/// A position in the log: after a commit, and therefore after the commit's last change.
package struct LogPosition: Sendable, Hashable {
  package let commit: Int64
  package let lastChange: Int64

  package init(commit: Int64, lastChange: Int64) {
    self.commit = commit
    self.lastChange = lastChange
  }
}

/// The metadata of a commit.
package struct CommitStamp: Sendable {
  /// The context of a migration's commit.
  package static let migrationContext = "migration"
  /// The context of a commit that rebuilds texts which another version of ICU folded.
  package static let foldingContext = "unicode"

  /// Milliseconds since 1970.
  package var time: Int64
  package var mark: UInt32
  package var author: String?
  package var context: String?
  package var process: String?
  /// The client's UUID of the transaction, nil if the client sent none.
  package var client: String?
  /// The response to the client; a repeated transaction receives the same response.
  package var answer: String?

  package init(
    time: Int64,
    mark: UInt32,
    author: String? = nil,
    context: String? = nil,
    process: String? = nil,
    client: String? = nil,
    answer: String? = nil
  ) {
    self.answer = answer
    self.time = time
    self.mark = mark
    self.author = author
    self.context = context
    self.process = process
    self.client = client
  }
}
