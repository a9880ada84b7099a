import CordialValues
import JSONRPC
import PersistentStore

/// One connection: what it sent that is not answered, and what it observes.
///
/// Belongs to the service and is used on its loop only.
final class Session {
  let number: Int
  let sink: any ByteSink
  var connection: Connection
  var lifecycle = Lifecycle()
  var queue = RequestQueue()
  var answers = AnswerOrder()
  var nextSerial = 0
  /// Entered in the history for saves that name none.
  var author: String?
  var context: String?
  /// How long changes are gathered, in milliseconds.
  var coalesce = 0
  /// What becomes of what others changed, in saves that do not say.
  var mergePolicy = SaveRequest.MergePolicy.error
  var observed = ObservedState()
  /// How many bytes came since nothing was under way.
  var bytesInFlight = 0
  /// Whether the peer is not read, for what it sent is too much.
  var isHeld = false
  /// Whether requests are being started.
  var isStarting = false
  /// Nothing more comes: when everything is answered, the connection ends.
  var inputEnded = false
  var isClosed = false
  /// What `exit` asked a process to exit with, nil before it came.
  var exitCode: Int32?
  /// Whether the end of the turn has something to perform for this session.
  var isUnsent = false
  /// What the end of the turn sends, as one write.
  private var outgoing: [[UInt8]] = []
  private var outgoingBytes = 0
  /// The exit code of a close that the end of the turn performs.
  private var closing: Int32?

  /// Longer messages are pieces of their own, to save copying them.
  private static let gatheredMax = 1 << 16
  /// Nothing more is asked for when so many bytes wait for the end of the turn.
  private static let outgoingBytesMax = 1 << 20

  init(number: Int, sink: any ByteSink, connection: Connection) {
    self.number = number
    self.sink = sink
    self.connection = connection
  }

  /// Whether answers stand in the order of the requests: lines, before a handshake.
  var answersInOrder: Bool { connection.framing == .line && !lifecycle.isInitialized }

  /// Whether the peer takes more, what waits for the end of the turn included.
  var isWritable: Bool { outgoingBytes < Self.outgoingBytesMax && sink.isWritable }

  /// Adds a message to what the end of the turn sends; only `Service.send` calls this.
  func append(_ message: MessageBytes) {
    guard !isClosed else { return }
    let framing = connection.framing
    gather(framing.head(of: message.count))
    if message.count > Self.gatheredMax {
      // Copying some ten megabytes takes longer than reading them.
      outgoing += message.pieces
      outgoingBytes += message.count
    } else {
      for piece in message.pieces { gather(piece) }
    }
    gather(framing.tail)
  }

  /// Adds bytes to the last piece while that is short.
  private func gather(_ bytes: [UInt8]) {
    outgoingBytes += bytes.count
    if let last = outgoing.indices.last, outgoing[last].count <= Self.gatheredMax {
      outgoing[last] += bytes
    } else {
      outgoing.append(bytes)
    }
  }

  /// Notes that the connection ends after what was sent; only `Service.close` calls this.
  func endAfterSending(exitCode: Int32) {
    guard !isClosed else { return }
    isClosed = true
    closing = exitCode
  }

  /// Drops what waits: the peer is gone.
  func disconnect() {
    isClosed = true
    outgoing = []
    outgoingBytes = 0
    closing = nil
  }

  /// Sends what waits, then closes if that was asked for.
  ///
  /// The sink may report events meanwhile.
  ///
  /// - Returns: Whether requests may have been held back only because so much waited.
  func perform() -> Bool {
    let pieces = outgoing
    let wasFull = outgoingBytes >= Self.outgoingBytesMax
    let exitCode = closing
    outgoing = []
    outgoingBytes = 0
    closing = nil
    isUnsent = false
    if !pieces.isEmpty { sink.write(pieces) }
    if let exitCode { sink.close(exitCode: exitCode) }
    return wasFull && exitCode == nil
  }
}
