import CordialValues
import Synchronization

/// The objects of the rows that were read last.
///
/// The objects stay alive, so that a view that reads values and drops the objects is still notified
/// of changes.
final class RecentObjects<Value: BaseValue>: Sendable {
  private typealias Objects = [WrappedID: AnyConvertibleValueObject<Value>]

  private let objects = Mutex<(newer: Objects, older: Objects)>(([:], [:]))

  /// The number of recent objects that are always retained; up to twice as many can be retained.
  private static var count: Int { 128 }

  /// Retains an object until enough other objects have been read.
  func keep(_ object: AnyConvertibleValueObject<Value>) {
    // Objects are released outside of the lock.
    let released = objects.withLock { objects -> Objects in
      objects.newer[object.id] = object
      guard objects.newer.count >= Self.count else { return [:] }
      defer { objects = ([:], objects.newer) }
      return objects.older
    }
    _ = released
  }
}
