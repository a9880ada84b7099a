import CordialValues

/// Where an index file stands, and which file it is: another process may have made it anew at the
/// same position, with other numbers for its documents.
struct IndexPosition: Sendable, Equatable {
  var token: StoreToken
  /// Counts how often the index was made anew.
  var build: Int64
  /// The number of the next document; those of dead ones are not used again, since the words of
  /// these stay in the index.
  var next: Int64

  init(token: StoreToken, build: Int64, next: Int64) {
    self.token = token
    self.build = build
    self.next = next
  }

  /// Reads the text that stands in the file; nil when it is none.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let token = StoreToken(String(parts[0])), let build = Int64(parts[1]),
      let next = Int64(parts[2])
    else { return nil }
    self.init(token: token, build: build, next: next)
  }

  /// The text that stands in the file.
  var text: String { "\(token) \(build) \(next)" }
}
