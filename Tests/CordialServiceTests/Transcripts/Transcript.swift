import CordialService
import Foundation
import JSON

/// A recorded conversation between clients and a service: `Protocol/transcripts/NAME.txt`.
///
/// The header is every line up to the first empty line, `name: value` or a comment:
///
/// - `model`: the model file, in `Protocol/transcripts` or `Protocol/models`.
/// - `framing`: `line` (the default) or `header`, for connections without an explicit framing.
/// - `mode: readOnly`: the store is created and then opened read-only.
/// - `reopened with`: the store is created and then opened with this model, to which it cannot
///   migrate.
/// - `limits`: a JSON object with limits that differ from the defaults.
///
/// Each line after the header is one of these. `A` is the name of a connection and may be empty:
///
/// - `# …` or an empty line: a comment.
/// - `A--> {json}`: sends a message and waits for all responses.
/// - `A-?> {json}`: sends a message and does not wait for responses.
/// - `A-+> {json}`: sends a message in the same bytes as the message on the next line.
/// - `A-*> text`: sends bytes without framing. `\n`, `\r`, `\\` and `\xNN` are escapes.
/// - `A<-- {json}`: a message that the service sent. `A<== …`: another action on the connection.
/// - `== …`: a step other than a message, see `TranscriptPlayer`.
///
/// In sent messages, `$(7.token)` is the member `token` of the last result for request 7, and
/// `$FOLDER` is the folder that contains the store.
struct Transcript: Sendable {
  /// One line to perform.
  enum Step: Equatable, Sendable {
    /// What to wait for after a message.
    enum Waiting: Sendable {
      case forResponses, untilIdle, withNext
    }

    case send(connection: String, text: String, Waiting)
    case sendRaw(connection: String, text: String)
    case other(String)
  }

  /// The error of a transcript that cannot be read or performed.
  struct Malformed: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
      self.description = description
    }
  }

  let name: String
  let header: [String: String]
  /// The lines of the file, with the recorded messages of the service.
  let lines: [String]

  private static let folder = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Protocol")

  /// The names of all transcripts.
  static let names: [String] = {
    let path = folder.appending(path: "transcripts").path
    return (FileManager.default.subpaths(atPath: path) ?? [])
      .filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
  }()

  /// Reads a transcript.
  init(named name: String) throws {
    self.name = name
    let text = try String(contentsOf: Self.url(of: name), encoding: .utf8)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    self.lines = lines
    var header: [String: String] = [:]
    for line in lines.prefix(while: { !$0.isEmpty }) where !line.hasPrefix("#") {
      guard let colon = line.firstRange(of: ": ") else {
        throw Malformed("\(name): a header line has no name: \(line)")
      }
      header[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
    }
    self.header = header
  }

  /// Writes a transcript.
  static func write(_ lines: [String], as name: String) throws {
    try (lines.joined(separator: "\n") + "\n")
      .write(to: url(of: name), atomically: true, encoding: .utf8)
  }

  private static func url(of name: String) -> URL {
    folder.appending(path: "transcripts/\(name).txt")
  }

  /// Returns the text of a file of the protocol, as `openrpc.json`.
  static func protocolFile(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  /// Returns the text of a model file.
  static func model(_ name: String) throws -> String {
    let own = folder.appending(path: "transcripts/\(name)")
    if FileManager.default.fileExists(atPath: own.path) {
      return try String(contentsOf: own, encoding: .utf8)
    }
    return try protocolFile("models/\(name)")
  }

  /// Returns the default limits with the changes of the header.
  func limits() throws -> Limits {
    var limits = Limits()
    guard let text = header["limits"] else { return limits }
    for member in try JSONParser.parse(text).members ?? [] {
      guard let path = Self.limits[member.name], let value = member.value.integer else {
        throw Malformed("\(name): unknown limit \(member.name)")
      }
      limits[keyPath: path] = Int(value)
    }
    return limits
  }

  private static let limits: [String: any WritableKeyPath<Limits, Int> & Sendable] = [
    "messageBytesMax": \.messageBytesMax, "answerBytesMax": \.answerBytesMax,
    "depthMax": \.depthMax, "valuesMax": \.valuesMax, "batchMax": \.batchMax,
    "inFlightMax": \.inFlightMax,
    "inFlightBytesMax": \.inFlightBytesMax, "connectionsMax": \.connectionsMax,
    "subscriptionsMax": \.subscriptionsMax, "saveChangesMax": \.saveChangesMax,
    "partBytesMax": \.partBytesMax, "historyChangesMax": \.historyChangesMax, "waitMax": \.waitMax,
    "queryBytesMax": \.queryBytesMax, "queryWordsMax": \.queryWordsMax,
    "historyDaysMin": \.historyDaysMin, "stopSecondsMax": \.stopSecondsMax,
    "requestSecondsMax": \.requestSecondsMax,
  ]

  // MARK: Lines

  /// Returns whether a line records an action of the service.
  static func isReceived(_ line: String) -> Bool {
    line.contains(#/^[A-Za-z]*(<--|<==) /#)
  }

  /// Returns the step of a line, or nil for a comment or a recorded line.
  static func step(_ line: String) -> Step? {
    if line.hasPrefix("== ") { return .other(String(line.dropFirst(3))) }
    guard let match = line.prefixMatch(of: #/([A-Za-z]*)-([-?+*])> /#) else { return nil }
    let connection = String(match.1)
    let text = String(line[match.range.upperBound...])
    switch match.2 {
    case "*": return .sendRaw(connection: connection, text: text)
    case "?": return .send(connection: connection, text: text, .untilIdle)
    case "+": return .send(connection: connection, text: text, .withNext)
    default: return .send(connection: connection, text: text, .forResponses)
    }
  }
}
