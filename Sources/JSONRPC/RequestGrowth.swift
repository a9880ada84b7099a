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

  /// Counts nothing any more: the message is a request, which is counted as such, or it failed.
  func end() {
    account.addRequests(-bytes.exchange(0, ordering: .relaxed))
  }
}
