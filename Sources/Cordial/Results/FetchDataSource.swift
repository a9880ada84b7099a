public import CordialValues
import Synchronization

/// The origin of the objects of a `FetchedResults`.
public enum FetchDataSource<Value: BaseValue>: Sendable {
  /// The objects that a request fetches from a service.
  case fetchRequest(ObjectSource<Value>)
  /// A list of mocks.
  case mockObjects(MockObjects<Value>)

  /// Returns the live object with an ID.
  ///
  /// - Parameters:
  ///   - id: The ID of the object.
  ///   - isolation: The actor on which the object's value changes. If it is nil, the value changes
  ///     on any thread, and `withObservationTracking` may miss a change.
  /// - Returns: The object. A list of mocks returns nil for an ID that it does not have. A service
  ///   returns nil for the ID of a mock, for an ID of an unrelated entity, and for a type that does
  ///   not fit the model.
  public func object(
    with id: WrappedID,
    isolation: (any Actor)? = #isolation
  ) -> AnyConvertibleValueObject<Value>? {
    switch self {
    case .mockObjects(let mocks): mocks.object(with: id)
    case .fetchRequest(let source): source.object(with: id, on: isolation)
    }
  }

  /// Connects a result with the rows of a request.
  func connect(_ port: ResultPort<Value>, _ request: FetchRequest<Value>?) {
    switch (self, request) {
    case (.mockObjects(let mocks), _): mocks.connect(port)
    case (.fetchRequest(let source), let request?): source.connect(port, request)
    case (.fetchRequest, nil): port.set(ResultRows(.objects(SharedList())))
    }
  }
}

/// The data sources of a program, one for each kind of object that its views show.
///
///     struct TodoSources: DataSources {
///       static let registry = DataSourceRegistry(TodoSources())
///       var groups = FetchDataSource<TodoGroup>.mockObjects([Mock(.sample).eraseToAny()])
///     }
///
/// One line switches the program to a service:
///
///     TodoSources.registry.replace(with: TodoSources(groups: .fetchRequest(client.objects())))
public protocol DataSources: Sendable {
  /// The sources that the program's results use.
  static var registry: DataSourceRegistry<Self> { get }
}

/// The current data sources of a program.
public final class DataSourceRegistry<Sources: Sendable>: Sendable {
  private let sources: Mutex<Sources>
  private let replacement = TaskLocal<Sources?>(wrappedValue: nil)

  /// Creates a registry.
  public init(_ sources: Sources) {
    self.sources = Mutex(sources)
  }

  /// The sources for new results.
  public var current: Sources {
    replacement.get() ?? self.sources.withLock { $0 }
  }

  /// Replaces the sources for results that are created later.
  public func replace(with sources: Sources) {
    self.sources.withLock { $0 = sources }
  }

  /// Replaces the sources for results that an operation creates, so that tests can run in parallel.
  ///
  /// - Parameters:
  ///   - sources: The sources.
  ///   - isolation: The actor of the caller.
  ///   - operation: The operation.
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  public func withSources<Result, Failure: Error>(
    _ sources: Sources,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    var outcome: Swift.Result<Result, Failure>?
    await replacement.withValue(sources) {
      do throws(Failure) {
        outcome = .success(try await operation())
      } catch {
        outcome = .failure(error)
      }
    }
    guard let outcome else { preconditionFailure("withValue runs its operation") }
    return try outcome.get()
  }
}
