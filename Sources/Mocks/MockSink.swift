import CordialService
import Transport

/// The destination of the service's bytes for a client of a mock.
final class MockSink: ByteSink {
  private weak let connection: MockConnection?
  private let channel: ByteChannel

  init(_ connection: MockConnection) {
    self.connection = connection
    channel = connection.clientChannel
  }

  var isWritable: Bool { channel.isWritable }

  var waitingBytes: Int { channel.waitingBytes }

  func setReading(_ reads: Bool) { channel.setReading(reads) }

  func write(_ pieces: [[UInt8]]) { connection?.take(pieces) }

  func abort() { channel.abort() }

  func close(exitCode: Int32) { connection?.close(exitCode: exitCode) }
}
