import Glibc
import JSON
import JSONRPC
import PersistentStore

/// Tells a client on standard input how far the migration is for which its `initialize` waits.
///
/// Nobody serves yet while a store is migrated: what the client has sent by then is looked at
/// between two steps, without waiting for it, and handed to the service afterwards. Only who asks
/// with a `workDoneToken` is told, since a client need not expect anything before its first answer.
final class MigrationTeller {
  /// What was read from standard input.
  private(set) var early: [UInt8] = []

  private var decoder: FrameDecoder
  /// The token to tell under and the framing, once the first message had one.
  private var wanted: (token: JSONValue, framing: Framing)?
  private var hasFirst = false
  private var hasBegun = false

  /// How much of the client's input is looked at; the first message is hardly longer.
  private static let earlyBytesMax = 65536

  init(framing: Framing?) {
    decoder = FrameDecoder(framing: framing, messageBytesMax: Self.earlyBytesMax)
  }

  /// Tells of a step that begins.
  func tell(_ progress: MigrationProgress) {
    look()
    let percentage = JSONValue.integer(Int64(progress.done * 100 / max(progress.count, 1)))
    if wanted != nil, !hasBegun {
      hasBegun = true
      send([
        "kind": "begin", "title": .string("Migrating \(progress.stage)"), "percentage": percentage,
        "cancellable": false,
      ])
    }
    send(["kind": "report", "message": .string(progress.title), "percentage": percentage])
  }

  /// Tells that the migration is over, whether it came to its end or not.
  func end() {
    if hasBegun { send(["kind": "end"]) }
  }

  /// Reads what is there, up to the first message.
  private func look() {
    while !hasFirst, early.count < Self.earlyBytesMax {
      var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&state, 1, 0) == 1, state.revents & Int16(POLLIN) != 0 else { return }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
      guard count > 0 else { return }
      early += bytes[..<count]
      decoder.receive(bytes.span.extracting(0..<count)) { event, frame in
        guard !hasFirst else { return }
        hasFirst = true
        if case .frame(let framing) = event { first(frame, framing) }
      }
    }
  }

  private func first(_ frame: Span<UInt8>, _ framing: Framing) {
    do {
      if let token = try JSONParser.parse(frame)["params"]?["workDoneToken"], !token.isNull {
        wanted = (token, framing)
      }
    } catch {
      // The service reads it again, and answers that it is no JSON.
      wanted = nil
    }
  }

  /// Writes a notification, unless the client does not take what it was sent before.
  private func send(_ value: JSONValue) {
    guard let (token, framing) = wanted else { return }
    let message: JSONValue = [
      "jsonrpc": "2.0", "method": "$/progress", "params": ["token": token, "value": value],
    ]
    let bytes = framing.frame(Array(message.text.utf8))
    var state = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
    guard unsafe poll(&state, 1, 0) == 1, state.revents & Int16(POLLOUT) != 0 else { return }
    var sent = 0
    while sent < bytes.count {
      let count = unsafe write(STDOUT_FILENO, Array(bytes[sent...]), bytes.count - sent)
      guard count > 0 || errno == EINTR else { return }
      sent += max(count, 0)
    }
  }
}
