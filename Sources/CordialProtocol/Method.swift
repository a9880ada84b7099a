package import JSON
package import JSONRPC

/// One thing that can be said on the wire.
package final class Method: Sendable {
  /// Who says it.
  package enum Direction: String, Sendable {
    case clientToServer
    case serverToClient
  }

  /// What may run beside it on its connection.
  package enum Order: Sendable {
    /// Runs beside other reads; waits for writes before it.
    case read
    /// Goes to the writer, which keeps the order; waits for reads before it.
    case write
    /// Runs alone, in its place.
    case alone
    /// Touches nothing that has an order: answered at once.
    case any
  }

  package let name: String
  package let summary: String
  package let direction: Direction
  /// Whether it is answered.
  package let isRequest: Bool
  package let order: Order
  package let params: [Field]
  /// What it is answered; nil for a notification.
  package let result: Schema?
  /// Params as a client would send them, or as we send them.
  package let example: JSONValue
  /// The names of the errors that are its own, beside those of every method.
  package let errors: [ErrorName]

  private init(
    name: String,
    summary: String,
    direction: Direction,
    isRequest: Bool,
    order: Order,
    params: [Field],
    result: Schema?,
    example: JSONValue,
    errors: [ErrorName]
  ) {
    self.name = name
    self.summary = summary
    self.direction = direction
    self.isRequest = isRequest
    self.order = order
    self.params = params
    self.result = result
    self.example = example
    self.errors = errors
  }

  /// A method that is answered.
  package static func request(
    _ name: String,
    _ summary: String,
    order: Order,
    params: [Field] = [],
    result: Schema,
    example: JSONValue = [:],
    errors: [ErrorName] = []
  ) -> Method {
    Method(
      name: name,
      summary: summary,
      direction: .clientToServer,
      isRequest: true,
      order: order,
      params: params,
      result: result,
      example: example,
      errors: errors
    )
  }

  /// A method that is not answered.
  package static func notification(
    _ name: String,
    _ summary: String,
    direction: Direction = .clientToServer,
    params: [Field] = [],
    example: JSONValue = [:]
  ) -> Method {
    Method(
      name: name,
      summary: summary,
      direction: direction,
      isRequest: false,
      order: .any,
      params: params,
      result: nil,
      example: example,
      errors: []
    )
  }
}

/// A request's decoded params: each method has a type that conforms.
package protocol Call: Sendable {
  /// Its row in the table.
  static var method: Method { get }

  /// Reads params that were checked against the method's fields.
  ///
  /// - Throws: `RPCError` for what a schema cannot say.
  init(_ params: Params) throws(RPCError)
}

extension Call {
  /// Checks and reads the params of a request.
  ///
  /// - Parameter params: What was sent; null and an empty list count as an empty object.
  /// - Returns: The call.
  /// - Throws: `RPCError` with the code `invalidParams`.
  package static func read(_ params: JSONValue) throws(RPCError) -> Self {
    try Self(try Params(params, of: method))
  }
}

/// The checked params of one request.
package struct Params: Sendable {
  package let json: JSONValue

  /// Checks params against a method's fields.
  ///
  /// `workDoneToken`, `partialResultToken` and `_meta` are taken by every method.
  package init(_ params: JSONValue, of method: Method) throws(RPCError) {
    var members: [JSONMember]
    switch params {
    case .null, .array([]): members = []
    case .object(let sent): members = sent
    default:
      throw RPCError(.invalidParams, "\(method.name) takes its params by name, in an object")
    }
    // Null is as good as absent, but where null is a value.
    members.removeAll { member in
      member.value.isNull || Params.taken.contains { JSONBytes.areEqual($0, member.name) }
    }
    if let found = Schema.mismatch(members, method.params) {
      throw RPCError(.invalidParams, "\(method.name): \(found.sentence)")
    }
    json = .object(members)
  }

  private static let taken: [String] = ["workDoneToken", "partialResultToken", "_meta"]

  /// How many there are.
  package var count: Int { json.members?.count ?? 0 }

  package subscript(name: String) -> JSONValue? { json[name] }
  package func string(_ name: String) -> String? { json[name]?.string }
  package func bool(_ name: String) -> Bool { json[name]?.bool ?? false }
  package func int(_ name: String) -> Int? { json[name]?.integer.map(Int.init) }
  package func strings(_ name: String) -> [String]? { json[name]?.array?.compactMap(\.string) }
}
