package import JSON
package import JSONRPC

/// The params of `history`: reads the commits after a position, oldest first.
package struct HistoryCall: Call {
  package static let name = MethodName.history

  /// The start, a token or a date; nil for the oldest retained position.
  package var since: String?
  /// The maximum number of commits.
  package var limit = 100
  package var entities: [String]?
  package var authors: [Author]?

  /// A filter of commits by their author.
  package enum Author: JSONConvertible, Sendable {
    /// The commits of one author; nil for the commits without an author.
    case one(String?)
    /// The commits of the authors whose names begin with a text.
    case prefix(String)

    package func includes(_ author: String?) -> Bool {
      switch self {
      case .one(let wanted): wanted == author
      case .prefix(let prefix): author?.utf8.starts(with: prefix.utf8) == true
      }
    }

    package var json: JSONValue {
      switch self {
      case .one(let author): Nullable(author).json
      case .prefix(let prefix): .object([.prefix: .string(prefix)])
      }
    }
  }

  /// Creates a request for the commits after a position.
  package init(since: String? = nil) { self.since = since }

  package init(_ json: JSONValue) throws(RPCError) {
    since = json.string(.since)
    limit = json.int(.limit) ?? 100
    entities = json.strings(.entities)
    authors = json[.authors]?.array?.map { author in
      author.string(.prefix).map { .prefix($0) } ?? .one(author.string)
    }
  }

  package var json: JSONValue {
    .present([.since: since, .limit: limit, .entities: entities, .authors: authors])
  }

  /// A page of the history.
  package struct Result: WireObject {
    /// The commits, oldest first.
    package let transactions: [Transaction]
    /// The position from which the next request continues; nil if a mock's script omits the token.
    package let token: String?
    /// Whether more commits follow.
    package let hasMore: Bool

    package init(_ json: JSONValue) throws(RPCError) {
      transactions = try json.list(.transactions)
      token = json.string(.token)
      hasMore = json.bool(.more)
    }

    package var json: JSONValue {
      .present([.transactions: transactions, .token: token, .more: hasMore])
    }
  }

  /// A commit of the history.
  package struct Transaction: WireObject {
    /// The position after the commit.
    package let token: String
    /// The time of the commit, RFC 3339.
    package let time: String
    package let author: String?
    package let context: String?
    /// The name of the process that made the commit.
    package let process: String?
    /// The changes, one for each changed object.
    package let changes: [Change]
    /// The number of changes that the service omits from a very large commit; nil for none.
    package let leftOut: Int64?

    /// Creates a commit.
    package init(
      token: String,
      time: String,
      author: String?,
      context: String?,
      process: String?,
      changes: [Change],
      leftOut: Int64?
    ) {
      self.token = token
      self.time = time
      self.author = author
      self.context = context
      self.process = process
      self.changes = changes
      self.leftOut = leftOut
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      time = try json.text(.time)
      author = json.string(.author)
      context = json.string(.context)
      process = json.string(.process)
      changes = try json.list(.changes)
      leftOut = json.integer(.leftOut)
    }

    package var json: JSONValue {
      .present([
        .token: token, .time: time, .author: Nullable(author), .context: Nullable(context),
        .process: Nullable(process), .changes: changes, .leftOut: leftOut,
      ])
    }
  }

  /// The change of an object in a commit.
  package struct Change: WireObject {
    package let id: String
    /// `insert`, `update` or `delete`.
    package let kind: String
    /// The properties that an update has written.
    package let properties: [String]
    /// The values before the change.
    package let before: [JSONMember]

    /// Creates a change.
    package init(id: String, kind: String, properties: [String], before: [JSONMember]) {
      self.id = id
      self.kind = kind
      self.properties = properties
      self.before = before
    }

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      kind = try json.text(.change)
      properties = try json.optionalTexts(.properties) ?? []
      before = json.members(.before) ?? []
    }

    package var json: JSONValue {
      .present([.id: id, .change: kind, .properties: properties, .before: MemberList(before)])
    }
  }
}

/// The params of `history/purge`: removes the oldest commits of the history.
package struct PurgeCall: Call {
  package static let name = MethodName.purgeHistory

  /// The position before which commits are removed, a token or a date; nil if another property
  /// limits the history.
  package var before: String?
  /// The age up to which commits are kept, in seconds.
  package var seconds: Int64?
  /// The number of newest commits to keep.
  package var transactions: Int64?
  /// The approximate size of the newest commits to keep, in bytes.
  package var bytes: Int64?

  /// Creates a request to remove the commits before `before`; nil sets no limit.
  package init(before: String? = nil) { self.before = before }

  package init(_ json: JSONValue) throws(RPCError) {
    before = json.string(.before)
    let keep = json[.keep] ?? [:]
    seconds = keep.integer(.seconds)
    transactions = keep.integer(.transactions)
    bytes = keep.integer(.bytes)
    guard (before == nil) != (keep.members?.isEmpty ?? true) else {
      throw RPCError(.invalidParams, "history/purge: name either before or keep")
    }
  }

  package var json: JSONValue {
    let keep = JSONValue.present([
      .seconds: seconds, .transactions: transactions, .bytes: bytes,
    ])
    return .present([.before: before, .keep: keep.ifNotEmpty])
  }

  /// The result of a purge.
  package struct Result: WireObject {
    /// The oldest remaining position.
    package let token: String
    /// The number of removed commits.
    package let transactions: Int64
    /// The retention holder that prevented the removal of more commits; nil for none.
    package let heldBy: String?

    /// Creates a result.
    package init(token: String, transactions: Int64, heldBy: String?) {
      self.token = token
      self.transactions = transactions
      self.heldBy = heldBy
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      transactions = try json.count(.transactions)
      heldBy = json.string(.heldBy)
    }

    package var json: JSONValue {
      .present([.token: token, .transactions: transactions, .heldBy: heldBy])
    }
  }
}
