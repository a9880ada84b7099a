import JSON
import Synchronization

/// The memory of a long message while it is parsed.
final class RequestGrowth: JSONMeter, Sendable {
  private let account: ByteBudget.Account
  private let bytes = Atomic<Int>(0)

  init(_ account: ByteBudget.Account) {
    self.account = account
  }

  deinit {
    end()
  }

  /// Counts more memory.
  ///
  /// - Parameter bytes: The growth, in bytes.
  /// - Returns: Whether there is memory for more.
  func grew(by bytes: Int) -> Bool {
    self.bytes.add(bytes, ordering: .relaxed)
    account.addRequests(bytes)
    return account.hasRoomForRequest
  }

  /// Counts the growth no longer.
  ///
  /// - Parameter bytes: The memory of the request that the message is, in bytes, which is counted
  ///   instead; 0 for a message that failed.
  func end(asRequestOf bytes: Int = 0) {
    account.addRequests(bytes - self.bytes.exchange(0, ordering: .relaxed))
  }
}
