import SQLite

/// The data that an import keeps about the lines that it has read, as texts by key.
///
/// The data is in a temporary file, so that the memory does not grow with the number of lines. Keys
/// are equal if their bytes are equal.
final class ImportIndex {
  /// A table of the index.
  enum Table: Int {
    /// The stored ID of each imported object, by its ID in the file.
    case stored
    /// The waiting objects, by their IDs; each waits for objects that it requires.
    case waiting
    /// The unread ID for which an object waits, directly or through other objects; the key is the
    /// ID of the waiting object.
    case lacking
    /// The position of the first unread object in the `requires` list of a waiting object, by the
    /// ID of the waiting object; initially 0.
    case firstUnread
    /// The IDs of the waiting objects, by the ID of the awaited object.
    case waiters
    /// The IDs of staged objects for which other objects wait, by their positions on a stack.
    case awaited
    /// The references to objects that come later in the file, under one key.
    case deferred
    /// The referenced IDs that are not in the file.
    case unknown
  }

  private let scratch: ScratchTable

  /// Creates an empty index.
  ///
  /// - Throws: `PortingError` if no temporary file can be created.
  init() throws { scratch = try Self.reporting { try ScratchTable() } }

  /// Returns the first text of a key; nil if the key has no text.
  func first(_ table: Table, _ key: String) throws -> String? {
    try Self.reporting { try scratch.first(table.rawValue, key) }
  }

  /// Appends a text to the texts of a key.
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
  /// - Throws: `PortingError` if the temporary file cannot be used.
  func take(_ table: Table, _ key: String, max: Int) throws -> [String] {
    try Self.reporting { try scratch.take(table.rawValue, key, max: max) }
  }

  /// Replaces all texts of a key with one text.
  func set(_ table: Table, _ key: String, _ text: String) throws {
    _ = try take(table, key, max: .max)
    try add(table, key, text)
  }

  /// Returns at most `max` keys of a table.
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
