package import ObjectModel

/// What a program adds to a store.
package struct StoreExtensions: Sendable {
  /// The program's own merge policies, by the names that saves use.
  ///
  /// One save may call a policy more than once.
  package var mergePolicies: [String: MergeDecision] = [:]

  /// The program's functions for transient attributes, by the names in `computed` of a model.
  package var computedValues: [String: ComputedValue] = [:]

  /// Returns the faults of a model that the store cannot find itself, such as those of `spotlight`.
  ///
  /// The store calls this function with models that have no other faults. It refuses to create or
  /// migrate a store with a model that has faults.
  package var modelProblems: @Sendable (Model) -> [ModelProblem] = { _ in [] }

  package init() {}

  /// Fails where `modelProblems` returns faults of a model.
  ///
  /// - Throws: `modelInvalid`.
  package func check(_ model: Model) throws(StoreError) {
    let problems = modelProblems(model)
    guard problems.isEmpty else { throw StoreError(ModelError(problems: problems), in: model.name) }
  }
}
