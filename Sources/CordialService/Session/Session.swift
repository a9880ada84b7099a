import CordialValues
import JSONRPC
import PersistentStore

/// The state of one connection: its unanswered requests and its subscriptions.
///
/// A session belongs to the service, which uses it on its loop only.
final class Session {
  let number: Int
  let sink: any ByteSink
  let peer: Peer
  var queue: RequestQueue
  var nextSerial = 0
  /// The default author of saves.
  var author: String?
  var context: String?
  /// The time for which changes are coalesced, in milliseconds.
  var coalesce = 0
  /// The default time limit of requests, in seconds; nil for the service's limit.
  var timeoutSeconds: Double?
  /// The unit of positions in highlights and snippets.
  var positionEncoding = PositionEncoding.utf16
  /// The default merge policy of saves.
  var mergePolicy = SaveRequest.MergePolicy.error
  var observed = ObservedState()
  var running = RunningRequests()
  /// The memory that the connection holds.
  var account: ByteBudget.Account { peer.account }
  /// The total number of bytes that were passed to the sink.
  private var writtenBytes = 0
  /// Whether the service has stopped reading the peer, because too many requests are pending.
  var isReadingPaused = false
  /// Whether the session is in `turn.changedSessions`, so that the end of the turn continues it.
  var isChanged = false
  /// The number of unsent bytes at which no further request starts in the turn.
  private static let outgoingBytesMax = 1 << 20

  init(
    number: Int,
    sink: any ByteSink,
    peer: Peer,
    readsMax: Int
  ) {
    self.number = number
    queue = RequestQueue(readsMax: readsMax)
    self.sink = sink
    self.peer = peer
  }

  /// The last turn in which requests started, and the count of these requests.
  private var starts = (turn: -1, count: 0)

  /// Counts a request that starts in a turn; returns false if the request must wait for the next
  /// turn.
  func countStart(turn: Int, max: Int) -> Bool {
    if starts.turn != turn { starts = (turn, 0) }
    guard starts.count < max else { return false }
    starts.count += 1
    return true
  }

  /// Whether the peer accepts more bytes and few bytes wait for the end of the turn.
  var isWritable: Bool { peer.outputBytes < Self.outgoingBytesMax && sink.isWritable }

  /// Whether the peer accepts a notification: it accepts bytes, and no array is open.
  var acceptsNotifications: Bool { isWritable && !peer.isArrayOpen }

  /// The number of bytes of responses and notifications that the peer has not accepted.
  private var unacceptedBytes: Int {
    peer.heldBytes + peer.outputBytes + sink.waitingBytes + observed.partBytes
  }

  /// The number of bytes that the peer has accepted.
  var acceptedBytes: Int { writtenBytes - sink.waitingBytes }

  /// Updates the account with the bytes that the peer has not accepted.
  func countResponses() {
    account.setResponses(peer.isClosed ? 0 : unacceptedBytes)
  }

  /// Ends the reservation of memory for a request that gets its response.
  func endReserving(_ request: Request) {
    if request.needsReservation || ByteBudget.isLong(request.bytes) { account.endReserving() }
  }

  /// Sends the waiting messages, then closes a connection that is done.
  ///
  /// The sink may report events during this call.
  ///
  /// - Returns: Whether unsent bytes had stopped further requests, which may now start.
  func perform() -> Bool {
    let wasFull = peer.outputBytes >= Self.outgoingBytesMax
    writtenBytes += peer.outputBytes
    let pieces = peer.takeOutput()
    let exitCode = peer.takeEnd()
    if !pieces.isEmpty { sink.write(pieces) }
    countResponses()
    if let exitCode { sink.close(exitCode: exitCode) }
    return wasFull && exitCode == nil
  }
}
