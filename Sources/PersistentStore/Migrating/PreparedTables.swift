import ObjectModel
import SQLite
import StoreLayout

/// The names of the temporary tables of a migration with a map.
enum PreparedTables {
  /// The table of new objects from families whose objects may be renumbered or omitted.
  ///
  /// Its columns are `family`, `old`, `entity` and `number`.
  static let made = "temp.cordial_made"
  /// The table of the last object number of each new entity before the migration.
  ///
  /// Its columns are `entity` and `number`.
  static let given = "temp.cordial_given"

  /// Returns the name of the table for the objects of an entity with a rule.
  ///
  /// Its columns are `number`, `source`, `old`, and the values that the rule gives. `source` is the
  /// number of the old entity, or 0 for an object without an old object.
  static func objects(of entity: EntityDescription) -> String {
    "temp." + SQLNames.quoted("cordial_objects \(entity.name)")
  }

  /// Returns the name of the table for the links that a rule gives.
  ///
  /// Its columns are `a`, the object with the relationship; `b`, the referenced object; and their
  /// sort positions `place` and `back`.
  static func links(_ relationship: String, of entity: EntityDescription) -> String {
    "temp." + SQLNames.quoted("cordial_links \(entity.name).\(relationship)")
  }

  /// Returns the name of the column for a value that a rule gives.
  static func column(_ property: String) -> String { SQLNames.quoted("value \(property)") }
}
