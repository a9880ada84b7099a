import JSON

/// A subscription of an observed client.
struct ObservedSubscription {
  /// A state at a position, from which the subscription can resume.
  struct Checkpoint {
    let token: String
    let state: SubscriptionState
  }

  /// The answer to an `observe` with `since`.
  struct Resumption {
    let since: String
    /// `why` of a fresh result; nil where the response has an update.
    let why: String?
    /// Whether the update reports a difference.
    let hasChanged: Bool
  }

  var request: OracleRequest
  var state: SubscriptionState
  /// The token of the response.
  let token: String
  /// The place in the order in which the subscriptions were created.
  var number: Int
  /// The number that a subscription in mode `values` shares with its twin in mode `signal`.
  let pair: Int?
  /// The position after which the transactions of the state begin.
  var base: String
  var checkpoints: [Checkpoint] = []
  /// The error that ended the subscription.
  var error: JSONValue?
  var resumption: Resumption?

  /// Returns the error of a message with the facts about the subscription.
  func mismatch(_ sentence: String, _ message: JSONValue) -> ObservationMismatch {
    ObservationMismatch(
      sentence,
      ["request": request.observeParams(), "state": state.text, "message": message.text]
    )
  }

  /// Applies an update of a `changes`.
  ///
  /// - Parameter update: The joined update, without the parts.
  /// - Throws: `ObservationMismatch`.
  mutating func apply(_ update: JSONValue) throws {
    let old = self
    do {
      if let error = update["error"] {
        self.error = error
      } else if update["fresh"] != nil {
        try startOver(update)
      } else if request.mode == .signal {
        try ObservationMismatch.check(update["signal"] == true, "A signal has no signal: true")
      } else {
        try state.apply(update, of: request)
      }
    } catch let mismatch as ObservationMismatch {
      throw old.mismatch(mismatch.description, update)
    }
  }

  private mutating func startOver(_ update: JSONValue) throws {
    try ObservationMismatch.check(update["fresh"] == true, "fresh is false in changes")
    try ObservationMismatch.check(
      update["why"] == "larger",
      "A live subscription starts over with why \(update["why"]?.text ?? "absent")"
    )
    let result = try SubscriptionState(result: update["result"], of: request)
    try ObservationMismatch.check(
      request.mode == .signal || state.mayExceed(result, of: request),
      "The difference is not larger than the result"
    )
    state = result
  }
}

/// An `observe` that is not answered yet.
struct PendingObserve {
  let request: OracleRequest
  /// The number that the twin in the other mode shares.
  let pair: Int?
  /// The state from which the request resumes.
  let since: ObservedSubscription.Checkpoint?
  /// The earlier states that the subscription had on another connection.
  let checkpoints: [ObservedSubscription.Checkpoint]

  /// Returns the subscription that a response begins.
  ///
  /// - Parameters:
  ///   - response: The result of `observe`.
  ///   - number: The place in the order of the subscriptions.
  /// - Returns: The subscription at the token of the response.
  /// - Throws: `ObservationMismatch`.
  func subscription(_ response: JSONValue, number: Int) throws -> ObservedSubscription {
    do {
      return try begun(response, number: number)
    } catch let mismatch as ObservationMismatch {
      throw ObservationMismatch(
        mismatch.description,
        [
          "request": request.observeParams(since: since?.token),
          "state": since?.state.text ?? "none", "response": response.text,
        ]
      )
    }
  }

  private func begun(_ response: JSONValue, number: Int) throws -> ObservedSubscription {
    let token = try ObservationMismatch.require(response["token"]?.string, "No token")
    let isFresh = try ObservationMismatch.require(response["fresh"]?.bool, "No fresh")
    let why = response["why"]?.string
    var subscription = ObservedSubscription(
      request: request,
      state: SubscriptionState(),
      token: token,
      number: number,
      pair: pair,
      base: token,
      checkpoints: checkpoints
    )
    guard let since else {
      try ObservationMismatch.check(isFresh && why == nil, "A first result is not fresh")
      subscription.state = try SubscriptionState(result: response["result"], of: request)
      return subscription
    }
    var hasChanged = false
    if isFresh {
      subscription.state = try SubscriptionState(result: response["result"], of: request)
      let isAllowed =
        why == "log"
        || (why == "larger" && request.mode == .signal)
        || (why == "larger" && since.state.mayExceed(subscription.state, of: request))
      try ObservationMismatch.check(isAllowed, "why is \(why ?? "absent"), which is not the case")
    } else {
      subscription.state = since.state
      subscription.base = since.token
      let update = try ObservationMismatch.require(response["update"], "No update and not fresh")
      hasChanged = !(update.members ?? []).isEmpty
      try ObservationMismatch.check(why == nil, "An update has why")
      if hasChanged, request.mode == .signal {
        try ObservationMismatch.check(update == ["signal": true], "A signal has another update")
      } else if hasChanged {
        try subscription.state.apply(update, of: request)
      }
    }
    subscription.resumption = ObservedSubscription.Resumption(
      since: since.token,
      why: why,
      hasChanged: hasChanged
    )
    return subscription
  }
}
