package import CordialProtocol
package import JSON

/// A report of the service about one subscription.
package enum SubscriptionEvent: Sendable {
  /// The whole result at a position.
  case result(JSONValue, token: String)
  /// The difference between the previous result and the result at a position.
  case update(JSONValue, token: String)
  /// The subscription has ended, or the service has refused it.
  case failure(ClientError)
}

/// The subscriptions of a client, across its connections.
///
/// The type has no side effects: the client sends the requests that its functions return.
package struct ClientSubscriptions {
  package typealias Handler = @Sendable (SubscriptionEvent) -> Void

  /// A request to observe, with the subscription and the version to which its response belongs.
  package struct Request: Sendable {
    package let number: Int
    let version: Int
    package let call: ObserveCall
  }

  /// A handler, and the event that the client passes to the handler.
  package struct Delivery: Sendable {
    package let handler: Handler
    package let event: SubscriptionEvent
  }

  private struct Entry {
    /// The params, with the position from which the service can resume the client's result.
    ///
    /// Until the first result, this is the position that the caller gave. For a search, this is the
    /// position of the search index.
    var call: ObserveCall
    var handler: Handler
    /// The version of the newest request; the result of an older request is ignored.
    var version = 0
    /// The subscription's name in the current connection; nil before the response.
    var name: String?

    /// Sets the position from which the subscription resumes after a result or an update.
    mutating func move(to token: String, _ content: JSONValue?) {
      guard call.isSearch else { return call.since = token }
      call.since = (content?[.index] ?? content?[.token])?.string ?? call.since
    }
  }

  private var entries: [Int: Entry] = [:]
  private var numbers: [String: Int] = [:]
  private var nextNumber = 1
  /// The received parts of an incomplete notification, joined for each subscription.
  private var parts: [ChangesNotification.Update] = []

  package init() {}

  /// Returns a new identifier for a subscription.
  ///
  /// The caller later passes it to `add`.
  package mutating func reserve() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// Adds a subscription.
  ///
  /// - Parameters:
  ///   - number: The identifier that `reserve` returned.
  ///   - call: The params of `observe`. Their `since` is the position of the client's last result,
  ///     or nil if the client has no result.
  ///   - handler: Called with every event, in order.
  /// - Returns: The request.
  package mutating func add(
    _ number: Int,
    _ call: ObserveCall,
    _ handler: @escaping Handler
  ) -> Request {
    let entry = Entry(call: Self.named(call, number), handler: handler)
    entries[number] = entry
    return Self.request(number, entry)
  }

  /// Replaces the request of a subscription.
  ///
  /// - Returns: The request; nil for a subscription that was removed.
  package mutating func replace(_ number: Int, with call: ObserveCall) -> Request? {
    guard var entry = entries[number] else { return nil }
    entry.call = Self.named(call, number)
    entry.version += 1
    entries[number] = entry
    return Self.request(number, entry)
  }

  /// Removes a subscription.
  ///
  /// - Returns: The subscription's name in the current connection, which the client has to
  ///   unobserve, or nil for none; and the handler. The caller releases the handler outside its
  ///   lock, because objects that the handler retains may call back.
  package mutating func remove(_ number: Int) -> (name: String?, handler: Handler?) {
    guard let entry = entries.removeValue(forKey: number) else { return (nil, nil) }
    if let name = entry.name { numbers[name] = nil }
    return (entry.name, entry.handler)
  }

  /// Returns the requests that resume all subscriptions in a new connection.
  package mutating func reconnect() -> [Request] {
    numbers = [:]
    parts = []
    return entries.keys.sorted().compactMap { number in
      entries[number]?.name = nil
      entries[number]?.version += 1
      return entries[number].map { Self.request(number, $0) }
    }
  }

  private static func named(_ call: ObserveCall, _ number: Int) -> ObserveCall {
    var call = call
    call.key = "\(number)"
    return call
  }

  private static func request(_ number: Int, _ entry: Entry) -> Request {
    Request(number: number, version: entry.version, call: entry.call)
  }

  /// Handles the response to a request.
  ///
  /// - Returns: The delivery, and the name of a subscription that the client has to end; each is
  ///   nil for none.
  package mutating func handle(
    _ outcome: ClientConnection.Outcome,
    to request: Request
  ) -> (delivery: Delivery?, unwanted: String?) {
    let number = request.number
    do throws(ClientError) {
      let response = try ObserveCall.Result.read(try outcome.get())
      let name = response.subscription
      guard let entry = entries[number] else { return (nil, name) }
      entries[number]?.name = name
      numbers[name] = number
      guard entry.version == request.version else { return (nil, nil) }
      entries[number]?.move(to: response.token, response.result ?? response.update)
      let event: SubscriptionEvent =
        if let result = response.result {
          .result(result, token: response.token)
        } else {
          .update(response.update ?? [:], token: response.token)
        }
      return (Delivery(handler: entry.handler, event: event), nil)
    } catch {
      // The service may have made a subscription even if its response cannot be read.
      let unwanted: String? =
        if case .success(let response) = outcome { response[.subscription]?.string } else { nil }
      guard let entry = entries[number], entry.version == request.version else {
        return (nil, unwanted)
      }
      // The next connection repeats the request.
      if error.code == .connectionEnded { return (nil, nil) }
      if let name = entry.name { numbers[name] = nil }
      entries[number]?.name = nil
      return (Delivery(handler: entry.handler, event: .failure(error)), unwanted)
    }
  }

  /// Handles a `changes` notification, or one part of it.
  ///
  /// - Returns: The deliveries in the order of the updates; none before the last part.
  package mutating func handle(_ changes: ChangesNotification) -> [Delivery] {
    for update in changes.updates {
      let index = parts.firstIndex { $0.subscription == update.subscription }
      if let index { parts[index].append(update) } else { parts.append(update) }
    }
    guard !changes.hasMore, let token = changes.token else { return [] }
    let updates = parts
    parts = []
    for number in numbers.values { entries[number]?.move(to: token, nil) }
    for update in updates {
      if let number = numbers[update.subscription] {
        entries[number]?.move(to: token, update.result ?? update.json)
      }
    }
    return updates.compactMap { update in
      guard let number = numbers[update.subscription], let entry = entries[number] else {
        return nil
      }
      if let error = update.error {
        numbers[update.subscription] = nil
        entries[number] = nil
        return Delivery(handler: entry.handler, event: .failure(ClientError(wire: error)))
      }
      let event: SubscriptionEvent =
        if let result = update.result {
          .result(result, token: token)
        } else {
          .update(update.json, token: token)
        }
      return Delivery(handler: entry.handler, event: event)
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
