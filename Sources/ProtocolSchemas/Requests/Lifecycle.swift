import CordialProtocol
import CordialValues
package import JSON
package import JSONRPC

/// `initialize`: the handshake, which is optional with line framing.
extension InitializeCall: DescribedCall {
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
    name,
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

  // Settings in `initializationOptions` must have the same form.
  package static func check(_ params: JSONValue) throws(RPCError) {
    if let found = cordial.schema.mismatch(options(in: params))?.inside(member: "cordial") {
      throw RPCError(.invalidParams, "initialize: \(found.sentence)")
    }
  }
}

/// `shutdown`: ends the conversation; only `exit` may follow.
extension ShutdownCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Ends the conversation; only exit may follow.",
    order: .alone,
    traits: [.isScripted, .needsNoModel, .hasShortResult],
    result: .nullable(.any),
    example: nil
  )
}

/// `initialized`: states that the client has read the response to `initialize`.
package enum InitializedNotification: DescribedMessage {
  package static let method = Method.notification(
    .initialized,
    "States that the client has read the response to initialize."
  )
}

/// `exit`: ends the connection after the responses to earlier requests.
package enum ExitNotification: DescribedMessage {
  package static let method = Method.notification(
    .exit,
    "Ends the connection after the responses to earlier requests."
  )
}

/// `$/setTrace`: has no effect, and is accepted because LSP clients send it.
package enum SetTraceNotification: DescribedMessage {
  package static let method = Method.notification(
    .setTrace,
    "Accepted without effect, because LSP clients send it.",
    params: [.required(.value, .choice(["off", "messages", "verbose"]), "the level")],
    example: ["value": "off"]
  )
}

/// `$/cancelRequest`: cancels a request; the service still responds to the request.
package enum CancelNotification: DescribedMessage {
  package static let method = Method.notification(
    .cancelRequest,
    "Cancels a request, which is still answered.",
    params: [.required(.id, .any, "the ID of the request")],
    example: ["id": 7]
  )
}
