import CordialProtocol
import Glibc
import JSON
package import JSONRPC
package import PersistentStore

/// A reporter of a migration's progress to a client that uses file descriptors.
///
/// The client's `initialize` waits for the migration, because the service does not run yet. Between
/// two steps, the reporter reads the client's input without blocking, and keeps it for the service.
/// The reporter notifies only a client that sends a `workDoneToken`, because other clients need not
/// expect messages before their first response.
package final class MigrationProgressReporter {
  /// The bytes that were read from the input.
  package private(set) var initialInput: [UInt8] = []

  private let input: Int32
  private let output: Int32
  private var decoder: FrameDecoder
  /// The progress token and the framing; nil before the first message is read, and if that message
  /// has no token.
  private var progressClient: (token: JSONValue, framing: Framing)?
  private var hasFirstMessage = false
  private var hasBegun = false

  /// The maximum number of input bytes to read; the first message is rarely longer.
  private static let initialInputBytesMax = 65536

  /// Creates the reporter of one migration.
  ///
  /// - Parameters:
  ///   - framing: The framing of the client, or nil to detect it from the first bytes.
  ///   - input: The descriptor of the client's requests, read without blocking.
  ///   - output: The descriptor for the notifications. A notification is dropped if the descriptor
  ///     accepts no bytes.
  package init(framing: Framing?, input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) {
    self.input = input
    self.output = output
    decoder = FrameDecoder(framing: framing, messageBytesMax: Self.initialInputBytesMax)
  }

  /// Reports the beginning of a step.
  package func report(_ progress: MigrationProgress) {
    readInput()
    if progressClient != nil, !hasBegun {
      hasBegun = true
      send(progress.begin)
    }
    send(progress.report)
  }

  /// Reports the end of the migration, successful or not.
  package func end() {
    if hasBegun { send(MigrationProgress.end) }
  }

  /// Reads the available input, up to the first message.
  private func readInput() {
    while !hasFirstMessage, initialInput.count < Self.initialInputBytesMax {
      var state = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&state, 1, 0) == 1, state.revents & Int16(POLLIN) != 0 else { return }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(input, &bytes, bytes.count)
      guard count > 0 else { return }
      initialInput += bytes[..<count]
      decoder.receive(bytes.span.extracting(0..<count)) { event, frame in
        guard !hasFirstMessage else { return }
        hasFirstMessage = true
        if case .frame(let framing) = event { readToken(frame, framing) }
      }
    }
  }

  private func readToken(_ frame: Span<UInt8>, _ framing: Framing) {
    do {
      if let token = try JSONParser.parse(frame)["params"]?[.workDoneToken], !token.isNull {
        progressClient = (token, framing)
      }
    } catch {
      // The service reads the message again and reports that it is not JSON.
      progressClient = nil
    }
  }

  /// Writes a notification, unless the output accepts no bytes.
  private func send(_ value: JSONValue) {
    guard let (token, framing) = progressClient else { return }
    let bytes = framing.frame(MigrationProgress.notification(token, value))
    var state = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
    guard unsafe poll(&state, 1, 0) == 1, state.revents & Int16(POLLOUT) != 0 else { return }
    var sent = 0
    while sent < bytes.count {
      let count = unsafe write(output, Array(bytes[sent...]), bytes.count - sent)
      guard count > 0 || errno == EINTR else { return }
      sent += max(count, 0)
    }
  }
}
