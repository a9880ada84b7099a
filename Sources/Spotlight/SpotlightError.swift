import SQLite

/// Why the index did not do what it was asked.
package struct SpotlightError: Error, Sendable, Equatable {
  package enum Code: String, Sendable {
    /// The index did not get as far as was asked in time.
    case busy
    /// The index's file cannot be used.
    case failed
    /// The index's file is damaged; everything in it can be made again from the store.
    case damaged
  }

  package let code: Code
  /// One sentence.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension SpotlightError {
  /// Reads the index's file; damage that is met there is no damage of the store.
  static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError
      where [.corrupt, .notADatabase].contains(error.code)
    {
      throw SpotlightError(.damaged, "The index was damaged and is being made anew")
    }
  }
}
