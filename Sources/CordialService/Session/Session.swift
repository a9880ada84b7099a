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
  private var outgoing: [UInt8] = []

  /// Longer messages go out by themselves, to save copying them.
  private static let gatheredMax = 1 << 16

  init(number: Int, sink: any ByteSink, connection: Connection) {
    self.number = number
    self.sink = sink
    self.connection = connection
  }

  /// Whether answers stand in the order of the requests: lines, before a handshake.
  var answersInOrder: Bool { connection.framing == .line && !lifecycle.isInitialized }

  /// Adds a message to what the next flush sends.
  func send(_ message: MessageBytes) {
    guard !isClosed else { return }
    guard message.count > Self.gatheredMax else {
      outgoing += connection.framing.head(of: message.count)
      for piece in message.pieces { outgoing += piece }
      outgoing += connection.framing.tail
      return
    }
    flush()
    // The message itself goes as it is: copying some ten megabytes takes longer than reading them.
    let framing = connection.framing
    sink.write([framing.head(of: message.count)] + message.pieces + [framing.tail])
  }

  /// Sends what was gathered, in one write.
  func flush() {
    guard !outgoing.isEmpty, !isClosed else { return }
    sink.write([outgoing])
    outgoing = []
  }

  /// Ends the connection after what was sent.
  func close(exitCode: Int32) {
    guard !isClosed else { return }
    flush()
    isClosed = true
    sink.close(exitCode: exitCode)
  }
}
