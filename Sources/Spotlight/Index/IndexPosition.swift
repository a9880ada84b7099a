package import CordialValues
import SQLite

/// The position of an index file in the log, with the build of the index.
///
/// The position includes the build, because another process may have rebuilt the index at the same
/// commit, with other document numbers.
package struct IndexPosition: Sendable, Equatable {
  var token: StoreToken
  /// The number of the build, which each rebuild increments.
  var build: Int64
  /// The number of the next document.
  ///
  /// The index does not reuse the numbers of dead documents, because their words stay in the index.
  var next: Int64

  package init(token: StoreToken, build: Int64, next: Int64) {
    self.token = token
    self.build = build
    self.next = next
  }

  /// Reads a position from its text in the file.
  ///
  /// - Parameter text: The text.
  /// - Throws: `SQLiteError` with the code `corrupt` for a text that no writer has written.
  init(reading text: String) throws {
    guard let position = Self(text) else {
      throw SQLiteError(.corrupt, "The position of the index is invalid")
    }
    self = position
  }

  /// The valid numbers of builds and documents, which can be incremented without overflow.
  private static let numbers = 0...Int64.max >> 1

  /// Parses the text in the file, or returns nil if it is not a position.
  init?(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 3)
    guard parts.count == 3, let token = StoreToken(String(parts[0])), let build = Int64(parts[1]),
      let next = Int64(parts[2]), Self.numbers.contains(build), Self.numbers.contains(next),
      next > 0
    else { return nil }
    self.init(token: token, build: build, next: next)
  }

  /// The text of the position in the file.
  var text: String { "\(token) \(build) \(next)" }
}
