import SQLite

/// What an import remembers of the lines that it has read: texts by keys, in a temporary file, so
/// that the memory does not grow with the lines.
///
/// Keys are equal if their bytes are.
final class ImportIndex {
  /// A table of what an import remembers.
  enum Table: Int {
    /// The stored ID of each imported object, by its ID in the file.
    case stored
    /// The objects that wait for objects that they require, by their IDs.
    case waiting
    /// The ID that a waiting object lacks, directly or because another object lacks it, by the ID
    /// of the waiting object.
    case lacking
    /// The number of the first object that a waiting object requires and that has not been read,
    /// in its list, by the ID of the waiting object; at first 0.
    case firstUnread
    /// The IDs of the waiting objects, by the ID for which each of them waits.
    case waiters
    /// The IDs of the objects that are staged and for which others wait, by their positions on a
    /// stack.
    case awaited
    /// The references to objects that come later in the file, under one key.
    case deferred
    /// The referenced IDs that are not in the file.
    case unknown
  }

  private let scratch: ScratchTable

  /// Creates an empty index.
  ///
  /// - Throws: `PortingError` where no temporary file can be created.
  init() throws { scratch = try Self.reporting { try ScratchTable() } }

  /// Returns the first text of a key; nil without one.
  func first(_ table: Table, _ key: String) throws -> String? {
    try Self.reporting { try scratch.first(table.rawValue, key) }
  }

  /// Adds a text after the others of a key.
  func add(_ table: Table, _ key: String, _ text: String) throws {
    try Self.reporting { try scratch.add(table.rawValue, key, text) }
  }

  /// Removes and returns the first texts of a key.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - key: The key.
  ///   - max: The maximum number of texts.
  /// - Returns: The texts, in the order in which they were added.
  /// - Throws: `PortingError` where the temporary file cannot be used.
  func take(_ table: Table, _ key: String, max: Int) throws -> [String] {
    try Self.reporting { try scratch.take(table.rawValue, key, max: max) }
  }

  /// Replaces the texts of a key with one.
  func set(_ table: Table, _ key: String, _ text: String) throws {
    _ = try take(table, key, max: .max)
    try add(table, key, text)
  }

  /// Returns the keys of a table, at most so many.
  func keys(_ table: Table, max: Int) throws -> [String] {
    try Self.reporting { try scratch.keys(table.rawValue, max: max) }
  }

  private static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw PortingError("The import's temporary file cannot be used: \(error)")
    }
  }
}
