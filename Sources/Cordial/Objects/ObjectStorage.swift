public import CordialValues
public import Observation
import Synchronization

/// The value of one live object, with its observers.
public final class ObjectStorage<Value: BaseValue>: Observable, Sendable {
  private struct State {
    var value: Value?
    var lastValidValue: Value?
    var version: Int64 = 0
  }

  private let state: Mutex<State>
  private let property = ObservedProperty()
  private let readers = Broadcast<Value?>()

  /// Creates the storage of an object.
  ///
  /// - Parameter value: The current value; nil if it is not loaded yet.
  public init(_ value: Value?) {
    state = Mutex(State(value: value, lastValidValue: value))
  }

  /// The current value; nil after the deletion of the object, and before its value was loaded.
  public var value: Value? {
    property.access()
    return state.withLock { $0.value }
  }

  /// The newest value that the object has had.
  public var lastValidValue: Value? {
    property.access()
    return state.withLock { $0.lastValidValue }
  }

  /// The version of the stored object.
  public var version: Int64 { state.withLock { $0.version } }

  /// Sets the value and notifies the observers, unless the object has this value.
  ///
  /// - Parameters:
  ///   - value: The value; nil for an object that was deleted.
  ///   - version: The version of the stored object.
  public func set(_ value: Value?, version: Int64 = 0) {
    let isChanged = state.withLock { state in
      state.version = version
      return replace(&state, with: value)
    }
    if isChanged { property.changed() }
  }

  /// Changes the value and notifies the observers, unless the value stays equal.
  ///
  /// - Parameter body: Changes the current value.
  func update(_ body: (inout Value?) -> Void) {
    let isChanged = state.withLock { state in
      var value = state.value
      body(&value)
      return replace(&state, with: value)
    }
    if isChanged { property.changed() }
  }

  /// Sets the value, and returns whether it differs from the former value.
  private func replace(_ state: inout State, with value: Value?) -> Bool {
    guard value != state.value else { return false }
    state.value = value
    if let value { state.lastValidValue = value }
    // Sending inside the lock gives every reader the values in the order of the changes.
    readers.send(value)
    return true
  }

  /// Returns a sequence of the current value and every later value.
  func stream() -> AsyncStream<Value?> {
    state.withLock { readers.stream(beginningWith: .some($0.value)) }
  }
}

/// A sequence of the current value of a live object and every later value.
///
/// An element is nil before the first load and after the deletion of the object.
///
/// A reader that is slower than the changes gets the newest value only.
public struct ValueSequence<Value: BaseValue>: AsyncSequence, Sendable {
  private let storage: ObjectStorage<Value>

  /// Creates the sequence of the values of a live object.
  public init(_ storage: ObjectStorage<Value>) {
    self.storage = storage
  }

  /// Creates an iterator that begins with the current value.
  public func makeAsyncIterator() -> AsyncStream<Value?>.Iterator {
    storage.stream().makeAsyncIterator()
  }
}
