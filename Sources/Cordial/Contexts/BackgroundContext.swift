/// A context off the main actor.
///
///     let imports = BackgroundContext(client)
///     try await imports.perform { _, context in
///       for title in titles { context.insert { TodoGroup(id: $0, title: title, taskCount: 0) } }
///       try await context.save()
///     }
public actor BackgroundContext {
  /// When an operation begins.
  public enum Schedule: Sendable {
    /// As soon as the context is free.
    case immediate
    /// After the operations that wait for the context.
    case enqueued
  }

  private let client: Client
  private let author: String?
  private let mergesChanges: Bool
  private var stored: Context?

  /// Creates a context.
  ///
  /// - Parameters:
  ///   - client: The client of the service.
  ///   - author: The author of its saves; nil for the default of the service.
  ///   - automaticallyMergesChanges: Whether the objects follow the store.
  public init(
    _ client: Client,
    author: String? = nil,
    automaticallyMergesChanges: Bool = false
  ) {
    self.client = client
    self.author = author
    mergesChanges = automaticallyMergesChanges
  }

  /// Runs an operation with the context.
  ///
  /// - Parameters:
  ///   - schedule: When the operation begins.
  ///   - operation: The operation; the context cannot leave it.
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  public func perform<Result: Sendable>(
    schedule: Schedule = .immediate,
    _ operation: @Sendable (isolated BackgroundContext, Context) async throws -> Result
  ) async rethrows -> Result {
    if schedule == .enqueued { await Task.yield() }
    return try await operation(self, context)
  }

  private var context: Context {
    if let stored { return stored }
    let context = Context(
      client,
      author: author,
      automaticallyMergesChanges: mergesChanges
    )
    stored = context
    return context
  }
}
