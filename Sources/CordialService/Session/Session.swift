import CordialValues
import JSONRPC
import PersistentStore

/// The state of one connection: its unanswered requests and its subscriptions.
///
/// A session belongs to the service, which uses it on its loop only.
final class Session {
  let number: Int
  let sink: any ByteSink
  var connection: Connection
  var lifecycle = Lifecycle()
  var queue: RequestQueue
  var answers = AnswerOrder()
  var nextSerial = 0
  /// The author of saves that name none.
  var author: String?
  var context: String?
  /// The time for which changes are coalesced, in milliseconds.
  var coalesce = 0
  /// The time limit of requests that name none, in seconds; nil for the service's.
  var timeoutSeconds: Double?
  /// The unit of positions in highlights and snippets.
  var positionEncoding = PositionEncoding.utf16
  /// The merge policy of saves that name none.
  var mergePolicy = SaveRequest.MergePolicy.error
  var observed = ObservedState()
  var running = RunningRequests()
  /// The memory that the connection holds.
  let account: ByteBudget.Account
  /// The memory of the pending requests, in bytes.
  var bytesInFlight = 0
  /// The number of bytes that were passed to the sink.
  private var writtenBytes = 0
  /// Whether the service has stopped reading the peer, because too many requests are pending.
  var isReadingPaused = false
  /// The progress from the end of the input to the end of the connection.
  var phase = ConnectionPhase.open
  /// Whether the session is in `turn.changedSessions`, so that the end of the turn continues it.
  var isChanged = false
  /// The bytes that the end of the turn sends, as one write.
  private var outgoing: [[UInt8]] = []
  private var outgoingBytes = 0

  /// The maximum length of a message that is copied into a piece with other messages, in bytes.
  private static let gatheredMax = 1 << 16
  /// The number of bytes waiting for the end of the turn at which no further request starts.
  private static let outgoingBytesMax = 1 << 20

  init(
    number: Int,
    sink: any ByteSink,
    connection: Connection,
    account: ByteBudget.Account,
    readsMax: Int
  ) {
    self.number = number
    queue = RequestQueue(readsMax: readsMax)
    self.sink = sink
    self.connection = connection
    self.account = account
  }

  /// Whether responses keep the order of requests.
  var answersInOrder: Bool { !lifecycle.isInitialized && connection.dialect.keepsOrder }

  /// The turn in which requests started last, and their number in it.
  private var starts = (turn: -1, count: 0)

  /// Counts a request that starts in a turn; returns false where it has to wait for the next turn.
  func countStart(turn: Int, max: Int) -> Bool {
    if starts.turn != turn { starts = (turn, 0) }
    guard starts.count < max else { return false }
    starts.count += 1
    return true
  }

  /// Whether the peer accepts more bytes, including those that wait for the end of the turn.
  var isWritable: Bool { outgoingBytes < Self.outgoingBytesMax && sink.isWritable }

  /// Whether the peer accepts a notification: it accepts bytes, and no array is open.
  var acceptsNotifications: Bool { isWritable && !answers.isArrayOpen }

  /// The number of bytes of responses and notifications that the peer has not accepted.
  private var unacceptedBytes: Int {
    answers.heldBytes + outgoingBytes + sink.waitingBytes + observed.partBytes
  }

  /// The number of bytes that the peer has accepted.
  var acceptedBytes: Int { writtenBytes - sink.waitingBytes }

  /// Counts what the peer has not accepted.
  func countResponses() {
    account.setResponses(phase == .closed ? 0 : unacceptedBytes)
  }

  /// Adds a request to what the connection holds.
  func hold(_ bytes: Int) {
    bytesInFlight += bytes
    account.addRequests(bytes)
  }

  /// Removes a request from what the connection holds.
  func release(_ request: Request) {
    bytesInFlight -= request.bytes
    account.addRequests(-request.bytes)
    if request.needsReservation || ByteBudget.isLong(request.bytes) { account.endReserving() }
  }

  /// Adds a message, or a part of one, for the end of the turn; only `Service.send` calls this.
  func append(_ message: MessageBytes, isEnd: Bool) {
    guard phase.sends else { return }
    let framing = connection.framing
    gather(framing.head(of: message.count))
    if message.count > Self.gatheredMax {
      // Copying some ten megabytes takes longer than reading them.
      outgoing += message.pieces
      outgoingBytes += message.count
    } else {
      for piece in message.pieces { gather(piece) }
    }
    if isEnd { gather(framing.tail) }
  }

  /// Appends bytes to the last piece if it is short, otherwise adds a piece.
  private func gather(_ bytes: [UInt8]) {
    outgoingBytes += bytes.count
    if let last = outgoing.indices.last, outgoing[last].count <= Self.gatheredMax {
      outgoing[last] += bytes
    } else {
      outgoing.append(bytes)
    }
  }

  /// Drops the waiting messages of a connection whose peer has disconnected.
  func disconnect() {
    _ = phase.end()
    outgoing = []
    outgoingBytes = 0
    account.close()
  }

  /// Sends the waiting messages, then closes a connection that is done.
  ///
  /// The sink may report events during this call.
  ///
  /// - Returns: Whether requests may have been held back only because too many bytes waited.
  func perform() -> Bool {
    let pieces = outgoing
    let wasFull = outgoingBytes >= Self.outgoingBytesMax
    let exitCode = phase.sends ? nil : phase.end()
    writtenBytes += outgoingBytes
    outgoing = []
    outgoingBytes = 0
    if !pieces.isEmpty { sink.write(pieces) }
    countResponses()
    if let exitCode { sink.close(exitCode: exitCode) }
    return wasFull && exitCode == nil
  }
}
