import JSON
import JSONRPC

/// The encoder of one `changes`, in one message or in several parts.
struct ChangesMessage {
  let from: String
  let token: String
  let authors: [String?]
  let limits: Limits

  /// The maximum length of a fragment that is copied into one piece with the rest of the message.
  private static let copiedMax = 4096

  /// Returns the messages; only the last one has the new position.
  ///
  /// - Parameter updates: The updates, ordered by subscription.
  /// - Returns: At least one message.
  func parts(_ updates: [(number: Int, body: UpdateBody)]) -> [MessageBytes] {
    var parts: [MessageBytes] = []
    var current: [MessageBytes] = []
    var bytes = 0
    for (number, body) in updates {
      for fragment in body.fragments {
        let update = self.update(number, fragment)
        if bytes + update.count > limits.fragmentBytesMax, !current.isEmpty {
          parts.append(message(current, isLast: false))
          current = []
          bytes = 0
        }
        current.append(update)
        bytes += update.count + 1
      }
    }
    let authorBytes = authors.reduce(0) { $0 + ($1?.utf8.count ?? 0) + 8 }
    if bytes + authorBytes > limits.partBytesMax, !current.isEmpty {
      parts.append(message(current, isLast: false))
      current = []
    }
    parts.append(message(current, isLast: true))
    return parts
  }

  private func update(_ number: Int, _ fragment: MessageBytes) -> MessageBytes {
    var writer = JSONWriter(reserving: 64)
    writer.raw("{\"subscription\":\"s")
    writer.integer(Int64(number))
    writer.raw("\",")
    var update = MessageBytes(writer)
    update.append(fragment)
    update.append(Array("}".utf8))
    return update
  }

  private func message(_ updates: [MessageBytes], isLast: Bool) -> MessageBytes {
    var writer = JSONWriter(reserving: 256)
    writer.raw("{\"jsonrpc\":\"2.0\",\"method\":\"changes\",\"params\":{\"from\":\"")
    writer.raw(string: from)
    writer.raw("\"")
    if isLast {
      writer.raw(",\"token\":\"")
      writer.raw(string: token)
      writer.raw("\",\"authors\":")
      writer.value(.array(authors.map { $0.map { .string($0) } ?? .null }))
    } else {
      writer.raw(",\"more\":true")
    }
    writer.raw(",\"updates\":[")
    var message = MessageBytes([])
    for (index, update) in updates.enumerated() {
      if index > 0 { writer.raw(",") }
      guard update.count > Self.copiedMax else {
        for piece in update.pieces { writer.raw(piece) }
        continue
      }
      message.append(MessageBytes(writer))
      message.append(update)
      writer = JSONWriter(reserving: 256)
    }
    writer.raw("]}}")
    message.append(MessageBytes(writer))
    return message
  }
}
