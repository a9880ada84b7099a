import JSON

/// A connection that applies every response to `observe` and every `changes` to its own states,
/// strictly by the contract.
final class ObservedClient {
  /// The positions and the authors of one `changes`.
  struct Report {
    let from: String
    let token: String
    let authors: [JSONValue]
    /// The removed rows, and whether the service reported them as deleted.
    let removed: [(id: String, isDeleted: Bool)]
  }

  let peer: HostPeer
  /// The period for gathering changes, in milliseconds.
  let coalesce: Int
  /// Whether the peer takes what the service sends.
  private(set) var isReading = true
  /// The token of the last `changes` or `observe` response.
  private(set) var position: String?
  private(set) var subscriptions: [String: ObservedSubscription] = [:]
  /// The `changes` that arrived since the list was emptied.
  var reports: [Report] = []
  private var pending: [Int64: PendingObserve] = [:]
  private var ending: [Int64: String] = [:]
  private var parts: JoinedParts?
  private var consumed = 0
  private var created = 0

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - host: The host.
  ///   - coalesce: The period for gathering changes, in milliseconds; 0 for none.
  /// - Throws: `WaitTimeout`.
  init(_ host: ServiceHost, coalesce: Int) throws {
    peer = HostPeer(host)
    self.coalesce = coalesce
    guard coalesce > 0 else { return }
    _ = try peer.call("initialize", #"{"cordial":{"coalesce":\#(coalesce)}}"#)
  }

  /// The names and subscriptions that have not ended, in the order of their creation.
  var live: [(name: String, subscription: ObservedSubscription)] {
    subscriptions.filter { $0.value.error == nil }
      .sorted { $0.value.number < $1.value.number }
      .map { ($0.key, $0.value) }
  }

  // MARK: Requests

  /// Sends an `observe` without waiting for the response.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - pair: The number that the twin in the other mode shares.
  ///   - since: The state from which to resume.
  ///   - checkpoints: Earlier states of the same request.
  func observe(
    _ request: OracleRequest,
    pair: Int? = nil,
    since: ObservedSubscription.Checkpoint? = nil,
    checkpoints: [ObservedSubscription.Checkpoint] = []
  ) {
    let id = peer.send("observe", request.observeParams(since: since?.token))
    pending[Int64(id)] = PendingObserve(
      request: request,
      pair: pair,
      since: since,
      checkpoints: checkpoints
    )
  }

  /// Sends an `unobserve` without waiting for the response.
  func unobserve(_ name: String) {
    let id = peer.send("unobserve", #"{"subscription":"\#(name)"}"#)
    ending[Int64(id)] = name
  }

  /// Stops or resumes reading.
  func setReading(_ reads: Bool) {
    isReading = reads
    if reads { peer.resumeReading() } else { peer.stopReading() }
  }

  /// Changes a subscription, for what the test keeps with it.
  func update(_ name: String, _ body: (inout ObservedSubscription) -> Void) {
    guard var subscription = subscriptions[name] else { return }
    body(&subscription)
    subscriptions[name] = subscription
  }

  // MARK: Messages

  /// Applies the messages that arrived since the last call.
  ///
  /// - Throws: `ObservationMismatch`.
  func consume() throws {
    let arrivals = peer.arrivals
    for arrival in arrivals[consumed...] {
      if case .message(let message) = arrival { try take(message) }
    }
    consumed = arrivals.count
  }

  private func take(_ message: JSONValue) throws {
    if message["method"] == "changes" {
      let params = message["params"] ?? .null
      do {
        try takePart(params)
      } catch let mismatch as ObservationMismatch {
        throw ObservationMismatch(mismatch.description, ["changes": params.text])
      }
      return
    }
    guard let id = message["id"]?.integer else { return }
    if let name = ending.removeValue(forKey: id) {
      // A subscription that has ended before is unknown.
      try ObservationMismatch.check(
        message["result"] != nil || subscriptions[name]?.error != nil,
        "unobserve of \(name) was refused: \(message.text)"
      )
      subscriptions[name] = nil
    }
    if let observe = pending.removeValue(forKey: id) { try register(observe, message) }
  }

  private func register(_ observe: PendingObserve, _ message: JSONValue) throws {
    let request = observe.request.observeParams(since: observe.since?.token)
    guard let response = message["result"], let name = response["subscription"]?.string else {
      throw ObservationMismatch(
        "observe was refused",
        ["request": request, "answer": message.text]
      )
    }
    try ObservationMismatch.check(parts == nil, "A response to observe comes between two parts")
    created += 1
    var subscription = try observe.subscription(response, number: created)
    let key = observe.request.key
    let replaced = key.flatMap { key in live.first { $0.subscription.request.key == key } }
    let expected = replaced?.name
    let isAsExpected = expected.map { $0 == name } ?? (subscriptions[name] == nil)
    try ObservationMismatch.check(
      isAsExpected,
      "\(name) is the name of another subscription; the request is \(request)"
    )
    if let replaced { subscription.number = replaced.subscription.number }
    subscriptions[name] = subscription
    position = subscription.token
  }

  private func takePart(_ params: JSONValue) throws {
    let from = params["from"]?.string
    try ObservationMismatch.check(
      from != nil && from == position,
      "from is \(from ?? "absent"), and the position is \(position ?? "none")"
    )
    var joined = parts ?? JoinedParts(from: from ?? "")
    try joined.add(params)
    parts = joined
    if params["more"] == true {
      let isPart = params["token"] == nil && params["authors"] == nil
      return try ObservationMismatch.check(isPart, "A part that is not the last has a token")
    }
    parts = nil
    try ObservationMismatch.check(params["more"] == nil, "more is not true")
    let token = try ObservationMismatch.require(params["token"]?.string, "No token")
    let authors = try ObservationMismatch.require(params["authors"]?.array, "No authors")
    try ObservationMismatch.check(!joined.updates.isEmpty, "A changes without updates")
    try apply(joined.updates)
    position = token
    let removes = joined.updates.flatMap { $0["remove"]?.array ?? [] }
    reports.append(
      Report(
        from: joined.from,
        token: token,
        authors: authors,
        removed: removes.map { ($0["id"]?.string ?? "", $0["deleted"] == true) }
      )
    )
  }

  private func apply(_ updates: [JSONValue]) throws {
    var last = 0
    var updated: Set<String> = []
    for update in updates {
      let name = update["subscription"]?.string ?? ""
      guard var subscription = subscriptions[name], subscription.error == nil else {
        throw ObservationMismatch("There is no subscription \(name)")
      }
      // The contract does not state the place of a subscription that replaced another one.
      if subscription.request.key == nil {
        try ObservationMismatch.check(
          subscription.number > last,
          "The updates are not in the order in which the subscriptions were created"
        )
        last = subscription.number
      }
      try subscription.apply(update)
      subscriptions[name] = subscription
      updated.insert(name)
    }
    for (name, subscription) in live where subscription.request.mode == .signal {
      guard let twin = twin(of: subscription) else { continue }
      try ObservationMismatch.check(
        updated.contains(name) == updated.contains(twin.name),
        """
        The signal \(name) was \(updated.contains(name) ? "sent" : "not sent"), other than the \
        update of \(twin.name), whose request is \(twin.subscription.request.observeParams())
        """
      )
    }
  }

  /// Returns the subscription in mode `values` of a signal's request.
  func twin(
    of signal: ObservedSubscription
  ) -> (name: String, subscription: ObservedSubscription)? {
    guard let pair = signal.pair else { return nil }
    return live.first { $0.subscription.pair == pair && $0.subscription.request.mode != .signal }
  }
}
