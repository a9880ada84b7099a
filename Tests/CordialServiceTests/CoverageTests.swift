import CordialProtocol
import CordialService
import JSON
import JSONRPC
import ProtocolSchemas
import Testing

/// The transcripts together cover the protocol.
@Suite struct `Coverage of the transcripts` {
  /// Error codes that no transcript can produce, with the reason.
  private static let unreachable: [Int: String] = [
    ErrorName.modelInvalid.code: """
    A service reads its model before it accepts a connection. The command line prints this error.
    """
  ]

  @Test func `every method and notification appears in a transcript`() throws {
    let names = Set(try messages().compactMap { $0["method"]?.string })
    for method in MethodTable.all {
      #expect(names.contains(method.name), "No transcript has \(method.name)")
    }
  }

  @Test func `every error code appears in a transcript or in the list of unreachable codes`() throws
  {
    let codes = Set(try messages().compactMap { $0["error"]?["code"]?.integer.map(Int.init) })
    for code in ErrorName.allCases.map(\.code) + Self.standardCodes {
      let reason = Self.unreachable[code]
      #expect(
        codes.contains(code) == (reason == nil),
        reason == nil ? "No transcript has error \(code)" : "Error \(code) is reachable: unlist it"
      )
    }
  }

  private static let standardCodes = [
    RPCError.Code.parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError,
    .serverNotInitialized, .requestCancelled,
  ].map(\.rawValue)

  /// Returns every message of every transcript, and the elements of batches.
  private func messages() throws -> [JSONValue] {
    try Transcript.names.flatMap { name in
      try Transcript(named: name).lines.flatMap { line -> [JSONValue] in
        guard let match = line.prefixMatch(of: #/[A-Za-z]*(-[-?+]>|<--) /#) else { return [] }
        let text = String(line[match.range.upperBound...])
          .replacing("\"result\":openrpc.json", with: "\"result\":{}")
        guard let message = JSONText.parsed(text) else { return [] }
        return message.array ?? [message]
      }
    }
  }
}
