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
  private let budget: ByteBudget
  /// The path of the store's folder.
  private let storePath: String
  private let state = Mutex(State())

  /// Creates an owner that holds its channels.
  ///
  /// - Parameters:
  ///   - loop: The thread of the channels.
  ///   - framing: The framing, nil to let each peer's first bytes choose it.
  ///   - limits: The limits of the service.
  ///   - budget: The memory of messages, which the service has afterwards.
  ///   - storePath: The path of the store's folder.
  package init(
    loop: TransportLoop,
    framing: Framing?,
    limits: Limits,
    budget: ByteBudget,
    storePath: String
  ) {
    self.loop = loop
    self.framing = framing
    self.limits = limits
    self.budget = budget
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
        held.release()
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
    let (owner, isRefused) = state.withLock { state in
      guard state.owner == nil else { return (state.owner, false) }
      guard state.connections.count < limits.connectionsMax else { return (nil, true) }
      let number = channel.number
      let account = budget.open { [weak self, loop] in
        loop.execute { self?.update(number) { $0.dropUnfinished() } }
      }
      let held = HeldConnection(
        framing: framing,
        limits: limits.connection,
        account: account
      )
      state.connections[number] = (channel, held)
      return (nil, false)
    }
    owner?.opened(channel)
    guard isRefused else { return }
    let error = Limits.exceeded(
      "connections",
      max: limits.connectionsMax,
      "There are too many connections"
    )
    Self.write(Framing.line.frame(MessageWriter.error(.null, error)), to: channel)
    channel.close(exitCode: 1)
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
    let outcome = state.withLock { state -> (ByteChannel, [UInt8], Next)? in
      // A copy in the dictionary would copy the unfinished message at each call.
      guard var connection = state.connections.removeValue(forKey: number) else { return nil }
      let output = body(&connection.held)
      let held = connection.held
      let next: Next =
        held.isRefused ? .closes(1) : held.isDone ? .closes(0) : .reads(reads(held))
      state.connections[number] = connection
      return (connection.channel, output, next)
    }
    guard let (channel, output, next) = outcome else { return }
    Self.write(output, to: channel)
    switch next {
    case .closes(let exitCode): channel.close(exitCode: exitCode)
    case .reads(let reads): channel.setReading(reads)
    }
  }

  /// What happens to a connection after an update.
  private enum Next {
    case closes(Int32)
    case reads(Bool)
  }

  /// Whether a client is read: its messages wait for the service, and take memory until then.
  private func reads(_ held: HeldConnection) -> Bool {
    held.heldCount <= 2 * limits.inFlightMax && held.heldBytes <= limits.inFlightBytesMax
      && !(budget.isFullOfRequests && held.heldBytes > 0)
  }

  private static func write(_ bytes: [UInt8], to channel: ByteChannel) {
    if !bytes.isEmpty { channel.write([bytes]) }
  }
}
