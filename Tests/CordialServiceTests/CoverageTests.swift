import CordialProtocol
import JSON
import JSONRPC
import Testing

/// The transcripts together say everything that can be said.
@Suite struct `What the transcripts cover` {
  /// Codes that no transcript can bring about, and why.
  private static let unreachable: [Int: String] = [
    ErrorName.modelInvalid.code: """
    A service has read its model before its first connection; the program prints this error.
    """
  ]

  @Test func `every method and notification stands in a transcript`() throws {
    let said = try messages().compactMap { $0["method"]?.string }
    for method in MethodTable.all {
      #expect(said.contains(method.name), "No transcript has \(method.name)")
    }
  }

  @Test func `every error code stands in a transcript, or in the list of those that cannot`() throws
  {
    let codes = Set(try messages().compactMap { $0["error"]?["code"]?.integer.map(Int.init) })
    for code in ErrorName.allCases.map(\.code) + Self.standardCodes {
      let why = Self.unreachable[code]
      #expect(
        codes.contains(code) == (why == nil),
        why == nil ? "No transcript has error \(code)" : "Error \(code) is covered: remove its row"
      )
    }
  }

  private static let standardCodes = [
    RPCError.Code.parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError,
    .serverNotInitialized, .requestCancelled,
  ].map(\.rawValue)

  /// Every message of every transcript, those of batches by themselves.
  private func messages() throws -> [JSONValue] {
    try Transcript.names.flatMap { name in
      try Transcript(named: name).lines.flatMap { line -> [JSONValue] in
        guard let match = line.prefixMatch(of: #/[A-Za-z]*(-[-?+]>|<--) /#) else { return [] }
        let text = String(line[match.range.upperBound...])
          .replacing("\"result\":openrpc.json", with: "\"result\":{}")
        guard let message = Self.parsed(text) else { return [] }
        return message.array ?? [message]
      }
    }
  }

  private static func parsed(_ text: String) -> JSONValue? {
    do {
      return try JSONParser.parse(text)
    } catch {
      return nil
    }
  }
}
