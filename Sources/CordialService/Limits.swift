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
  /// The memory of one connection's pending requests above which its peer is not read, in bytes.
  package var inFlightBytesMax = 128 << 20
  /// The size of one connection's responses that wait for others above which no further request
  /// begins, in bytes.
  package var heldBytesMax = 16 << 20
  /// The memory of received messages, responses and current results of all connections, in bytes.
  package var processBytesMax = 512 << 20
  /// The time after which a peer that accepts no bytes, and holds more than its share of
  /// `processBytesMax`, is disconnected while others wait, in seconds.
  package var shareSecondsMax = 5
  /// The maximum number of connections.
  package var connectionsMax = 1024
  /// The maximum number of subscriptions of all connections together.
  package var subscriptionsMax = 16_384
  /// The maximum memory of the results of all observed requests, in bytes.
  package var observedBytesMax = 96 << 20
  /// The maximum number of changes in one save.
  package var saveChangesMax = 200_000
  /// The maximum number of objects that a predicate and cascades delete, of IDs that an update by
  /// predicate returns, and of changes that are undone or redone.
  package var affectedMax = 1_000_000
  /// The length of one part of a `changes`, which only a single object exceeds, in bytes.
  package var partBytesMax = 1 << 20
  /// The maximum number of rows that an observed window keeps on each side.
  package var windowSpareMax = 1000
  /// The time for which the result of a fetch is kept at least after its last subscription, in
  /// milliseconds; it is kept for twice as long at most.
  package var recentMilliseconds = 30_000
  /// The maximum number of results that are kept after their last subscriptions.
  package var recentMax = 1000
  /// The maximum memory of these results, in bytes.
  package var recentBytesMax = 16 << 20
  /// The maximum number of changes after which such a result is used.
  package var recentChangesMax = 10_000
  /// Whether the rows of changed objects decide in memory which of them match observed requests, as
  /// far as they can; otherwise SQL decides it.
  package var matchesInMemory = true
  /// The maximum number of changes that `history` returns for one commit.
  package var historyChangesMax = 200_000
  /// The maximum time for which a request waits for a commit or for the index, in milliseconds.
  package var waitMax = 5000
  /// The maximum time of a request, except of those that maintain the store, in seconds.
  package var requestSecondsMax = 60
  /// The time for which one observed request delays the changes of the others, in milliseconds;
  /// where it takes longer, it is read alone.
  ///
  /// `StepTime` derives the times of several requests from it.
  package var stepMilliseconds = 50
  /// The maximum time of one observed search when the index has advanced, in seconds: the others
  /// wait for it.
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
  /// The approximate size at which the service shortens the log automatically, in bytes.
  package var historyBytesMax = 1 << 30

  package init() {}

  /// The size of a piece of a long response, in bytes.
  ///
  /// The size is a compromise: large pieces take few system calls, small pieces reuse freed memory.
  static let pieceBytes = 1 << 18

  /// The length of the updates in one part; the rest of the part is for its positions.
  var fragmentBytesMax: Int { partBytesMax - min(partBytesMax / 2, 512) }

  /// The same limits for updates that are in one response.
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
