import CordialProtocol
import Foundation
import JSON
import ProtocolSchemas
import TestStores
import Testing

/// The examples of the OpenRPC document are one conversation with a service, method by method.
///
/// `UPDATE_EXPECT=1 swift test --filter ExampleTests` rewrites the results that the document has.
@Suite struct `The examples of the methods` {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/ProtocolSchemas/ExampleResults.swift")

  /// The methods that end the conversation, whose results are documents, or that have no result.
  private static let withoutResult: Set<MethodName> = [
    .initialized, .exit, .cancelRequest, .setTrace, .changes, .model, .discover,
  ]

  private static let objects = """
    {"insert": [
      {"id": "Section/t1", "values": {"name": "libs"}},
      {"id": "Section/t2", "values": {"name": "web"}},
      {"id": "Package/t1", "values": {"name": "libjson", "version": "1.8", "architecture": "amd64",
        "installedSize": 96, "section": "Section/t1", "summary": "A JSON library"}},
      {"id": "Package/t2", "values": {"name": "apache2", "version": "2.4", "architecture": "amd64",
        "installedSize": 640, "section": "Section/t2", "summary": "A web server"}},
      {"id": "Package/t3", "values": {"name": "nginx", "version": "1.22", "architecture": "amd64",
        "installedSize": 1500, "section": "Section/t2", "summary": "A small web server"}}]}
    """

  /// A commit that concerns the observed request.
  private static let change = """
    {"update": [{"id": "Package/p3", "values": {"version": "1.24"}}], "author": "script"}
    """

  /// Sends the example of each request, and returns the results and the last notification.
  private func replay() throws -> (results: [MethodName: JSONValue], changes: JSONValue?) {
    let host = try ServiceHost(model: try Transcript.model("Packages.json"))
    let (peer, other) = (HostPeer(host), HostPeer(host))
    #expect(try other.call("save", Self.objects)["ids"] != nil)
    var results: [MethodName: JSONValue] = [:]
    var changes: JSONValue?
    // The end comes last.
    let rows = MethodTable.all.filter { $0.kind != .shutdown } + [ShutdownCall.method]
    for method in rows where !Self.withoutResult.contains(method.kind) {
      let params = method.example.text.replacing("/backups/", with: "\(host.folder.path)/")
      let result = try peer.call(method.name, params)
      #expect(result["message"] == nil, "\(method.name): \(result.text)")
      var text = result.text.replacing("\(host.folder.path)/store", with: "/stores/Packages")
        .replacing("\(host.folder.path)/", with: "/backups/")
      // Sizes depend on the version of SQLite, times on the machine.
      text.replace(/"(bytes|before|after|microseconds|microsecondsMax)":\d+/) {
        "\"\($0.1)\":4096"
      }
      results[method.kind] = try JSONParser.parse(text)
      guard method.kind == .observe else { continue }
      _ = try other.call("save", Self.change)
      changes = peer.messages.last { $0["method"] == "changes" }?["params"]
    }
    try host.close()
    return (results, changes)
  }

  @Test func `have the results that a service returns`() async throws {
    try await onOwnThread {
      let (results, changes) = try replay()
      #expect(changes == ChangesNotification.method.example, "\(changes?.text ?? "none")")
      guard ProcessInfo.processInfo.environment["UPDATE_EXPECT"] == nil else {
        return try Self.write(results)
      }
      for method in MethodTable.all {
        #expect(
          method.exampleResult == results[method.kind],
          "\(method.name) returns \(results[method.kind]?.text ?? "nothing")"
        )
      }
    }
  }

  private static func write(_ results: [MethodName: JSONValue]) throws {
    var text = """
      import CordialProtocol

      extension MethodName {
        /// The result of the method's example, as JSON text; nil for a notification and for a method
        /// that returns a document.
        var exampleResult: String? {
          switch self {

      """
    for name in MethodName.allCases {
      guard let result = results[name] else { continue }
      text += "    case .\(name):\n      #\"\"\"\n"
      text += folded(result.text).map { "      \($0)\n" }.joined()
      text += "      \"\"\"#\n"
    }
    text += "    default:\n      nil\n    }\n  }\n}\n"
    try text.write(to: file, atomically: true, encoding: .utf8)
  }

  /// Divides JSON text into lines that end with a comma, where they would be longer than 90 columns.
  private static func folded(_ json: String) -> [String] {
    var lines: [String] = []
    var (line, element) = ("", "")
    var (isInString, isEscaped) = (false, false)
    for character in json {
      element.append(character)
      if isEscaped {
        isEscaped = false
      } else if isInString {
        isEscaped = character == "\\"
        isInString = character != "\""
      } else {
        isInString = character == "\""
        guard character == "," else { continue }
        if line.count + element.count > 90, !line.isEmpty {
          lines.append(line)
          line = ""
        }
        line += element
        element = ""
      }
    }
    if line.count + element.count > 90, !line.isEmpty {
      lines.append(line)
      line = ""
    }
    return lines + [line + element]
  }
}
