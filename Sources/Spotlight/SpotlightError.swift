import PersistentHistory
import SQLite

/// The error of a request that the index cannot serve.
package struct SpotlightError: Error, Sendable, Equatable {
  package enum Code: String, Sendable {
    /// The index did not reach the requested position in time.
    case busy
    /// The index's file cannot be used.
    case failed
    /// The index's file is damaged; the index can be rebuilt from the store.
    case damaged
    /// The index does not reach back to the requested position.
    case expired
    /// The service is stopping.
    case stopping
  }

  package let code: Code
  /// The message, which is one sentence.
  package let message: String
  /// The action that resolves the error; nil if the client can only try again.
  package let advice: Advice?

  /// An action with which a client can resolve an error.
  package enum Advice: Sendable {
    /// End the pause of the index.
    case resume
    /// Free disk space.
    case freeSpace
    /// Read the status of the index.
    case readStatus
  }

  package init(_ code: Code, _ message: String, advice: Advice? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
  }
}

extension SpotlightError {
  /// The error of a search before the index has a file.
  static let beingBuilt = SpotlightError(.busy, "The index is being built", advice: .readStatus)

  /// The error of work that would delay the end of the service.
  package static let stopping = SpotlightError(.stopping, "The service is stopping")

  static let damaged = SpotlightError(
    .damaged,
    "The index was damaged and is being rebuilt"
  )

  /// Reads the index's file, and reports its damage as `damaged`, so that it does not count as
  /// damage of the store.
  static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError where error.isDamageOfIndex {
      throw damaged
    }
  }

  /// Opens the index's file, and reports a file that is missing or cannot be opened as an error of
  /// the index, not of the store.
  static func opening<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    let file = FileIdentity(path)
    do {
      return try reading(body)
    } catch let error as SQLiteError {
      guard !error.lacksDescriptors else {
        throw SpotlightError(
          .busy,
          "The process has no file descriptor left to open the index's file"
        )
      }
      // Another thread may have created the file since.
      guard error.code != .cannotOpen || file != nil && FileIdentity(path) == file else {
        throw beingBuilt
      }
      // A new file has a journal until it has tables.
      guard error.extendedCode != .readOnlyRollback else { throw beingBuilt }
      throw SpotlightError(
        .failed,
        "The index \(path) cannot be opened: \(error.message ?? "\(error)"). "
          + "Move it away, and the service builds another one"
      )
    }
  }
}

extension SQLiteError {
  /// Whether the error reports damage of the index's file; without its write-ahead log, the file
  /// may also be too short.
  var isDamageOfIndex: Bool { isDamage || extendedCode == .inputOutputShortRead }
}
