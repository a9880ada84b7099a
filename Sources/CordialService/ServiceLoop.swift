/// The thread on which a service lives, as whoever owns the thread provides it.
package protocol ServiceLoop: Sendable {
  /// The loop as an executor: the service is isolated to it.
  var unownedExecutor: UnownedSerialExecutor { get }

  /// Runs work on the loop, after what was handed to it before.
  func execute(_ work: @escaping @Sendable () -> Void)

  /// Runs work on the loop after so many milliseconds.
  func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void)
}

/// Where the bytes for a peer go; used on the loop only.
///
/// A sink should report events of its peer in later turns of the loop. The service puts off those
/// that come while it is in the middle of a turn.
package protocol ByteSink: AnyObject, Sendable {
  /// Whether the peer takes more: when not, what can wait should.
  var isWritable: Bool { get }

  /// Whether bytes of the peer are wanted; those that came already may follow.
  func setReading(_ reads: Bool)

  /// Sends pieces of bytes as one, after those that were sent before.
  func write(_ pieces: [[UInt8]])

  /// Ends the connection at once.
  func cut()

  /// Ends the connection after everything was sent.
  ///
  /// - Parameter exitCode: What a process that serves this connection only should exit with.
  func close(exitCode: Int32)
}
