package import ObjectModel

/// The merge policies, functions and model checks that a program adds to a store.
package struct StoreExtensions: Sendable {
  /// The program's own merge policies, by the names that saves use.
  ///
  /// One save may call a policy more than once.
  package var mergePolicies: [String: MergeDecision] = [:]

  /// The program's functions for transient attributes, by the names in `computed` of a model.
  package var computedValues: [String: ComputedValue] = [:]

  /// A function that returns faults of a model, such as faults in `spotlight`, that the store
  /// itself cannot find.
  ///
  /// The store calls this function only with models that have no other faults. If the function
  /// returns faults, the store is neither created nor migrated.
  package var modelProblems: @Sendable (Model) -> [ModelProblem] = { _ in [] }

  package init() {}

  /// Throws an error if `modelProblems` returns faults of a model.
  ///
  /// - Throws: `modelInvalid`.
  package func check(_ model: Model) throws(StoreError) {
    let problems = modelProblems(model)
    guard problems.isEmpty else { throw StoreError(ModelError(problems: problems), in: model.name) }
  }
}
