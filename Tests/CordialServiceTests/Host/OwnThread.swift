import Foundation

/// Runs blocking work on a new thread.
///
/// Swift tasks and Dispatch's concurrent queues share one thread per core. A test that blocks its
/// own thread takes a thread from the store's readers, and Dispatch replaces it only after a second.
///
/// - Parameter work: The work.
/// - Returns: The result of the work.
/// - Throws: The error of the work.
func onOwnThread<Answer: Sendable>(
  _ work: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread {
      continuation.resume(with: Result { try work() })
    }
    thread.stackSize = 8 << 20
    thread.start()
  }
}
