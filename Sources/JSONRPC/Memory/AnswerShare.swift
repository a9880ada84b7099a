import JSON
import Synchronization

/// The memory of a response while it is built, with the additional memory of its request.
///
/// The thread that builds the response reports the growth; the loop ends the share.
package final class AnswerShare: JSONMeter, Sendable {
  private let account: ByteBudget.Account
  /// Whether memory was reserved for the response; a response that exceeds its reservation fails
  /// instead of starting again.
  package let isReserved: Bool
  /// The memory that was reserved when the response began, in bytes.
  private let reserved: Int
  /// The memory that the share has taken and releases at the end, in bytes.
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

  /// Whether the memory was not sufficient for the response.
  package var wasRefused: Bool { isRefused.load(ordering: .relaxed) }

  /// Reports that the response has grown.
  ///
  /// - Parameter bytes: The number of bytes.
  /// - Returns: Whether memory is left for more growth.
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

  /// Releases the memory, because the response failed or its connection now counts it.
  package func end() {
    account.addAnswer(-taken.exchange(0, ordering: .relaxed))
  }
}
