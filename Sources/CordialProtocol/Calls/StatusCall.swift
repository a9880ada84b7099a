package import JSON
package import JSONRPC

/// The params of `status`: reports the state of the service.
package struct StatusCall: CallWithoutParams {
  package static let name = MethodName.status

  /// Creates a request.
  package init() {}

  /// The state of a service.
  package struct Result: WireObject {
    /// `serving`, `migrating`, or `mismatch` with the requested model.
    package let state: String
    /// The newest commit; nil during a migration.
    package var token: String?
    /// The reason why the store does not have the requested model; nil if it has this model.
    package var mismatch: String?
    package var store: Store
    /// The number of connections.
    package var connections: Int64
    /// The number of subscriptions of all connections.
    package var subscriptions: Int64 = 0
    /// The total memory and costs of all observed requests; nil during a migration.
    package var observing: Observing?
    /// The last 100 connections that the service ended; nil during a migration.
    package var disconnected: [Disconnection]?
    /// The followers of the history.
    package var followers: [ListFollowersCall.Follower] = []
    /// The oldest commit that can be read; nil during a migration.
    package var oldest: String?
    /// The sorts without an index that clients requested since the service started, slowest first.
    package var slowSorts: [SlowSort] = []
    /// The model's indexes that no request used since the service started.
    package var unusedIndexes: [UnusedIndex] = []
    /// The progress of a migration; nil for none.
    package var migrating: Migration?

    /// Creates a state without data about requests of clients.
    package init(state: String, store: Store, connections: Int64) {
      self.state = state
      self.store = store
      self.connections = connections
    }

    package init(_ json: JSONValue) throws(RPCError) {
      state = try json.text(.state)
      token = json.string(.token)
      mismatch = json.string(.mismatch)
      store = try json.object(.store)
      connections = try json.count(.connections)
      subscriptions = try json.count(.subscriptions)
      observing = try json.optional(.observing)
      disconnected = try json.optionalList(.disconnected)
      followers = try json.list(.followers)
      oldest = json[.history]?.string(.oldest)
      slowSorts = try json.list(.slowSorts)
      unusedIndexes = try json.list(.unusedIndexes)
      migrating = try json.optional(.migrating)
    }

    package var json: JSONValue {
      .present([
        .state: state, .token: token, .mismatch: mismatch, .store: store,
        .connections: connections, .subscriptions: subscriptions, .observing: observing,
        .disconnected: disconnected, .followers: followers,
        .history: oldest.map { JSONValue.object([.oldest: .string($0)]) },
        .slowSorts: slowSorts, .unusedIndexes: unusedIndexes, .migrating: migrating,
      ])
    }
  }

  /// The store of a service.
  package struct Store: WireObject {
    /// The path of the store's folder.
    package let path: String
    /// The identifier; nil during a migration.
    package var id: String?
    /// Whether the service cannot write to the store; nil during a migration.
    package var isReadOnly: Bool?
    /// The size of the store's file and its write-ahead log, in bytes; nil during a migration.
    package var bytes: Int64?
    /// Whether changes by an external SQLite client are not yet sealed into a commit.
    package var hasUnsealedChanges = false

    /// Creates the description of a store of which only the folder is known.
    package init(path: String) { self.path = path }

    package init(_ json: JSONValue) throws(RPCError) {
      path = try json.text(.path)
      id = json.string(.id)
      isReadOnly = json[.readOnly]?.bool
      bytes = json.integer(.bytes)
      hasUnsealedChanges = json.bool(.unsealed)
    }

    package var json: JSONValue {
      .present([
        .path: path, .id: id, .readOnly: isReadOnly, .bytes: bytes,
        .unsealed: hasUnsealedChanges.ifTrue,
      ])
    }
  }

  /// The total memory and costs of all observed requests.
  package struct Observing: WireObject {
    /// The approximate memory of all observed requests.
    package let bytes: Int64
    package let costs: ObservationCost

    /// Creates the totals.
    package init(bytes: Int64, costs: ObservationCost) {
      self.bytes = bytes
      self.costs = costs
    }

    package init(_ json: JSONValue) throws(RPCError) {
      bytes = try json.count(.bytes)
      costs = try ObservationCost(json)
    }

    package var json: JSONValue {
      .object([JSONMember(.bytes, .integer(bytes))] + (costs.json.members ?? []))
    }
  }

  /// A connection that the service ended.
  package struct Disconnection: WireObject {
    /// The connection's identifier.
    package let connection: Int64
    /// `stuck` for a client that made no progress; `share` for a client that held too much memory.
    package let reason: String
    /// The time since which the client accepted no bytes, RFC 3339.
    package let since: String
    /// The number of bytes that the client had not read.
    package let bytes: Int64

    /// Creates a description.
    package init(connection: Int64, reason: String, since: String, bytes: Int64) {
      self.connection = connection
      self.reason = reason
      self.since = since
      self.bytes = bytes
    }

    package init(_ json: JSONValue) throws(RPCError) {
      connection = try json.count(.connection)
      reason = try json.text(.reason)
      since = try json.text(.since)
      bytes = try json.count(.bytes)
    }

    package var json: JSONValue {
      .present([.connection: connection, .reason: reason, .since: since, .bytes: bytes])
    }
  }

  /// A sort without an index that clients requested.
  package struct SlowSort: WireObject {
    /// The entity of the objects.
    package let entity: String
    /// The sort keys.
    package let sort: [String]
    /// The number of requests with this sort.
    package let count: Int64
    /// The longest time until the first object.
    package let microsecondsMax: Int64

    /// Creates a description.
    package init(entity: String, sort: [String], count: Int64, microsecondsMax: Int64) {
      self.entity = entity
      self.sort = sort
      self.count = count
      self.microsecondsMax = microsecondsMax
    }

    package init(_ json: JSONValue) throws(RPCError) {
      entity = try json.text(.entity)
      sort = try json.texts(.sort)
      count = try json.count(.count)
      microsecondsMax = try json.count(.microsecondsMax)
    }

    package var json: JSONValue {
      .present([
        .entity: entity, .sort: sort, .count: count, .microsecondsMax: microsecondsMax,
      ])
    }
  }

  /// An index of the model that no request used.
  package struct UnusedIndex: WireObject {
    package let entity: String
    /// The keys of the index.
    package let keys: [String]

    /// Creates a description.
    package init(entity: String, keys: [String]) {
      self.entity = entity
      self.keys = keys
    }

    package init(_ json: JSONValue) throws(RPCError) {
      entity = try json.text(.entity)
      keys = try json.texts(.keys)
    }

    package var json: JSONValue { .present([.entity: entity, .keys: keys]) }
  }

  /// The progress of a migration.
  package struct Migration: WireObject {
    /// The version from which the stage migrates.
    package let from: String
    /// The version to which the stage migrates.
    package let to: String
    /// The title of the current step.
    package let title: String
    /// The number of completed steps.
    package let done: Int64
    /// The number of steps of all stages.
    package let count: Int64

    /// Creates a description.
    package init(from: String, to: String, title: String, done: Int64, count: Int64) {
      self.from = from
      self.to = to
      self.title = title
      self.done = done
      self.count = count
    }

    package init(_ json: JSONValue) throws(RPCError) {
      from = try json.text(.from)
      to = try json.text(.to)
      title = try json.text(.title)
      done = try json.count(.done)
      count = try json.count(.count)
    }

    package var json: JSONValue {
      .present([.from: from, .to: to, .title: title, .done: done, .count: count])
    }
  }
}

/// The params of `model`: returns the store's model in the form of its file.
package struct ModelCall: CallWithoutParams {
  package typealias Result = DocumentResult

  package static let name = MethodName.model

  /// Creates a request.
  package init() {}
}

/// The params of `rpc.discover`: returns the protocol as an OpenRPC document.
package struct DiscoverCall: CallWithoutParams {
  package typealias Result = DocumentResult

  package static let name = MethodName.discover

  /// Creates a request.
  package init() {}
}
