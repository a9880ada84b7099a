/// What an import remembers of the lines that it has read: texts by keys, which may be in a file,
/// so that the memory does not grow with the lines.
package protocol ImportIndex: AnyObject {
  /// Returns the first text of a key; nil without one.
  func first(_ table: ImportTable, _ key: String) throws -> String?

  /// Adds a text after the others of a key.
  func add(_ table: ImportTable, _ key: String, _ text: String) throws

  /// Removes and returns the first texts of a key.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - key: The key.
  ///   - max: The number of texts at most.
  /// - Returns: The texts, in the order in which they were added.
  /// - Throws: The errors of the index.
  func take(_ table: ImportTable, _ key: String, max: Int) throws -> [String]

  /// Returns the keys of a table, at most so many.
  func keys(_ table: ImportTable, max: Int) throws -> [String]
}

/// A table of what an import remembers.
package enum ImportTable: Int, CaseIterable, Sendable {
  /// The stored ID of each imported object, by its ID in the file.
  case stored
  /// The objects that wait for objects that they require, by their IDs.
  case waiting
  /// The IDs of the waiting objects, by the ID for which each of them waits.
  case waiters
  /// The IDs of the objects that are staged and for which others wait, under one key.
  case awaited
  /// The references to objects that come later in the file, under one key.
  case deferred
  /// The referenced IDs that are not in the file.
  case unknown
}

/// An index in memory, for short files.
package final class MemoryIndex: ImportIndex {
  private var tables: [[String: [String]]] = ImportTable.allCases.map { _ in [:] }

  package init() {}

  package func first(_ table: ImportTable, _ key: String) -> String? {
    tables[table.rawValue][key]?.first
  }

  package func add(_ table: ImportTable, _ key: String, _ text: String) {
    tables[table.rawValue][key, default: []].append(text)
  }

  package func take(_ table: ImportTable, _ key: String, max: Int) -> [String] {
    guard let texts = tables[table.rawValue][key] else { return [] }
    tables[table.rawValue][key] = texts.count > max ? Array(texts.dropFirst(max)) : nil
    return Array(texts.prefix(max))
  }

  package func keys(_ table: ImportTable, max: Int) -> [String] {
    Array(tables[table.rawValue].keys.prefix(max))
  }
}
