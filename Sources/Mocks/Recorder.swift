import Engine
import Glibc
import JSON
package import JSONRPC
package import Logging
package import PersistentStore
import Synchronization

/// A file to which the messages of all connections are appended, one JSON text on each line.
package final class Recorder: Sendable {
  private struct State {
    var connectionCount = 0
    /// The memory of the unfinished messages, in bytes.
    var unfinishedBytes = 0
    /// The file descriptor; -1 after the end of the recording, or after a write that failed.
    var descriptor: CInt
  }

  /// The maximum memory of unfinished messages, and the maximum length of a message of the service,
  /// in bytes.
  ///
  /// The line of a longer message has null in place of the message, and the member `omitted`.
  package static let unfinishedBytesMax = 64 << 20
  /// The maximum length of input that is not JSON and is recorded as a text, in bytes.
  fileprivate static let textBytesMax = 1 << 20

  private let path: String
  private let log: Logger
  private let start = SystemFacts.microseconds()
  private let state: Mutex<State>

  /// Opens a file, which is created if it does not exist.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - log: The logger for a write that fails.
  /// - Throws: `StoreError` if the file cannot be written.
  package init(path: String, log: Logger) throws(StoreError) {
    // `O_NONBLOCK`: the service waits neither for the reader of a named pipe nor for a stopped
    // terminal.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
      let reason = unsafe String(cString: strerror(errno))
      throw StoreError(.cannotOpen, "\(path) cannot be written: \(reason)")
    }
    self.path = path
    self.log = log
    state = Mutex(State(descriptor: descriptor))
  }

  deinit {
    close()
  }

  /// Ends the recording.
  package func close() {
    state.withLock { state in
      if state.descriptor >= 0 { _ = Glibc.close(state.descriptor) }
      state.descriptor = -1
    }
  }

  /// Returns an observer that records the messages of a new connection.
  package func connect() -> any PeerObserver {
    let number = state.withLock { state in
      state.connectionCount += 1
      return state.connectionCount
    }
    return RecordedConnection(self, number)
  }

  /// The sender of a message.
  fileprivate enum Sender: String, Sendable {
    case client, service
  }

  /// Appends a line to the file.
  ///
  /// - Parameters:
  ///   - connection: The number of the connection.
  ///   - sender: The sender of the message.
  ///   - message: The JSON text of the message in pieces, or null and the member `omitted`.
  fileprivate func add(_ connection: Int, _ sender: Sender, _ message: [[UInt8]]) {
    let milliseconds = (SystemFacts.microseconds() - start) / 1000
    let head =
      "{\"at\":\(milliseconds),\"connection\":\(connection),\"from\":\"\(sender)\",\"message\":"
    // The pieces of a long message are not joined, because a copy would take as much memory again.
    let pieces = [Array(head.utf8)] + message + [Array("}\n".utf8)]
    let isShort = message.reduce(0) { $0 + $1.count } < 1 << 16
    let writes = isShort ? [Array(pieces.joined())] : pieces
    state.withLock { state in
      guard state.descriptor >= 0,
        !writes.allSatisfy({ Self.write($0, to: state.descriptor) })
      else { return }
      let reason = unsafe String(cString: strerror(errno))
      log.error("The recording ends, because \(path) cannot be written: \(reason)")
      _ = Glibc.close(state.descriptor)
      state.descriptor = -1
    }
  }

  /// Counts the bytes of one part of an unfinished message.
  ///
  /// - Returns: Whether there is memory for the part.
  fileprivate func keep(_ bytes: Int) -> Bool {
    state.withLock { state in
      guard state.unfinishedBytes + bytes <= Self.unfinishedBytesMax else { return false }
      state.unfinishedBytes += bytes
      return true
    }
  }

  /// Subtracts bytes that the recorder no longer keeps.
  fileprivate func release(_ bytes: Int) {
    state.withLock { $0.unfinishedBytes -= bytes }
  }

  private static func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
    var done = 0
    while done < bytes.count {
      let written = unsafe bytes[done...].withUnsafeBytes { rest in
        unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { return false }
      done += written
    }
    return true
  }
}

/// An observer that records the messages of one connection.
private final class RecordedConnection: PeerObserver {
  private struct Parts {
    var pieces: [[UInt8]] = []
    var bytes = 0
    /// Whether the message is omitted, because its parts did not fit into memory.
    var isOmitted = false
  }

  private let recorder: Recorder
  private let number: Int
  /// The parts of the service's unfinished message.
  private let parts = Mutex(Parts())

  init(_ recorder: Recorder, _ number: Int) {
    self.recorder = recorder
    self.number = number
  }

  deinit {
    recorder.release(parts.withLock { $0.bytes })
  }

  func received(_ message: JSONValue) {
    recorder.add(number, .client, [Array(message.text.utf8)])
  }

  func received(unreadable bytes: Span<UInt8>) {
    guard bytes.count <= Recorder.textBytesMax else { return omitted(limit: "recordingBytes") }
    var writer = JSONWriter()
    writer.string(String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self))
    recorder.add(number, .client, [writer.bytes])
  }

  func omitted(limit: String) {
    recorder.add(number, .client, [Self.omission(limit)])
  }

  func sent(_ pieces: [[UInt8]], isEnd: Bool) {
    let bytes = pieces.reduce(0) { $0 + $1.count }
    let message = parts.withLock { parts -> [[UInt8]]? in
      if isEnd, parts.pieces.isEmpty, !parts.isOmitted {
        return bytes <= Recorder.unfinishedBytesMax ? pieces : [Self.omission("recordingBytes")]
      }
      if !parts.isOmitted, recorder.keep(bytes) {
        parts.pieces += pieces
        parts.bytes += bytes
      } else {
        recorder.release(parts.bytes)
        parts = Parts(isOmitted: true)
      }
      guard isEnd else { return nil }
      defer { parts = Parts() }
      recorder.release(parts.bytes)
      return parts.isOmitted ? [Self.omission("recordingBytes")] : parts.pieces
    }
    if let message { recorder.add(number, .service, message) }
  }

  /// Returns null and the member `omitted`, for the line of a message that is not recorded.
  private static func omission(_ limit: String) -> [UInt8] {
    Array("null,\"omitted\":\"\(limit)\"".utf8)
  }
}
