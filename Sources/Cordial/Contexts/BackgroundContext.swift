/// A context off the main actor.
///
///     let imports = BackgroundContext(client)
///     try await imports.perform { _, context in
///       for title in titles { context.insert { TodoGroup(id: $0, title: title, taskCount: 0) } }
///       try await context.save()
///     }
public actor BackgroundContext {
  /// The time at which an operation begins.
  public enum Schedule: Sendable {
    /// The operation begins as soon as the context is free.
    case immediate
    /// The operation begins after the operations that already wait for the context.
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
  ///   - author: The author of the context's saves; nil for saves without an author.
  ///   - automaticallyMergesChanges: Whether the objects follow the changes of the store.
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
  ///   - schedule: The time at which the operation begins.
  ///   - operation: The operation. The compiler prevents the context from escaping it.
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
