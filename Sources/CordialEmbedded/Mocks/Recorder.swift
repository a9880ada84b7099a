import Glibc
import JSON
import JSONRPC
package import Logging
package import PersistentStore
import Synchronization

/// A file to which the messages of all connections are appended, one JSON text on each line.
package final class Recorder: Sendable {
  /// The sender of a message.
  enum Sender: String, Sendable {
    case client, service
  }

  private struct Channel {
    /// The number of the connection, from 1 in the order in which they open.
    let number: Int
    var decoders: [Sender: FrameDecoder] = [:]
  }

  private struct State {
    var channels: [Int: Channel] = [:]
    var channelCount = 0
    /// The file; -1 after the end, or after a write that failed.
    var descriptor: CInt
  }

  private let path: String
  private let log: Logger
  private let start = SystemFacts.microseconds()
  private let state: Mutex<State>

  /// Opens a file, which is created where it does not exist.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - log: The logger for a write that fails.
  /// - Throws: `StoreError` where the file cannot be written.
  package init(path: String, log: Logger) throws(StoreError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
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

  func opened(_ channel: Int) {
    state.withLock { state in
      state.channelCount += 1
      state.channels[channel] = Channel(number: state.channelCount)
    }
  }

  func closed(_ channel: Int) {
    state.withLock { state in _ = state.channels.removeValue(forKey: channel) }
  }

  /// Records the messages that bytes complete.
  func record(_ bytes: Span<UInt8>, _ sender: Sender, _ channel: Int) {
    let milliseconds = (SystemFacts.microseconds() - start) / 1000
    state.withLock { state in
      guard state.descriptor >= 0, let number = state.channels[channel]?.number else { return }
      var lines: [UInt8] = []
      var decoder =
        state.channels[channel]?.decoders[sender] ?? FrameDecoder(messageBytesMax: Int.max)
      decoder.receive(bytes) { event, frame in
        guard case .frame = event, !frame.isEmpty else { return }
        let entry: JSONValue = [
          "at": .integer(milliseconds), "connection": .integer(Int64(number)),
          "from": .string(sender.rawValue), "message": Self.message(frame),
        ]
        lines += Array(entry.text.utf8) + [0x0A]
      }
      state.channels[channel]?.decoders[sender] = decoder
      guard !lines.isEmpty, !Self.write(lines, to: state.descriptor) else { return }
      let reason = unsafe String(cString: strerror(errno))
      log.error("The recording ends, because \(path) cannot be written: \(reason)")
      _ = Glibc.close(state.descriptor)
      state.descriptor = -1
    }
  }

  /// A message as JSON; as a text where it is none.
  private static func message(_ frame: Span<UInt8>) -> JSONValue {
    do {
      return try JSONParser.parse(frame, depthMax: 256)
    } catch {
      return .string(String(decoding: frame.indices.map { frame[$0] }, as: UTF8.self))
    }
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
