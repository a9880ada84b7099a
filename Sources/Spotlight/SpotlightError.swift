/// Why the index did not do what it was asked.
package struct SpotlightError: Error, Sendable, Equatable {
  package enum Code: String, Sendable {
    /// The index did not get as far as was asked in time.
    case busy
    /// The index's file cannot be used.
    case failed
  }

  package let code: Code
  /// One sentence.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
