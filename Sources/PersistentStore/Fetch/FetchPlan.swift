package import CordialValues
package import ObjectModel

/// A compiled fetch: its SQL, and which changes can alter what it answers.
///
/// A class, since it is cached and handed around while rows are written.
package final class FetchPlan: Sendable {
  package let request: FetchRequest
  private let model: Model
  package let entity: EntityDescription
  /// The IDs in order, windowed: one column.
  let idsSQL: String
  /// The rows in order, windowed: the columns that `encoder` writes.
  let rowsSQL: String
  /// The columns of `rowsSQL` of every object, to which a condition on `t` can be put.
  let unwindowedSQL: String
  /// The row of one object, in the columns of `rowsSQL`.
  let rowSQL: String
  /// The number without window: one column.
  let countSQL: String
  /// The values of the sort keys of one object: as many columns, or one where there is none.
  let keysSQL: String
  /// The key's value and the number of objects of each section, in order; nil without sections.
  let sections: (sql: String, form: ColumnForm)?
  /// Where a page goes on among the objects that lack the first key; nil when it does not.
  ///
  /// The SQL is that of `idsSQL` and `rowsSQL` with another condition.
  let missing: (idsSQL: String, rowsSQL: String)?
  /// To bind in front of limit and offset.
  let values: [AttributeValue]
  /// To bind where the window, and what is behind a cursor, does not count.
  let wholeValues: [AttributeValue]
  let encoder: ObjectEncoder
  /// The properties of the entity itself that order and membership read.
  package let membership: Set<String>
  /// The properties of the entity itself that the answered values read, each with the names of
  /// the values that do.
  package let valueNames: [String: Set<String>]
  /// What lies behind key paths, by entity number.
  package let related: [Int: Set<String>]
  /// The names of the answered values that read something behind a key path.
  package let relatedNames: Set<String>

  /// The numbers of the entities whose objects it answers.
  package var kinds: [Int] {
    request.subentities ? entity.place.kinds : [entity.number]
  }

  /// The object of that number among those that it answers.
  package func key(_ object: Int64) -> ObjectKey { model.key(entity.number, object) }

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
    sections: (sql: String, form: ColumnForm)?,
    missing: (idsSQL: String, rowsSQL: String)?,
    values: [AttributeValue],
    wholeValues: [AttributeValue],
    encoder: ObjectEncoder,
    membership: Set<String>,
    valueNames: [String: Set<String>],
    related: [Int: Set<String>],
    relatedNames: Set<String>
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
    self.sections = sections
    self.missing = missing
    self.values = values
    self.wholeValues = wholeValues
    self.encoder = encoder
    self.membership = membership
    self.valueNames = valueNames
    self.related = related
    self.relatedNames = relatedNames
  }
}
