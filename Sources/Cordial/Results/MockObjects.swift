public import CordialValues
import Synchronization

/// A list of live objects without a store, which a program fills and changes.
///
/// Every result that shows the list follows its changes.
public final class MockObjects<Value: BaseValue>: ExpressibleByArrayLiteral, Sendable {
  private struct State {
    var objects: [AnyConvertibleValueObject<Value>]
    var ports: [Int: ResultPort<Value>] = [:]
    var nextPort = 0
  }

  private let state: Mutex<State>

  /// Creates a list.
  public init(_ objects: [AnyConvertibleValueObject<Value>]) {
    state = Mutex(State(objects: objects))
  }

  /// Creates a list of mocks of values.
  public convenience init(_ values: [Value]) {
    self.init(values.map { Mock($0).eraseToAny() })
  }

  /// Creates a list.
  public convenience init(arrayLiteral elements: AnyConvertibleValueObject<Value>...) {
    self.init(elements)
  }

  /// The objects, in the order of the list.
  public var objects: [AnyConvertibleValueObject<Value>] { state.withLock { $0.objects } }

  /// Returns the object with an ID; nil where the list has none.
  ///
  /// - Complexity: Linear in the list.
  public func object(with id: WrappedID) -> AnyConvertibleValueObject<Value>? {
    objects.first { $0.id == id }
  }

  /// Inserts an object.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - index: An index from 0 to the number of objects; nil for the end of the list.
  public func insert(_ object: AnyConvertibleValueObject<Value>, at index: Int? = nil) {
    update { objects in objects.insert(object, at: index ?? objects.count) }
  }

  /// Removes the objects with an ID.
  ///
  /// - Complexity: Linear in the list.
  public func remove(_ id: WrappedID) {
    update { objects in objects.removeAll { $0.id == id } }
  }

  /// Changes the list; results are notified where the sequence of IDs differs.
  ///
  /// - Parameter body: Changes the objects.
  public func update(_ body: (inout [AnyConvertibleValueObject<Value>]) -> Void) {
    state.withLock { state in
      body(&state.objects)
      for port in state.ports.values { port.set(.objects(state.objects)) }
    }
  }

  /// Connects a result with the list.
  func connect(_ port: ResultPort<Value>) {
    let number = state.withLock { state in
      let number = state.nextPort
      state.nextPort += 1
      state.ports[number] = port
      port.set(.objects(state.objects))
      return number
    }
    port.whenClosed { [weak self] in
      self?.state.withLock { state in _ = state.ports.removeValue(forKey: number) }
    }
  }
}
