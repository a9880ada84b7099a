/// Advice for the user about an error of the store.
///
/// Advice that depends on the user interface has its own case. The module of the user interface
/// puts the case into words.
package enum StoreHint: Sendable, Hashable {
  case text(String)
  /// Create a store at the path.
  case createStore(path: String)
  /// Open the store for writing.
  case openForWriting
  /// Open the store with the newer model, or with the model that the store has.
  case openWithItsModel
  /// Compare the store's model with the requested model.
  case compareModels
  /// Register a follower of this name.
  case registerFollower
  /// Read the objects again, then register the follower at the position of the result.
  case registerFollowerAgain
  /// Read the objects again, because the position is not in the log.
  case readAgain
  /// Examine the damaged store, and restore a backup.
  case examineDamage
}

extension StoreHint: ExpressibleByStringInterpolation {
  package init(stringLiteral text: String) {
    self = .text(text)
  }
}
