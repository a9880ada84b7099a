import CordialProtocol
package import CordialService
package import JSONRPC
import ProtocolSchemas

/// The common settings of a transport's peers.
package struct PeerSettings: Sendable {
  private let framing: Framing?
  private let dialects: [Dialect]
  private let isSocket: Bool
  private let limits: Limits
  private let budget: ByteBudget
  private let makeObserver: (@Sendable () -> any PeerObserver)?

  /// Creates the settings of a transport.
  ///
  /// - Parameters:
  ///   - framing: The framing; nil to detect it from each peer's first bytes.
  ///   - dialects: The dialects that a peer may use, one for each framing.
  ///   - isSocket: Whether bytes of unknown framing close the connection.
  ///   - limits: The limits of the service.
  ///   - budget: The memory of messages.
  ///   - makeObserver: Returns an observer for the messages of a new connection; nil for none.
  package init(
    framing: Framing?,
    dialects: [Dialect] = Dialect.all,
    isSocket: Bool,
    limits: Limits,
    budget: ByteBudget,
    makeObserver: (@Sendable () -> any PeerObserver)? = nil
  ) {
    self.framing = framing
    self.dialects = dialects
    self.isSocket = isSocket
    self.limits = limits
    self.budget = budget
    self.makeObserver = makeObserver
  }

  /// Creates the state of a new connection.
  package func makePeer() -> Peer {
    Peer(
      framing: framing,
      dialects: dialects,
      limits: limits.messages,
      closesOnUnknownFraming: isSocket,
      account: budget.open(),
      observer: makeObserver?(),
      isPreceded: Method.isPreceded(named:)
    )
  }
}
