package import SQLite

/// A fact about a store, by its name in the table `cordial_meta`.
package enum StoreMetadata: String, Sendable, CaseIterable {
  /// The version of the tables that do not depend on the model; only this version can be opened.
  case format
  /// The text of the model file, with its stored requests.
  case model
  /// The hash of the model, without its stored requests.
  case modelHash
  /// The hashes of the store's former models, separated by spaces; missing until a migration.
  case formerHashes
  /// The entities that only former models had, as a JSON list; missing until a migration removes an
  /// entity.
  case retired
  /// The slot of each entity as a JSON object; the slot determines the range of object numbers.
  case slots
  /// The generation of the store's tokens, in hexadecimal digits; each copy of a store gets a new
  /// generation.
  case generation
  /// The identifier of the store in wrapped IDs.
  case identifier
  /// The version of the triggers; a program with another version replaces them.
  case triggers
  /// The version of ICU that folded the derived texts; missing before the first save.
  case unicode
  /// Present when some to-one may reference a missing object; see `DanglingReferences`.
  case mayDangle
  /// The number of a commit. Unless `mayDangle` is present, no to-one has referenced a missing
  /// object since this commit. A store of an earlier program lacks this fact.
  case soundAfter

  /// The name of the table.
  package static let table = "cordial_meta"

  /// SQL for whether the fact is present.
  package var isPresent: String {
    "EXISTS (SELECT 1 FROM \(Self.table) WHERE name = '\(rawValue)')"
  }

  /// Returns every fact of a store.
  package static func all(_ db: SQLiteConnection) throws -> [StoreMetadata: String] {
    let rows = try db.rows("SELECT name, value FROM \(table)") { ($0.text(0), $0.text(1)) }
    return Dictionary(
      rows.compactMap { name, value in StoreMetadata(rawValue: name).map { ($0, value) } },
      uniquingKeysWith: { first, _ in first }
    )
  }

  /// Returns the value of the fact, or nil if it is missing.
  package func value(_ db: SQLiteConnection) throws -> String? {
    try db.text("SELECT value FROM \(Self.table) WHERE name = ?", [rawValue])
  }

  /// Writes the value of the fact.
  package func set(_ value: String, _ db: SQLiteConnection) throws {
    try db.execute(
      "INSERT OR REPLACE INTO \(Self.table)(name, value) VALUES (?, ?)",
      [rawValue, value]
    )
  }

  /// Removes the fact.
  package func remove(_ db: SQLiteConnection) throws {
    try db.execute("DELETE FROM \(Self.table) WHERE name = ?", [rawValue])
  }
}
