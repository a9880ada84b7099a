/// The loop to which a service is isolated; the owner of the thread provides it.
package protocol ServiceLoop: Sendable {
  /// The loop as the executor of the service.
  var unownedExecutor: UnownedSerialExecutor { get }

  /// Runs work on the loop, after all work that was added before.
  func execute(_ work: @escaping @Sendable () -> Void)

  /// Runs work on the loop after a delay.
  func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void)
}

/// The destination of the bytes for a peer; used on the loop only.
///
/// A sink should report events of its peer in later turns of the loop. The service postpones events
/// that a sink reports during a turn.
package protocol ByteSink: AnyObject, Sendable {
  /// Whether the peer accepts more bytes; otherwise messages that can wait should wait.
  var isWritable: Bool { get }

  /// The number of written bytes that the peer has not accepted.
  var waitingBytes: Int { get }

  /// Starts or stops reading the peer; bytes that were read before may still arrive.
  func setReading(_ reads: Bool)

  /// Sends pieces of bytes as one write, after all earlier writes.
  func write(_ pieces: [[UInt8]])

  /// Ends the connection at once.
  func abort()

  /// Closes the connection after all bytes are sent.
  ///
  /// - Parameter exitCode: The exit code for a process that serves this connection only.
  func close(exitCode: Int32)
}

extension ByteSink {
  /// Zero, because a peer of the same process accepts all bytes during the write.
  package var waitingBytes: Int { 0 }
}
