import CordialProtocol
import JSON
import ProtocolSchemas
import Testing

/// The schemas that `openrpc.json` has describe what the service sends.
@Suite struct `The messages of the transcripts` {
  /// Notifications that LSP defines.
  private static let foreign = ["$/progress", "window/logMessage"]

  /// The method of each request, by connection and ID.
  private struct Sent: Hashable {
    let connection: String
    let id: String
  }

  @Test(arguments: Transcript.names)
  func `have the members that their schemas describe`(name: String) throws {
    var methods: [Sent: Method] = [:]
    for line in try Transcript(named: name).lines {
      guard let match = line.prefixMatch(of: #/([A-Za-z]*)(-[-?+]>|<--) /#) else { continue }
      let connection = String(match.1)
      // Sizes of files and of memory are no part of a transcript.
      let text = String(line[match.range.upperBound...]).replacing("\"SIZE\"", with: "0")
      guard let json = JSONText.parsed(text) else { continue }
      for message in json.array ?? [json] {
        let id = message["id"].map { Sent(connection: connection, id: $0.text) }
        if match.2 != "<--" {
          guard let id, let method = message["method"]?.string else { continue }
          methods[id] = MethodTable.method(named: method)
        } else if let name = message["method"]?.string {
          try check(notification: name, message["params"] ?? [:], line)
        } else if let result = message["result"], let schema = id.flatMap({ methods[$0]?.result }) {
          check(schema.mismatch(result), line)
        } else if let error = message["error"] {
          check(error: error, line)
        }
      }
    }
  }

  private func check(notification name: String, _ params: JSONValue, _ line: String) throws {
    guard !Self.foreign.contains(name) else { return }
    let method = try #require(MethodTable.all.first { $0.name == name }, "\(line)")
    check(Schema.object(method.params).mismatch(params), line)
  }

  private func check(error: JSONValue, _ line: String) {
    let code = error["code"]?.integer
    guard let name = ErrorName.allCases.first(where: { Int64($0.code) == code }) else { return }
    check(name.data.mismatch(error["data"] ?? [:]), line)
  }

  private func check(_ mismatch: Mismatch?, _ line: String) {
    guard let mismatch else { return }
    Issue.record("\(mismatch.sentence)\n\(line.prefix(2000))")
  }
}
