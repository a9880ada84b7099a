import Observation

/// One property that observers follow.
///
/// The class is not generic, because Swift would rebuild the key path of a generic class at each
/// access.
final class ObservedProperty: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  /// A placeholder without content, which gives the property a key path.
  private var content: Void { () }

  /// Registers a read of the property.
  func access() {
    registrar.access(self, keyPath: \.content)
  }

  /// Notifies the observers after a change.
  ///
  /// The caller changes the value first, because an observer on another thread may read at once. An
  /// observer that was notified before the change could read the former value and miss the change.
  func changed() {
    registrar.withMutation(of: self, keyPath: \.content) {}
  }
}
