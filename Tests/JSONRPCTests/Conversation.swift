import JSON
import JSONRPC
import TestSeeds
import Testing

/// What a connection makes of a stream of bytes, as lines that a test can name.
struct Conversation: Equatable, CustomStringConvertible {
  var lines: [String] = []
  /// The framing at the end of the stream.
  var framing: Framing = .line

  var description: String { "\(framing): " + lines.joined(separator: " | ") }

  /// Feeds a stream in pieces that end at the given places, and then its end.
  init(
    _ bytes: [UInt8],
    cutAt cuts: [Int] = [],
    limits: MessageDecoder.Limits = Self.limits,
    isSocket: Bool = false
  ) {
    var connection = MessageDecoder(limits: limits, closesOnUnknownFraming: isSocket)
    var start = 0
    for end in cuts + [bytes.count] {
      lines += connection.receive(bytes.span.extracting(start..<end)).map(Self.line)
      start = end
    }
    lines += connection.end().map(Self.line)
    framing = connection.framing
  }

  /// Limits that tests reach: 200 bytes, 8 levels, 3 elements.
  static let limits = MessageDecoder.Limits(messageBytesMax: 200, depthMax: 8, batchMax: 3)

  private static func line(_ event: MessageDecoder.Event) -> String {
    switch event {
    case .message(let message, _): text(message)
    case .batch(let elements, _):
      "batch["
        + elements.map { element in
          switch element {
          case .message(let message): text(message)
          case .invalid(let error): "\(error.code)"
          }
        }.joined(separator: ", ") + "]"
    case .reject(let error): "\(error.code)"
    case .close: "close"
    }
  }

  /// `#1 fetch {"a":1}` for a request, `fetch null` for a notification.
  static func text(_ message: Message) -> String {
    switch message {
    case .request(let id, let method, let params): "#\(id.json.text) \(method) \(params.text)"
    case .notification(let method, let params): "\(method) \(params.text)"
    case .response: "response"
    }
  }
}

/// Expects a stream to say this, however it is cut into pieces: the split check.
func check(
  _ bytes: [UInt8],
  _ expected: [String],
  _ framing: Framing,
  limits: MessageDecoder.Limits = Conversation.limits,
  isSocket: Bool = false,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  var cuts: [[Int]] = [[], Array(1..<max(1, bytes.count))]
  if bytes.count <= 400 { cuts += (0...bytes.count).map { [$0] } }
  var random = SplitMix64(seed: UInt64(bytes.count))
  for _ in 0..<10 {
    cuts.append((0..<1 + random.below(6)).map { _ in random.below(bytes.count + 1) }.sorted())
  }
  for cut in cuts {
    let said = Conversation(bytes, cutAt: cut, limits: limits, isSocket: isSocket)
    guard said.lines == expected, said.framing == framing else {
      Issue.record(
        """
        \(String(decoding: bytes.prefix(300), as: UTF8.self).debugDescription)
        cut at \(cut.count < 20 ? "\(cut)" : "every byte") says \(said)
        expected \(framing): \(expected.joined(separator: " | "))
        """,
        sourceLocation: sourceLocation
      )
      return
    }
  }
}

/// Expects a text to say this, however it is cut into pieces.
func check(
  _ text: String,
  _ expected: [String],
  _ framing: Framing,
  limits: MessageDecoder.Limits = Conversation.limits,
  isSocket: Bool = false,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  check(
    Array(text.utf8),
    expected,
    framing,
    limits: limits,
    isSocket: isSocket,
    sourceLocation: sourceLocation
  )
}

/// A message in header framing.
func framed(_ body: String) -> String {
  "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
}

/// A request `a` of the given ID.
func request(_ id: Int) -> String {
  #"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#
}
