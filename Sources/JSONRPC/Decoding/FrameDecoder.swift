import JSON

/// The rule that separates the messages in a stream of bytes.
package enum Framing: String, Sendable, CaseIterable {
  /// One JSON text on each line.
  case line
  /// `Content-Length` headers, as in LSP.
  case header

  /// Returns the bytes of a message in this framing.
  package func frame(_ body: [UInt8]) -> [UInt8] {
    head(of: body.count) + body + tail
  }

  /// Returns the bytes that precede a message of `count` bytes.
  package func head(of count: Int) -> [UInt8] {
    switch self {
    case .line: []
    case .header: Array("Content-Length: \(count)\r\n\r\n".utf8)
    }
  }

  /// The bytes that follow a message.
  package var tail: [UInt8] {
    switch self {
    case .line: [0x0A]
    case .header: []
    }
  }
}

/// A decoder that cuts a stream of bytes into frames; the first bytes choose the framing.
///
/// Transitions:
/// - `undecided` to `line` or `header` when the first bytes identify the framing.
/// - `undecided` to `discarding` when the first bytes belong to neither framing.
/// - `line` to `discarding` at a line over the limit.
/// - `discarding` to `line` at the end of the line.
/// - `header` to `body` at an empty line, and back to `header` after the body.
/// - `line` to `discarding`, and `body` to `skipping`, when the decoder drops the unfinished
///   message.
/// - `skipping` to `header` after the body.
/// - `header` to `closed` at a header that cannot be read. The decoder ignores all later bytes.
/// - Every state to `closed` at the end of the stream.
package struct FrameDecoder {
  /// An event of the decoder; the frame's bytes are passed as a separate argument.
  package enum Event: Equatable, Sendable {
    /// A frame in this framing; the passed bytes are its content.
    case frame(Framing)
    /// A line over the limit; the decoder skips the rest of the line.
    case oversized
    /// An unfinished message that the decoder drops because the memory for messages is used up; the
    /// decoder skips the rest of the message.
    case dropped
    /// Bytes of neither framing, reported once; the decoder continues at the next line.
    case unknownFraming
    /// A header that cannot be read, with the message of its error; the decoder ignores all later
    /// bytes.
    case fatal(String)
  }

  private enum State: Equatable {
    case undecided
    case line
    case discarding
    case header
    case body(Int)
    /// The count of the remaining bytes of a dropped body, which the decoder skips.
    case skipping(Int)
    case closed
  }

  /// The maximum length of a header block, in bytes.
  package static let headerBytesMax = 8192
  /// The maximum number of fields in a header block.
  package static let headerFieldsMax = 32
  /// The maximum length of the first header's name, in bytes.
  private static let nameBytesMax = 64

  private var state: State
  /// The framing, nil until the first bytes choose it.
  package private(set) var framing: Framing?
  /// Whether the stream is past the position of a byte order mark.
  private var hasBegun = false
  private var pending: [UInt8] = []
  /// The number of bytes of `pending` that are known to contain no line feed.
  private var searched = 0
  private let messageBytesMax: Int
  /// The account of the unfinished message; nil for a decoder whose memory has no limit.
  private let account: ByteBudget.Account?

  /// Creates a decoder at the beginning of a stream.
  ///
  /// - Parameters:
  ///   - framing: The framing if it is known in advance, nil to let the first bytes choose it.
  ///   - messageBytesMax: The maximum length of a frame, in bytes.
  ///   - account: The account of the unfinished message; nil for a decoder whose memory has no
  ///     limit.
  package init(
    framing: Framing? = nil,
    messageBytesMax: Int,
    account: ByteBudget.Account? = nil
  ) {
    self.messageBytesMax = messageBytesMax
    self.account = account
    self.framing = framing
    switch framing {
    case .line: state = .line
    case .header: state = .header
    case nil: state = .undecided
    }
  }

  /// Receives bytes and reports the events that they complete.
  ///
  /// - Parameters:
  ///   - bytes: The next bytes of the stream.
  ///   - emit: Called for each event, with the frame's bytes for `frame`, otherwise with no bytes.
  package mutating func receive(
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) {
    guard state != .closed else { return }
    if pending.isEmpty {
      let used = process(bytes, emit)
      append(bytes.extracting(used..<bytes.count))
    } else {
      // If the memory for a longer message is used up, `makeRoom` drops the message before it
      // grows.
      guard makeRoom(for: bytes.count, emit) else { return receive(bytes, emit) }
      append(bytes)
      let buffered = pending
      pending = []
      let used = process(buffered.span, emit)
      pending = used == 0 ? buffered : Array(buffered[used...])
    }
    if let account, account.setUnfinished(pending.capacity) { dropUnfinished(emit) }
  }

  /// Drops the unfinished message if it is long, and skips the rest of the message.
  ///
  /// - Parameter emit: Called with `dropped`.
  package mutating func dropUnfinished(_ emit: (Event, Span<UInt8>) -> Void) {
    // The decoder keeps a short message, so the account counts the message again.
    guard pending.capacity > ByteBudget.unfinishedMin else {
      _ = account?.setUnfinished(pending.capacity)
      return
    }
    switch state {
    case .line: state = .discarding
    case .body(let count): state = .skipping(count - pending.count)
    // The decoder keeps no long message in these states.
    case .undecided, .discarding, .header, .skipping, .closed:
      _ = account?.setUnfinished(pending.capacity)
      return
    }
    pending = []
    searched = 0
    _ = account?.setUnfinished(0)
    emit(.dropped, pending.span)
  }

  /// Reports the events that the end of the stream completes.
  ///
  /// In line framing, these events include a last line without a line feed.
  package mutating func end(_ emit: (Event, Span<UInt8>) -> Void) {
    let buffered = pending
    pending = []
    defer { _ = account?.setUnfinished(0) }
    switch state {
    case .line:
      emitLine(buffered.span, emit)
    case .undecided where !isBlank(buffered.span):
      emit(.unknownFraming, buffered.span.extracting(0..<0))
    default: break
    }
    state = .closed
  }

  /// The memory of the unfinished message, in bytes.
  package var unfinishedBytes: Int { pending.capacity }

  /// Reserves capacity for more bytes of the unfinished message.
  ///
  /// While the bytes are copied, the message takes both its former and its new memory.
  ///
  /// - Returns: Whether the unfinished message still exists; if not, it was dropped.
  private mutating func makeRoom(for count: Int, _ emit: (Event, Span<UInt8>) -> Void) -> Bool {
    let (needed, former) = (pending.count + count, pending.capacity)
    guard needed > former else { return true }
    let capacity = max(needed, former + former / 2)
    if let account, account.setUnfinished(former + capacity) {
      dropUnfinished(emit)
      if pending.isEmpty { return false }
    }
    pending.reserveCapacity(capacity)
    return true
  }

  private mutating func append(_ bytes: Span<UInt8>) {
    guard state != .closed else { return }
    JSONBytes.append(bytes, to: &pending)
  }

  /// Processes bytes and returns the number of bytes that it consumed.
  private mutating func process(
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int {
    var start = 0
    while true {
      let rest = bytes.extracting(start..<bytes.count)
      let used: Int?
      switch state {
      case .undecided: used = decide(rest, emit)
      case .line: used = line(rest, emit)
      case .discarding: used = discard(rest)
      case .header: used = header(rest, emit)
      case .body(let count): used = body(rest, count, emit)
      case .skipping(let count): used = skip(rest, count)
      case .closed: return bytes.count
      }
      guard let used else { return start }
      start += used
    }
  }

  // MARK: The first bytes

  private mutating func decide(
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int? {
    guard !bytes.isEmpty else { return nil }
    if !hasBegun, bytes[0] == 0xEF {
      guard bytes.count >= 3 else { return nil }
      if bytes[1] == 0xBB, bytes[2] == 0xBF {
        hasBegun = true
        return 3
      }
    }
    hasBegun = true
    if isSpace(bytes[0]) { return 1 }
    if bytes[0] == UInt8(ascii: "{") || bytes[0] == UInt8(ascii: "[") {
      state = .line
      framing = .line
      return 0
    }
    var end = 0
    while end < bytes.count, isNameByte(bytes[end]), end <= Self.nameBytesMax { end += 1 }
    if end == bytes.count, end <= Self.nameBytesMax { return nil }
    if end > 0, end < bytes.count, bytes[end] == UInt8(ascii: ":") {
      state = .header
      framing = .header
      return 0
    }
    emit(.unknownFraming, bytes.extracting(0..<0))
    state = .discarding
    framing = .line
    return 0
  }

  private func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private func isBlank(_ bytes: Span<UInt8>) -> Bool {
    for index in bytes.indices where !isSpace(bytes[index]) { return false }
    return true
  }

  // MARK: Lines

  private mutating func line(
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int? {
    let end = JSONBytes.firstIndex(of: 0x0A, in: bytes, from: searched)
    searched = 0
    guard end < bytes.count else {
      if end > messageBytesMax {
        emit(.oversized, bytes.extracting(0..<0))
        state = .discarding
        return end
      }
      searched = end
      return nil
    }
    if end > messageBytesMax {
      emit(.oversized, bytes.extracting(0..<0))
    } else {
      emitLine(bytes.extracting(0..<end), emit)
    }
    return end + 1
  }

  private func emitLine(_ line: Span<UInt8>, _ emit: (Event, Span<UInt8>) -> Void) {
    guard !isBlank(line) else { return }
    emit(.frame(.line), line)
  }

  private mutating func discard(_ bytes: Span<UInt8>) -> Int? {
    let end = JSONBytes.firstIndex(of: 0x0A, in: bytes, from: 0)
    guard end < bytes.count else { return end == 0 ? nil : end }
    state = .line
    return end + 1
  }

  // MARK: Headers

  private mutating func header(
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int? {
    var block = HeaderBlock()
    switch block.read(bytes) {
    case .incomplete:
      guard bytes.count > Self.headerBytesMax else { return nil }
      return fail("A header is at most \(Self.headerBytesMax) bytes long", bytes, emit)
    case .broken(let reason): return fail(reason, bytes, emit)
    case .complete(let used, let length):
      guard length <= messageBytesMax else {
        return fail("A message is at most \(messageBytesMax) bytes, not \(length)", bytes, emit)
      }
      state = .body(length)
      return used
    }
  }

  private mutating func body(
    _ bytes: Span<UInt8>,
    _ count: Int,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int? {
    guard bytes.count >= count else { return nil }
    state = .header
    let hasByteOrderMark = count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    emit(.frame(.header), bytes.extracting((hasByteOrderMark ? 3 : 0)..<count))
    return count
  }

  private mutating func skip(_ bytes: Span<UInt8>, _ count: Int) -> Int? {
    guard count <= bytes.count else {
      state = .skipping(count - bytes.count)
      return bytes.isEmpty ? nil : bytes.count
    }
    state = .header
    return count
  }

  private mutating func fail(
    _ reason: String,
    _ bytes: Span<UInt8>,
    _ emit: (Event, Span<UInt8>) -> Void
  ) -> Int? {
    emit(.fatal(reason), bytes.extracting(0..<0))
    state = .closed
    return bytes.count
  }
}
