package import CordialProtocol
package import JSON
package import JSONRPC

/// A request or a notification of the protocol.
package final class Method: Sendable {
  /// The direction in which a message is sent.
  package enum Direction: String, Sendable {
    case clientToServer
    case serverToClient
  }

  /// The rule for running a request concurrently with other requests of its connection.
  package enum Order: Sendable {
    /// Runs concurrently with other reads, after all earlier writes.
    case read
    /// Runs on the writer in the order of the requests, after all earlier reads.
    case write
    /// Runs alone, in the order of the requests.
    case alone
    /// Starts in its turn and does not wait for running requests, because it uses no state whose
    /// order matters.
    case any
  }

  /// The rules that apply only to some requests.
  package struct Traits: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// The service answers the request even if the store's model differs from the requested model.
    package static let needsNoModel = Traits(rawValue: 1 << 0)
    /// A request that names few objects overtakes waiting reads.
    package static let overtakesIfSmall = Traits(rawValue: 1 << 1)
    /// A request with a search and a key ends the earlier search with this key.
    package static let endsSearchOfKey = Traits(rawValue: 1 << 2)
    /// The result is short, so the service does not count the memory of the response.
    package static let hasShortResult = Traits(rawValue: 1 << 3)
    /// A mock answers the request with the objects of its script.
    package static let isScripted = Traits(rawValue: 1 << 4)
    /// The request ends as soon as the service begins to stop, because it may take long.
    package static let endsWithService = Traits(rawValue: 1 << 5)
  }

  package let kind: MethodName
  /// The name on the wire.
  package let name: String
  package let summary: String
  package let direction: Direction
  /// Whether the method has a response.
  package let isRequest: Bool
  /// The notification that the service sends after the request, and the request that ends these
  /// notifications; nil for a method without notifications.
  package let subscription: (notification: String, end: String)?
  package let order: Order
  /// Whether the service limits the time of the request; if not, only the client can limit it.
  package let hasTimeLimit: Bool
  package let traits: Traits
  package let params: [Field]
  /// The schema of the result; nil for a notification.
  package let result: Schema?
  /// Example params, as the client or the service would send them.
  package let example: JSONValue
  /// The result of the example, as a service returned it.
  ///
  /// nil for a notification, and for a method that returns a document.
  package var exampleResult: JSONValue? {
    guard let text = kind.exampleResult else { return nil }
    do throws(JSONError) {
      return try JSONParser.parse(text)
    } catch {
      preconditionFailure("The example of \(name) is no JSON: \(error.message)")
    }
  }

  /// The names of errors specific to the method, without the errors that every method can return.
  package let errors: [ErrorName]

  private init(
    kind: MethodName,
    summary: String,
    direction: Direction,
    isRequest: Bool,
    subscription: (notification: String, end: String)? = nil,
    order: Order,
    hasTimeLimit: Bool,
    traits: Traits,
    params: [Field],
    result: Schema?,
    example: JSONValue,
    errors: [ErrorName]
  ) {
    self.kind = kind
    name = kind.rawValue
    self.summary = summary
    self.direction = direction
    self.isRequest = isRequest
    self.subscription = subscription
    self.order = order
    self.hasTimeLimit = hasTimeLimit
    self.traits = traits
    self.params = params
    self.result = result
    self.example = example
    self.errors = errors
  }

  /// Creates a method that has a response.
  package static func request(
    _ kind: MethodName,
    _ summary: String,
    order: Order,
    subscription: (notification: String, end: String)? = nil,
    hasTimeLimit: Bool = true,
    traits: Traits = [],
    params: [Field] = [],
    result: Schema,
    example: JSONValue = [:],
    errors: [ErrorName] = []
  ) -> Method {
    Method(
      kind: kind,
      summary: summary,
      direction: .clientToServer,
      isRequest: true,
      subscription: subscription,
      order: order,
      hasTimeLimit: hasTimeLimit,
      traits: traits,
      params: params,
      result: result,
      example: example,
      errors: errors
    )
  }

  /// Creates a method that has no response.
  package static func notification(
    _ kind: MethodName,
    _ summary: String,
    direction: Direction = .clientToServer,
    params: [Field] = [],
    example: JSONValue = [:]
  ) -> Method {
    Method(
      kind: kind,
      summary: summary,
      direction: direction,
      isRequest: false,
      order: .any,
      hasTimeLimit: false,
      traits: [],
      params: params,
      result: nil,
      example: example,
      errors: []
    )
  }
}

/// A request or a notification with its description.
///
/// Each method has a type that conforms to this protocol.
package protocol DescribedMessage {
  /// The method's row in the table.
  static var method: Method { get }
}

/// A request with its description.
package protocol DescribedCall: Call, DescribedMessage {
  /// Checks the rules that the fields of the method cannot express.
  ///
  /// - Throws: `RPCError` with the code `invalidParams`.
  static func check(_ params: JSONValue) throws(RPCError)
}

extension DescribedCall {
  package static func check(_ params: JSONValue) throws(RPCError) {}

  /// Checks and reads the params of a request.
  ///
  /// - Parameter params: The sent params; null and an empty list count as an empty object.
  /// - Returns: The call.
  /// - Throws: `RPCError` with the code `invalidParams`.
  package static func read(_ params: JSONValue) throws(RPCError) -> Self {
    let params = try method.checked(params)
    try check(params)
    return try Self(params)
  }
}

extension Method {
  /// Checks params against the method's fields.
  ///
  /// Every method accepts `timeoutSeconds`, `workDoneToken`, `partialResultToken` and `_meta`.
  ///
  /// - Parameter params: The sent params; null and an empty list count as an empty object.
  /// - Returns: The params of the method itself, without null params.
  /// - Throws: `RPCError` with the code `invalidParams`.
  package func checked(_ params: JSONValue) throws(RPCError) -> JSONValue {
    var members: [JSONMember]
    switch params {
    case .null, .array([]): members = []
    case .object(let sent): members = sent
    default:
      throw RPCError(.invalidParams, "\(name) takes its params by name, in an object")
    }
    // A null param counts as absent. Null inside a param may be a value.
    members.removeAll { member in
      member.value.isNull || Self.taken.contains { JSONBytes.areEqual($0, member.name) }
    }
    if let found = Schema.mismatch(members, self.params) {
      throw RPCError(.invalidParams, "\(name): \(found.sentence)")
    }
    return .object(members)
  }

  private static let taken: [String] = [
    MemberName.timeoutSeconds.rawValue, MemberName.workDoneToken.rawValue, "partialResultToken",
    "_meta",
  ]
}
