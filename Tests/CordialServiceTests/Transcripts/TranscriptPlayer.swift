import CordialService
import Foundation
import JSON
import JSONRPC
import PersistentStore
import TestStores

/// Replays one transcript against a service of its own.
///
/// Steps that are no messages, `NAME` being a connection's, left out for the one without a name:
///
/// - `== connect NAME line|header|guess|socket`: `guess` lets the first bytes choose the framing, and
///   so does `socket`, on which bytes of no framing end the connection.
/// - `== end NAME`: nothing more comes from this peer.
/// - `== disconnect NAME`: the connection is gone.
/// - `== full NAME`, `== drain NAME`: the peer takes no more bytes; it takes them again.
/// - `== wait N ms`, `== wait N days`: time goes by.
/// - `== external SQL`: a foreign SQLite client writes to the store.
/// - `== remove PATH`: a file below `$FOLDER` is removed.
/// - `== restart`: the service is stopped, and another one opens the store.
/// - `== stop`: the service is stopped.
final class TranscriptPlayer {
  private let transcript: Transcript
  private let options: ServiceHost.Options
  private let folder: TestFolder
  private var host: ServiceHost
  private var peers: [TranscriptPeer] = []
  /// Connections in whose place others came.
  private var closed: [TranscriptPeer] = []
  /// The last result to each id.
  private var results: [String: JSONValue] = [:]

  /// Starts the service that a transcript's header describes.
  init(_ transcript: Transcript) throws {
    self.transcript = transcript
    folder = try TestFolder()
    let model = try Transcript.model(transcript.header["model"] ?? "Todo.json")
    var options = ServiceHost.Options()
    options.folder = folder
    options.limits = try transcript.limits()
    options.mergePolicies = ["highest": Self.highest]
    if transcript.header["mode"] == "readOnly" {
      try ServiceHost(model: model, options).close()
      options.mode = .readOnly
    }
    if let other = transcript.header["reopened with"] {
      try ServiceHost(model: model, options).close()
      options.opensMismatch = true
      host = try ServiceHost(model: try Transcript.model(other), options)
    } else {
      host = try ServiceHost(model: model, options)
    }
    self.options = options
  }

  /// A merge policy of the program's own: the higher of two integers, else the store's value.
  private static let highest: MergeDecision = { conflict in
    guard let store = conflict.store.integer, let client = conflict.client?.integer else {
      return .store
    }
    return client > store ? .client : .store
  }

