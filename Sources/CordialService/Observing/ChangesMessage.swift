import CordialProtocol
import JSON
import JSONRPC

/// The encoder of one `changes` notification, which becomes one message or several parts.
struct ChangesMessage: Sendable {
  let from: String
  let token: String
  let authors: [String?]
  let limits: Limits

  /// A message with the fragments of its updates, which become bytes when the peer reads them.
  struct Part: Sendable {
    fileprivate let message: ChangesMessage
    fileprivate let updates: [(number: Int, fragment: UpdateFragment)]
    fileprivate let isLast: Bool

    var bytes: MessageBytes { message.bytes(of: self) }

    /// The memory of the part until it becomes bytes.
    var ownBytes: Int { updates.reduce(0) { $0 + $1.fragment.ownBytes } }
  }

  /// The maximum length in bytes of a fragment that is copied; a longer fragment stays a separate
  /// piece of the message.
  private static let copiedMax = 4096
  /// The maximum number of bytes around a fragment.
  private static let frameBytes = 48

  /// Returns the messages with the updates; only the last message has the new position.
  ///
  /// - Parameter updates: The updates, ordered by subscription.
  /// - Returns: At least one message.
  func parts(_ updates: [(number: Int, body: UpdateBody)]) -> [Part] {
    var parts: [Part] = []
    var current: [(number: Int, fragment: UpdateFragment)] = []
    var bytes = 0
    func end(isLast: Bool) {
      parts.append(Part(message: self, updates: current, isLast: isLast))
      current = []
      bytes = 0
    }
    for (number, body) in updates {
      for fragment in body.fragments {
        let length = fragment.bytesMax + Self.frameBytes
        if bytes + length > limits.fragmentBytesMax, !current.isEmpty { end(isLast: false) }
        current.append((number, fragment))
        bytes += length
      }
    }
    let authorBytes = authors.reduce(0) { $0 + ($1?.utf8.count ?? 0) + 8 }
    if bytes + authorBytes > limits.partBytesMax, !current.isEmpty { end(isLast: false) }
    end(isLast: true)
    return parts
  }

  private func bytes(of part: Part) -> MessageBytes {
    var writer = JSONWriter(reserving: 256)
    MessageWriter.beginNotification(MethodName.changes.rawValue, &writer)
    writer.key(.from, after: "{")
    writer.raw("\"")
    writer.raw(string: from)
    writer.raw("\"")
    if part.isLast {
      writer.key(.token, after: ",")
      writer.raw("\"")
      writer.raw(string: token)
      writer.key(.authors, after: "\",")
      writer.value(.array(authors.map { $0.map { .string($0) } ?? .null }))
    } else {
      writer.key(.more, after: ",")
      writer.raw("true")
    }
    writer.key(.updates, after: ",")
    writer.raw("[")
    var message = MessageBytes([])
    for (index, (number, fragment)) in part.updates.enumerated() {
      writer.key(.subscription, after: index > 0 ? ",{" : "{")
      writer.raw("\"s")
      writer.integer(Int64(number))
      writer.raw("\",")
      let bytes = fragment.bytes
      if bytes.count > Self.copiedMax {
        message.append(MessageBytes(writer))
        message.append(bytes)
        writer = JSONWriter(reserving: 256)
      } else {
        for piece in bytes.pieces { writer.raw(piece) }
      }
      writer.raw("}")
    }
    writer.raw("]}}")
    message.append(MessageBytes(writer))
    return message
  }
}
