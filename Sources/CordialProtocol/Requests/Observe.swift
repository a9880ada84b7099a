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
    "Returns a result, then reports the changes of that result.",
    order: .alone,
    params: [
      .optional("ids", .array(.wrappedID), "the objects to observe"),
      .optional("select", .selection, "with ids: the values to return"),
      .optional("fetch", .object(FetchFields.all), "the fetch to observe"),
      .optional("mode", .choice(["values", "ids", "signal"]), "the content of the updates"),
      .optional("since", .token, "the position to resume from"),
      .optional("key", .string, "a name; a second observe with it replaces the first"),
    ],
    result: .object([
      .required("subscription", .string, "the name in changes and unobserve"),
      .required("token", .token, "the position of the result"),
      .required("fresh", .boolean, "whether the result is complete"),
      .optional("result", .any, "the result of the same fetch"),
      .optional("update", .any, "the changes since the sent token"),
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
      guard call.at == nil, call.asOf == nil else {
        throw RPCError(.invalidParams, "observe: an observed fetch has no at and no asOf")
      }
      if let ids = call.ids {
        guard call.include.isEmpty else {
          throw RPCError(.invalidParams, "observe: this version does not observe include")
        }
        target = .ids(ids, call)
      } else {
        guard call.after == nil else {
          throw RPCError(.invalidParams, "observe: an observed fetch has no after")
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
