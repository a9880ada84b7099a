import DequeModule

/// The order of a connection's responses; the responses of a batch form one message.
///
/// A request or batch takes an answer slot when it arrives, and frees the slot when it is answered.
/// With `inOrder`, a response waits until all earlier slots are answered.
///
/// A batch with long responses is sent in parts: first the start of its array, then each response
/// as soon as the response is known. Other messages wait until the array is closed.
///
/// This structure sends nothing. The caller takes the ready messages with `takeReady()` after the
/// mutation, because a sink may report events during a write.
package struct AnswerOrder: Sendable {
  /// Bytes that can be sent: a whole message, or a part of a message.
  struct Ready: Sendable {
    var bytes: MessageBytes
    /// Whether the message ends with these bytes.
    var isEnd = true
  }

  private struct Slot: Sendable {
    /// The responses that have arrived and are not sent.
    var parts: [MessageBytes]
    var missing: Int
    let isBatch: Bool
    /// The count of missing responses that may have to follow other messages; the array can be
    /// opened only when the count is 0.
    var preceded: Int
    /// The number of bytes of `parts`.
    var bytes: Int
    /// Whether the array was opened.
    var isOpen = false
    /// Whether the message was sent; a sent slot remains only to keep the numbers of later slots.
    var isSent = false
  }

  /// The slots in use, in order.
  private var slots: Deque<Slot> = []
  /// The number of the first slot in use.
  private var first = 0
  /// The bytes that can be sent, in order.
  private var ready: Deque<Ready> = []
  /// The slot number of the batch whose array is open; nil if no array is open.
  private var open: Int?
  /// The messages that wait until the array is closed, in order.
  private var later: Deque<MessageBytes> = []
  /// The number of bytes of the responses that cannot be sent yet.
  private(set) var heldBytes = 0

  /// The total length of held responses at which a batch is sent response by response, in bytes.
  static let openBytesMin = 1 << 20

  /// The number of slots in use, including answered slots that wait for a slot before them.
  var count: Int { slots.count }

  /// Whether an array is open; other messages wait until it is closed.
  var isArrayOpen: Bool { open != nil }

  /// Takes a slot for one request, or for a batch with responses that are already known.
  ///
  /// - Parameters:
  ///   - count: The number of requests that are answered in this slot.
  ///   - preceded: The count of these requests whose responses may have to follow other messages.
  ///   - parts: The known responses of a batch.
  ///   - isBatch: Whether the responses form an array.
  /// - Returns: The number of the slot.
  mutating func take(
    for count: Int = 1,
    preceded: Int = 0,
    parts: [MessageBytes] = [],
    isBatch: Bool = false
  ) -> Int {
    let bytes = parts.reduce(0) { $0 + $1.count }
    heldBytes += bytes
    slots.append(
      Slot(parts: parts, missing: count, isBatch: isBatch, preceded: preceded, bytes: bytes)
    )
    return first + slots.count - 1
  }

  /// Adds a response to its slot.
  ///
  /// - Parameters:
  ///   - message: The complete message.
  ///   - number: The number of the request's slot.
  ///   - isPreceded: Whether `take` counted the response in `preceded`.
  ///   - inOrder: Whether responses wait for the responses before them.
  mutating func answer(
    _ message: MessageBytes,
    at number: Int,
    isPreceded: Bool = false,
    inOrder: Bool
  ) {
    let index = number - first
    guard slots.indices.contains(index), slots[index].missing > 0 else { return }
    slots[index].parts.append(message)
    slots[index].bytes += message.count
    heldBytes += message.count
    slots[index].missing -= 1
    if isPreceded { slots[index].preceded -= 1 }
    release(number, inOrder: inOrder)
  }

  /// Adds a message that belongs to no request, in a slot of its own.
  mutating func insert(_ message: MessageBytes, inOrder: Bool) {
    release(take(for: 0, parts: [message]), inOrder: inOrder)
  }

  /// Adds a notification, which waits only for the end of an open array.
  mutating func insertNotification(_ message: MessageBytes) {
    heldBytes += message.count
    send(message)
  }

  /// Removes and returns the next bytes that can be sent, or nil if there are none.
  mutating func takeReady() -> Ready? {
    ready.popFirst()
  }

  // MARK: Limits

  /// The decision whether a request may begin, depending on the held responses.
  package enum Admission: Sendable {
    /// The request may begin: its response can be sent or held.
    case begins
    /// The request waits until held responses are sent. They do not depend on its response.
    case waits
    /// The response belongs to a batch that has to be sent as a whole and is already too long.
    case isTooLong
  }

  /// Decides whether the next request of the connection may begin.
  ///
  /// Requests begin in order. Held responses therefore belong to requests that have begun, or to
  /// the batch of the next request.
  ///
  /// - Parameters:
  ///   - number: The number of the request's slot.
  ///   - heldMax: The number of held bytes at which requests wait.
  ///   - wholeMax: The maximum length of a batch that has to be sent as a whole.
  ///   - inOrder: Whether responses wait for the responses before them.
  /// - Returns: The decision.
  func admission(
    at number: Int,
    heldMax: Int,
    wholeMax: Int,
    inOrder: Bool
  ) -> Admission {
    let index = number - first
    guard slots.indices.contains(index), open != number else { return .begins }
    let slot = slots[index]
    if slot.isBatch, slot.preceded > 0 { return slot.bytes < wholeMax ? .begins : .isTooLong }
    guard heldBytes >= heldMax else { return .begins }
    // The next request begins despite the limit, if its response can be sent as soon as it arrives.
    let isNext = open == nil && (index == 0 || !inOrder)
    return isNext && (!slot.isBatch || slot.bytes == 0) ? .begins : .waits
  }

  /// Returns whether a slot is a batch that has to be sent as a whole and already holds responses.
  func isWhole(_ number: Int) -> Bool {
    let index = number - first
    return slots.indices.contains(index) && slots[index].preceded > 0 && slots[index].bytes > 0
  }

  // MARK: Sending

  /// Moves the message of a complete slot to the ready bytes; with `inOrder`, only after the
  /// messages of all earlier slots.
  mutating func release(_ number: Int, inOrder: Bool) {
    let index = number - first
    guard slots.indices.contains(index) else { return }
    if slots[index].missing == 0, !inOrder || slots[index].isOpen { complete(index) }
    while let slot = slots.first, slot.missing == 0 {
      if !slot.isSent { complete(0) }
      slots.removeFirst()
      first += 1
    }
    sendOpen()
    openArray(inOrder: inOrder)
  }

  /// Makes the unsent bytes of a complete slot ready.
  private mutating func complete(_ index: Int) {
    guard !slots[index].isSent else { return }
    if slots[index].isOpen {
      sendParts(index)
      ready.append(Ready(bytes: MessageBytes([UInt8(ascii: "]")])))
      open = nil
      while let message = later.popFirst() { send(message) }
    } else if let message = Self.message(of: slots[index]) {
      // `heldBytes` does not count the commas and brackets yet, but `send` subtracts them.
      heldBytes += message.count - slots[index].bytes
      send(message)
    }
    slots[index].isSent = true
    slots[index].parts = []
    slots[index].bytes = 0
  }

  /// Makes a message ready, or keeps the message until the array is closed.
  ///
  /// `heldBytes` already counts the message.
  private mutating func send(_ message: MessageBytes) {
    if open != nil {
      later.append(message)
    } else {
      heldBytes -= message.count
      ready.append(Ready(bytes: message))
    }
  }

  /// Sends the new responses of the open array.
  private mutating func sendOpen() {
    guard let open, slots.indices.contains(open - first) else { return }
    sendParts(open - first)
  }

  private mutating func sendParts(_ index: Int) {
    for part in slots[index].parts {
      ready.append(Ready(bytes: MessageBytes([UInt8(ascii: ",")]), isEnd: false))
      ready.append(Ready(bytes: part, isEnd: false))
    }
    heldBytes -= slots[index].bytes
    slots[index].parts = []
    slots[index].bytes = 0
  }

  /// Opens the array of a batch with long responses, if the array may be sent now.
  private mutating func openArray(inOrder: Bool) {
    guard open == nil, heldBytes >= Self.openBytesMin else { return }
    let candidates = inOrder ? slots.prefix(1) : slots[...]
    let found = candidates.firstIndex { slot in
      slot.isBatch && !slot.isSent && slot.preceded == 0 && slot.bytes >= Self.openBytesMin
    }
    guard let index = found, let part = slots[index].parts.first else { return }
    ready.append(Ready(bytes: MessageBytes([UInt8(ascii: "[")]), isEnd: false))
    ready.append(Ready(bytes: part, isEnd: false))
    heldBytes -= part.count
    slots[index].bytes -= part.count
    slots[index].parts.removeFirst()
    slots[index].isOpen = true
    open = first + index
    sendParts(index)
  }

  /// Returns the message of a complete slot, or nil for a batch of only notifications.
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
