package import CordialValues
package import ObjectModel
import SQLite
import StoreLayout

/// A compiled fetch: its SQL, and the properties whose changes can alter its result.
///
/// The plan is a class because it is cached, and shared while rows are written.
package final class FetchPlan: Sendable {
  package let request: FetchRequest
  private let model: Model
  package let entity: EntityDescription
  /// The query for the object numbers in order, with a window; the number is the first column.
  let idsSQL: String
  /// The query for the rows in order, with a window: the columns that `encoder` writes.
  let rowsSQL: String
  /// The query for the rows of all objects of the table, without a predicate; a caller can add a
  /// condition on `t`.
  let unwindowedSQL: String
  /// The query for the row of one object, with the columns of `rowsSQL`.
  let rowSQL: String
  /// The query for the number of objects without a window: one column.
  let countSQL: String
  /// The query for the sort key values of one object: one column if there are no keys.
  let keysSQL: String
  /// The query for the given objects that match; its first bound value is a JSON list of the given
  /// objects' numbers.
  let matchSQL: String
  let order: FetchOrder
  let neighbors: FetchNeighbors
  /// The predicate as a condition on the columns of one object.
  package let condition: RowCondition
  /// The query for the key's value and the number of objects of each section; nil without sections.
  let sections: (sql: String, form: ColumnForm)?
  /// The queries that continue a page with the objects that lack the first key; nil if the page has
  /// no such objects.
  ///
  /// The two queries differ from `idsSQL` and `rowsSQL` only in the condition.
  let missing: (idsSQL: String, rowsSQL: String)?
  /// The values to bind before limit and offset.
  let values: [AttributeValue]
  /// The values to bind in a statement without a window and a cursor.
  let wholeValues: [AttributeValue]
  let encoder: ObjectEncoder
  /// The properties that the fetch reads.
  package let reads: FetchReads
  /// The properties of other objects that key paths read, by the numbers of concrete entities.
  package let related: [Int: Set<String>]
  /// The properties of other objects that key paths read, with the paths to these objects.
  package let relatedReads: RelatedReads
  /// The properties of other objects that the order reads, by the numbers of concrete entities.
  package let orderRelated: [Int: Set<String>]
  /// Whether functions of the program compute a value of the rows or of the order, or decide which
  /// objects match.
  package let callsProgram: Bool

  /// The numbers of the entities whose objects the fetch returns.
  package var resultEntities: [Int] {
    request.subentities ? entity.familyPosition.concreteEntities : [entity.number]
  }

  /// Whether `limit` or `offset` may exclude matching objects from the result.
  package var isWindow: Bool { request.limit != nil || request.offset > 0 }

  /// The object's columns that are the sort keys, with the key of the sections first; nil if a key
  /// is an expression or needs a collation.
  package var orderColumns: [String]? { neighbors.columns }

  /// The object's column whose values name the sections; nil without sections, or if their key is
  /// an expression or needs a collation.
  package var sectionColumn: String? { sections == nil ? nil : neighbors.firstColumn }

  /// Whether the predicate compares texts with `MATCHES`.
  package var matchesPatterns: Bool { matchSQL.contains("cordial_matches(") }

  /// Whether the result depends on ICU's folding or collation.
  package var usesCollation: Bool { Self.usesCollation(rowsSQL) }

  /// Returns whether SQL calls ICU, or reads stored sort keys, which ICU computed.
  static func usesCollation(_ sql: String) -> Bool {
    collationNames.contains { sql.contains($0) }
  }

  /// The names of the functions and the collation that need ICU, and the prefix of sort key
  /// columns.
  private static let collationNames =
    ["fold", "lower", "upper", "sort_key", "like", "begins", "ends", "matches", "localized"]
    .map { "cordial_\($0)" } + [SQLNames.sortKeyColumn("")]

  /// Returns the key of an object of the fetch by its number.
  package func key(_ object: Int64) -> ObjectKey { model.storedKey(entity.number, object) }

  init(
    request: FetchRequest,
    model: Model,
    entity: EntityDescription,
    idsSQL: String,
    rowsSQL: String,
    unwindowedSQL: String,
    rowSQL: String,
    countSQL: String,
    keysSQL: String,
    matchSQL: String,
    order: FetchOrder,
    neighbors: FetchNeighbors,
    condition: RowCondition,
    sections: (sql: String, form: ColumnForm)?,
    missing: (idsSQL: String, rowsSQL: String)?,
    values: [AttributeValue],
    wholeValues: [AttributeValue],
    encoder: ObjectEncoder,
    reads: FetchReads,
    callsProgram: Bool
  ) {
    self.request = request
    self.model = model
    self.entity = entity
    self.idsSQL = idsSQL
    self.rowsSQL = rowsSQL
    self.unwindowedSQL = unwindowedSQL
    self.rowSQL = rowSQL
    self.countSQL = countSQL
    self.keysSQL = keysSQL
    self.matchSQL = matchSQL
    self.order = order
    self.neighbors = neighbors
    self.condition = condition
    self.sections = sections
    self.missing = missing
    self.values = values
    self.wholeValues = wholeValues
    self.encoder = encoder
    self.reads = reads
    related = reads.related(in: model)
    relatedReads = reads.related.mapEntities {
      model.entity($0).familyPosition.concreteEntities
    }
    orderRelated = reads.related(for: [.order], in: model)
    self.callsProgram = callsProgram
  }
}

extension FetchPlan {
  /// Returns a plan that only shows which properties a fetch would read, without a store.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - model: The model. No store has to exist.
  /// - Returns: The plan, for examination only.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid` or `invalidRequest`.
  package static func examining(
    _ request: FetchRequest,
    in model: Model
  ) throws(StoreError) -> FetchPlan {
    try compile(request, in: FetchContext(model: model, mayDangle: true))
  }
}
