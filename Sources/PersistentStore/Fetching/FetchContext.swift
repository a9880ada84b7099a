import ObjectModel

/// What the SQL of a fetch depends on, besides the request: the model, and the state of a store.
struct FetchContext: Sendable {
  let model: Model
  /// Whether a to-one may reference a missing object, so that each reference must be looked up.
  let mayDangle: Bool
  /// Whether the stored sort keys are of this process's ICU.
  var hasSortKeys = true
  /// The program's functions for transient attributes.
  var functions: Set<String> = []
  /// Whether a division by zero and a `CAST` that fails are failures of a migration, rather than
  /// null.
  var isStrict = false

  /// Returns the context of a request that no store has to answer.
  static func examining(_ model: Model) -> FetchContext {
    FetchContext(model: model, mayDangle: false, functions: model.functions)
  }
}
