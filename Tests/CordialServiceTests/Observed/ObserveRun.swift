import CordialService
import JSON
import PersistentStore
import TestSeeds
import TestStores

/// One run of a random script: observing connections, writing connections, an external SQLite
/// client, lost connections and restarts.
///
/// After most steps, each subscription is compared with a fetch of the same request.
final class ObserveRun {
  private static let clientsMax = 3
  private static let subscriptionsMax = 7

  private(set) var host: ServiceHost
  private let options: ServiceHost.Options
  private var random: SplitMix64
  private var ids = StoredIDs()
  private var log: CommitLog
  private(set) var clients: [ObservedClient] = []
  private var writers: [HostPeer] = []
  private var pairs = 0
  /// The requests that were observed.
  private var requests: [OracleRequest] = []
  /// Whether each request is answered before the next one is sent, so that two runs of one seed
  /// send the same.
  private let isSettled: Bool
  /// The connections that observed, in the order of their creation.
  private var observers: [HostPeer] = []
  /// The number of writes that the service accepted, and of those that it refused.
  private(set) var accepted = 0
  private(set) var refused = 0

  /// Creates a store with a few objects, and connections to it.
  ///
  /// - Parameters:
  ///   - seed: The seed of the script.
  ///   - isSettled: Whether each request is answered before the next one is sent.
  ///   - matchesInMemory: Whether the service matches changes with requests in memory.
  /// - Throws: `StoreError`, `WaitTimeout`, or `ObservationMismatch`.
  init(seed: UInt64, isSettled: Bool = false, matchesInMemory: Bool = true) throws {
    var random = SplitMix64(seed: seed)
    var options = ServiceHost.Options()
    options.folder = try TestFolder()
    options.limits.historyDaysMin = 0
    // Half of the runs receive long changes in parts.
    if random.oneIn(2) { options.limits.partBytesMax = 1500 }
    // Few spare rows are used up by few changes.
    options.limits.windowSpareMax = random.pick([1, 2, 1000])
    options.limits.matchesInMemory = matchesInMemory
    // Steps leave out all requests, or those that take longer than a millisecond.
    if !isSettled { options.stepMilliseconds = [10_000, 0, 1][Int(seed % 3)] }
    let periods = (0..<Self.clientsMax).map { $0 == 0 ? 0 : 50 * random.below(2) }
    let host = try ServiceHost(model: ObserveOracle.model, options)
    self.options = options
    self.isSettled = isSettled
    self.random = random
    self.host = host
    let token = try HostPeer(host).call("history")["token"]?.string
    log = CommitLog(start: try ObservationMismatch.require(token, "A history has no token"))
    try connect(coalesce: periods)
    let first = RandomWrite.first(&self.random)
    let saved = try writers[0].call(first.method, first.params.text)
    try ObservationMismatch.check(saved["token"] != nil, "The first save failed: \(saved.text)")
    try check()
  }

  private func connect(coalesce: [Int]) throws {
    clients = try coalesce.map { try ObservedClient(host, coalesce: $0) }
    observers += clients.map(\.peer)
    writers = [HostPeer(host), HostPeer(host)]
  }

  /// Carries out random steps, and compares everything at the end.
  ///
  /// - Parameter steps: The number of steps.
  /// - Throws: `ObservationMismatch`, or `WaitTimeout`.
  func run(steps: Int) throws {
    for _ in 0..<3 { try observe() }
    for _ in 0..<steps {
      try step()
      if !random.oneIn(4) { try check() }
    }
    for client in clients where !client.isReading { client.setReading(true) }
    try check()
    tally()
    try host.close()
  }

  private func step() throws {
    switch random.below(24) {
    case 0...4: try observe()
    case 5: try unobserve()
    case 6:
      let client = random.pick(clients)
      client.setReading(!client.isReading)
      // Otherwise a write of the same client is answered before or after what it has not read.
      if isSettled { try host.settle() }
    case 7, 8: try resume()
    case 9 where random.oneIn(3): try restart()
    case 10 where random.oneIn(2): try purge()
    case 11: try host.advance(milliseconds: random.below(80))
    default: try write(1 + random.below(4))
    }
  }

