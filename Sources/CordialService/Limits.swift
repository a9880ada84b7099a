package import JSON
package import JSONRPC

/// Everything that can grow, with how far it may; announced in `initialize`.
package struct Limits: Sendable {
  /// The longest message that is read, in bytes.
  package var messageBytesMax = 64 << 20
  /// The longest answer that is made, in bytes.
  package var answerBytesMax = 256 << 20
  /// How deep JSON may nest.
  package var depthMax = 128
  /// How many requests one batch may have.
  package var batchMax = 1000
  /// How many requests of one connection may wait or run.
  package var inFlightMax = 4096
  /// How many bytes of one connection's requests may wait or run before it is not read any more.
  package var inFlightBytesMax = 128 << 20
  /// How many connections there may be.
  package var connectionsMax = 1024
  /// How many subscriptions all connections together may have.
  package var subscriptionsMax = 16_384
  /// How many changes one save may have.
  package var saveChangesMax = 200_000
  /// How many changed objects an update tells one by one; beyond that it starts over.
  package var changesMax = 20_000
  /// How many changes one commit may have logged that `history` tells of.
  package var historyChangesMax = 200_000
  /// How long a request waits for a commit or for the index, in milliseconds.
  package var waitMax = 5000
  /// The longest query text of a search, in bytes.
  package var queryBytesMax = 4096
  /// How many words a search looks up.
  package var queryWordsMax = 64
  /// How long a reader may take nothing before it is cut, in seconds.
  package var stuckSecondsMax = 60
  /// How long the end of the process waits for peers to take what they asked for, in seconds.
  package var stopSecondsMax = 5

  /// How long a named follower of the log may say nothing before nothing is kept for it, in days.
  package var followerDaysMax = 7
  /// How much of the log is kept at least, in days.
  package var historyDaysMin = 7
  /// How old the log may become before its beginning is removed, in days.
  package var historyDaysMax = 30
  /// How long the log may become before its beginning is removed, in bytes, about.
  package var historyBytesMax = 1 << 30

  package init() {}

  /// What a connection's decoder admits.
  package var connection: Connection.Limits {
    Connection.Limits(messageBytesMax: messageBytesMax, depthMax: depthMax, batchMax: batchMax)
  }

  /// The limits as they are announced.
  package var json: JSONValue {
    func number(_ value: Int) -> JSONValue { .integer(Int64(value)) }
    return [
      "messageBytesMax": number(messageBytesMax), "answerBytesMax": number(answerBytesMax),
      "depthMax": number(depthMax), "batchMax": number(batchMax),
      "inFlightMax": number(inFlightMax), "inFlightBytesMax": number(inFlightBytesMax),
      "connectionsMax": number(connectionsMax),
      "subscriptionsMax": number(subscriptionsMax), "saveChangesMax": number(saveChangesMax),
      "changesMax": number(changesMax), "historyChangesMax": number(historyChangesMax),
      "waitMax": number(waitMax),
      "queryBytesMax": number(queryBytesMax), "queryWordsMax": number(queryWordsMax),
      "followerDaysMax": number(followerDaysMax), "historyDaysMin": number(historyDaysMin),
      "historyDaysMax": number(historyDaysMax), "historyBytesMax": number(historyBytesMax),
      "stuckSecondsMax": number(stuckSecondsMax), "stopSecondsMax": number(stopSecondsMax),
    ]
  }

  /// The error of a limit that was reached.
  static func exceeded(_ limit: String, max: Int, _ message: String) -> RPCError {
    RPCError(
      code: 1302,
      message: message,
      data: ["code": "limitExceeded", "limit": .string(limit), "max": .integer(Int64(max))]
    )
  }
}
