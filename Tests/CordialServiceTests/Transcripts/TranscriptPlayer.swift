import CordialService
import Foundation
import JSON
import JSONRPC
import PersistentStore
import TestStores

/// Replays one transcript against a service host.
///
/// Steps other than messages, where NAME is a connection and may be left out for the connection
/// without a name:
///
/// - `== connect NAME line|header|guess|socket`: opens a connection. `guess` and `socket` detect the
///   framing; with `socket`, bytes of unknown framing close the connection.
/// - `== end NAME`: the peer's input ends.
/// - `== disconnect NAME`: the connection is closed.
/// - `== full NAME`, `== drain NAME`: the peer stops and resumes reading.
/// - `== wait N ms`, `== wait N days`: the time advances.
/// - `== external SQL`: an external SQLite client writes to the store.
/// - `== remove PATH`: removes a file below `$FOLDER`.
/// - `== write PATH TEXT`: writes a file below `$FOLDER`, whose lines are separated by `\n`.
/// - `== restart`: stops the service and serves the same store again.
/// - `== stop`: stops the service.
final class TranscriptPlayer {
  private let transcript: Transcript
  private let options: ServiceHost.Options
  private let folder: TestFolder
  private var host: ServiceHost
  private var peers: [TranscriptPeer] = []
  /// Connections that a restart or a connection of the same name replaced.
  private var replaced: [TranscriptPeer] = []
  /// The last result for each request ID.
  private var results: [String: JSONValue] = [:]

  /// Starts the service that the header of a transcript describes.
  init(_ transcript: Transcript) throws {
    self.transcript = transcript
    folder = try TestFolder()
    let model = try Transcript.model(transcript.header["model"] ?? "Todo.json")
    var options = ServiceHost.Options()
    options.folder = folder
    options.limits = try transcript.limits()
    options.stepMilliseconds = 2000
    options.mergePolicies = ["highest": Self.highest]
    options.computedValues = ["fullName": Self.fullName, "wrong": { _ in ["not", "a", "number"] }]
    if transcript.header["mode"] == "readOnly" {
      try ServiceHost(model: model, options).close()
      options.mode = .readOnly
    }
    if let other = transcript.header["reopened with"] {
      try ServiceHost(model: model, options).close()
      options.allowsModelMismatch = true
      host = try ServiceHost(model: try Transcript.model(other), options)
    } else {
      host = try ServiceHost(model: model, options)
    }
    self.options = options
  }

  /// A merge policy of the program: the higher of two integers, otherwise the stored value.
  private static let highest: MergeDecision = { conflict in
    guard let store = conflict.store.integer, let client = conflict.client?.integer else {
      return .store
    }
    return client > store ? .client : .store
  }

  /// A computed attribute of the program: the first and the last name, and the city in parentheses.
  private static let fullName: ComputedValue = { object in
    let names = ["title", "first", "last"].compactMap { object.values[$0]?.string }
    let city = object.values["home"]?["city"]?.string.map { "(\($0))" }
    let words = names + (city.map { [$0] } ?? [])
    return .string(words.isEmpty ? "nobody" : words.joined(separator: " "))
  }

  /// Performs every step of the transcript.
  ///
  /// - Returns: The lines of the transcript, with the messages that the service sent.
  /// - Throws: `Transcript.Malformed`, which names the line of a step that failed.
  func play() throws -> [String] {
    var played: [String] = []
    for (index, line) in transcript.lines.enumerated() where !Transcript.isReceived(line) {
      played.append(line)
      guard let step = Transcript.step(line) else { continue }
      do {
        try perform(step)
        played += try takeLines()
      } catch {
        throw Transcript.Malformed(
          "\(transcript.name), line \(index + 1), \(line.prefix(300)): \(error)"
        )
      }
    }
    try host.close()
    return played
  }

  private func perform(_ step: Transcript.Step) throws {
    // Each step has a time of its own, whatever the speed of the machine.
    host.clock.advance(milliseconds: 1000)
    switch step {
    case .send(let connection, let text, let waiting):
      let peer = try peer(named: connection)
      let message = try filledIn(text)
      peer.pending += peer.framing.frame(Array(message.utf8))
      peer.expectedCount += Self.responseCount(for: message)
      if waiting == .withNext { return }
      try send(peer)
      if waiting == .forResponses {
        try host.run(until: "every request is answered") { peer.isAnswered }
      }
    case .sendRaw(let connection, let text):
      let peer = try peer(named: connection)
      peer.pending += try Self.bytes(text)
      try send(peer)
    case .other(let text):
      try perform(text.split(separator: " ").map(String.init), text)
    }
    try host.settle()
  }

