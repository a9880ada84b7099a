package import ObjectModel
package import SQLite
import StoreLayout

/// The reader and writer of the mark `StoreMetadata.mayDangle`.
///
/// The mark means that a to-one may reference a missing object. A Cordial save leaves such a
/// reference only if it deletes an object with the delete rule `noAction`. An external SQLite
/// client may write any reference. Without the mark, queries need not check references.
package struct DanglingReferences {
  /// SQL for whether the mark is set.
  package static let isMarked = StoreMetadata.mayDangle.isPresent

  private let db: SQLiteConnection
  private let model: Model

  /// Creates the reader and writer of a store's mark.
  ///
  /// - Parameters:
  ///   - db: A connection to the store.
  ///   - model: The store's model.
  package init(_ db: SQLiteConnection, model: Model) {
    self.db = db
    self.model = model
  }

  /// Sets the mark.
  package func mark() throws {
    try StoreMetadata.mayDangle.set("1", db)
  }

  /// Sets the mark when logged changes left a dangling reference.
  ///
  /// - Parameter change: The number of the last change before the logged changes.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes, and in the references to the objects that they deleted.
  package func markIfNeeded(after change: Int64) throws {
    let logged = "SELECT object FROM cordial_change WHERE number > \(change) AND entity ="
    for (owner, toOne) in toOnes {
      let column = "o.\(SQLNames.quoted(toOne.name))"
      let written = "o.\"_id\" IN (\(logged) \(owner.number) AND kind IN (0, 1))"
      // With one condition for each entity, SQLite can use the partial index of deletions by
      // entity.
      let deleted = model.entity(toOne.destination).familyPosition.concreteEntities.map { kind in
        "\(column) IN (\(logged) \(kind) AND kind = \(ChangeKind.delete.rawValue))"
      }
      for condition in [written] + deleted where try dangles(owner, toOne, where: condition) {
        return try mark()
      }
    }
  }

  /// Returns whether a reference may dangle in the store as of an earlier commit.
  ///
  /// - Parameters:
  ///   - commit: The number of the commit.
  ///   - head: The newest commit.
  ///   - db: A connection to the store.
  /// - Returns: Whether a reference may dangle.
  /// - Throws: `SQLiteError`.
  package static func mayDangle(
    at commit: Int64,
    before head: HistoryHead,
    _ db: SQLiteConnection
  ) throws -> Bool {
    guard !head.mayDangle else { return true }
    guard let sound = try StoreMetadata.soundAfter.value(db).flatMap({ Int64($0) }) else {
      return true
    }
    return commit < sound
  }

  /// Removes the mark when no reference dangles.
  ///
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the objects with to-ones, if the mark is set.
  package func clearIfPossible() throws {
    guard try db.integer("SELECT \(Self.isMarked)") == 1 else { return }
    for (owner, toOne) in toOnes where try dangles(owner, toOne, where: "1") { return }
    try StoreMetadata.mayDangle.remove(db)
    let newest = try db.integer("SELECT max(number) FROM cordial_transaction") ?? 0
    try StoreMetadata.soundAfter.set("\(newest)", db)
  }

  /// The to-ones of every table.
  private var toOnes: [(owner: EntityDescription, toOne: RelationshipDescription)] {
    model.concreteEntities.flatMap { entity in
      entity.relationships.filter { !$0.toMany }.map { (entity, $0) }
    }
  }

  private func dangles(
    _ owner: EntityDescription,
    _ toOne: RelationshipDescription,
    where condition: String
  ) throws -> Bool {
    let column = "o.\(SQLNames.quoted(toOne.name))"
    let missing = model.entity(toOne.destination).familyPosition.concreteEntities.map { kind in
      let table = SQLNames.quoted(model.entity(kind).name)
      return " AND NOT EXISTS (SELECT 1 FROM \(table) WHERE \"_id\" = \(column))"
    }
    return try db.integer(
      """
      SELECT 1 FROM \(SQLNames.quoted(owner.name)) o
      WHERE \(condition) AND \(column) IS NOT NULL\(missing.joined()) LIMIT 1
      """
    ) != nil
  }
}
