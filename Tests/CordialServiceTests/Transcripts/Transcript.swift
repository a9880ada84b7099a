import CordialService
import Foundation
import JSON

/// A conversation in a text file: what clients send, and what the service answers.
///
/// A file begins with its header, `name: value` on each line up to the first empty line:
///
/// - `model`: the model file, in the folder of the transcripts or in `Protocol/models`.
/// - `framing`: `line` (when absent) or `header`, of connections that do not say theirs.
/// - `mode: readOnly`: the store is made, and then opened to be read only.
/// - `reopened with`: the store is made, and then opened with this model, which it cannot have.
/// - `limits`: a JSON object with limits that differ from the usual ones.
///
/// Then every line is one of these; `A` is the name of a connection, which may be empty:
///
/// - `# …` and empty lines: for the reader.
/// - `A--> {json}`: a message is sent, and all of its answers are waited for.
/// - `A-?> {json}`: a message is sent that is not answered now.
/// - `A-+> {json}`: a message is sent in the same bytes as the one on the next line.
/// - `A-*> text`: bytes are sent without framing; `\n`, `\r`, `\\` and `\xNN` stand for others.
/// - `A<-- {json}`: a message that came; `A<== …`: something else that became of the connection.
/// - `== …`: a step that is no message, see `TranscriptPlayer`.
///
/// In what is sent, `$(7.token)` is the member `token` of the last answer to the request with the id
/// 7, and `$FOLDER` the folder in which the store is.
struct Transcript: Sendable {
  /// One line that makes something happen.
  enum Step: Equatable, Sendable {
    /// How the service is waited for.
    enum Waiting: Sendable {
      case forAnswers, untilQuiet, withNext
    }

    case send(connection: String, text: String, Waiting)
    case sendRaw(connection: String, text: String)
    case other(String)
  }

  /// A file that cannot be read as a transcript.
  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }

  let name: String
  let header: [String: String]
  /// The lines of the file; those that came from the service are made anew by each replay.
  let lines: [String]

  private static let folder = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Protocol")

  /// The names of all transcripts.
  static let names: [String] = {
    let path = folder.appending(path: "transcripts").path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
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
        throw Malformed(description: "\(name): the header has a line without a name: \(line)")
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

  /// The text of a file of the protocol, as `openrpc.json`.
  static func protocolFile(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  /// The text of a model file.
  static func model(_ name: String) throws -> String {
    let own = folder.appending(path: "transcripts/\(name)")
    if FileManager.default.fileExists(atPath: own.path) {
      return try String(contentsOf: own, encoding: .utf8)
    }
    return try protocolFile("models/\(name)")
  }

  /// The limits of the service.
  func limits() throws -> Limits {
    var limits = Limits()
    guard let text = header["limits"] else { return limits }
    for member in try JSONParser.parse(text).members ?? [] {
      guard let path = Self.limits[member.name], let value = member.value.integer else {
        throw Malformed(description: "\(name): no limit \(member.name) can be set")
      }
      limits[keyPath: path] = Int(value)
    }
    return limits
  }

  private static let limits: [String: any WritableKeyPath<Limits, Int> & Sendable] = [
    "messageBytesMax": \.messageBytesMax, "answerBytesMax": \.answerBytesMax,
    "depthMax": \.depthMax, "batchMax": \.batchMax, "inFlightMax": \.inFlightMax,
    "inFlightBytesMax": \.inFlightBytesMax, "connectionsMax": \.connectionsMax,
    "subscriptionsMax": \.subscriptionsMax, "saveChangesMax": \.saveChangesMax,
    "changesMax": \.changesMax, "historyChangesMax": \.historyChangesMax, "waitMax": \.waitMax,
    "queryBytesMax": \.queryBytesMax, "queryWordsMax": \.queryWordsMax,
    "historyDaysMin": \.historyDaysMin, "stopSecondsMax": \.stopSecondsMax,
  ]

  // MARK: Lines

  /// Whether a line came from the service.
  static func isReceived(_ line: String) -> Bool {
    line.contains(#/^[A-Za-z]*(<--|<==) /#)
  }

  /// What a line says to do; nil where it says nothing.
  static func step(_ line: String) -> Step? {
    if line.hasPrefix("== ") { return .other(String(line.dropFirst(3))) }
    guard let match = line.prefixMatch(of: #/([A-Za-z]*)-([-?+*])> /#) else { return nil }
    let connection = String(match.1)
    let text = String(line[match.range.upperBound...])
    switch match.2 {
    case "*": return .sendRaw(connection: connection, text: text)
    case "?": return .send(connection: connection, text: text, .untilQuiet)
    case "+": return .send(connection: connection, text: text, .withNext)
    default: return .send(connection: connection, text: text, .forAnswers)
    }
  }
}
