package import ObjectModel

/// The names of tables and columns, and how they are quoted.
package enum SQLNames {
  /// The column of the number behind `p` in an object's wrapped ID.
  package static let object = "_id"
  /// The column that counts an object's own changes, from 1.
  package static let version = "_version"

  /// A name in double quotes.
  package static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  /// A string constant.
  package static func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }

  /// The table of pairs of a many-to-many, named by the side that keeps it; its columns are
  /// `source` and `target`.
  package static func pairs(_ entity: EntityDescription, _ relationship: String) -> String {
    "cordial_pairs_\(entity.name)_\(relationship)"
  }
}

extension EntityDescription {
  /// The columns of its table behind `_id` and `_version`: attributes, then to-ones.
  package var columns: [String] {
    attributes.map(\.name) + relationships.filter { !$0.toMany }.map(\.name)
  }

  /// The many-to-many relationships whose pairs are kept from this side.
  package var ownedPairs: [RelationshipDescription] {
    relationships.filter {
      if case .pairs(_, _, owns: true) = $0.storage { true } else { false }
    }
  }
}
