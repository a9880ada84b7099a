import CordialProtocol
import JSONRPC
import ProtocolSchemas

/// The memory of messages: the service makes requests wait for memory, and drops messages and peers
/// to free memory.
extension Service {
  /// Decides whether enough memory is free for the response, so that the request may begin now.
  ///
  /// - Parameters:
  ///   - request: The next request of the connection; receives the memory share of its response.
  ///   - session: The connection, which continues as soon as memory is free.
  /// - Returns: Whether the request begins.
  /// - Throws: `RPCError` for a response that is too long or that cannot wait.
  func admit(_ request: inout Request, _ session: Session) throws(RPCError) -> Bool {
    let admission = session.peer.admission(
      of: request.received,
      heldMax: limits.heldBytesMax,
      wholeMax: limits.answerBytesMax
    )
    switch admission {
    case .begins: break
    case .waits: return false
    case .isTooLong where !request.method.isMetered: break
    case .isTooLong:
      throw .exceeded(
        "answerBytes",
        max: limits.answerBytesMax,
        "A batch with observe or observe/flush is answered as a whole, which is too long"
      )
    }
    guard request.method.isMetered else { return true }
    let reserved = request.needsReservation ? reservedBytes : 0
    if let share = session.account.begin(reserving: reserved, for: request.bytes) {
      request.share = share
      return true
    }
    guard !session.peer.isWhole(request.received) else { throw memoryIsUsed }
    let number = session.number
    session.account.wait { [weak self] in
      self?.onLoop { service in
        if let session = service.sessions[number] { service.markChanged(session) }
      }
    }
    watchShares()
    // Another thread may have released memory just before the wait was registered, so the service
    // tries again.
    request.share = session.account.begin(reserving: reserved, for: request.bytes)
    return request.share != nil
  }

  /// The memory to reserve for a response that did not fit before, in bytes.
  private var reservedBytes: Int { min(limits.answerBytesMax, budget.bytesMax / 2) }

  private var memoryIsUsed: RPCError {
    .exceeded(
      "processBytes",
      max: budget.announcedMax,
      "The memory for the messages of all connections is used up; send the request again later"
    )
  }

  /// Returns the error of a request whose response exceeds its reserved memory; nil for every other
  /// request.
  func unfitting(_ request: Request) -> RPCError? {
    guard let share = request.share, share.wasRefused, share.isReserved else { return nil }
    return memoryIsUsed
  }

  /// Queues a request again if its response did not fit into the free memory.
  ///
  /// - Returns: Whether the request is queued again; otherwise the request fails with the error.
  func postpones(_ request: Request, _ error: RPCError, _ session: Session) -> Bool {
    guard let share = request.share, share.wasRefused, !share.isReserved,
      error.code != RPCError.Code.requestCancelled.rawValue, session.peer.sends
    else { return false }
    var next = request
    next.share = nil
    next.needsReservation = true
    session.account.beginReserving()
    session.queue.postpone(next)
    markChanged(session)
    return true
  }

  /// Drops the unfinished message of a connection, so that the message fails.
  func dropUnfinished(session number: Int) {
    guard let session = sessions[number] else { return }
    session.peer.dropUnfinished()
    handlePending(session)
    markChanged(session)
  }

  /// Schedules a check for peers that accept no bytes and hold more than their share of memory.
  private func watchShares() {
    guard !watchesShares else { return }
    watchesShares = true
    let accepted = sessions.mapValues(\.acceptedBytes)
    onLoop(afterMilliseconds: 1000 * limits.shareSecondsMax) { service in
      service.watchesShares = false
      service.endHoarders(since: accepted)
    }
  }

  /// Disconnects peers that accepted no bytes and hold more than their share of memory, while any
  /// connection waits for memory.
  ///
  /// - Parameter accepted: The number of bytes that each peer had accepted at the previous check,
  ///   by session number.
  private func endHoarders(since accepted: [Int: Int]) {
    guard budget.hasWaiting else { return }
    let share = budget.share
    for session in sessions.values {
      let bytes = session.account.responseBytes
      guard bytes > 0, session.account.bytes > share,
        accepted[session.number] == session.acceptedBytes
      else { continue }
      record(session.number, "share", seconds: limits.shareSecondsMax, bytes)
      session.sink.abort()
    }
    watchShares()
  }
}

extension Method {
  /// Whether other messages may have to precede the response.
  ///
  /// The responses to `observe`, `observe/flush` and `unobserve` follow the changes for which these
  /// requests wait.
  package var isPreceded: Bool { order == .alone }

  /// Whether other messages may have to precede the response of a method.
  package static func isPreceded(named name: String) -> Bool {
    MethodTable.method(named: name)?.isPreceded == true
  }

  /// Whether the response may be long, so that its memory is counted.
  var isMetered: Bool { !traits.contains(.hasShortResult) }
}
