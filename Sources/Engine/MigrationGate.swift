import CordialProtocol
package import CordialService
import JSON
package import JSONRPC
package import PersistentStore
import Synchronization
package import Transport

/// The owner of a socket's channels from the start of the program.
///
/// While the store is opened and migrated, clients can connect and read the status, and their other
/// requests wait. A `Responder` then takes over the peers and answers the waiting requests.
package final class MigrationGate: ByteChannelOwner {
  private struct State {
    var connections: [Int: (channel: ByteChannel, held: HeldConnection)] = [:]
    var progress: MigrationProgress?
    /// The channels that have to close before the program ends, and the closure to call when they
    /// have closed.
    var ending: (channels: Set<Int>, ended: @Sendable () -> Void)?
    /// The responder that answers the requests after the migration; nil before.
    var responder: (any Responder)?
  }

  private let loop: TransportLoop
  private let settings: PeerSettings
  private let limits: Limits
  private let budget: ByteBudget
  /// The path of the store's folder.
  private let storePath: String
  private let state = Mutex(State())

  /// Creates an owner that holds the requests of its channels.
  ///
  /// - Parameters:
  ///   - loop: The thread of the channels.
  ///   - settings: The common settings of the peers.
  ///   - limits: The limits of the service.
  ///   - budget: The memory of messages, which the service uses after the migration.
  ///   - storePath: The path of the store's folder.
  package init(
    loop: TransportLoop,
    settings: PeerSettings,
    limits: Limits,
    budget: ByteBudget,
    storePath: String
  ) {
    self.loop = loop
    self.settings = settings
    self.limits = limits
    self.budget = budget
    self.storePath = storePath
  }

  // MARK: The migration

  /// Reports a step to the waiting clients; called on any thread.
  package func report(_ progress: MigrationProgress) {
    loop.execute {
      self.state.withLock { $0.progress = progress }
      self.updateAll { $0.report(progress) }
    }
  }

  /// Passes all channels and their waiting requests to a responder; called on any thread, once.
  package func open(_ responder: any Responder) {
    loop.execute {
      let connections = self.state.withLock { state in
        state.responder = responder
        defer { state.connections = [:] }
        return state.connections.sorted { $0.key < $1.key }.map(\.value)
      }
      for (channel, connection) in connections {
        var held = connection
        held.endProgress()
        Self.write(held.takeOutput(), to: channel)
        channel.setReading(true)
        responder.opened(channel, held.release())
      }
    }
  }

  /// Fails the waiting requests, because the store cannot be opened; called on any thread, once.
  package func fail(_ error: StoreError) {
    loop.execute {
      let connections = self.state.withLock { state in
        defer { state.connections = [:] }
        return state.connections.values.map { $0 }
      }
      for (channel, connection) in connections {
        var held = connection
        held.endProgress()
        held.fail(error)
        Self.write(held.takeOutput(), to: channel)
        channel.close(exitCode: 1)
      }
    }
  }

  /// Fails the waiting requests, because the program ends, and returns when their connections have
  /// ended; called on any thread, once.
  package func stop() async {
    let error = StoreError(.closed, "The service is stopping")
    await withCheckedContinuation { continuation in
      let isWaiting = Mutex(true)
      let ended = { @Sendable in
        let resumes = isWaiting.withLock { isWaiting in
          defer { isWaiting = false }
          return isWaiting
        }
        if resumes { continuation.resume() }
      }
      loop.execute {
        let channels = self.state.withLock { state in
          let channels = Set(state.connections.keys)
          state.ending = (channels, ended)
          return channels
        }
        if channels.isEmpty { ended() }
      }
      fail(error)
      // A client that does not read delays the end of the program by at most this time.
      loop.schedule(milliseconds: 1000 * limits.stopSecondsMax, ended)
    }
  }

  /// The state of the migration for requests that arrive now.
  private var moment: HeldConnection.Moment {
    let (progress, count) = state.withLock { ($0.progress, $0.connections.count) }
    return HeldConnection.Moment(
      status: status(progress, connectionCount: count),
      deadline: SystemFacts.microseconds() + Int64(limits.waitMax) * 1000
    )
  }

  /// The result of `status` during the migration.
  private func status(_ progress: MigrationProgress?, connectionCount: Int) -> JSONValue {
    var result = StatusCall.Result(
      state: "migrating",
      store: StatusCall.Store(path: storePath),
      connections: Int64(connectionCount)
    )
    result.migrating = progress?.wire
    return result.json
  }

  // MARK: Channels

  package func opened(_ channel: ByteChannel) {
    let (responder, isRefused) = state.withLock { state -> ((any Responder)?, Bool) in
      guard state.responder == nil else { return (state.responder, false) }
      guard state.connections.count < limits.connectionsMax else { return (nil, true) }
      let number = channel.number
      let peer = settings.makePeer()
      peer.account.whenDropped { [weak self, loop] in
        loop.execute {
          guard let self else { return }
          let moment = self.moment
          self.update(number) { $0.dropUnfinished(moment) }
        }
      }
      state.connections[number] = (channel, HeldConnection(peer))
      return (nil, false)
    }
    responder?.opened(channel)
    guard isRefused else { return }
    let error = Limits.exceeded(
      "connections",
      max: limits.connectionsMax,
      "There are too many connections"
    )
    Self.write([Framing.line.frame(MessageWriter.error(.null, error))], to: channel)
    channel.close(exitCode: 1)
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    if let responder { return responder.received(bytes, on: channel) }
    let moment = moment
    update(channel.number) { $0.receive(bytes, moment) }
    loop.schedule(milliseconds: limits.waitMax) { [weak self] in self?.expire(channel.number) }
  }

  private func expire(_ number: Int) {
    let progress = state.withLock { $0.progress }
    update(number) { $0.expire(at: SystemFacts.microseconds(), progress) }
  }

  package func inputEnded(on channel: ByteChannel) {
    if let responder { return responder.inputEnded(on: channel) }
    let moment = moment
    update(channel.number) { $0.endInput(moment) }
    loop.schedule(milliseconds: limits.waitMax) { [weak self] in self?.expire(channel.number) }
  }

  package func becameWritable(_ channel: ByteChannel) {
    responder?.becameWritable(channel)
  }

  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {
    responder?.gaveUp(on: channel, unacceptedBytes: unacceptedBytes)
  }

  package func closed(_ channel: ByteChannel) {
    if let responder { return responder.closed(channel) }
    let ended = state.withLock { state -> (@Sendable () -> Void)? in
      state.connections[channel.number] = nil
      state.ending?.channels.remove(channel.number)
      return state.ending?.channels.isEmpty == true ? state.ending?.ended : nil
    }
    ended?()
  }

  private var responder: (any Responder)? { state.withLock { $0.responder } }

  private func updateAll(_ body: (inout HeldConnection) -> Void) {
    for number in state.withLock({ $0.connections.keys.sorted() }) { update(number, body) }
  }

  /// Changes the state of a connection during the migration, then writes its output to the client.
  private func update(_ number: Int, _ body: (inout HeldConnection) -> Void) {
    // While the dictionary also holds the connection, a change copies the waiting requests. The
    // connection is therefore removed first.
    guard var connection = state.withLock({ $0.connections.removeValue(forKey: number) })
    else { return }
    body(&connection.held)
    let output = connection.held.takeOutput()
    let exitCode = connection.held.takeEnd()
    let (channel, reads) = (connection.channel, reads(connection.held))
    state.withLock { $0.connections[number] = connection }
    Self.write(output, to: channel)
    if let exitCode { channel.close(exitCode: exitCode) } else { channel.setReading(reads) }
  }

  /// Returns whether to read from a client.
  ///
  /// The client's waiting requests take memory until the service exists.
  private func reads(_ held: HeldConnection) -> Bool {
    held.heldCount <= 2 * limits.inFlightMax && held.requestBytes <= limits.inFlightBytesMax
      && !(budget.isFullOfRequests && held.requestBytes > 0)
  }

  private static func write(_ pieces: [[UInt8]], to channel: ByteChannel) {
    if !pieces.isEmpty { channel.write(pieces) }
  }
}
