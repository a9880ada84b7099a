import ObjectModel
import SQLite
import StoreLayout

/// The names of the temporary tables of a migration with a map.
enum PreparedTables {
  /// The objects that were made of objects of moved families: `family`, `old`, `entity`, `number`.
  static let made = "temp.cordial_made"
  /// The greatest number that each new entity has given before the migration: `entity`, `number`.
  static let given = "temp.cordial_given"

  /// The objects of an entity with a rule: `number`, `source`, `old`, and the values that it gives.
  ///
  /// `source` is the number of the old entity, 0 for an object without an old one.
  static func objects(of entity: EntityDescription) -> String {
    "temp." + SQLNames.quoted("cordial_objects \(entity.name)")
  }

  /// The links that a rule gives: `a`, the object with the relationship; `b`; and `place`.
  static func links(_ relationship: String, of entity: EntityDescription) -> String {
    "temp." + SQLNames.quoted("cordial_links \(entity.name).\(relationship)")
  }

  /// The name of the column of a value that a rule gives.
  static func column(_ property: String) -> String { SQLNames.quoted("value \(property)") }
}
