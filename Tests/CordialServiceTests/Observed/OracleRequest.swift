import JSON

/// An observed request, as a client sends it and as a fetch of the same result.
struct OracleRequest {
  /// The shape of the request and of its result.
  enum Form {
    /// Objects by ID.
    case ids
    /// The rows of a fetch: objects, or their IDs.
    case objects
    /// The number of rows of a fetch.
    case count
    /// The rows of values of a fetch.
    case values
    /// The transactions after the position.
    case history
  }

  /// The value of `mode`.
  enum Mode: String {
    case values, ids, signal
  }

  var form: Form
  var mode = Mode.values
  /// The params of the fetch, or the filters of the history.
  var query: [JSONMember]
  /// Whether `ids` are params of `observe` itself, and not of `fetch`.
  var isDirect = false
  var hasBefore = false
  var first: Int?
  var key: String?

  /// The requested IDs; empty for a fetch of an entity.
  var ids: [String] { (parameter("ids")?.array ?? []).compactMap(\.string) }

  /// Whether the result has IDs and no objects.
  var returnsIDs: Bool {
    mode == .ids || (form == .objects && parameter("result")?.string == "ids")
  }

  /// Returns the value of a parameter of the fetch.
  func parameter(_ name: String) -> JSONValue? {
    query.last { $0.name == name }?.value
  }

  /// Returns the params of `observe`.
  ///
  /// - Parameter since: The position from which to resume.
  /// - Returns: The params.
  func observeParams(since: String? = nil) -> String {
    var members: [JSONMember]
    switch form {
    case .history: members = [JSONMember("history", .object(query))]
    case .ids where isDirect: members = query
    default: members = [JSONMember("fetch", .object(query))]
    }
    if mode != .values { members.append(JSONMember("mode", .string(mode.rawValue))) }
    if hasBefore { members.append(JSONMember("before", true)) }
    if let first { members.append(JSONMember("first", .integer(Int64(first)))) }
    if let key { members.append(JSONMember("key", .string(key))) }
    if let since { members.append(JSONMember("since", .string(since))) }
    return JSONValue.object(members).text
  }

  /// Returns the method and the params of the request that has the expected result.
  ///
  /// - Parameters:
  ///   - since: The position after which a history begins.
  ///   - asOf: The commit of a fetch; nil for the newest.
  /// - Returns: The method and the params.
  func expectation(since: String, asOf: String?) -> (method: String, params: String) {
    var members = query
    guard form != .history else {
      members.append(JSONMember("since", .string(since)))
      members.append(JSONMember("limit", 1000))
      return ("history", JSONValue.object(members).text)
    }
    if let asOf { members.append(JSONMember("asOf", .string(asOf))) }
    return ("fetch", JSONValue.object(members).text)
  }

  /// The same request in mode `signal`.
  var signal: OracleRequest {
    var signal = self
    signal.mode = .signal
    signal.hasBefore = false
    signal.key = nil
    return signal
  }
}
