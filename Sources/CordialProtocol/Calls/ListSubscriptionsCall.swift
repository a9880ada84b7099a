package import JSON
package import JSONRPC

/// The params of `observe/list`: lists the subscriptions of all connections, with their costs.
package struct ListSubscriptionsCall: CallWithoutParams {
  package static let name = MethodName.listSubscriptions

  /// Creates a request.
  package init() {}

  /// The subscriptions of a service.
  package struct Result: WireObject {
    /// The subscriptions, ordered by connection and number.
    package let subscriptions: [Subscription]

    package init(_ json: JSONValue) throws(RPCError) {
      subscriptions = try json.list(.subscriptions)
    }

    package var json: JSONValue { .present([.subscriptions: subscriptions]) }
  }

  /// A subscription with its costs.
  package struct Subscription: WireObject {
    /// The connection's identifier.
    package let connection: Int64
    /// The subscription's name within its connection.
    package let subscription: String
    /// The key that the client gave the subscription; nil for none.
    package let key: String?
    /// The observed request.
    package let request: JSONValue
    package let mode: String
    /// How changes are matched with the request: `id`, `equality`, `range`, `predicate` or `sql`.
    package let matching: String
    /// The number of elements of the result.
    package let rows: Int64
    /// The approximate memory in bytes, which subscriptions with equal requests share.
    package let bytes: Int64
    package let costs: ObservationCost
    /// The last update that may have altered the result; nil for none.
    package let last: LastUpdate?

    package init(_ json: JSONValue) throws(RPCError) {
      connection = try json.count(.connection)
      subscription = try json.text(.subscription)
      key = json.string(.key)
      request = json[.request] ?? .null
      mode = try json.text(.mode)
      matching = try json.text(.matching)
      rows = try json.count(.rows)
      bytes = try json.count(.bytes)
      costs = try ObservationCost(json)
      last = try json.optional(.last)
    }

    package var json: JSONValue {
      let first = JSONValue.present([
        .connection: connection, .subscription: subscription, .key: key, .request: request,
        .mode: mode, .matching: matching, .rows: rows, .bytes: bytes,
      ])
      let last = JSONValue.present([.last: last])
      return .object([first, costs.json, last].flatMap { $0.members ?? [] })
    }
  }

  /// An update that may have altered a result.
  package struct LastUpdate: WireObject {
    /// The position after the update.
    package let token: String
    /// The changes that caused the update.
    ///
    /// nil if the client requested no explanation and the changes are of objects outside the
    /// result.
    package let explanation: [ObservedDifference.Explanation]?

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      explanation = try json.optionalList(.explanation)
    }

    package var json: JSONValue { .present([.token: token, .explanation: explanation]) }
  }
}

/// The costs of observed requests.
package struct ObservationCost: WireObject {
  /// The number of updates whose changes were compared with requests.
  package let commits: Int64
  /// The number of updates that may have altered a result.
  package let wakes: Int64
  /// The number of executed SQL statements.
  package let statements: Int64
  /// The number of times that the service read the whole result of a request again.
  package let reruns: Int64
  /// The total time of all updates, in microseconds.
  package let microseconds: Int64

  /// Creates the costs.
  package init(
    commits: Int64,
    wakes: Int64,
    statements: Int64,
    reruns: Int64,
    microseconds: Int64
  ) {
    self.commits = commits
    self.wakes = wakes
    self.statements = statements
    self.reruns = reruns
    self.microseconds = microseconds
  }

  package init(_ json: JSONValue) throws(RPCError) {
    commits = try json.count(.commits)
    wakes = try json.count(.wakes)
    statements = try json.count(.statements)
    reruns = try json.count(.reruns)
    microseconds = try json.count(.microseconds)
  }

  package var json: JSONValue {
    .present([
      .commits: commits, .wakes: wakes, .statements: statements, .reruns: reruns,
      .microseconds: microseconds,
    ])
  }
}
