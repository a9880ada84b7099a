package import CordialValues
import SQLite

/// The position of an index file in the log, with the build of the index.
///
/// The build is part of it because another process may have rebuilt the index at the same position,
/// with other document numbers.
package struct IndexPosition: Sendable, Equatable {
  var token: StoreToken
  /// The number of rebuilds of the index.
  var build: Int64
  /// The number of the next document.
  ///
  /// Numbers of dead documents are not reused, because the words of those stay in the index.
  var next: Int64

  package init(token: StoreToken, build: Int64, next: Int64) {
    self.token = token
    self.build = build
    self.next = next
  }

  /// Reads the text in the file.
  ///
  /// - Parameter text: The text.
  /// - Throws: `SQLiteError` with the code `corrupt` for a text that no writer has written.
  init(reading text: String) throws {
    guard let position = Self(text) else {
      throw SQLiteError(.corrupt, "The position of the index is invalid")
    }
    self = position
  }

  /// The numbers of builds and documents up to which the next ones can be counted.
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

  /// The text in the file.
  var text: String { "\(token) \(build) \(next)" }
}
