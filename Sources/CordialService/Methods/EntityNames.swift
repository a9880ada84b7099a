import ObjectModel
import PersistentStore

/// The lookup of the entities that a request names.
enum EntityNames {
  /// Returns the numbers of the concrete entities among named entities and their descendants.
  ///
  /// - Parameters:
  ///   - names: The names of entities.
  ///   - model: The model of the store.
  /// - Returns: The entity numbers.
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

  /// Returns the entity numbers that the history uses for named entities and their descendants.
  ///
  /// - Parameters:
  ///   - names: The names of entities of the model, or of entities of earlier versions of the
  ///     model.
  ///   - model: The model of the store.
  /// - Returns: The entity numbers.
  /// - Throws: `unknownEntity` for a name that neither the model nor the history has.
  static func loggedNumbers(_ names: [String], in model: Model) throws -> Set<Int> {
    var numbers: Set<Int> = []
    for name in names {
      let retired = model.retired.map(\.description).filter { $0.name == name }.map(\.number)
      numbers.formUnion(retired)
      guard model.entity(named: name) != nil || retired.isEmpty else { continue }
      numbers.formUnion(try self.numbers([name], in: model))
    }
    return numbers
  }
}
