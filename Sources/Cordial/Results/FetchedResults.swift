public import CordialValues
public import Observation

/// The live result of a request: the objects of a list, in their order.
///
/// The sequence changes only if the IDs, their order or the sections change. A change of a value
/// notifies only the observers of its object. Rows load their values in batches when they are read.
///
/// A result belongs to the actor that creates it. Rows and values change in separate tasks on this
/// actor, so that synchronous code on the actor sees no change between two reads. The subscription
/// ends when the last reference to the result is released.
public final class FetchedResults<Value: BaseValue>: Observable {
  /// A change of the sequence.
  ///
  /// A view can choose its animation by the kind of the change.
  public enum Change: Sendable {
    /// The first rows have arrived; a view shows them without animation.
    case initial
    /// The rows of another request have replaced the sequence.
    case replaced
    /// Rows were inserted, removed or moved.
    case updated
  }

  private let source: FetchDataSource<Value>
  private let feed: ResultFeed<Value>
  private let registrar = ObservationRegistrar()
  private let signals = Broadcast<Void>()
  private var rows = ResultRows<Value>(.objects(SharedList()))
  private var storedRequest: FetchRequest<Value>?
  private var latest: Change?
  private var failure: ClientError?
  /// The task that applies new rows on the actor of the result.
  private var follower: Task<Void, Never>?

  /// Creates a result with a source from the program's registry.
  ///
  /// - Parameters:
  ///   - path: The key path of the source, like `\TodoSources.groups`.
  ///   - request: The request; nil to set it later. A list of mocks needs no request.
  ///   - isolation: The actor of the result.
  public convenience init<Sources: DataSources>(
    _ path: KeyPath<Sources, FetchDataSource<Value>>,
    request: FetchRequest<Value>? = nil,
    isolation: isolated any Actor = #isolation
  ) {
    self.init(Sources.registry.current[keyPath: path], request: request, isolation: isolation)
  }

  /// Creates a result.
  ///
  /// - Parameters:
  ///   - source: The source of the objects.
  ///   - request: The request; nil to set it later. A list of mocks needs no request.
  ///   - isolation: The actor of the result.
  public init(
    _ source: FetchDataSource<Value>,
    request: FetchRequest<Value>? = nil,
    isolation: isolated any Actor = #isolation
  ) {
    self.source = source
    storedRequest = request
    feed = ResultFeed(isolation)
    let reports = feed.signals
    follower = Task { [weak self] in
      _ = isolation
      for await _ in reports { self?.take() }
    }
    source.connect(feed.nextPort(), request)
  }

  deinit {
    follower?.cancel()
    feed.close()
  }

  /// The request.
  ///
  /// A new request replaces the rows in one step, when its result has arrived. Without a request
  /// the result is empty, unless its source is a list of mocks.
  public var request: FetchRequest<Value>? {
    get {
      registrar.access(self, keyPath: \.request)
      return storedRequest
    }
    set {
      guard newValue != storedRequest else { return }
      registrar.withMutation(of: self, keyPath: \.request) { storedRequest = newValue }
      source.connect(feed.nextPort(), newValue)
    }
  }

  /// The latest change of the sequence; nil before the first rows.
  public var change: Change? {
    registrar.access(self, keyPath: \.change)
    return latest
  }

  /// The latest error of the source; nil after newer rows have arrived.
  public var error: ClientError? {
    registrar.access(self, keyPath: \.error)
    return failure
  }

  /// A sequence with an element for each change; a slow reader gets one element for several
  /// changes.
  public var changes: AsyncStream<Void> { signals.stream() }

  /// The sections, in the order of their rows; empty without sections.
  var sections: [ResultSection] {
    registrar.access(self, keyPath: \.count)
    return rows.sections
  }

  /// A snapshot of the rows.
  var current: ResultRows<Value> {
    registrar.access(self, keyPath: \.count)
    return rows
  }

  private func take() {
    guard let news = feed.take() else { return }
    if news.error != failure {
      registrar.withMutation(of: self, keyPath: \.error) { failure = news.error }
    }
    guard let rows = news.rows else { return }
    guard !rows.hasSameSequence(as: self.rows) || latest == nil && storedRequest != nil else {
      // The sequence is unchanged, but the rows of a new request load their values from a new pool.
      self.rows = rows
      return
    }
    registrar.withMutation(of: self, keyPath: \.count) {
      registrar.withMutation(of: self, keyPath: \.change) {
        self.rows = rows
        latest = latest == nil ? .initial : news.isReplacement ? .replaced : .updated
      }
    }
    signals.send(())
  }
}

extension FetchedResults: RandomAccessCollection {
  /// The index of the first row.
  public var startIndex: Int { 0 }

  /// The number of rows.
  public var endIndex: Int { count }

  /// The number of rows.
  public var count: Int {
    registrar.access(self, keyPath: \.count)
    return rows.count
  }

  /// The object of a row; its value is nil until it is loaded.
  public subscript(index: Int) -> AnyConvertibleValueObject<Value> {
    registrar.access(self, keyPath: \.count)
    return rows[index]
  }
}
