import CordialProtocol
package import JSON

/// What the service reports about one subscription.
package enum SubscriptionEvent: Sendable {
  /// The whole result at a position.
  case result(JSONValue, token: String)
  /// The difference between the result before and the one at a position.
  case update(JSONValue, token: String)
  /// The subscription has ended, or could not be made.
  case failure(ClientError)
}

/// The subscriptions of a client, across its connections.
///
/// A value without effects: the client sends what its functions return.
package struct ClientSubscriptions {
  package typealias Handler = @Sendable (SubscriptionEvent) -> Void

  /// A request to observe, with what identifies its response.
  package struct Call: Sendable {
    package let number: Int
    let version: Int
    package let params: JSONValue
  }

  /// A handler with the event that it has to be called with.
  package struct Delivery: Sendable {
    package let handler: Handler
    package let event: SubscriptionEvent
  }

  private struct Entry {
    var params: [JSONMember]
    var handler: Handler
    /// The number of requests that were made for the subscription; responses to others are late.
    var version = 0
    /// The name in the current connection; nil before the response.
    var name: String?
    /// The position from which the client's result can be resumed; nil before the first one.
    ///
    /// A search has that of the index.
    var position: String?

    /// Whether a search is observed.
    var isSearch: Bool { params.contains { $0.isOne(of: .search) } }

    /// Takes the position that a result or an update has.
    mutating func move(to token: String, _ content: JSONValue?) {
      guard isSearch else { return position = token }
      position = (content?[.index] ?? content?[.token])?.string ?? position
    }
  }

  private var entries: [Int: Entry] = [:]
  private var numbers: [String: Int] = [:]
  private var nextNumber = 1
  /// The parts of an update that is not complete, by subscription.
  private var parts: [(name: String, update: JSONValue)] = []

  package init() {}

  /// Returns the number of a subscription that is added later.
  package mutating func reserve() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// Adds a subscription.
  ///
  /// - Parameters:
  ///   - number: A number that `reserve` returned.
  ///   - params: The params of `observe`, without `key` and `since`.
  ///   - position: The position of a result of this request that the client has; nil for none.
  ///   - handler: Called with every event, in their order.
  /// - Returns: The request.
  package mutating func add(
    _ number: Int,
    _ params: [JSONMember],
    since position: String?,
    _ handler: @escaping Handler
  ) -> Call {
    let entry = Entry(params: params, handler: handler, position: position)
    entries[number] = entry
    return Self.call(number, entry)
  }

  /// Replaces the request of a subscription.
  ///
  /// - Returns: The request; nil for a subscription that was removed.
  package mutating func replace(
    _ number: Int,
    with params: [JSONMember],
    since position: String?
  ) -> Call? {
    guard var entry = entries[number] else { return nil }
    entry.params = params
    entry.position = position
    entry.version += 1
    entries[number] = entry
    return Self.call(number, entry)
  }

  /// Removes a subscription.
  ///
  /// - Returns: Its name in the current connection, which has to be unobserved, nil for none; and
  ///   its handler, which the caller releases outside of its lock, because what the handler keeps
  ///   may call back.
  package mutating func remove(_ number: Int) -> (name: String?, handler: Handler?) {
    guard let entry = entries.removeValue(forKey: number) else { return (nil, nil) }
    if let name = entry.name { numbers[name] = nil }
    return (entry.name, entry.handler)
  }

  /// Returns the requests that resume all subscriptions in a new connection.
  package mutating func reconnect() -> [Call] {
    numbers = [:]
    parts = []
    return entries.keys.sorted().compactMap { number in
      entries[number]?.name = nil
      entries[number]?.version += 1
      return entries[number].map { Self.call(number, $0) }
    }
  }

  private static func call(_ number: Int, _ entry: Entry) -> Call {
    var params = entry.params + [JSONMember(.key, .string("\(number)"))]
    if let position = entry.position { params.append(JSONMember(.since, .string(position))) }
    return Call(number: number, version: entry.version, params: .object(params))
  }

  /// Handles the response to a request.
  ///
  /// - Returns: The delivery, and the name of a subscription that is not wanted any more.
  package mutating func handle(
    _ outcome: ClientConnection.Outcome,
    to call: Call
  ) -> (delivery: Delivery?, unwanted: String?) {
    switch outcome {
    case .failure(let error):
      guard let entry = entries[call.number], entry.version == call.version else {
        return (nil, nil)
      }
      // The next connection observes again.
      if error.code == .connectionEnded { return (nil, nil) }
      if let name = entry.name { numbers[name] = nil }
      entries[call.number]?.name = nil
      return (Delivery(handler: entry.handler, event: .failure(error)), nil)
    case .success(let response):
      guard let name = response[.subscription]?.string, let token = response[.token]?.string
      else { return (nil, nil) }
      guard let entry = entries[call.number] else { return (nil, name) }
      entries[call.number]?.name = name
      numbers[name] = call.number
      guard entry.version == call.version else { return (nil, nil) }
      entries[call.number]?.move(to: token, response[.result] ?? response[.update])
      let event: SubscriptionEvent =
        if let result = response[.result] {
          .result(result, token: token)
        } else {
          .update(response[.update] ?? .object([]), token: token)
        }
      return (Delivery(handler: entry.handler, event: event), nil)
    }
  }

  /// Handles a `changes` notification, or one part of it.
  ///
  /// - Returns: The deliveries in the order of the updates; none before the last part.
  package mutating func handle(changes: JSONValue) -> [Delivery] {
    for update in changes[.updates]?.array ?? [] {
      guard let name = update[.subscription]?.string else { continue }
      if let index = parts.firstIndex(where: { $0.name == name }) {
        parts[index].update = parts[index].update.joined(with: update)
      } else {
        parts.append((name, update))
      }
    }
    guard changes[.more]?.bool != true, let token = changes[.token]?.string else { return [] }
    let updates = parts
    parts = []
    for number in numbers.values { entries[number]?.move(to: token, nil) }
    for (name, update) in updates {
      if let number = numbers[name] {
        entries[number]?.move(to: token, update[.result] ?? update)
      }
    }
    return updates.compactMap { name, update in
      guard let number = numbers[name], let entry = entries[number] else { return nil }
      if let error = update[.error] {
        numbers[name] = nil
        entries[number] = nil
        return Delivery(handler: entry.handler, event: .failure(ClientError(wire: error)))
      }
      let event: SubscriptionEvent =
        if let result = update[.result] {
          .result(result, token: token)
        } else {
          .update(update, token: token)
        }
      return Delivery(handler: entry.handler, event: event)
    }
  }
}

extension JSONValue {
  /// Returns the update of two of its parts: lists are appended, and objects are united.
  fileprivate func joined(with part: JSONValue) -> JSONValue {
    switch (self, part) {
    case (.array(let first), .array(let second)): return .array(first + second)
    case (.object(var members), .object(let others)):
      for other in others {
        if let index = members.firstIndex(where: { $0.name == other.name }) {
          members[index].value = members[index].value.joined(with: other.value)
        } else {
          members.append(other)
        }
      }
      return .object(members)
    default: return part
    }
  }
}

extension ClientError {
  /// Reads the error of a response or of a subscription.
  init(wire error: JSONValue) {
    self.init(
      code: Code(rawValue: error[.code]?.integer.map(Int.init) ?? 0),
      message: error[.message]?.string ?? "The service answered with an error",
      data: error[.data] ?? .null
    )
  }
}
