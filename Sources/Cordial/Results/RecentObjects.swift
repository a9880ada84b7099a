import CordialValues
import Synchronization

/// The objects of the rows that were read last.
///
/// A view that reads values and drops their objects is thus notified of changes, as a view that
/// holds the objects.
final class RecentObjects<Value: BaseValue>: Sendable {
  private typealias Objects = [WrappedID: AnyConvertibleValueObject<Value>]

  private let objects = Mutex<(newer: Objects, older: Objects)>(([:], [:]))

  /// The number of objects that are kept for certain; up to twice as many are kept.
  private static var count: Int { 128 }

  /// Keeps an object, until enough others were read.
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