  // MARK: Writing

  /// Sends writes, with and without waiting for the answers.
  private func write(_ count: Int) throws {
    for _ in 0..<count {
      // When the service takes up an external commit is not determined.
      if !isSettled, random.oneIn(6) {
        try host.settle()
        try ForeignWriter.write(host.store.container.storePath, RandomSQL.random(ids, &random))
        if !random.oneIn(3) { host.service.lookForCommits() }
      } else {
        let write = RandomWrite.random(ids, &random)
        var peer = random.pick(writers)
        // A connection is notified of its own writes too.
        if random.oneIn(6), let client = clients.first(where: \.isReading) { peer = client.peer }
        peer.send(write.method, write.params.text)
      }
      if random.oneIn(2) || isSettled { try host.settle() }
    }
  }

  /// Everything that the observing connections received, one text for each, without explanations
  /// and with the commits' numbers for tokens.
  ///
  /// The parts of an update are joined, because explanations and tokens decide where it is divided.
  func received() throws -> [String] {
    try observers.map { peer in
      try whole(peer.messages).map { $0.without("explanation").text }.joined(separator: "\n")
        .replacing(/[0-9a-f]+-(\d+)-[0-9a-f]+/) { "commit \($0.output.1)" }
    }
  }

  private func whole(_ messages: [JSONValue]) throws -> [JSONValue] {
    var parts: JoinedParts?
    var whole: [JSONValue] = []
    for message in messages {
      guard message["method"] == "changes", let params = message["params"] else {
        whole.append(message)
        continue
      }
      var joined = parts ?? JoinedParts(from: params["from"]?.string ?? "")
      try joined.add(params)
      parts = params["more"] == true ? joined : nil
      guard parts == nil else { continue }
      whole.append([
        "from": params["from"] ?? .null, "token": params["token"] ?? .null,
        "authors": params["authors"] ?? .null, "updates": .array(joined.updates),
      ])
    }
    return whole
  }

  private func tally() {
    for message in writers.flatMap(\.messages) {
      if message["result"] != nil { accepted += 1 } else { refused += 1 }
    }
  }

  // MARK: Observing

  private func observe() throws {
    guard let client = random.any(clients.filter(\.isReading)) else { return }
    try client.consume()
    let live = client.live
    if live.count >= Self.subscriptionsMax { end(live, of: client) }
    // Equal requests share results, also with those that have ended.
    var request =
      random.oneIn(3)
      ? random.any(requests) ?? .random(ids, &random)
      : .random(ids, &random)
    request.key = nil
    requests.append(request)
    if random.oneIn(3) { try write(1) }
    if random.oneIn(3), !(request.form == .objects && request.returnsIDs), request.mode == .values {
      pairs += 1
      client.observe(request, pair: pairs)
      if isSettled { try host.settle() }
      if random.oneIn(3) { try write(1) }
      client.observe(request.signal, pair: pairs)
      if isSettled { try host.settle() }
    } else {
      if random.oneIn(4) { request.key = "k\(random.below(2))" }
      client.observe(request)
      if isSettled { try host.settle() }
    }
    if random.oneIn(3) { try write(1) }
    try host.settle()
    try client.consume()
  }

  private func unobserve() throws {
    guard let client = random.any(clients.filter(\.isReading)) else { return }
    try client.consume()
    end(client.live, of: client)
    if random.oneIn(2) { try write(1) }
    try host.settle()
    try client.consume()
  }

  /// Ends one subscription, and its twin in mode `signal`.
  private func end(
    _ live: [(name: String, subscription: ObservedSubscription)],
    of client: ObservedClient
  ) {
    guard let chosen = random.any(live) else { return }
    for (name, subscription) in live {
      let isTwin = subscription.pair != nil && subscription.pair == chosen.subscription.pair
      if name == chosen.name || isTwin { client.unobserve(name) }
    }
  }

  // MARK: Resuming

  /// Drops a connection and observes the same requests on another one.
  private func resume() throws {
    try check()
    let index = random.below(clients.count)
    let old = clients[index]
    try old.consume()
    old.peer.disconnect()
    clients[index] = try ObservedClient(host, coalesce: old.coalesce)
    observers.append(clients[index].peer)
    if random.oneIn(2) { try write(1 + random.below(3)) }
    if random.oneIn(3) { try purge() }
    try resume(old, as: clients[index])
    try check()
  }

