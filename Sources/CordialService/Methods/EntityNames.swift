import ObjectModel
import PersistentStore

/// The entities that a request names.
enum EntityNames {
  /// Returns the numbers of the entities with objects among named entities and their descendants.
  ///
  /// - Parameters:
  ///   - names: The names of entities.
  ///   - model: The model of the store.
  /// - Returns: The numbers.
  /// - Throws: `unknownEntity` for a name that the model does not have.
  static func numbers(_ names: [String], in model: Model) throws -> Set<Int> {
    Set(
      try names.flatMap { name in
        guard let entity = model.entity(named: name) else {
          throw StoreError.unknownEntity(name, in: model)
        }
        return entity.familyPosition.concreteEntities
      }
    )
  }
}
