import CordialValues
package import ObjectModel

/// A compiled fetch: its SQL, and which changes can alter what it answers.
package struct FetchPlan: Sendable {
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
  /// What the order and membership of the result depend on, by entity number.
  package let membershipProperties: [Int: Set<String>]
  /// What the answered values depend on, by entity number; of the entity itself those too.
  package let valueProperties: [Int: Set<String>]
}
