import JSON
import TestSeeds

/// One comparison of all subscriptions with fetches of their requests.
struct ObserveCheck {
  let host: ServiceHost
  var log: CommitLog
  var random: SplitMix64
  private(set) var ids = StoredIDs()

  /// A question about one subscription, with the IDs of its requests.
  private struct Question {
    let client: ObservedClient
    let name: String
    let subscription: ObservedSubscription
    /// The request of the newest result.
    let now: Int
    /// The request of the result at the position of the connection.
    let past: Int?
  }

  /// A question about the removed rows of a `changes`.
  private struct RemovalQuestion {
    let removed: [(id: String, isDeleted: Bool)]
    let request: Int
    let token: String
  }

  /// Creates a check of a host.
  init(host: ServiceHost, log: CommitLog, random: SplitMix64) {
    self.host = host
    self.log = log
    self.random = random
  }

  /// Asks for all results and compares them.
  ///
  /// - Parameter clients: The connections, which have received all changes.
  /// - Throws: `ObservationMismatch`, or `WaitTimeout`.
  mutating func run(_ clients: [ObservedClient]) throws {
    for client in clients { try client.consume() }
    let peer = HostPeer(host)
    let history = peer.send("history", #"{"since":"\#(log.end)","limit":1000}"#)
    var lists: [String: Int] = [:]
    for entity in StoredIDs.entities {
      lists[entity] = peer.send("fetch", #"{"entity":"\#(entity)","result":"ids"}"#)
    }
    var questions: [Question] = []
    var removals: [RemovalQuestion] = []
    for client in clients where client.isReading {
      for (name, subscription) in client.live where subscription.request.mode != .signal {
        questions.append(ask(peer, client, name, subscription))
      }
      if let removal = ask(peer, about: client.reports.last) { removals.append(removal) }
    }
    let last = peer.send("status")
    try host.run(until: "all results are read") { peer.answer(to: last) != nil }
    var answers: [Int: JSONValue] = [:]
    for message in peer.messages { answers[Int(message["id"]?.integer ?? 0)] = message }
    peer.disconnect()

    let commits = answers[history]?["result"]?["transactions"]?.array
    log.append(try ObservationMismatch.require(commits, "The log cannot be read"))
    for (entity, request) in lists {
      let list = answers[request]?["result"]?["ids"]?.array ?? []
      ids.byEntity[entity] = list.compactMap(\.string)
    }
    for client in clients { try checkAuthors(client) }
    for removal in removals { try compare(removal, answers[removal.request] ?? .null) }
    for question in questions { try compare(question, answers) }
    for client in clients where client.isReading { remember(client) }
  }

  private mutating func ask(
    _ peer: HostPeer,
    _ client: ObservedClient,
    _ name: String,
    _ subscription: ObservedSubscription
  ) -> Question {
    let request = subscription.request
    let now = request.expectation(since: subscription.base, asOf: nil)
    var question = (now: peer.send(now.method, now.params), past: Int?.none)
    // The service may retain no history of commits that it has examined already.
    if let position = client.position, !log.isPurged(position), request.form != .history,
      random.oneIn(3)
    {
      let past = request.expectation(since: subscription.base, asOf: position)
      question.past = peer.send(past.method, past.params)
    }
    return Question(
      client: client,
      name: name,
      subscription: subscription,
      now: question.now,
      past: question.past
    )
  }

  private func ask(
    _ peer: HostPeer,
    about report: ObservedClient.Report?
  ) -> RemovalQuestion? {
    guard let report, !log.isPurged(report.token) else { return nil }
    // The identity of a tag may name another object by now.
    let removed = report.removed.filter { !$0.id.hasPrefix("Tag/") }
    guard !removed.isEmpty else { return nil }
    let ids = JSONValue.array(removed.map { .string($0.id) }).text
    let request = peer.send("fetch", #"{"ids":\#(ids),"asOf":"\#(report.token)"}"#)
    return RemovalQuestion(removed: removed, request: request, token: report.token)
  }

  // MARK: Comparing

  private func compare(_ question: Question, _ answers: [Int: JSONValue]) throws {
    let subscription = question.subscription
    for (request, position) in [(question.now, "now"), (question.past, "asOf")] {
      guard let request else { continue }
      let answer = answers[request] ?? .null
      guard let result = answer["result"] else {
        // A purge may pass the base of a history, whose later transactions were reported.
        if subscription.request.form == .history, log.isPurged(subscription.base) { continue }
        throw ObservationMismatch(
          "The fetch fails \(position), and the subscription has not ended",
          ["request": subscription.request.observeParams(), "answer": answer.text]
        )
      }
      let expected = SubscriptionState(fetched: result, of: subscription.request)
      guard subscription.state.equals(expected, of: subscription.request) else {
        throw ObservationMismatch(
          "The state of \(question.name) differs from the fetch \(position)",
          [
            "request": subscription.request.observeParams(),
            "connection": "coalesce \(question.client.coalesce), \(question.client.position ?? "")",
            "state": subscription.state.text, "expected": expected.text,
          ]
        )
      }
      guard let first = subscription.state.first, position == "now",
        result["token"]?.string == subscription.token
      else { continue }
      let objects = (result["objects"]?.array ?? []).prefix(first.count)
      guard zip(first, objects).allSatisfy({ $0.hasSameContent(as: $1) }) else {
        throw ObservationMismatch(
          "The objects of first differ from the fetch",
          [
            "request": subscription.request.observeParams(),
            "first": JSONValue.array(first).text, "expected": result.text,
          ]
        )
      }
    }
  }

  private func compare(_ removal: RemovalQuestion, _ answer: JSONValue) throws {
    let objects = try ObservationMismatch.require(
      answer["result"]?["objects"]?.array,
      "The removed rows cannot be read at \(removal.token): \(answer.text)"
    )
    for (row, object) in zip(removal.removed, objects) where row.isDeleted != object.isNull {
      throw ObservationMismatch(
        """
        \(row.id) was removed \(row.isDeleted ? "as" : "without") deleted, and at \
        \(removal.token) it is \(object.isNull ? "absent" : "present")
        """
      )
    }
  }

  /// Checks that each `changes` names all authors between its positions.
  private func checkAuthors(_ client: ObservedClient) throws {
    for report in client.reports {
      let named = report.authors.map(\.text)
      let expected = log.authors(after: report.from, through: report.token)
      guard let expected, expected != Set(named) || named.count != expected.count else { continue }
      throw ObservationMismatch(
        "The authors are \(named), and the log has \(expected.sorted())",
        ["from": report.from, "token": report.token]
      )
    }
    client.reports = []
  }

  // MARK: What later checks need

  /// Keeps states to resume from, and begins the next part of each observed history.
  private mutating func remember(_ client: ObservedClient) {
    for (name, subscription) in client.live {
      let keeps = random.oneIn(3)
      let position = client.position ?? subscription.token
      client.update(name) {
        if $0.request.form == .history, $0.request.mode != .signal {
          $0.state.transactions = []
          $0.base = log.end
        }
        guard keeps else { return }
        $0.checkpoints.append(.init(token: position, state: $0.state))
        $0.checkpoints = Array($0.checkpoints.suffix(4))
      }
    }
  }
}
