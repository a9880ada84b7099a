import Foundation

/// Runs work that blocks on a thread of its own.
///
/// A test that blocks its own thread takes that from the store: the threads of Swift's tasks and
/// those of Dispatch's concurrent queues are the same, as many as the machine has cores.
///
/// - Parameter work: What to do.
/// - Returns: What it returned.
/// - Throws: What it threw.
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
