// Transport: byte channels over standard streams and Unix sockets, and the daemon's lock.
// No other module uses SwiftNIO.
//
// Must not know: methods, objects.
//
// What always holds:
// 1. Bytes are sent in the order in which they were written, one system call for each write.
// 2. A peer of another user gets no channel.
// 3. Standard output carries only what is written to the channel.

import NIOCore
import NIOPosix

/// The thread that transfers bytes; all work of its channels runs on it.
package final class TransportLoop: Sendable {
  private let group: MultiThreadedEventLoopGroup
  let eventLoop: any EventLoop

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
  package func execute(_ work: @escaping @Sendable () -> Void) {
    eventLoop.execute(work)
  }

  /// Runs work on the loop after a number of milliseconds.
  package func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds)), work)
  }

  /// Ends the thread; its channels must be closed.
  package func shutdown() async throws {
    try await group.shutdownGracefully()
  }
}
