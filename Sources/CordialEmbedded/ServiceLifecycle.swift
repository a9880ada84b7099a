public import Cordial
public import ServiceLifecycle

extension Container: Service {
  /// Keeps the stores open until the service group shuts down or the task is cancelled, and then
  /// closes the container.
  ///
  /// - Throws: The error of the last store that could not be closed.
  public func run() async throws {
    await ServiceEnd.wait()
    try await close()
  }
}

extension Client: Service {
  /// Keeps the client connected until the service group shuts down or the task is cancelled, and
  /// then closes it.
  public func run() async {
    await ServiceEnd.wait()
    close()
  }
}

private enum ServiceEnd {
  static func wait() async {
    do {
      try await gracefulShutdown()
    } catch {
      // A cancelled task ends the wait, as a shutdown does.
    }
  }
}