  /// Does everything that the transcript says.
  ///
  /// - Returns: The lines of the transcript, with what came from the service.
  /// - Throws: `Malformed`, which names the line where a step cannot be done.
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
          description: "\(transcript.name), line \(index + 1), \(line.prefix(300)): \(error)"
        )
      }
    }
    try host.close()
    return played
  }

  private func perform(_ step: Transcript.Step) throws {
    host.clock.advance(milliseconds: 1000)
    switch step {
    case .send(let connection, let text, let waiting):
      let peer = try peer(named: connection)
      let message = try filledIn(text)
      peer.pending += peer.framing.frame(Array(message.utf8))
      peer.expectedCount += Self.answers(to: message)
      if waiting == .withNext { return }
      try send(peer)
      guard waiting == .forAnswers else { break }
      try host.run(until: "everything is answered") {
        peer.collect()
        return peer.answerCount >= peer.expectedCount || peer.session.sink.isClosed
      }
    case .sendRaw(let connection, let text):
      let peer = try peer(named: connection)
      peer.pending += try Self.bytes(text)
      try send(peer)
    case .other(let text): try perform(text.split(separator: " ").map(String.init), text)
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
    case ("wait", 3):
      guard let count = Int(words[1]) else { throw Malformed(text) }
      if words[2] == "days" {
        host.clock.advance(milliseconds: Int64(count) * 86_400_000)
      } else {
        try host.advance(milliseconds: count)
      }
    case ("external", _):
      try ForeignWriter.write(folder.path + "/store/store.sqlite", String(text.dropFirst(9)))
      host.service.lookForCommits()
    case ("remove", 2): try FileManager.default.removeItem(atPath: folder.path + "/" + words[1])
    case ("stop", 1): try host.close()
    case ("restart", 1):
      try host.close()
      collect()
      closed += peers
      peers = []
      host = try ServiceHost(model: nil, options)
    default: throw Malformed(text)
    }
  }

  // MARK: Peers

  /// The connection of that name, made when it is not there.
  private func peer(named name: String) throws -> TranscriptPeer {
    if let known = peers.first(where: { $0.name == name }) { return known }
    return try connect(name, framing: transcript.header["framing"] ?? "line")
  }

  private func peer(_ words: [String]) throws -> TranscriptPeer {
    try peer(named: words.count > 1 ? words[1] : "")
  }

  private func number(_ words: [String]) throws -> Int {
    guard let number = try peer(words).session.number else { throw Malformed("no connection") }
    return number
  }

  @discardableResult
  private func connect(_ name: String, framing: String) throws -> TranscriptPeer {
    let isGuess = framing == "guess" || framing == "socket"
    guard let sent = Framing(rawValue: isGuess ? "line" : framing) else { throw Malformed(framing) }
    closed += peers.filter { $0.name == name }
    peers.removeAll { $0.name == name }
    let session = host.connect(
      framing: isGuess ? nil : sent,
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

  private func collect() {
    peers.forEach { $0.collect() }
  }

  /// What came since the last step, by connection: between two of them there is no order.
  private func takeLines() throws -> [String] {
    collect()
    return try (closed + peers).flatMap { peer in
      defer { peer.arrivals = [] }
      return try peer.arrivals.map { arrival in
        switch arrival {
        case .message(let text):
          note(text)
          return "\(peer.name)<-- \(try Normalization.normalized(text, folder: folder.path))"
        case .event(let text): return "\(peer.name)<== \(text)"
        }
      }
    }
  }

  // MARK: Texts

  /// Keeps results, so that later messages can name what stood in them.
  private func note(_ text: String) {
    guard let message = Self.parsed(text), let id = message["id"], let result = message["result"]
    else { return }
    results[id.string ?? id.text] = result
  }

  /// What is sent for a text of the transcript.
  private func filledIn(_ text: String) throws -> String {
    var filled = text.replacing("$FOLDER", with: folder.path)
    for match in text.matches(of: /\$\(([^().]+)\.([^()]+)\)/) {
      var value = results[String(match.1)]
      for name in match.2.split(separator: ".") {
        if let place = Int(name), let elements = value?.array {
          value = elements.indices.contains(place) ? elements[place] : nil
        } else {
          value = value?[String(name)]
        }
      }
      guard let value else { throw Malformed("nothing was answered as \(match.0)") }
      filled = filled.replacing(match.0, with: value.string ?? value.text)
    }
    return filled
  }

  /// How many messages answer one.
  private static func answers(to text: String) -> Int {
    guard let message = parsed(text) else { return 0 }
    if let elements = message.array {
      return elements.isEmpty || elements.contains { $0["id"] != nil || $0["method"] == nil }
        ? 1 : 0
    }
    return message["id"] != nil && message["method"] != nil ? 1 : 0
  }

  private static func parsed(_ text: String) -> JSONValue? {
    do {
      return try JSONParser.parse(text)
    } catch {
      return nil
    }
  }

  /// The bytes of a text in which `\n`, `\r`, `\\` and `\xNN` stand for others.
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
          throw Malformed("\\x wants two hexadecimal digits")
        }
        bytes.append(value)
        rest = rest.dropFirst(2)
      default: throw Malformed("\\ stands before n, r, \\ or x")
      }
    }
    return bytes
  }
}

private func Malformed(_ text: String) -> Transcript.Malformed {
  Transcript.Malformed(description: "this means nothing: \(text)")
}

/// One connection of a transcript.
final class TranscriptPeer {
  /// What came.
  enum Arrival {
    case message(String)
    case event(String)
  }

  let name: String
  let session: HostSession
  let framing: Framing
  private var splitter: MessageSplitter
  /// How many answers came, and how many are expected for everything that was sent.
  var answerCount = 0
  var expectedCount = 0
  /// Bytes that are sent together with the next message.
  var pending: [UInt8] = []
  var arrivals: [Arrival] = []

  init(name: String, session: HostSession, framing: Framing) {
    self.name = name
    self.session = session
    self.framing = framing
    splitter = MessageSplitter(framing: framing)
  }

  /// Takes what the service did with the connection.
  func collect() {
    for event in session.sink.takeEvents() {
      switch event {
      case .wrote(let bytes):
        for message in splitter.take(bytes) {
          let text = String(decoding: message, as: UTF8.self)
          if !text.contains("\"method\":\"changes\"") { answerCount += 1 }
          arrivals.append(.message(text))
        }
        if !splitter.remainder.isEmpty {
          arrivals.append(.event("no end: \(String(decoding: splitter.remainder, as: UTF8.self))"))
        }
      case .reading(let reads): arrivals.append(.event(reads ? "read again" : "not read"))
      case .cut: arrivals.append(.event("cut"))
      case .closed(let code): arrivals.append(.event("closed with exit code \(code)"))
      }
    }
  }
}
