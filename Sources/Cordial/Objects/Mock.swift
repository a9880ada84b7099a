public import CordialValues

/// A live object that a program creates from a value alone, for previews and tests.
///
/// Setting a property or the value notifies the observers, as a change in a store does. `Mock` is a
/// ready-made type. A custom type needs only a storage and an initializer.
///
///     final class MockGroup: TestableConvertibleValueObject {
///       let storage: MockStorage<TodoGroup>
///       init(_ value: TodoGroup) { storage = MockStorage(value) }
///     }
@dynamicMemberLookup
public protocol TestableConvertibleValueObject<Value>: ConvertibleValueObject {
  /// The type of the object's value, declared again so that the compiler infers it from `storage`.
  associatedtype Value

  /// The value of the object, with its observers.
  var storage: MockStorage<Value> { get }

  /// Creates an object with a value.
  init(_ value: Value)
}

extension TestableConvertibleValueObject {
  /// The identity of the value.
  public var id: WrappedID { storage.last.id }

  /// Returns the current value; nil after `delete()`.
  public func convertToValueType() -> Value? { storage.object.value }

  /// The newest value.
  public var lastValidValue: Value? { storage.object.lastValidValue }

  /// The version, which is always 0 because a mock is not stored.
  public var version: Int64 { 0 }

  /// A sequence of the current value and every later value; nil stands for a deleted object.
  public var values: ValueSequence<Value> { ValueSequence(storage.object) }

  /// A property of the value.
  ///
  /// Setting a property of a deleted object restores the object with its last value.
  public subscript<Member>(dynamicMember keyPath: WritableKeyPath<Value, Member>) -> Member {
    get { storage.last[keyPath: keyPath] }
    set {
      let last = storage.last
      storage.object.update { value in
        var changed = value ?? last
        changed[keyPath: keyPath] = newValue
        value = changed
      }
    }
  }

  /// Replaces the value, and notifies the observers unless the values are equal.
  public func update(_ value: Value) {
    storage.object.set(value)
  }

  /// Deletes the object, to simulate that another client deletes a stored object.
  public func delete() {
    storage.object.set(nil)
  }
}

/// The value of a mock, with its observers.
public final class MockStorage<Value: BaseValue>: Sendable {
  fileprivate let object: ObjectStorage<Value>
  fileprivate let first: Value

  /// Creates the storage of a mock.
  public init(_ value: Value) {
    object = ObjectStorage(value)
    first = value
  }

  fileprivate var last: Value { object.lastValidValue ?? first }
}

/// A live object that is created from a value alone.
///
///     let group = Mock(TodoGroup(id: .string("Group1"), title: "Home", taskCount: 2))
///     group.title = "House"
@dynamicMemberLookup
public final class Mock<Value: BaseValue>: TestableConvertibleValueObject {
  /// The value of the object, with its observers.
  public let storage: MockStorage<Value>

  /// Creates an object with a value.
  public init(_ value: Value) {
    storage = MockStorage(value)
  }
}