  private func perform(_ words: [String], _ text: String) throws {
    switch (words.first ?? "", words.count) {
    case ("connect", 2...3):
      try connect(words.count == 3 ? words[1] : "", framing: words[words.count - 1])
    case ("end", _): try host.endInput(of: number(words))
    case ("disconnect", _): try host.disconnect(number(words))
    case ("full", _): try peer(words).session.sink.setWritable(false)
    case ("drain", _):
      try peer(words).session.sink.setWritable(true)
      try host.becameWritable(number(words))
    case ("wait", 3): try wait(words)
    case ("external", _):
      try ForeignWriter.write(folder.path + "/store/store.sqlite", String(text.dropFirst(9)))
      host.service.lookForCommits()
    case ("remove", 2): try FileManager.default.removeItem(atPath: folder.path + "/" + words[1])
    case ("write", 3...):
      let lines = words.dropFirst(2).joined(separator: " ").replacing("\\n", with: "\n")
      // A new file at the path differs from the former one, whatever its size and time.
      let file = folder.path + "/" + words[1]
      try Data((lines + "\n").utf8).write(to: URL(filePath: file), options: .atomic)
    case ("stop", 1): try host.close()
    case ("restart", 1):
      try host.close()
      replaced += peers
      peers = []
      host = try ServiceHost(model: nil, options)
    default: throw Transcript.Malformed("unknown step")
    }
  }

  private func wait(_ words: [String]) throws {
    guard let count = Int(words[1]) else { throw Transcript.Malformed("no number to wait") }
    if words[2] == "days" {
      host.clock.advance(milliseconds: Int64(count) * 86_400_000)
    } else {
      try host.advance(milliseconds: count)
    }
  }

  // MARK: Connections

  /// Returns the connection of that name, and opens it when there is none.
  private func peer(named name: String) throws -> TranscriptPeer {
    if let known = peers.first(where: { $0.name == name }) { return known }
    return try connect(name, framing: transcript.header["framing"] ?? "line")
  }

  private func peer(_ words: [String]) throws -> TranscriptPeer {
    try peer(named: words.count > 1 ? words[1] : "")
  }

  private func number(_ words: [String]) throws -> Int {
    guard let number = try peer(words).session.number else {
      throw Transcript.Malformed("the service refused this connection")
    }
    return number
  }

  @discardableResult
  private func connect(_ name: String, framing: String) throws -> TranscriptPeer {
    let isDetected = framing == "guess" || framing == "socket"
    guard let sent = Framing(rawValue: isDetected ? "line" : framing) else {
      throw Transcript.Malformed("unknown framing")
    }
    replaced += peers.filter { $0.name == name }
    peers.removeAll { $0.name == name }
    let session = host.connect(
      framing: isDetected ? nil : sent,
      closesOnUnknownFraming: framing == "socket"
    )
    let peer = TranscriptPeer(name: name, session: session, framing: sent)
    peers.append(peer)
    return peer
  }

  private func send(_ peer: TranscriptPeer) throws {
    defer { peer.pending = [] }
    guard let number = peer.session.number else { return }
    try host.sendAsOneGroup(peer.pending, to: number)
  }

  /// Returns the lines of all arrivals since the last step, grouped by connection.
  ///
  /// The service promises no order between two connections.
  private func takeLines() throws -> [String] {
    try (replaced + peers).flatMap { peer in
      try peer.takeArrivals().map { arrival in
        switch arrival {
        case .message(let text):
          keepResult(of: text)
          return "\(peer.name)<-- \(try Normalization.normalized(text, folder: folder.path))"
        case .event(let text): return "\(peer.name)<== \(text)"
        }
      }
    }
  }

  // MARK: Texts

  private func keepResult(of text: String) {
    guard let message = JSONText.parsed(text), let id = message["id"],
      let result = message["result"]
    else { return }
    results[id.string ?? id.text] = result
  }

  /// Replaces `$FOLDER` and `$(ID.member)`.
  private func filledIn(_ text: String) throws -> String {
    var filled = text.replacing("$FOLDER", with: folder.path)
    for match in text.matches(of: /\$\(([^().]+)\.([^()]+)\)/) {
      var value = results[String(match.1)]
      for name in match.2.split(separator: ".") { value = value?[String(name)] }
      guard let value else { throw Transcript.Malformed("no result has \(match.0)") }
      filled = filled.replacing(match.0, with: value.string ?? value.text)
    }
    return filled
  }

  /// Returns the number of messages that answer a message.
  private static func responseCount(for text: String) -> Int {
    guard let message = JSONText.parsed(text) else { return 0 }
    if let elements = message.array {
      return elements.isEmpty || elements.contains { $0["id"] != nil || $0["method"] == nil }
        ? 1 : 0
    }
    return message["id"] != nil && message["method"] != nil ? 1 : 0
  }

  /// Decodes the escapes of a raw line.
  private static func bytes(_ text: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "r"): bytes.append(0x0D)
      case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "x"):
        guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
          throw Transcript.Malformed("\\x needs two hexadecimal digits")
        }
        bytes.append(value)
        rest = rest.dropFirst(2)
      default: throw Transcript.Malformed("\\ needs n, r, \\ or x after it")
      }
    }
    return bytes
  }
}
