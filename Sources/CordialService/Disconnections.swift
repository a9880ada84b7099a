import CordialProtocol
import CordialValues
import DequeModule
import Logging
import PersistentStore

/// The latest connections that the service closed before their peers did.
struct Disconnections {
  /// One connection that the service has ended.
  struct Entry: Sendable {
    let connection: Int
    let reason: String
    /// The start of the time in which the peer accepted no bytes, in milliseconds since 1970.
    let since: Int64
    /// The number of bytes that the peer had not accepted.
    let bytes: Int

    var wire: StatusCall.Disconnection {
      StatusCall.Disconnection(
        connection: Int64(connection),
        reason: reason,
        since: DateText.text(since) ?? "",
        bytes: Int64(bytes)
      )
    }
  }

  /// The latest disconnections, oldest first.
  private(set) var entries: Deque<Entry> = []

  private static let entriesMax = 100

  mutating func add(_ entry: Entry) {
    if entries.count == Self.entriesMax { entries.removeFirst() }
    entries.append(entry)
  }
}

extension Service {
  /// Records a peer that accepted no bytes for too long, before its connection is closed.
  ///
  /// - Parameters:
  ///   - number: The session number.
  ///   - bytes: The number of bytes that the peer has not accepted.
  package func gaveUp(session number: Int, unacceptedBytes bytes: Int) {
    record(number, "stuck", seconds: limits.stuckSecondsMax, bytes)
  }

  /// Records a connection that is closed because of its peer.
  ///
  /// - Parameters:
  ///   - number: The session number.
  ///   - reason: `stuck`, or `share` for a peer that holds memory for which other peers wait.
  ///   - seconds: The time for which the peer has accepted no bytes, in seconds.
  ///   - bytes: The number of bytes that the peer has not accepted.
  func record(_ number: Int, _ reason: String, seconds: Int, _ bytes: Int) {
    let entry = Disconnections.Entry(
      connection: number,
      reason: reason,
      since: store.now() - Int64(seconds) * 1000,
      bytes: bytes
    )
    disconnections.add(entry)
    log.warning(
      "Disconnected a peer that does not read",
      metadata: [
        "connection": "\(number)", "reason": "\(reason)",
        "since": "\(DateText.text(entry.since) ?? "")", "bytes": "\(bytes)",
      ]
    )
  }
}