  /// Stops the service and serves the same store again.
  private func restart() throws {
    for client in clients where !client.isReading { client.setReading(true) }
    try check()
    tally()
    let old = clients
    try host.close()
    host = try ServiceHost(model: nil, options)
    try connect(coalesce: old.map(\.coalesce))
    if random.oneIn(2) { try write(2) }
    for (old, new) in zip(old, clients) { try resume(old, as: new) }
    try check()
  }

  /// Observes the requests of a lost connection, each from a position of its own.
  private func resume(_ old: ObservedClient, as client: ObservedClient) throws {
    try host.settle()
    var chosen: [Int: ObservedSubscription.Checkpoint] = [:]
    for (_, subscription) in old.live {
      guard let position = old.position else { continue }
      let now = ObservedSubscription.Checkpoint(token: position, state: subscription.state)
      var since = random.oneIn(3) ? random.any(subscription.checkpoints) ?? now : now
      // The twins resume from one position, so that their responses can be compared.
      if let pair = subscription.pair {
        since = chosen[pair] ?? since
        chosen[pair] = since
      }
      var state = since.state
      state.transactions = []
      state.first = nil
      client.observe(
        subscription.request,
        pair: subscription.pair,
        since: ObservedSubscription.Checkpoint(token: since.token, state: state),
        checkpoints: subscription.checkpoints
      )
    }
    try host.settle()
    try client.consume()
    for (name, subscription) in client.live { try checkResumption(name, subscription, client) }
  }

  private func checkResumption(
    _ name: String,
    _ subscription: ObservedSubscription,
    _ client: ObservedClient
  ) throws {
    guard let resumption = subscription.resumption else { return }
    let facts: KeyValuePairs = [
      "request": subscription.request.observeParams(since: resumption.since),
      "resumption": "\(resumption)",
    ]
    guard (resumption.why == "log") == log.isPurged(resumption.since) else {
      throw ObservationMismatch("Only a purged position starts over with log", facts)
    }
    guard subscription.request.mode == .signal, let twin = client.twin(of: subscription),
      let other = twin.subscription.resumption
    else { return }
    // A signal has no result that could be smaller than the difference.
    let isLarger = other.why == "larger"
    let expected = (why: isLarger ? nil : other.why, hasChanged: isLarger || other.hasChanged)
    guard resumption.why == expected.why, resumption.hasChanged == expected.hasChanged else {
      throw ObservationMismatch("A signal resumes other than values: \(other)", facts)
    }
  }

  /// Removes the beginning of the log.
  private func purge() throws {
    try check()
    let params = #"{"keep":{"transactions":\#(random.below(4))}}"#
    let answer = try writers[0].call("history/purge", params)
    try host.settlePurge()
    let token = answer["token"]?.string
    log.purge(to: try ObservationMismatch.require(token, "history/purge failed: \(answer.text)"))
  }

  // MARK: Comparing

  /// Waits for all changes and compares each subscription with a fetch of its request.
  private func check() throws {
    try quiesce()
    var check = ObserveCheck(host: host, log: log, random: random)
    try check.run(clients)
    random = check.random
    log = check.log
    ids = check.ids
  }

  /// Waits until every connection that reads has received all changes.
  private func quiesce() throws {
    for _ in 0..<2 {
      try host.settle()
      host.service.lookForCommits()
    }
    try host.settle()
    // The last changes are sent at the end of the period, or before the answer to a flush.
    guard random.oneIn(2) else { return try host.advance(milliseconds: 100) }
    for client in clients where client.isReading { client.peer.send("observe/flush") }
    try host.settle()
  }
}

extension JSONValue {
  /// The value without the members of a name.
  fileprivate func without(_ name: String) -> JSONValue {
    switch self {
    case .object(let members):
      .object(
        members.filter { $0.name != name }.map { JSONMember($0.name, $0.value.without(name)) }
      )
    case .array(let elements): .array(elements.map { $0.without(name) })
    default: self
    }
  }
}
