import JSON
import Synchronization

/// The memory of a response while it is built, and of what its request needs meanwhile.
///
/// The thread that builds the response reports its growth; the loop ends it.
package final class AnswerShare: JSONMeter, Sendable {
  private let account: ByteBudget.Account
  /// Whether memory was reserved, so that the response is not begun again.
  package let isReserved: Bool
  /// The memory that was taken for the response at the beginning, in bytes.
  private let reserved: Int
  /// The memory that was taken, and is released at the end.
  private let taken: Atomic<Int>
  private let used = Atomic<Int>(0)
  private let isRefused = Atomic<Bool>(false)

  init(_ account: ByteBudget.Account, isReserved: Bool, reserved: Int, copies: Int) {
    self.account = account
    self.isReserved = isReserved
    self.reserved = reserved
    taken = Atomic(reserved + copies)
  }

  deinit {
    end()
  }

  /// Whether the response did not fit.
  package var wasRefused: Bool { isRefused.load(ordering: .relaxed) }

  /// Reports that the response has grown.
  ///
  /// - Parameter bytes: The number of bytes.
  /// - Returns: Whether there is memory for more.
  package func grew(by bytes: Int) -> Bool {
    let used = used.add(bytes, ordering: .relaxed).newValue
    guard used > reserved else { return true }
    let excess = min(bytes, used - reserved)
    taken.add(excess, ordering: .relaxed)
    account.addAnswer(excess)
    guard !account.hasRoom else { return true }
    isRefused.store(true, ordering: .relaxed)
    return false
  }

  /// Releases the memory: the response is complete, and its connection counts it, or it failed.
  package func end() {
    account.addAnswer(-taken.exchange(0, ordering: .relaxed))
  }
}
