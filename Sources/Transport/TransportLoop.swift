// Transport: byte channels over standard streams and Unix sockets, and the daemon's lock.
// No other module uses SwiftNIO.
//
// Must not know: methods, objects.
//
// What always holds:
// 1. Bytes are sent in the order in which they were written, one system call for each write.
// 2. A peer of another user gets no channel.
// 3. Standard output carries only the bytes that are written to the channel.

import NIOCore
import NIOPosix
import Synchronization

/// The thread that transfers bytes; all work of its channels runs on it.
package final class TransportLoop: Sendable {
  private let group: MultiThreadedEventLoopGroup
  let eventLoop: any EventLoop
  private let hasEnded = Mutex(false)

  /// Starts the thread.
  package init() {
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    eventLoop = group.next()
  }

  /// The loop as an executor, to which an actor can be isolated.
  package var unownedExecutor: UnownedSerialExecutor {
    unsafe eventLoop.executor.asUnownedSerialExecutor()
  }

  /// Runs work on the loop, after the work of earlier calls.
  ///
  /// After `shutdown()`, the loop drops the work. For example, a thread of the store may finish a
  /// read after the connections have ended.
  ///
  /// - Parameter work: The work.
  /// - Returns: Whether the loop runs the work.
  @discardableResult
  package func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
    unlessEnded { eventLoop.execute(work) }
  }

  /// Runs work on the loop after a number of milliseconds, unless the loop ends earlier.
  package func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    unlessEnded { eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds)), work) }
  }

  /// Waits on the loop.
  ///
  /// - Parameter milliseconds: The time to wait.
  /// - Returns: Whether the time has passed; false immediately if the loop has ended or ends during
  ///   the wait.
  package func pause(milliseconds: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      let isWaiting = unlessEnded {
        eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds))) {}
          .futureResult.whenComplete { result in
            if case .success = result {
              continuation.resume(returning: true)
            } else {
              continuation.resume(returning: false)
            }
          }
      }
      if !isWaiting { continuation.resume(returning: false) }
    }
  }

  /// Ends the thread; its channels must be closed.
  package func shutdown() async throws {
    hasEnded.withLock { $0 = true }
    try await group.shutdownGracefully()
  }

  /// Ends the thread of a loop that no channel has used, and does not wait for its end.
  package func shutdownUnused() {
    hasEnded.withLock { $0 = true }
    // The only error is that the loop has ended already.
    group.shutdownGracefully { _ in }
  }

  /// Passes work to the event loop, unless the loop has ended and can no longer accept work.
  @discardableResult
  private func unlessEnded(_ pass: () -> Void) -> Bool {
    hasEnded.withLock { hasEnded in
      if !hasEnded { pass() }
      return !hasEnded
    }
  }
}
