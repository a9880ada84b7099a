import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

extension Service {
  func history(_ call: HistoryCall, _ request: Request) throws {
    let since = try call.since.map { text in try HistoryStart(text) }
    let limits = limits
    read(request) { snapshot, writer in
      try HistoryAnswer(call: call, snapshot: snapshot, limits: limits)
        .write(since: since, to: &writer)
    }
  }
}

/// The position after which a result of `history` begins.
private enum HistoryStart {
  case token(StoreToken)
  /// A time, in milliseconds since 1970.
  case date(Int64)

  init(_ text: String) throws(RPCError) {
    if let token = StoreToken(text) {
      self = .token(token)
    } else if let date = DateText.milliseconds(text) {
      self = .date(date)
    } else {
      throw RPCError(
        .invalidParams,
        "history: \"\(text.excerpt)\" is neither a token nor a date"
      )
    }
  }

  /// Returns the number of the commit after which the result begins.
  func position(in snapshot: StoreSnapshot) throws -> Int64 {
    switch self {
    case .token(let token): try snapshot.position(of: token)
    case .date(let time): try snapshot.lastCommit(before: time)
    }
  }
}

/// The encoder of a result of `history`.
private struct HistoryAnswer {
  let call: HistoryCall
  let snapshot: StoreSnapshot
  let limits: Limits

  func write(since: HistoryStart?, to writer: inout JSONWriter) throws {
    let start = try since.map { try $0.position(in: snapshot) } ?? snapshot.oldest().number
    let pageEnd = start.addingReportingOverflow(Int64(call.limit))
    var encoder = try HistoryEncoder(
      call,
      snapshot,
      through: pageEnd.overflow ? .max : pageEnd.partialValue,
      limits
    )
    var last = start
    var isFirst = true
    writer.key(.transactions, after: "{")
    writer.raw("[")
    try snapshot.log.eachCommit(
      after: start,
      through: snapshot.head.number,
      limit: call.limit,
      changesMax: limits.historyChangesMax
    ) { transaction in
      if let json = try encoder.json(transaction) {
        var commit = JSONWriter()
        commit.value(json)
        if writer.count + commit.count > limits.answerBytesMax {
          // A page ends before a commit that does not fit. A commit that fits no page is returned
          // without its changes.
          guard isFirst, let short = try encoder.json(transaction, omitsChanges: true) else {
            return false
          }
          commit = JSONWriter()
          commit.value(short)
        }
        if !isFirst { writer.raw(",") }
        isFirst = false
        for piece in commit.pieces { writer.raw(piece) }
        writer.splitIfLong()
      }
      last = transaction.number
      return true
    }
    writer.raw("]")
    writer.key(.token, after: ",")
    writer.raw("\"")
    writer.raw(string: try snapshot.token(of: last).description)
    writer.key(.more, after: "\",")
    writer.bool(last < snapshot.head.number)
    writer.raw("}")
  }
}
