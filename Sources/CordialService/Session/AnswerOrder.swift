import DequeModule
import JSONRPC

/// The order of a connection's responses; the responses of a batch form one message.
///
/// A request or batch takes an answer slot when it arrives, and frees the slot when it is answered.
/// With `inOrder`, a response waits for the responses before it.
///
/// This structure sends nothing. The caller takes the ready messages with `takeReady()` after the
/// mutation, because a sink may report events during a write.
struct AnswerOrder {
  private struct Slot {
    /// The responses that have arrived.
    var parts: [MessageBytes]
    var missing: Int
    let isBatch: Bool
    /// Whether the message was sent, so that the slot only keeps the numbers of the slots after it.
    var isSent = false
  }

  /// The slots in use, in order.
  private var slots: Deque<Slot> = []
  /// The number of the first slot in use.
  private var first = 0
  /// The messages that can be sent, in order.
  private var ready: Deque<MessageBytes> = []

  /// The number of slots in use, including answered slots that wait for a slot before them.
  var count: Int { slots.count }

  /// Takes a slot for one request, or for a batch with responses that are already known.
  ///
  /// - Parameters:
  ///   - count: The number of requests that are answered in this slot.
  ///   - parts: The known responses of a batch.
  ///   - isBatch: Whether the responses form an array.
  /// - Returns: The number of the slot.
  mutating func take(
    for count: Int = 1,
    parts: [MessageBytes] = [],
    isBatch: Bool = false
  ) -> Int {
    slots.append(Slot(parts: parts, missing: count, isBatch: isBatch))
    return first + slots.count - 1
  }

  /// Adds a response to its slot.
  ///
  /// - Parameters:
  ///   - message: The complete message.
  ///   - number: The number of the request's slot.
  ///   - inOrder: Whether responses wait for the responses before them.
  mutating func answer(_ message: MessageBytes, at number: Int, inOrder: Bool) {
    let index = number - first
    guard slots.indices.contains(index), slots[index].missing > 0 else { return }
    slots[index].parts.append(message)
    slots[index].missing -= 1
    release(number, inOrder: inOrder)
  }

  /// Adds a message that belongs to no request, in a slot of its own.
  mutating func insert(_ message: MessageBytes, inOrder: Bool) {
    release(take(for: 0, parts: [message]), inOrder: inOrder)
  }

  /// Removes and returns the next message that can be sent, or nil if there is none.
  mutating func takeReady() -> MessageBytes? {
    ready.popFirst()
  }

  /// Makes the message of a complete slot ready; with `inOrder`, the slots before it come first.
  mutating func release(_ number: Int, inOrder: Bool) {
    let index = number - first
    guard slots.indices.contains(index), slots[index].missing == 0 else { return }
    if !inOrder, !slots[index].isSent {
      if let message = Self.message(of: slots[index]) { ready.append(message) }
      slots[index].isSent = true
      slots[index].parts = []
    }
    while let slot = slots.first, slot.missing == 0 {
      if !slot.isSent, let message = Self.message(of: slot) { ready.append(message) }
      slots.removeFirst()
      first += 1
    }
  }

  /// Returns the message of a complete slot, or nil for a batch of notifications alone.
  private static func message(of slot: Slot) -> MessageBytes? {
    guard slot.isBatch else { return slot.parts.first }
    guard let first = slot.parts.first else { return nil }
    var message = MessageBytes([UInt8(ascii: "[")])
    message.append(first)
    for part in slot.parts.dropFirst() {
      message.append([UInt8(ascii: ",")])
      message.append(part)
    }
    message.append([UInt8(ascii: "]")])
    return message
  }
}
