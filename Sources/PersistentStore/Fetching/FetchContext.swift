import ObjectModel

/// The inputs that determine a fetch's SQL besides the request: the model and the state of a store.
struct FetchContext: Sendable {
  let model: Model
  /// Whether a to-one may reference a missing object, so that the SQL must look up each reference.
  let mayDangle: Bool
  /// Whether the stored sort keys come from the ICU version of this process.
  var hasSortKeys = true
  /// The program's functions for transient attributes.
  var functions: Set<String> = []
  /// Whether a division by zero and a failed `CAST` make a migration fail, instead of giving null.
  var isStrict = false

  /// Returns the context for checking a request without a store.
  static func withoutStore(_ model: Model) -> FetchContext {
    FetchContext(model: model, mayDangle: false, functions: model.functions)
  }
}
