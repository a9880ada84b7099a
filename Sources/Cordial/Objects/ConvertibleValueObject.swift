public import CordialValues
public import Observation

/// A live object: the current value of an object of a store, or of a mock.
///
/// A view holds the object, reads its value and follows its changes, through Observation or
/// through `values`. All members may be used from any isolation.
public protocol ConvertibleValueObject<Value>: AnyObject, Equatable, Identifiable, Observable,
  Sendable
where ID == WrappedID {
  /// The type of the object's value.
  associatedtype Value: BaseValue

  /// The identity of the object.
  var id: WrappedID { get }

  /// Returns the current value.
  ///
  /// - Returns: The value; nil after the object was deleted, and before its value was loaded.
  func convertToValueType() -> Value?

  /// The newest value that the object has had; nil before its first value was loaded.
  ///
  /// A detail view that stays on screen after the deletion of its object shows this value.
  var lastValidValue: Value? { get }

  /// The number of changes of the stored object; 0 for a mock and before the value was loaded.
  var version: Int64 { get }

  /// A sequence of the current value and every later value.
  ///
  /// An element is nil before the first load and after the deletion of the object.
  ///
  /// A reader that is slower than the changes gets the newest value only.
  var values: ValueSequence<Value> { get }
}

extension ConvertibleValueObject {
  /// Returns whether two objects have the same value and version.
  public static func == (first: Self, second: Self) -> Bool {
    first.convertToValueType() == second.convertToValueType() && first.version == second.version
  }

  /// Returns an object that hides the type and the source of this object.
  public func eraseToAny() -> AnyConvertibleValueObject<Value> {
    AnyConvertibleValueObject(self)
  }
}

/// A live object of any source.
public final class AnyConvertibleValueObject<Value: BaseValue>: ConvertibleValueObject {
  private let object: any ConvertibleValueObject<Value>

  /// Creates an object with the value, the changes and the identity of a given object.
  public init(_ object: some ConvertibleValueObject<Value>) {
    self.object = object
  }

  /// The identity of the object.
  public var id: WrappedID { object.id }

  /// The current value; nil after the object was deleted, and before its value was loaded.
  public var wrappedValue: Value? { object.convertToValueType() }

  /// Returns the current value; nil after the object was deleted, and before its value was loaded.
  public func convertToValueType() -> Value? { object.convertToValueType() }

  /// The newest value that the object has had; nil before its first value was loaded.
  public var lastValidValue: Value? { object.lastValidValue }

  /// The number of changes of the stored object; 0 for a mock and before the value was loaded.
  public var version: Int64 { object.version }

  /// A sequence of the current value and every later value.
  ///
  /// An element is nil before the first load and after the deletion of the object.
  public var values: ValueSequence<Value> { object.values }
}
