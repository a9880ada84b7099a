import CordialProtocol
package import CordialValues
import JSON
package import JSONRPC

/// `observe`: returns a result, then reports the changes of that result.
package struct ObserveCall: Call {
  /// The observed request.
  package enum Target: Sendable {
    case ids([String], FetchCall)
    case fetch(FetchCall)
    case history(HistoryCall)
    case search(SearchCall)
  }

  /// The content of a subscription's updates.
  package enum Mode: String, Sendable {
    case values, ids, signal
  }

  package private(set) var target: Target
  package let mode: Mode
  package let since: String?
  /// The subscription's name within its connection; a second `observe` with it replaces the first.
  package let key: String?
  /// Whether updates have the values before the change.
  package let includesBefore: Bool
  /// Whether updates say why they are sent.
  package let explains: Bool
  /// The number of objects that a first result of IDs has too.
  package let first: Int?
  /// The mode and the text of the params that name the observed request; equal texts give equal
  /// results and updates.
  package let identity: String

  /// Sets the unit of positions in the hits of a search.
  package mutating func set(_ encoding: PositionEncoding) {
    guard case .search(var search) = target else { return }
    search.positionEncoding = encoding
    target = .search(search)
  }

  /// Whether a search is observed.
  package var isSearch: Bool { if case .search = target { true } else { false } }

  package static let method = Method.request(
    .observe,
    "Returns a result, then reports the changes of that result.",
    order: .alone,
    subscription: (ChangesNotification.method.name, UnobserveCall.method.name),
    traits: [.isScripted, .endsSearchOfKey],
    params: [
      .optional(.ids, .array(.wrappedID), "the objects to observe"),
      .optional(.select, .selection, "with ids: the values to return"),
      .optional(.include, .array(.string), "with ids: relationships whose objects are returned"),
      .optional(.fetch, .object(FetchFields.all), "the fetch to observe"),
      .optional(.history, .object(HistoryCall.filters), "the commits to observe, by filters"),
      .optional(.search, .object(SearchCall.observable), "the search to observe"),
      .optional(.mode, .choice(["values", "ids", "signal"]), "the content of the updates"),
      .optional(.since, .token, "the position to resume from"),
      .optional(.key, .string, "a name; a second observe with it replaces the first"),
      .optional(.before, .boolean, "whether updates have the values before the change"),
      .optional(.explain, .boolean, "whether updates say why they are sent"),
      .optional(
        .first,
        .integer(0...100_000),
        "with a fetch in mode ids: the number of objects in the first result"
      ),
    ],
    result: .object([
      .required(.subscription, .string, "the name in changes and unobserve"),
      .required(.token, .token, "the position of the result"),
      .required(.fresh, .boolean, "whether the result is complete"),
      .optional(
        .why,
        .freshReason,
        "why the service does not resume from since"
      ),
      .optional(.result, .observedResult, "the whole result; absent with mode signal"),
      .optional(
        .update,
        .named("Difference", .object(Update.members)),
        "the changes since the sent token; without members where there are none"
      ),
    ]),
    example: [
      "fetch": [
        "entity": "Package", "sort": ["name"], "select": ["name", "version"], "limit": 50,
      ],
      "mode": "values",
    ],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier,
      .limitExceeded,
    ]
  )

  /// The maximum length of a key, in bytes.
  private static let keyBytesMax = 1024

  package init(_ params: Params) throws(RPCError) {
    since = params.string(.since)
    key = params.string(.key)
    includesBefore = params.bool(.before)
    explains = params.bool(.explain)
    first = params.int(.first)
    if let key, key.utf8.count > Self.keyBytesMax {
      throw Self.refused("a key has at most \(Self.keyBytesMax) bytes")
    }
    target = try Self.target(params)
    let mode = params.string(.mode).flatMap(Mode.init(rawValue:)) ?? .values
    self.mode = try Self.mode(mode, of: target)
    let observesObjects: Bool
    switch target {
    case .ids: observesObjects = true
    case .fetch(let fetch): observesObjects = fetch.result == .objects
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
    let names: [MemberName] = [
      .ids, .select, .include, .fetch, .history, .search, .before, .explain, .first,
    ]
    let members = names.compactMap { name in params[name].map { JSONMember(name, $0) } }
    identity = self.mode.rawValue + JSONValue.object(members).text
  }

  private static func target(_ params: Params) throws(RPCError) -> Target {
    let targets: [MemberName] = [.ids, .fetch, .history, .search]
    let named = targets.filter { params[$0] != nil }
    guard named.count == 1 else { throw refused("name one of ids, fetch, history and search") }
    let ofIDs: [MemberName] = [.select, .include]
    if params[.ids] == nil, let other = ofIDs.first(where: { params[$0] != nil }) {
      throw refused("\(other) goes with ids, or inside fetch")
    }
    switch (params[.fetch], params[.history], params[.search]) {
    case (nil, nil, nil):
      let names: [MemberName] = [.ids, .select, .include]
      let members = names.compactMap { name in params[name].map { JSONMember(name, $0) } }
      return .ids(params.strings(.ids) ?? [], try FetchCall.read(.object(members)))
    case (let fetch?, _, _):
      let call = try FetchCall.read(fetch)
      guard call.at == nil, call.asOf == nil else {
        throw refused("an observed fetch has no at and no asOf")
      }
      if let ids = call.ids { return .ids(ids, call) }
      guard call.after == nil else { throw refused("an observed fetch has no after") }
      return .fetch(call)
    case (_, let history?, _): return .history(try HistoryCall.read(history))
    case (_, _, let search?): return .search(try SearchCall.read(search))
    }
  }

  /// Checks the mode, and turns `result: "ids"` into mode `ids`.
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
      switch call.result {
      case .objects, .ids:
        let mode = mode == .values && call.result == .ids ? .ids : mode
        guard call.include.isEmpty || call.result == .objects && mode != .ids else {
          throw refused("include does not go with IDs")
        }
        return mode
      case .count, .values:
        guard mode != .ids else {
          throw refused("result \(call.result.rawValue) has the modes values and signal")
        }
        guard call.include.isEmpty else { throw refused("include goes with objects") }
        return mode
      }
    }
  }

  private static func refused(_ reason: String) -> RPCError {
    RPCError(.invalidParams, "observe: \(reason)")
  }
}
