// Transport: byte channels over standard streams and Unix sockets, and the daemon's lock.
// SwiftNIO lives here only.
//
// Must not know: methods, objects.
//
// What always holds:
// 1. Bytes leave in the order in which they were written, one system call for a write.
// 2. A peer of another user gets no channel.
// 3. Standard output carries what is written to the channel and nothing else.

import NIOCore
import NIOPosix

/// One thread that moves bytes; everything of its channels happens on it.
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

  /// Runs work on the loop, after what was handed to it before.
  package func execute(_ work: @escaping @Sendable () -> Void) {
    eventLoop.execute(work)
  }

  /// Runs work on the loop after so many milliseconds.
  package func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds)), work)
  }

  /// Ends the thread; its channels must be closed.
  package func shutdown() async throws {
    try await group.shutdownGracefully()
  }
}
