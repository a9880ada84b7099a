import CordialProtocol
package import JSON
package import JSONRPC

/// The limits of a service, which `initialize` announces.
package struct Limits: Sendable {
  /// The maximum size of a received message, in bytes.
  package var messageBytesMax = 64 << 20
  /// The maximum size of a response, in bytes.
  package var answerBytesMax = 256 << 20
  /// The maximum nesting depth of JSON.
  package var depthMax = 128
  /// The maximum number of values of a message, arrays and objects included.
  package var valuesMax = MessageDecoder.Limits.valuesMaxDefault
  /// The maximum number of elements in a batch.
  package var batchMax = 1000
  /// The maximum number of waiting and running requests of one connection.
  package var inFlightMax = 4096
  /// The memory of one connection's pending requests above which the service stops reading from its
  /// peer, in bytes.
  package var inFlightBytesMax = 128 << 20
  /// The total size of one connection's held responses at which its next requests wait, in bytes.
  ///
  /// A held response is complete, but it waits for other responses of its connection.
  package var heldBytesMax = 16 << 20
  /// The maximum memory of the received messages, responses and subscription results of all
  /// connections, in bytes.
  package var processBytesMax = 512 << 20
  /// The time after which the service may disconnect a peer that accepts no bytes, in seconds.
  ///
  /// After this time, the service disconnects such a peer only if the peer holds more than its
  /// share of `processBytesMax` and other peers wait for memory.
  package var shareSecondsMax = 5
  /// The maximum number of connections.
  package var connectionsMax = 1024
  /// The maximum number of subscriptions of all connections together.
  package var subscriptionsMax = 16_384
  /// The maximum memory of the results of all observed requests, in bytes.
  package var observedBytesMax = 96 << 20
  /// The maximum number of changes in one save.
  package var saveChangesMax = 200_000
  /// The maximum number of objects or changes that one write affects.
  ///
  /// The maximum applies to the objects that a predicate and cascades delete, to the IDs that an
  /// update by predicate returns, and to the changes that are undone or redone.
  package var affectedMax = 1_000_000
  /// The maximum length of one part of a `changes` notification, in bytes.
  ///
  /// Only a part with a single object may be longer.
  package var partBytesMax = 1 << 20
  /// The maximum number of rows that the service keeps beyond each end of an observed window.
  package var windowSpareMax = 1000
  /// The minimum time for which the result of a fetch is kept after its last subscription ends, in
  /// milliseconds.
  ///
  /// The maximum time is twice as long.
  package var recentMilliseconds = 30_000
  /// The maximum number of results that are kept after their last subscriptions end.
  package var recentMax = 1000
  /// The maximum memory of the results that are kept after their last subscriptions end, in bytes.
  package var recentBytesMax = 16 << 20
  /// The maximum number of later changes that the service applies to a kept result; after more
  /// changes, the service reads the result from the store.
  package var recentChangesMax = 10_000
  /// Whether the service matches changed objects with observed requests in memory, as far as it
  /// can.
  ///
  /// Otherwise, SQL statements find the matching objects.
  package var matchesInMemory = true
  /// The maximum number of changes that `history` returns for one commit.
  package var historyChangesMax = 200_000
  /// The maximum time for which a request waits for a commit or for the index, in milliseconds.
  package var waitMax = 5000
  /// The maximum time of a request, in seconds; requests that maintain the store have no such
  /// limit.
  package var requestSecondsMax = 60
  /// The maximum time for which one observed request delays the changes of other observed requests,
  /// in milliseconds.
  ///
  /// If an observed request takes longer, the service reads that request separately, so that the
  /// other requests do not wait. `StepTime` derives the time limits for several requests from this
  /// limit.
  package var stepMilliseconds = 50
  /// The maximum time of one observed search after the index advances, in seconds; the other
  /// observed searches wait for it.
  package var liveSearchSecondsMax = 5
  /// The maximum time for which the predicate of one write delays other saves, in seconds.
  package var writerSecondsMax = 2
  /// The maximum number of concurrent reads of one connection.
  package var readsMax = 2
  /// The maximum length of a search query, in bytes.
  package var queryBytesMax = 4096
  /// The maximum number of words that a search looks up.
  package var queryWordsMax = 64
  /// The time after which a peer that accepts no bytes is disconnected, in seconds.
  package var stuckSecondsMax = 60
  /// The maximum time for which a stopping service waits for peers to read, in seconds.
  package var stopSecondsMax = 5

  /// The time after which no history is retained for a silent named follower, in days.
  package var followerDaysMax = 7
  /// The age up to which history is always retained, in days.
  package var historyDaysMin = 7
  /// The age at which the service removes history automatically, in days.
  package var historyDaysMax = 30
  /// The approximate size of the history above which the service removes old history automatically,
  /// in bytes.
  package var historyBytesMax = 1 << 30

  package init() {}

  /// The size of a piece of a long response, in bytes.
  ///
  /// The size is a compromise: large pieces take few system calls, small pieces reuse freed memory.
  static let pieceBytes = 1 << 18

  /// The maximum length of the updates in one part of a `changes` notification, in bytes.
  ///
  /// The rest of the part is reserved for its other members, such as tokens.
  var fragmentBytesMax: Int { partBytesMax - min(partBytesMax / 2, 512) }

  /// The same limits without a maximum length of a part, for updates that a single response
  /// contains.
  var unsplit: Limits {
    var limits = self
    limits.partBytesMax = .max
    return limits
  }

  /// The limits of a connection's messages.
  package var messages: MessageDecoder.Limits {
    MessageDecoder.Limits(
      messageBytesMax: messageBytesMax,
      depthMax: depthMax,
      batchMax: batchMax,
      valuesMax: valuesMax
    )
  }

  /// The limits in the form in which `initialize` announces them.
  package var json: JSONValue {
    func number(_ value: Int) -> JSONValue { .integer(Int64(value)) }
    return [
      "messageBytesMax": number(messageBytesMax), "answerBytesMax": number(answerBytesMax),
      "depthMax": number(depthMax), "valuesMax": number(valuesMax), "batchMax": number(batchMax),
      "inFlightMax": number(inFlightMax), "inFlightBytesMax": number(inFlightBytesMax),
      "heldBytesMax": number(heldBytesMax), "processBytesMax": number(processBytesMax),
      "connectionsMax": number(connectionsMax),
      "subscriptionsMax": number(subscriptionsMax), "observedBytesMax": number(observedBytesMax),
      "saveChangesMax": number(saveChangesMax), "affectedMax": number(affectedMax),
      "partBytesMax": number(partBytesMax), "historyChangesMax": number(historyChangesMax),
      "windowSpareMax": number(windowSpareMax), "recentMax": number(recentMax),
      "recentBytesMax": number(recentBytesMax), "recentChangesMax": number(recentChangesMax),
      "nameBytesMax": number(WriteRules.nameBytesMax),
      "waitMax": number(waitMax), "readsMax": number(readsMax),
      "requestSecondsMax": number(requestSecondsMax),
      "liveSearchSecondsMax": number(liveSearchSecondsMax),
      "writerSecondsMax": number(writerSecondsMax),
      "queryBytesMax": number(queryBytesMax), "queryWordsMax": number(queryWordsMax),
      "followerDaysMax": number(followerDaysMax), "historyDaysMin": number(historyDaysMin),
      "historyDaysMax": number(historyDaysMax), "historyBytesMax": number(historyBytesMax),
      "stuckSecondsMax": number(stuckSecondsMax), "shareSecondsMax": number(shareSecondsMax),
      "stopSecondsMax": number(stopSecondsMax),
    ]
  }

  /// Returns the error of an exceeded limit.
  package static func exceeded(_ limit: String, max: Int, _ message: String) -> RPCError {
    .exceeded(limit, max: max, message)
  }
}
