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

  /// Adds growth to the memory that the account counts.
  ///
  /// - Parameter bytes: The growth, in bytes.
  /// - Returns: Whether memory is left for more growth.
  func grew(by bytes: Int) -> Bool {
    self.bytes.add(bytes, ordering: .relaxed)
    account.addRequests(bytes)
    return account.hasRoomForRequest
  }

  /// Stops counting the growth, and counts the parsed request instead.
  ///
  /// - Parameter bytes: The memory of the parsed request, in bytes; 0 for a message that failed.
  func end(asRequestOf bytes: Int = 0) {
    account.addRequests(bytes - self.bytes.exchange(0, ordering: .relaxed))
  }
}
