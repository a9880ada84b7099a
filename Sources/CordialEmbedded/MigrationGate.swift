package import CordialService
import JSON
package import JSONRPC
package import PersistentStore
import Synchronization
package import Transport

/// The owner of a socket's channels from the start of the program.
///
/// While the store is opened and migrated, clients connect, read the state and wait. The channels
/// then get the owner that serves them, which receives what they sent before.
package final class MigrationGate: ByteChannelOwner {
  private struct State {
    var connections: [Int: (channel: ByteChannel, held: HeldConnection)] = [:]
    var progress: MigrationProgress?
    /// The owner after the migration.
    var owner: (any ByteChannelOwner)?
  }

  private let loop: TransportLoop
  private let framing: Framing?
  private let limits: Limits
  /// The path of the store's folder.
  private let storePath: String
  private let state = Mutex(State())

  /// Creates an owner that holds its channels.
  ///
  /// - Parameters:
  ///   - loop: The thread of the channels.
  ///   - framing: The framing, nil to let each peer's first bytes choose it.
  ///   - limits: The limits of the service.
  ///   - storePath: The path of the store's folder.
  package init(loop: TransportLoop, framing: Framing?, limits: Limits, storePath: String) {
    self.loop = loop
    self.framing = framing
    self.limits = limits
    self.storePath = storePath
  }

  // MARK: The migration

  /// Reports a step to the clients that wait; called on any thread.
  package func report(_ progress: MigrationProgress) {
    loop.execute {
      self.state.withLock { $0.progress = progress }
      self.updateAll { $0.report(progress) }
    }
  }

  /// Lets the service receive what the clients sent; called on any thread, once.
  package func open(_ owner: any ByteChannelOwner) {
    loop.execute {
      let connections = self.state.withLock { state in
        state.owner = owner
        defer { state.connections = [:] }
        return state.connections.sorted { $0.key < $1.key }.map(\.value)
      }
      for (channel, held) in connections where !held.isRefused {
        Self.write(held.end(), to: channel)
        owner.opened(channel)
        channel.setReading(true)
        let input = held.remainingInput
        if !input.isEmpty { owner.received(input.span, on: channel) }
        if held.hasEnded { owner.inputEnded(on: channel) }
      }
    }
  }

  /// Fails the requests of the clients that wait, because the store cannot be opened; called on
  /// any thread, once.
  package func fail(_ error: StoreError) {
    loop.execute {
      let connections = self.state.withLock { state in
        defer { state.connections = [:] }
        return state.connections.values.map { $0 }
      }
      for (channel, held) in connections where !held.isRefused {
        Self.write(held.end() + held.failures(error), to: channel)
        channel.close(exitCode: 1)
      }
    }
  }

  /// The result of `status` during the migration.
  private func status(_ state: borrowing State) -> JSONValue {
    var members: [JSONMember] = [
      JSONMember("state", "migrating"),
      JSONMember("store", ["path": .string(storePath)]),
      JSONMember("connections", .integer(Int64(state.connections.count))),
      JSONMember("subscriptions", 0), JSONMember("followers", []), JSONMember("slowSorts", []),
      JSONMember("unusedIndexes", []),
    ]
    if let progress = state.progress { members.append(JSONMember("migrating", progress.json)) }
    return .object(members)
  }

  // MARK: Channels

  package func opened(_ channel: ByteChannel) {
    let owner = state.withLock { state in
      if state.owner == nil {
        let held = HeldConnection(framing: framing, messageBytesMax: limits.messageBytesMax)
        state.connections[channel.number] = (channel, held)
      }
      return state.owner
    }
    owner?.opened(channel)
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    if let owner = servingOwner { return owner.received(bytes, on: channel) }
    let waitMax = limits.waitMax
    let deadline = SystemFacts.microseconds() + Int64(waitMax) * 1000
    let status = state.withLock { self.status($0) }
    update(channel.number) { $0.receive(bytes, status: status, deadline: deadline) }
    loop.schedule(milliseconds: waitMax) { [weak self] in self?.expire(channel.number) }
  }

  private func expire(_ number: Int) {
    let progress = state.withLock { $0.progress }
    update(number) { $0.expire(at: SystemFacts.microseconds(), progress) }
  }

  package func inputEnded(on channel: ByteChannel) {
    if let owner = servingOwner { return owner.inputEnded(on: channel) }
    update(channel.number) { held in
      held.hasEnded = true
      return []
    }
  }

  package func becameWritable(_ channel: ByteChannel) {
    servingOwner?.becameWritable(channel)
  }

  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {
    servingOwner?.gaveUp(on: channel, unacceptedBytes: unacceptedBytes)
  }

  package func closed(_ channel: ByteChannel) {
    if let owner = servingOwner { return owner.closed(channel) }
    state.withLock { $0.connections[channel.number] = nil }
  }

  private var servingOwner: (any ByteChannelOwner)? { state.withLock { $0.owner } }

  private func updateAll(_ body: (inout HeldConnection) -> [UInt8]) {
    for number in state.withLock({ $0.connections.keys.sorted() }) { update(number, body) }
  }

  /// Changes what is held of a connection, and writes what that returns.
  private func update(_ number: Int, _ body: (inout HeldConnection) -> [UInt8]) {
    let outcome = state.withLock { state -> (ByteChannel, [UInt8], HeldConnection)? in
      guard var connection = state.connections[number] else { return nil }
      let output = body(&connection.held)
      state.connections[number] = connection
      return (connection.channel, output, connection.held)
    }
    guard let (channel, output, held) = outcome else { return }
    Self.write(output, to: channel)
    if held.isRefused { return channel.close(exitCode: 1) }
    if held.isDone { return channel.close(exitCode: 0) }
    channel.setReading(held.heldBytes <= limits.inFlightBytesMax)
  }

  private static func write(_ bytes: [UInt8], to channel: ByteChannel) {
    if !bytes.isEmpty { channel.write([bytes]) }
  }
}
