package import ObjectModel
import SQLite
import StoreLayout

/// The numbers of all objects of an entity, for callers that read the numbers in portions.
extension StoreSnapshot {
  /// Returns the numbers of an entity's objects after a number, ascending.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - object: The number after which the results begin.
  ///   - limit: The maximum number of results.
  /// - Returns: The numbers.
  /// - Throws: `SQLiteError`.
  package func objects(
    of entity: EntityDescription,
    after object: Int64,
    limit: Int
  ) throws -> [Int64] {
    let table = model.source(entity, subentities: false)
    let rows = try statement(
      "SELECT \"_id\" FROM \(table) WHERE \"_id\" > ? ORDER BY \"_id\" LIMIT ?"
    )
    defer { rows.reset() }
    rows.bind(object, at: 1)
    rows.bind(Int64(limit), at: 2)
    var objects: [Int64] = []
    var last = object
    while try rows.step() {
      let number = rows.integer(0)
      // If the tree is damaged, the numbers may not ascend, and a caller that continues after the
      // last number could loop forever.
      guard number > last else {
        throw SQLiteError(.corrupt, "The objects of \(entity.name) are not in their order")
      }
      last = number
      objects.append(number)
    }
    return objects
  }
}
