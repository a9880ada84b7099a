public import CordialValues
import Synchronization

/// A section of a list of mocks.
public struct MockSection<Value: BaseValue>: Sendable {
  /// The value that the objects of the section share.
  public var name: WireValue
  /// The objects of the section.
  public var objects: [AnyConvertibleValueObject<Value>]

  /// Creates a section.
  public init(name: WireValue, objects: [AnyConvertibleValueObject<Value>]) {
    self.name = name
    self.objects = objects
  }
}

/// A list of live objects without a store, which a program fills and changes.
///
/// Every result that shows the list follows its changes.
public final class MockObjects<Value: BaseValue>: ExpressibleByArrayLiteral, Sendable {
  private struct State {
    var objects: SharedList<AnyConvertibleValueObject<Value>>
    var sections: [ResultSection] = []
    var ports: [Int: ResultPort<Value>] = [:]
    var nextPort = 0

    mutating func set(_ mocks: [MockSection<Value>]) {
      objects = SharedList(mocks.flatMap(\.objects))
      var end = 0
      sections = mocks.map { mock in
        defer { end += mock.objects.count }
        return ResultSection(name: mock.name, range: end..<end + mock.objects.count)
      }
    }
  }

  private let state: Mutex<State>

  /// Creates a list.
  public init(_ objects: [AnyConvertibleValueObject<Value>]) {
    state = Mutex(State(objects: SharedList(objects)))
  }

  /// Creates a list with sections.
  public convenience init(sections: [MockSection<Value>]) {
    self.init([] as [AnyConvertibleValueObject<Value>])
    updateSections { $0 = sections }
  }

  /// Creates a list with a mock for each value.
  public convenience init(_ values: [Value]) {
    self.init(values.map { Mock($0).eraseToAny() })
  }

  /// Creates a list from an array literal.
  public convenience init(arrayLiteral elements: AnyConvertibleValueObject<Value>...) {
    self.init(elements)
  }

  /// The objects, in the order of the list.
  public var objects: [AnyConvertibleValueObject<Value>] { state.withLock { $0.objects.elements } }

  /// Returns the object with an ID; nil if the list does not have the object.
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
  /// - Complexity: Without sections, linear in a small part of the list; with sections, linear in
  ///   the list.
  public func insert(_ object: AnyConvertibleValueObject<Value>, at index: Int? = nil) {
    let isInserted = state.withLock { state in
      guard state.sections.isEmpty else { return false }
      state.objects.insert(object, at: index ?? state.objects.count)
      Self.report(state)
      return true
    }
    if !isInserted { update { $0.insert(object, at: index ?? $0.count) } }
  }

  /// Removes the objects with an ID.
  ///
  /// - Complexity: Linear in the list.
  public func remove(_ id: WrappedID) {
    update { objects in objects.removeAll { $0.id == id } }
  }

  /// Changes the list, and notifies the results if the sequence of IDs differs.
  ///
  /// - Parameter body: Changes the objects.
  public func update(_ body: (inout [AnyConvertibleValueObject<Value>]) -> Void) {
    state.withLock { state in
      let former = state.objects.elements
      var objects = former
      body(&objects)
      guard !state.sections.isEmpty else {
        state.objects = SharedList(objects)
        return Self.report(state)
      }
      // A new object joins the section of the object before it.
      var names: [WrappedID: WireValue] = [:]
      for section in state.sections {
        for object in former[section.range] { names[object.id] = section.name }
      }
      var sections: [MockSection<Value>] = []
      for object in objects {
        let name = names[object.id] ?? sections.last?.name ?? state.sections[0].name
        if sections.last?.name == name {
          sections[sections.count - 1].objects.append(object)
        } else {
          sections.append(MockSection(name: name, objects: [object]))
        }
      }
      state.set(sections)
      Self.report(state)
    }
  }

  /// Changes the sections and their objects in one step.
  ///
  /// - Parameter body: Changes the sections. For a list without sections, the array is empty.
  public func updateSections(_ body: (inout [MockSection<Value>]) -> Void) {
    state.withLock { state in
      let objects = state.objects.elements
      var sections = state.sections.map { section in
        MockSection(name: section.name, objects: Array(objects[section.range]))
      }
      body(&sections)
      state.set(sections)
      Self.report(state)
    }
  }

  private static func report(_ state: State) {
    let rows = ResultRows<Value>(.objects(state.objects), sections: state.sections)
    for port in state.ports.values { port.set(rows) }
  }

  /// Connects a result with the list.
  func connect(_ port: ResultPort<Value>) {
    let number = state.withLock { state in
      let number = state.nextPort
      state.nextPort += 1
      state.ports[number] = port
      port.set(ResultRows(.objects(state.objects), sections: state.sections))
      return number
    }
    port.whenClosed { [weak self] in
      self?.state.withLock { state in _ = state.ports.removeValue(forKey: number) }
    }
  }
}
