import ObjectModel
import PersistentStore

/// The entities that a request names.
enum EntityNames {
  /// The numbers of entities and of their descendants, as far as they have objects.
  ///
  /// - Parameters:
  ///   - names: Their names.
  ///   - model: The model that has them.
  /// - Returns: The numbers.
  /// - Throws: `unknownEntity` for a name that the model does not have.
  static func numbers(_ names: [String], in model: Model) throws -> Set<Int> {
    Set(
      try names.flatMap { name in
        guard let entity = model.entity(named: name) else {
          throw StoreError.unknownEntity(name, in: model)
        }
        return entity.place.kinds
      }
    )
  }
}
