/// Several clients of one server; each sends its next request when its last one was answered.
///
/// One thread waits for all of them: threads of their own would take the cores from the server.
struct Clients<Format: ReplyFormat> {
  let connections: [Connection]
  let format: Format

  init(_ count: Int, _ format: Format, connect: () throws -> Connection) throws {
    connections = try (0..<count).map { _ in try connect() }
    self.format = format
  }

  /// Sends all requests, the first of them unmeasured, and reads the replies after the clock stopped.
  func measure(warmUp: Int, _ requests: [[UInt8]]) throws -> Report {
    for reply in try answers(requests.prefix(warmUp)).replies { try format.refuseError(reply) }
    let start = ContinuousClock.now
    let (replies, latencies) = try answers(requests.dropFirst(warmUp))
    let elapsed = ContinuousClock.now - start
    for reply in replies { try format.refuseError(reply) }
    var report = Report(latencies)
    report.add("maxMicroseconds", latencies.percentile(1))
    report.add("perSecond", Double(replies.count) / elapsed.seconds)
    return report
  }

  private func answers(
    _ requests: ArraySlice<[UInt8]>
  ) throws -> (replies: [[UInt8]], latencies: Latencies) {
    var latencies = Latencies(reserving: requests.count)
    var replies: [[UInt8]] = []
    replies.reserveCapacity(requests.count)
    var next = requests.startIndex
    var sent = connections.map { _ in ContinuousClock.now }
    func sendNext(_ client: Int) throws {
      guard next < requests.endIndex else { return }
      sent[client] = .now
      try connections[client].send(requests[next])
      next += 1
    }
    for client in connections.indices { try sendNext(client) }
    while replies.count < requests.count {
      let readable = try Connection.readable(
        among: connections,
        within: CInt(Connection.answerSecondsMax * 1000)
      )
      guard !readable.isEmpty else { throw BenchmarkError("No answer within the time") }
      for client in readable {
        replies.append(try connections[client].receive(format))
        latencies.add(ContinuousClock.now - sent[client])
        try sendNext(client)
      }
    }
    return (replies, latencies)
  }
}
