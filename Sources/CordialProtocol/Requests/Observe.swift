import JSON
package import JSONRPC

/// `observe`: returns a result, then reports the changes of that result.
package struct ObserveCall: Call {
  /// The observed objects or the observed fetch.
  package enum Target: Sendable {
    case ids([String], FetchCall)
    case fetch(FetchCall)
  }

  /// The content of a subscription's updates.
  package enum Mode: String, Sendable {
    case values, ids, signal
  }

  package let target: Target
  package let mode: Mode
  package let since: String?
  /// The subscription's name within its connection; a second `observe` with it replaces the first.
  package let key: String?

  package static let method = Method.request(
    "observe",
    "Answers a result and keeps telling, in changes, what becomes of it.",
    order: .alone,
    params: [
      .optional("ids", .array(.wrappedID), "objects to observe"),
      .optional("select", .selection, "with ids: the wanted values"),
      .optional("fetch", .object(FetchFields.all), "a fetch to observe"),
      .optional("mode", .choice(["values", "ids", "signal"]), "what to be told"),
      .optional("since", .token, "resume from this position"),
      .optional("key", .string, "a name; a second observe of it replaces the first"),
    ],
    result: .object([
      .required("subscription", .string, "names it in changes and unobserve"),
      .required("token", .token, "the position that the result shows"),
      .required("fresh", .boolean, "whether this is a whole result"),
      .optional("result", .any, "what the same fetch would have answered"),
      .optional("update", .any, "what changed since the token that was sent"),
    ]),
    example: ["fetch": ["entity": "Package", "sort": ["name"], "limit": 50], "mode": "values"],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier,
      .limitExceeded,
    ]
  )

  package init(_ params: Params) throws(RPCError) {
    mode = params.string("mode").flatMap(Mode.init(rawValue:)) ?? .values
    since = params.string("since")
    key = params.string("key")
    switch (params["ids"], params["fetch"]) {
    case (.some(let ids), nil):
      var members = [JSONMember("ids", ids)]
      if let select = params["select"] { members.append(JSONMember("select", select)) }
      target = .ids(params.strings("ids") ?? [], try FetchCall.read(.object(members)))
    case (nil, .some(let fetch)):
      if params["select"] != nil {
        throw RPCError(.invalidParams, "observe: select goes with ids, or inside fetch")
      }
      let call = try FetchCall.read(fetch)
      guard call.at == nil else {
        throw RPCError(.invalidParams, "observe: at is not for a fetch that is observed")
      }
      if let ids = call.ids {
        guard call.include.isEmpty else {
          throw RPCError(.invalidParams, "observe: this version observes without include")
        }
        target = .ids(ids, call)
      } else {
        guard call.after == nil else {
          throw RPCError(.invalidParams, "observe: after is not for a fetch that is observed")
        }
        guard call.result == .objects, !call.total, call.sectionBy == nil, call.include.isEmpty
        else {
          throw RPCError(
            .invalidParams,
            "observe: this version observes result objects, without total, sectionBy and include"
          )
        }
        target = .fetch(call)
      }
    default: throw RPCError(.invalidParams, "observe: name either ids or a fetch")
    }
  }
}
