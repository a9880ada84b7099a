import CordialValues
package import ObjectModel

/// A compiled fetch: its SQL, and which changes can alter what it answers.
///
/// A class, since it is cached and handed around while rows are written.
package final class FetchPlan: Sendable {
  package let request: FetchRequest
  package let entity: EntityDescription
  /// The IDs in order, windowed: one column.
  let idsSQL: String
  /// The rows in order, windowed: the columns that `encoder` writes.
  let rowsSQL: String
  /// The row of one object, in the columns of `rowsSQL`.
  let rowSQL: String
  /// The number without window: one column.
  let countSQL: String
  /// To bind in front of limit and offset; the count and some rows take a part of it.
  let values: [AttributeValue]
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

  init(
    request: FetchRequest,
    entity: EntityDescription,
    idsSQL: String,
    rowsSQL: String,
    rowSQL: String,
    countSQL: String,
    values: [AttributeValue],
    encoder: ObjectEncoder,
    membership: Set<String>,
    valueNames: [String: Set<String>],
    related: [Int: Set<String>],
    relatedNames: Set<String>
  ) {
    self.request = request
    self.entity = entity
    self.idsSQL = idsSQL
    self.rowsSQL = rowsSQL
    self.rowSQL = rowSQL
    self.countSQL = countSQL
    self.values = values
    self.encoder = encoder
    self.membership = membership
    self.valueNames = valueNames
    self.related = related
    self.relatedNames = relatedNames
  }
}
