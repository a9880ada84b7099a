import Observation

/// One property that observers follow.
///
/// The class is not generic: in a generic one, Swift would make the property's key path anew at
/// each access.
final class ObservedProperty: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  /// What stands for the property in its key path.
  private var content: Void { () }

  /// Registers a read of the property.
  func access() {
    registrar.access(self, keyPath: \.content)
  }

  /// Notifies the observers of a change that was made.
  ///
  /// An observer on another thread may read at once. Before the change it would read the former
  /// value, and would not be notified again.
  func changed() {
    registrar.withMutation(of: self, keyPath: \.content) {}
  }
}
