import Foundation
import Glibc
import TestSeeds

/// Drives the clients of the fuzz test in one poll loop, and watches the process.
final class Fuzz {
  private static let clientsMax = 8
  /// So many saves of `FuzzCorpus.growth` objects, spread over the run.
  private static let growthSaves = 105

  private let seed: UInt64
  private let messageCount: Int
  private let daemon: Daemon
  private let corpus: FuzzCorpus
  private var random: SplitMix64
  private var clients: [FuzzClient] = []
  private var clientCount = 0
  private var sent = 0
  private var grown = 0
  private var said = ""

  init(_ daemon: Daemon, folder: String, seed: UInt64, messages: Int) {
    self.daemon = daemon
    self.seed = seed
    messageCount = messages
    corpus = FuzzCorpus(folder: folder)
    random = SplitMix64(seed: seed)
  }

  /// Sends all messages, and reads every answer.
  ///
  /// - Returns: How many objects were inserted by saves that let the store grow.
  /// - Throws: `Failure` when the process ends, hangs, or answers wrongly.
  func run() throws -> Int {
    let growing = try client(.growing)
    do {
      while sent < messageCount || !clients.isEmpty || grown < Self.growthSaves
        || growing.outstandingCount > 0
      {
        try sendMore(growing)
        try turn(growing)
      }
      growing.stopSending()
      while try !growing.finish() { try turn(growing) }
    } catch let failure as Failure {
      throw try report(failure)
    }
    return growing.growthCount * FuzzCorpus.growth
  }

  private func client(_ role: FuzzClient.Role) throws -> FuzzClient {
    clientCount += 1
    return try FuzzClient(
      clientCount,
      role: role,
      socket: daemon.socket,
      corpus: corpus,
      random: SplitMix64(seed: random.next())
    )
  }

  private func sendMore(_ growing: FuzzClient) throws {
    while grown < Self.growthSaves, growing.outstandingCount < 2,
      grown * messageCount <= sent * Self.growthSaves
    {
      growing.sendGrowth()
      grown += 1
    }
    while clients.count < Self.clientsMax, sent < messageCount {
      clients.append(try client(random.oneIn(3) ? .leaving : .staying))
    }
    for client in clients {
      for _ in 0..<16 where client.takesMore && sent < messageCount {
        client.sendNext()
        sent += 1
      }
      if sent >= messageCount { client.stopSending() }
    }
  }

  /// One poll, and what can be done after it.
  private func turn(_ growing: FuzzClient) throws {
    let all = [growing] + clients
    var now = ContinuousClock.now
    var polls = all.map { $0.poll(now) }
    _ = unsafe poll(&polls, nfds_t(polls.count), 20)
    now = .now
    said = String((said + daemon.child.errors.availableText()).suffix(20_000))
    for (client, poll) in zip(all, polls) { try client.advance(poll.revents, now) }
    if daemon.child.errors.hasEnded { throw Failure("the process ended") }
    clients = try clients.filter { try !$0.finish() }
  }

  /// What is known of a failure, with a file of what was sent last.
  private func report(_ failure: Failure) throws -> Failure {
    let folder = FileManager.default.temporaryDirectory
    let place = folder.appending(path: "cordial-fuzz-\(seed).log").path(percentEncoded: false)
    var log = Data()
    for client in clients {
      log += Data("== client \(client.number) \(client.role) headers \(client.hasHeaders)\n".utf8)
      for message in client.recent { log += Data(message) + Data([0x0A]) }
      for answer in client.answers { log += Data("-- answer of \(answer)\n".utf8) }
    }
    _ = FileManager.default.createFile(atPath: place, contents: log)
    var text = "\(failure.description)\nafter \(sent) messages; what was sent last is in \(place)"
    // A process that dies closes its sockets one by one, a moment before all of it is gone.
    for _ in 0..<20 where !daemon.child.errors.hasEnded {
      _ = poll(nil, 0, 50)
      said = String((said + daemon.child.errors.availableText()).suffix(20_000))
    }
    if daemon.child.errors.hasEnded {
      text += "\nexit code \(try daemon.child.exitCode()): \(said)"
    } else {
      text += "\nthe process is alive"
    }
    return Failure(text)
  }
}
