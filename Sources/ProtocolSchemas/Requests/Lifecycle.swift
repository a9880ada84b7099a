import CordialProtocol
package import CordialValues
import JSON
package import JSONRPC

/// `initialize`: the handshake, which line framing does not require.
package struct InitializeCall: Call {
  package let author: String?
  package let context: String?
  /// The merge policy of saves that name none, nil for `error`.
  package let mergePolicy: String?
  /// The time for which changes are coalesced, in milliseconds.
  package let coalesce: Int
  /// The unit of positions in highlights and snippets.
  package let positionEncoding: PositionEncoding
  /// The time limit of requests that name none, in seconds; nil for none.
  package let timeoutSeconds: Double?

  private static let cordial = Field.optional(
    .cordial,
    .object([
      .optional(.author, .string, "the author of saves that name none"),
      .optional(.context, .string, "the context of saves that name none"),
      .optional(.mergePolicy, .string, "the merge policy of saves that name none"),
      .optional(.integers, .choice(["number"]), "how int64 values are sent"),
      .optional(.coalesce, .integer(0...60_000), "how long to coalesce changes, in ms"),
      .optional(
        .positionEncoding,
        .choice(PositionEncoding.allCases.map(\.rawValue)),
        "the unit of positions in highlights and snippets; utf-16 when absent"
      ),
      .optional(.timeoutSeconds, .number, "the time limit of requests that name none"),
    ]),
    "the settings of the connection"
  )

  package static let method = Method.request(
    .initialize,
    "Opens a connection and returns the capabilities of the service.",
    order: .alone,
    traits: [.isScripted, .needsNoModel, .hasShortResult],
    params: [
      cordial,
      .optional(.processId, .nullable(.any), "as in LSP"),
      .optional(.clientInfo, .any, "as in LSP"),
      .optional(.locale, .any, "as in LSP"),
      .optional(.rootPath, .any, "as in LSP"),
      .optional(.rootUri, .any, "as in LSP"),
      .optional(.workspaceFolders, .any, "as in LSP"),
      .optional(.initializationOptions, .nullable(.any), "may contain cordial instead"),
      .optional(.capabilities, .any, "as in LSP"),
      .optional(.trace, .any, "as in LSP"),
    ],
    result: .object([
      .required(
        .serverInfo,
        .object([
          .required(.name, .string, "the name of the program"),
          .required(.version, .string, "its version"),
        ]),
        "the name and the version"
      ),
      .required(
        .capabilities,
        .object([
          .required(
            .cordial,
            .object([
              .required(.protocolVersion, .count, "the version of the protocol"),
              .required(.limits, .map(.count), "the limits, by name"),
              .required(.features, .array(.string), "the methods that a client may call"),
              .required(.positionEncoding, .string, "the unit of positions in texts"),
            ]),
            "what the service can do"
          )
        ]),
        "what the service can do"
      ),
      .required(
        .store,
        .object([
          .required(.id, .string, "the identifier"),
          .required(.token, .token, "the newest commit"),
          .required(
            .model,
            .object([
              .required(.name, .string, "the name"), .required(.version, .string, "the version"),
              .required(.hash, .string, "a hash of the model, without its version"),
            ]),
            "the model"
          ),
        ]),
        "the ID, the token and the model"
      ),
    ]),
    example: ["processId": nil, "capabilities": [:], "cordial": ["author": "editor"]]
  )

  package init(_ params: Params) throws(RPCError) {
    let options = params[.cordial] ?? params[.initializationOptions]?[.cordial] ?? [:]
    if let found = Self.cordial.schema.mismatch(options)?.inside(member: "cordial") {
      throw RPCError(.invalidParams, "initialize: \(found.sentence)")
    }
    author = try WriteFields.checkedAuthor(options[.author]?.string, "initialize")
    context = try WriteFields.limited(options[.context]?.string, "context", "initialize")
    mergePolicy = options[.mergePolicy]?.string
    coalesce = options[.coalesce]?.integer.map(Int.init) ?? 0
    positionEncoding = Self.positionEncoding(options, params[.capabilities])
    timeoutSeconds = try Params.timeoutSeconds(of: options, "initialize")
  }
}

extension InitializeCall {
  /// Returns the encoding that a client names, or the first known one of an LSP client's list.
  private static func positionEncoding(
    _ options: JSONValue,
    _ capabilities: JSONValue?
  ) -> PositionEncoding {
    let named = options[.positionEncoding]?.string.map { [$0] }
    let listed = capabilities?["general"]?["positionEncodings"]?.array?.compactMap(\.string)
    return (named ?? listed ?? []).lazy.compactMap(PositionEncoding.init).first ?? .utf16
  }
}

/// `shutdown`: ends the conversation; only `exit` may follow.
package struct ShutdownCall: Call {
  package static let method = Method.request(
    .shutdown,
    "Ends the conversation; only exit may follow.",
    order: .alone,
    traits: [.isScripted, .needsNoModel, .hasShortResult],
    result: .nullable(.any),
    example: nil
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `initialized`: states that the client has read the response to `initialize`.
package enum InitializedNotification {
  package static let method = Method.notification(
    .initialized,
    "States that the client has read the response to initialize."
  )
}

/// `exit`: ends the connection after the responses to earlier requests.
package enum ExitNotification {
  package static let method = Method.notification(
    .exit,
    "Ends the connection after the responses to earlier requests."
  )
}

/// `$/setTrace`: accepted without effect, because LSP clients send it.
package enum SetTraceNotification {
  package static let method = Method.notification(
    .setTrace,
    "Accepted without effect, because LSP clients send it.",
    params: [.required(.value, .choice(["off", "messages", "verbose"]), "the level")],
    example: ["value": "off"]
  )
}

/// `$/cancelRequest`: cancels a request, which is still answered.
package enum CancelNotification {
  package static let method = Method.notification(
    .cancelRequest,
    "Cancels a request, which is still answered.",
    params: [.required(.id, .any, "the ID of the request")],
    example: ["id": 7]
  )
}
