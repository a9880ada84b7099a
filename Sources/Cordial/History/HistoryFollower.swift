import CordialProtocol
import Synchronization

/// A component that receives every commit of a store, in order and across restarts.
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
  /// A commit is delivered again if the program ends before the store records that the follower has
  /// handled the commit.
  ///
  /// - Throws: Any error, which ends the run; the next run delivers the commit again.
  func follow(_ commit: StoreCommit) async throws
}

extension Client {
  /// The number of commits that a follower reads at once.
  private static let pageCount = 100

  /// Delivers every commit after a follower's position to the follower, including future commits.
  ///
  /// From the first run on, the store retains the history for the follower's name. The run
  /// continues after the end of a connection. It ends when the task is cancelled or the client is
  /// closed.
  ///
  /// - Parameter follower: The follower.
  /// - Throws: The error of the follower, or `ClientError`: `historyExpired` if the follower was
  ///   inactive for too long.
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

  /// Registers a follower, which receives the commits after the first registration of its name.
  ///
  /// - Parameter follower: The follower.
  /// - Returns: The position up to which the follower has handled the commits.
  /// - Throws: `ClientError`.
  @discardableResult
  package func register(
    _ follower: some HistoryFollower
  ) async throws(ClientError) -> String {
    try await core.call(RegisterFollowerCall(follower: follower.name)).token
  }

  /// Delivers all commits after a position to a follower, and returns the position after them.
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

  /// Waits until the client is connected; returns false if the client is closed.
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
