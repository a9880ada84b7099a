import CordialProtocol
import Synchronization

/// A part of a program that is told every commit of a store, in their order and across restarts.
///
///     struct Mirror: HistoryFollower {
///       let name = "mirror"
///       func follow(_ commit: StoreCommit) async throws { try await upload(commit) }
///     }
///     try await client.run(Mirror())
public protocol HistoryFollower: Sendable {
  /// The name under which the store keeps the position of the follower, at most 200 bytes.
  var name: String { get }

  /// Handles a commit.
  ///
  /// The same commit comes again where the program ends before the store knows that it was handled.
  ///
  /// - Throws: Any error, which ends the following; the commit comes again in the next run.
  func follow(_ commit: StoreCommit) async throws
}

extension Client {
  /// The number of commits that a follower reads at once.
  private static let pageCount = 100

  /// Tells a follower every commit after its position, and every later one.
  ///
  /// The store retains the history for the follower's name from the first run on. The run continues
  /// after the connection has ended, and ends when the task is cancelled or the client is closed.
  ///
  /// - Parameter follower: The follower.
  /// - Throws: The error of the follower, or `ClientError`: `historyExpired` where the follower was
  ///   away for too long.
  public func run(_ follower: some HistoryFollower) async throws {
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let failure = Mutex<ClientError?>(nil)
    let number = core.reserveSubscription()
    var observed = ObserveCall(.history(HistoryCall()))
    observed.mode = .signal
    core.observe(number, observed) { event in
      if case .failure(let error) = event { failure.withLock { $0 = error } }
      wake.yield()
    }
    defer { core.unobserve(number) }
    var position: String?
    while !Task.isCancelled {
      if let error = failure.withLock({ $0 }) { throw error }
      do {
        let known: String
        if let position { known = position } else { known = try await register(follower) }
        position = try await read(after: known, for: follower)
      } catch let error as ClientError where error.code == .connectionEnded {
        guard await isConnectedAgain() else { return }
        continue
      }
      await withTaskCancellationHandler {
        for await _ in wakes { break }
      } onCancel: {
        wake.finish()
      }
      if state == .closed { return }
    }
  }

  /// Registers a follower, whose commits are those after the first registration of its name.
  ///
  /// - Parameter follower: The follower.
  /// - Returns: The position after which it has not handled the commits.
  /// - Throws: `ClientError`.
  @discardableResult
  package func register(
    _ follower: some HistoryFollower
  ) async throws(ClientError) -> String {
    try await core.call(RegisterFollowerCall(follower: follower.name)).token
  }

  /// Reads all commits after a position, and returns the position after them.
  private func read(after start: String, for follower: some HistoryFollower) async throws -> String
  {
    var position = start
    while true {
      var call = HistoryCall(since: position)
      call.limit = Self.pageCount
      let page = try await core.call(call)
      for transaction in page.transactions {
        try Task.checkCancellation()
        let commit = try StoreCommit(transaction)
        try await follower.follow(commit)
        position = commit.token
      }
      if position != start {
        _ = try await core.call(AcknowledgeCall(follower: follower.name, token: position))
      }
      guard page.hasMore else { return page.token ?? position }
    }
  }

  /// Waits until the client is connected; the result is false where it was closed.
  private func isConnectedAgain() async -> Bool {
    for await state in states {
      switch state {
      case .connected: return true
      case .closed: return false
      case .connecting, .disconnected: continue
      }
    }
    return false
  }
}
