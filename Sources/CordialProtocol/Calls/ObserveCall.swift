package import CordialValues
package import JSON
package import JSONRPC

/// The params of `observe`: returns a result, then reports the changes of that result.
package struct ObserveCall: Call {
  package static let name = MethodName.observe

  /// The observed request.
  package enum Target: Sendable {
    /// Objects by their IDs, with the fetch that reads them.
    case ids([String], FetchCall)
    case fetch(FetchCall)
    case history(HistoryCall)
    case search(SearchCall)
  }

  /// The content of a subscription's updates.
  package enum Mode: String, Sendable {
    case values, ids, signal
  }

  package var target: Target
  package var mode = Mode.values
  /// The position to resume from; nil for a whole result.
  package var since: String?
  /// The subscription's name within its connection; an `observe` with the same key replaces the
  /// subscription.
  package var key: String?
  /// Whether updates have the values before the change.
  package var includesBefore = false
  /// Whether updates contain the reasons for which they are sent.
  package var explains = false
  /// The number of objects that a first result of IDs contains in addition to the IDs; nil for
  /// none.
  package var first: Int?

  /// Creates an `observe` of a request.
  package init(_ target: Target) { self.target = target }

  /// The maximum length of a key, in bytes.
  private static let keyBytesMax = 1024

  package init(_ json: JSONValue) throws(RPCError) {
    since = json.string(.since)
    key = json.string(.key)
    includesBefore = json.bool(.before)
    explains = json.bool(.explain)
    first = json.int(.first)
    if let key, key.utf8.count > Self.keyBytesMax {
      throw Self.refused("a key has at most \(Self.keyBytesMax) bytes")
    }
    target = try Self.target(json)
    let mode = json.string(.mode).flatMap(Mode.init) ?? .values
    self.mode = try Self.mode(mode, of: target)
    let observesObjects: Bool
    switch target {
    case .ids: observesObjects = true
    case .fetch(let fetch): observesObjects = fetch.form == .objects
    case .history, .search: observesObjects = false
    }
    guard !includesBefore || self.mode == .values && observesObjects else {
      throw Self.refused("before goes with mode values and with objects")
    }
    if explains {
      switch target {
      case .ids, .fetch: break
      case .history, .search: throw Self.refused("explain goes with ids or with a fetch")
      }
    }
    if first != nil {
      guard case .fetch = target, self.mode == .ids else {
        throw Self.refused("first goes with a fetch in mode ids")
      }
    }
  }

  package var json: JSONValue {
    let observed: [JSONMember] =
      switch target {
      case .ids(_, let fetch): fetch.json.members ?? []
      case .fetch(let fetch): [JSONMember(.fetch, fetch.json)]
      case .history(let history): [JSONMember(.history, history.filters)]
      case .search(let search): [JSONMember(.search, search.json)]
      }
    let others = JSONValue.present([
      .mode: mode == .values ? nil : mode.rawValue, .since: since, .key: key,
      .before: includesBefore.ifTrue, .explain: explains.ifTrue, .first: first,
    ])
    return .object(observed + (others.members ?? []))
  }

  /// Sets the unit of positions in hits; has no effect on a request other than a search.
  package mutating func set(_ encoding: PositionEncoding) {
    guard case .search(var search) = target else { return }
    search.positionEncoding = encoding
    target = .search(search)
  }

  /// Whether the observed request is a search.
  package var isSearch: Bool { if case .search = target { true } else { false } }

  private static func target(_ json: JSONValue) throws(RPCError) -> Target {
    let targets: [MemberName] = [.ids, .fetch, .history, .search]
    guard targets.filter({ json[$0] != nil }).count == 1 else {
      throw refused("name one of ids, fetch, history and search")
    }
    let ofIDs: [MemberName] = [.select, .include]
    if json[.ids] == nil, let other = ofIDs.first(where: { json[$0] != nil }) {
      throw refused("\(other) goes with ids, or inside fetch")
    }
    switch (json[.fetch], json[.history], json[.search]) {
    case (nil, nil, nil):
      let names: [MemberName] = [.ids, .select, .include]
      let members = names.compactMap { name in json[name].map { JSONMember(name, $0) } }
      return .ids(json.strings(.ids) ?? [], try FetchCall(.object(members)))
    case (let fetch?, _, _):
      let call = try FetchCall(fetch)
      guard call.at == nil, call.asOf == nil else {
        throw refused("an observed fetch has no at and no asOf")
      }
      if let ids = call.ids { return .ids(ids, call) }
      guard call.after == nil else { throw refused("an observed fetch has no after") }
      return .fetch(call)
    case (_, let history?, _): return .history(try HistoryCall(history))
    case (_, _, let search?): return .search(try SearchCall(search))
    }
  }

  /// Checks the mode, and returns mode `ids` for a fetch with `result: "ids"` in mode `values`.
  private static func mode(_ mode: Mode, of target: Target) throws(RPCError) -> Mode {
    switch target {
    case .ids(_, let call):
      guard mode != .ids || call.include.isEmpty else {
        throw refused("include does not go with mode ids")
      }
      return mode
    case .search: return mode
    case .history:
      guard mode != .ids else { throw refused("history has the modes values and signal") }
      return mode
    case .fetch(let call):
      switch call.form {
      case .objects, .ids:
        let mode = mode == .values && call.form == .ids ? .ids : mode
        guard call.include.isEmpty || call.form == .objects && mode != .ids else {
          throw refused("include does not go with IDs")
        }
        return mode
      case .count, .values:
        guard mode != .ids else {
          throw refused("result \(call.form.rawValue) has the modes values and signal")
        }
        guard call.include.isEmpty else { throw refused("include goes with objects") }
        return mode
      }
    }
  }

  private static func refused(_ reason: String) -> RPCError {
    RPCError(.invalidParams, "observe: \(reason)")
  }

  /// The first result of a subscription, or the changes since the position that the client sent.
  package struct Result: WireObject {
    /// The name of the subscription in `changes` and `unobserve`.
    package let subscription: String
    /// The position of the result.
    package let token: String
    /// Whether the result is a whole result instead of the changes since the client's position.
    package let isFresh: Bool
    /// The reason why the service does not resume from the client's position; nil if it resumes.
    package let why: String?
    /// The whole result, in the form of `ObservedResult`; nil with mode `signal`, and for a resumed
    /// subscription.
    package let result: JSONValue?
    /// The changes, as `ObservedDifference` reads them; nil for a whole result.
    package let update: JSONValue?

    package init(_ json: JSONValue) throws(RPCError) {
      subscription = try json.text(.subscription)
      token = try json.text(.token)
      isFresh = json.bool(.fresh)
      why = json.string(.why)
      result = json[.result]
      update = json[.update]
    }

    package var json: JSONValue {
      .present([
        .subscription: subscription, .token: token, .fresh: isFresh, .why: why,
        .result: result, .update: update,
      ])
    }
  }
}

extension HistoryCall {
  /// The members that select commits and changes.
  fileprivate var filters: JSONValue { .present([.entities: entities, .authors: authors]) }
}

/// The params of `unobserve`: ends a subscription.
package struct UnobserveCall: Call {
  package typealias Result = EmptyResult

  package static let name = MethodName.unobserve

  package let subscription: String

  /// Creates a request that ends a subscription.
  package init(subscription: String) { self.subscription = subscription }

  package init(_ json: JSONValue) throws(RPCError) { subscription = try json.text(.subscription) }

  package var json: JSONValue { .present([.subscription: subscription]) }
}

/// The params of `observe/flush`: waits until the service has sent all changes up to now.
package struct FlushCall: CallWithoutParams {
  package typealias Result = PositionResult

  package static let name = MethodName.flush

  /// Creates a request.
  package init() {}
}
