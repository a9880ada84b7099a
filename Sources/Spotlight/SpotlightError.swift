/// Why the index did not do what it was asked.
package struct SpotlightError: Error, Sendable, Equatable {
  package enum Code: String, Sendable {
    /// The query is longer than allowed.
    case tooLong
    /// The index did not get as far as was asked in time.
    case busy
    /// The index's file cannot be used.
    case failed
  }

  package let code: Code
  /// One sentence.
  package let message: String
  /// With `tooLong`: how long it may be.
  package let limit: Int?

  package init(_ code: Code, _ message: String, limit: Int? = nil) {
    self.code = code
    self.message = message
    self.limit = limit
  }
}
