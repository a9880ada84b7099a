import JSONRPC

/// One connection of a transcript.
final class TranscriptPeer {
  /// A message or another action of the service on the connection.
  enum Arrival {
    case message(String)
    case event(String)
  }

  let name: String
  let session: HostSession
  let framing: Framing
  private var splitter: MessageSplitter
  /// The number of responses that arrived.
  private(set) var responseCount = 0
  /// The number of responses that the sent messages require.
  var expectedCount = 0
  /// Bytes that are sent together with the next message.
  var pending: [UInt8] = []
  private var arrivals: [Arrival] = []

  /// Creates a peer.
  init(name: String, session: HostSession, framing: Framing) {
    self.name = name
    self.session = session
    self.framing = framing
    splitter = MessageSplitter(framing: framing)
  }

  /// Whether every sent request was answered, or never will be.
  var isAnswered: Bool {
    collect()
    return responseCount >= expectedCount || session.sink.isClosed
  }

  /// Returns and removes the arrivals.
  func takeArrivals() -> [Arrival] {
    collect()
    defer { arrivals = [] }
    return arrivals
  }

  private func collect() {
    for event in session.sink.takeEvents() {
      switch event {
      case .wrote(let bytes):
        for message in splitter.take(bytes) {
          let text = String(decoding: message, as: UTF8.self)
          if !text.contains("\"method\":\"changes\"") { responseCount += 1 }
          arrivals.append(.message(text))
        }
        if !splitter.remainder.isEmpty {
          let rest = String(decoding: splitter.remainder, as: UTF8.self)
          arrivals.append(.event("incomplete message: \(rest)"))
        }
      case .reading(let reads):
        arrivals.append(.event(reads ? "reading resumed" : "reading suspended"))
      case .abort: arrivals.append(.event("cut"))
      case .closed(let code): arrivals.append(.event("closed with exit code \(code)"))
      }
    }
  }
}
