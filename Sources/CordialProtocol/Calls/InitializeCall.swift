package import CordialValues
package import JSON
package import JSONRPC

/// The params of `initialize`: the handshake, which is optional with line framing.
///
/// Of the members that LSP defines, only `capabilities` and `initializationOptions` have an effect.
/// They may contain the settings of the connection.
package struct InitializeCall: Call {
  package static let name = MethodName.initialize

  /// The default author of saves.
  package var author: String?
  /// The default context of saves.
  package var context: String?
  /// The default merge policy of saves; nil for `error`.
  package var mergePolicy: String?
  /// The time for which changes are coalesced, in milliseconds.
  package var coalesce = 0
  /// The unit of positions in highlights and snippets.
  package var positionEncoding = PositionEncoding.utf16
  /// The default time limit of requests, in seconds; nil for none.
  package var timeoutSeconds: Double?

  /// Creates params without settings.
  package init() {}

  package init(_ json: JSONValue) throws(RPCError) {
    let options = Self.options(in: json)
    author = try WriteRules.author(options.string(.author), "initialize")
    context = try WriteRules.context(options.string(.context), "initialize")
    mergePolicy = options.string(.mergePolicy)
    coalesce = options.int(.coalesce) ?? 0
    positionEncoding = Self.positionEncoding(options, json[.capabilities])
    timeoutSeconds = try TimeLimit.seconds(of: options, "initialize")
  }

  package var json: JSONValue {
    let settings = JSONValue.present([
      .author: author, .context: context, .mergePolicy: mergePolicy,
      .coalesce: coalesce == 0 ? nil : coalesce,
      .positionEncoding: positionEncoding == .utf16 ? nil : positionEncoding.rawValue,
      .timeoutSeconds: timeoutSeconds,
    ])
    return .present([.cordial: settings.ifNotEmpty])
  }

  /// Returns the settings of the connection from the params of `initialize`.
  package static func options(in json: JSONValue) -> JSONValue {
    json[.cordial] ?? json[.initializationOptions]?[.cordial] ?? [:]
  }

  /// Returns the encoding that a client names, or the first known encoding in an LSP client's list.
  private static func positionEncoding(
    _ options: JSONValue,
    _ capabilities: JSONValue?
  ) -> PositionEncoding {
    let named = options.string(.positionEncoding).map { [$0] }
    let listed = capabilities?["general"]?["positionEncodings"]?.array?.compactMap(\.string)
    return (named ?? listed ?? []).lazy.compactMap(PositionEncoding.init).first ?? .utf16
  }

  /// The abilities of the service, and its store.
  package struct Result: WireObject {
    /// The name of the program.
    package let name: String
    /// The version of the program.
    package let version: String
    /// The version of the protocol.
    package let protocolVersion: Int64
    /// The limits, by name.
    package let limits: [JSONMember]
    /// The methods that a client may call.
    package let features: [String]
    /// The unit of character positions in texts.
    package let positionEncoding: String
    package let store: Store

    /// Creates a result.
    package init(
      name: String,
      version: String,
      protocolVersion: Int64,
      limits: [JSONMember],
      features: [String],
      positionEncoding: String,
      store: Store
    ) {
      self.name = name
      self.version = version
      self.protocolVersion = protocolVersion
      self.limits = limits
      self.features = features
      self.positionEncoding = positionEncoding
      self.store = store
    }

    package init(_ json: JSONValue) throws(RPCError) {
      let server = json[.serverInfo] ?? [:]
      let abilities = json[.capabilities]?[.cordial] ?? [:]
      name = try server.text(.name)
      version = try server.text(.version)
      protocolVersion = try abilities.count(.protocolVersion)
      limits = abilities.members(.limits) ?? []
      features = try abilities.texts(.features)
      positionEncoding = try abilities.text(.positionEncoding)
      store = try json.object(.store)
    }

    package var json: JSONValue {
      .object([
        .serverInfo: .present([.name: name, .version: version]),
        .capabilities: .object([
          .cordial: .present([
            .protocolVersion: protocolVersion, .limits: MemberList(limits), .features: features,
            .positionEncoding: positionEncoding,
          ])
        ]),
        .store: store.json,
      ])
    }
  }

  /// The store of a service.
  package struct Store: WireObject {
    /// The identifier.
    package let id: String
    /// The history position after the newest commit.
    package let token: String
    /// The name of the model.
    package let modelName: String
    /// The version of the model.
    package let modelVersion: String
    /// A hash of the model, without its version.
    package let modelHash: String

    /// Creates a description.
    package init(
      id: String,
      token: String,
      modelName: String,
      modelVersion: String,
      modelHash: String
    ) {
      self.id = id
      self.token = token
      self.modelName = modelName
      self.modelVersion = modelVersion
      self.modelHash = modelHash
    }

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      token = try json.text(.token)
      let model = json[.model] ?? [:]
      modelName = try model.text(.name)
      modelVersion = try model.text(.version)
      modelHash = try model.text(.hash)
    }

    package var json: JSONValue {
      .present([
        .id: id, .token: token,
        .model: JSONValue.present([
          .name: modelName, .version: modelVersion, .hash: modelHash,
        ]),
      ])
    }
  }
}

/// The params of `shutdown`: ends the conversation; only `exit` may follow.
package struct ShutdownCall: CallWithoutParams {
  package typealias Result = DocumentResult

  package static let name = MethodName.shutdown

  /// Creates a request.
  package init() {}
}
