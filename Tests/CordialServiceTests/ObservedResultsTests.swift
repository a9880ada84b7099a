import CordialService
import JSON
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Random requests observed during random commits, against `fetch` at the same token.
@Suite struct `Observed results` {
  // Evidence: P-080a, P-080d, P-080e, P-080f, P-081a, P-081b, P-082a, P-082b, P-082c, P-082f
  // Evidence: P-082g, P-082i, P-083, P-084a, P-084b
  @Test(arguments: Seeds.first(40))
  func `equal a fetch at the token of each update`(seed: UInt64) async throws {
    try await onOwnThread {
      let host = try ServiceHost(model: ObserveOracle.model)
      var script = ObserveScript(host, seed: seed)
      try script.run(steps: 40)
      try host.close()
    }
  }
}

/// One random conversation.
private struct ObserveScript {
  private let host: ServiceHost
  private let seed: UInt64
  private var random: SplitMix64
  private let writer: HostPeer
  /// The connection that fetches what the others should have.
  private let checker: HostPeer
  private var observers: [ObservingClient] = []
  private var generator: ObserveGenerator

  init(_ host: ServiceHost, seed: UInt64) {
    self.host = host
    self.seed = seed
    random = SplitMix64(seed: seed)
    writer = HostPeer(host)
    checker = HostPeer(host)
    generator = ObserveGenerator(random: SplitMix64(seed: seed &+ 1000))
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<3 { observers.append(ObservingClient(host)) }
    for _ in 0..<4 { try commit() }
    for _ in 0..<steps {
      switch random.below(9) {
      case 0, 1: try observe()
      case 2: try reconnect()
      case 3: if let observer = observers.first { observer.peer.stopReading() }
      case 4: if let observer = observers.first { observer.peer.resumeReading() }
      default: for _ in 0..<1 + random.below(3) { try commit() }
      }
      try host.settle()
      guard try check() else { return }
    }
  }

  private mutating func observe() throws {
    let index = random.below(observers.count)
    // A peer that does not read gets no response.
    observers[index].peer.resumeReading()
    try host.settle()
    let request = generator.request()
    let key = random.oneIn(5) ? "k" : nil
    try observers[index].observe(request, key: key, since: nil)
  }

  /// Replaces a connection by another one, which resumes from the positions of the first.
  private mutating func reconnect() throws {
    let index = 1 + random.below(observers.count - 1)
    let old = observers[index]
    guard let position = old.position else { return }
    old.peer.disconnect()
    for _ in 0..<random.below(3) { try commit() }
    let new = ObservingClient(host)
    observers[index] = new
    for subscription in old.live { try new.observe(subscription, since: position) }
  }

  private mutating func commit() throws {
    if random.oneIn(12) {
      let sql = generator.externalStatement()
      try ForeignWriter.write(host.store.container.storePath, sql)
      host.service.lookForCommits()
      return
    }
    let (method, params) = generator.commit()
    // Some random changes do not fit the model.
    _ = try writer.call(method, params.text)
  }

  /// Compares every client's results with what a fetch returns at its position.
  private mutating func check() throws -> Bool {
    for observer in observers {
      observer.update()
      if let problem = observer.problem { return fail(problem) }
      guard let position = observer.position else { continue }
      for subscription in observer.live {
        guard let expected = try expectation(subscription, at: position) else { continue }
        guard subscription.state != expected else { continue }
        return fail(
          """
          \(subscription.request.text) at \(position)
          has      \(subscription.state.text.prefix(3000))
          expected \(expected.text.prefix(3000))
          """
        )
      }
      for (values, signal) in observer.twins where values.updates != signal.updates {
        return fail("signal \(signal.updates), values \(values.updates): \(values.request.text)")
      }
    }
    return true
  }

  private func fail(_ problem: String) -> Bool {
    Issue.record(
      "\(problem)\n\(Seeds.repeating(seed, "equal a fetch at the token of each update"))"
    )
    return false
  }

  /// Returns the state that a client should have; nil for a request without a result.
  private func expectation(_ subscription: ObservedState, at token: String) throws -> JSONValue? {
    guard subscription.mode != "signal", subscription.request["history"] == nil else { return nil }
    var fetch = subscription.request["fetch"]?.members ?? subscription.request.members ?? []
    fetch.removeAll { ["before", "mode", "first", "explain"].contains($0.name) }
    if subscription.mode == "ids", subscription.request["fetch"] != nil {
      fetch.removeAll { $0.name == "result" }
      fetch.append(JSONMember("result", "ids"))
    }
    fetch.append(JSONMember("asOf", .string(token)))
    let result = try checker.call("fetch", JSONValue.object(fetch).text)
    guard result["code"] == nil else { throw Unexpected(text: "\(fetch): \(result.text)") }
    return ObservedState.normalized(result, mode: subscription.mode)
  }

  private struct Unexpected: Error { let text: String }
}
