import Glibc
import JSON
import JSONRPC
package import Logging
package import PersistentStore
import Synchronization

/// A file to which the messages of all connections are appended, one JSON text on each line.
package final class Recorder: Sendable {
  /// The sender of a message.
  package enum Sender: String, Sendable {
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
    /// The memory of the messages that are not complete, in bytes.
    var unfinishedBytes = 0
    /// The file; -1 after the end, or after a write that failed.
    var descriptor: CInt
  }

  /// The maximum memory of the messages that are not complete, in bytes: a message that exceeds it
  /// is not recorded, and `omitted` has the limit.
  package static let messageBytesMax = 64 << 20

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
    // The service does not wait for the reader of a named pipe, nor for a stopped terminal.
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

  /// Records the messages of a new connection, by the number of its channel.
  package func opened(_ channel: Int) {
    state.withLock { state in
      state.channelCount += 1
      state.channels[channel] = Channel(number: state.channelCount)
    }
  }

  package func closed(_ channel: Int) {
    state.withLock { state in
      let closed = state.channels.removeValue(forKey: channel)
      for decoder in closed?.decoders.values.map(\.self) ?? [] {
        state.unfinishedBytes -= decoder.unfinishedBytes
      }
    }
  }

  /// Records the messages that bytes complete.
  package func record(_ bytes: Span<UInt8>, _ sender: Sender, _ channel: Int) {
    let milliseconds = (SystemFacts.microseconds() - start) / 1000
    state.withLock { state in
      // A copy in the dictionary would copy the unfinished message at each call.
      guard state.descriptor >= 0, var recorded = state.channels.removeValue(forKey: channel)
      else { return }
      var lines: [UInt8] = []
      var decoder =
        recorded.decoders.removeValue(forKey: sender)
        ?? FrameDecoder(messageBytesMax: Self.messageBytesMax)
      state.unfinishedBytes -= decoder.unfinishedBytes
      func add(_ event: FrameDecoder.Event, _ frame: Span<UInt8>) {
        let head =
          "{\"at\":\(milliseconds),\"connection\":\(recorded.number),\"from\":\"\(sender)\","
        switch event {
        case .frame:
          guard !frame.isEmpty else { return }
          lines += head.utf8
          lines += "\"message\":".utf8
          Self.add(frame, sender, to: &lines)
        case .oversized, .dropped:
          lines += head.utf8
          lines += "\"message\":null,\"omitted\":\(Self.messageBytesMax)".utf8
        case .unknownFraming, .fatal: return
        }
        lines += "}\n".utf8
      }
      decoder.receive(bytes, add)
      if state.unfinishedBytes + decoder.unfinishedBytes > Self.messageBytesMax {
        decoder.dropUnfinished(add)
      }
      state.unfinishedBytes += decoder.unfinishedBytes
      recorded.decoders[sender] = decoder
      state.channels[channel] = recorded
      guard !lines.isEmpty, !Self.write(lines, to: state.descriptor) else { return }
      let reason = unsafe String(cString: strerror(errno))
      log.error("The recording ends, because \(path) cannot be written: \(reason)")
      _ = Glibc.close(state.descriptor)
      state.descriptor = -1
    }
  }

  /// Adds a message as JSON; as a text where it is none.
  private static func add(_ frame: Span<UInt8>, _ sender: Sender, to lines: inout [UInt8]) {
    // The service writes JSON without line feeds only.
    guard sender == .client else { return JSONBytes.append(frame, to: &lines) }
    var writer = JSONWriter()
    do {
      let parsed = try JSONParser.measure(frame, depthMax: 256, bytesMax: messageBytesMax)
      writer.value(parsed.value)
    } catch {
      writer.string(String(decoding: frame.indices.map { frame[$0] }, as: UTF8.self))
    }
    lines += writer.bytes
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
