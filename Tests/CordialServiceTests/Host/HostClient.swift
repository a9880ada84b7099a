import JSON
import JSONRPC
import Testing

/// A client of a host that waits for the answer to each request.
final class HostClient {
  private let host: ServiceHost
  private let session: HostSession
  private var splitter = MessageSplitter(framing: .line)
  private var id = 0

  /// Opens a session in line framing.
  init(_ host: ServiceHost) {
    self.host = host
    session = host.connect(framing: .line)
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - params: The text of the params.
  /// - Returns: The `result`, or the `error`.
  /// - Throws: `WaitTimeout`, or an error of the test when no answer came.
  func call(_ method: String, _ params: String) throws -> JSONValue {
    id += 1
    // A line feed ends the message.
    let line = params.replacing("\n", with: " ")
    host.send(
      Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(line)}"#.utf8)
        + [0x0A],
      to: session
    )
    try host.settle()
    while true {
      for case .wrote(let bytes) in session.sink.takeEvents() {
        for message in splitter.take(bytes) {
          let json = try JSONParser.parse(message.span)
          if json["id"]?.integer == Int64(id) {
            return try #require(json["result"] ?? json["error"])
          }
        }
      }
      // The answer may take more steps of the writer than `settle` waits for.
      try host.runNext(before: "\(method) is answered")
    }
  }
}
