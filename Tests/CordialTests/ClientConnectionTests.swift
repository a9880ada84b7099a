import Cordial
import JSON
import Synchronization
import Testing

/// A link whose service is the test.
private final class ScriptedLink: ClientLink {
  private let state = Mutex<(sent: [String], isClosed: Bool)>(([], false))
  private let answer: @Sendable (String) -> Void

  /// Creates a link that passes each message to a function, outside of the client's call.
  init(answer: @escaping @Sendable (String) -> Void) {
    self.answer = answer
  }

  func send(_ bytes: [UInt8]) {
    let message = String(decoding: bytes, as: UTF8.self)
    state.withLock { $0.sent.append(message) }
    answer(message)
  }

  func close() { state.withLock { $0.isClosed = true } }

  var sent: [String] { state.withLock { $0.sent } }
  var isClosed: Bool { state.withLock { $0.isClosed } }
}

extension ClientConnection {
  fileprivate func received(_ text: String) {
    received(Array(text.utf8).span)
  }
}

@Suite struct `A client's calls` {
  /// Connects a client to a script, which answers each message with bytes.
  private func connect(
    messageBytesMax: Int = 1 << 20,
    notified: @escaping @Sendable (String, JSONValue) -> Void = { _, _ in },
    _ script: @escaping @Sendable (ClientConnection, String) -> Void
  ) -> (client: ClientConnection, link: ScriptedLink) {
    let client = ClientConnection(messageBytesMax: messageBytesMax, notified: notified)
    let link = ScriptedLink { message in script(client, message) }
    client.connect(link)
    return (client, link)
  }

  @Test func `a call returns its own result, whatever the order of the responses`() async throws {
    let held = Mutex<[String]>([])
    let (client, link) = connect { client, message in
      let line =
        message.contains(#""id":1"#) ? #"{"id":1,"result":"one"}"# : #"{"id":2,"result":2}"#
      let ready = held.withLock { held in
        held.append(line)
        return held.count == 2 ? held.reversed().joined(separator: "\n") + "\n" : nil
      }
      if let ready { client.received(ready) }
    }
    async let first = client.call("a", [])
    async let second = client.call("b", [])
    let results = try await [first, second]
    #expect(results.contains("one") && results.contains(2))
    #expect(link.sent.allSatisfy { $0.hasSuffix("\n") })
  }

  @Test func `an error has the code, the message and the data of the service`() async {
    let (client, _) = connect { client, _ in
      client.received(
        #"{"id":1,"error":{"code":1002,"message":"No","data":{"hint":"Try"}}}"# + "\n"
      )
    }
    let error = await #expect(throws: ClientError.self) { try await client.call("a", [:]) }
    #expect(error?.code == 1002)
    #expect(error?.message == "No")
    #expect(error?.hint == "Try")
  }

  @Test func `an error without an ID fails every waiting call`() async {
    let (client, _) = connect { client, _ in
      client.received(#"{"id":null,"error":{"code":-32700,"message":"Bad"}}"# + "\n")
    }
    let error = await #expect(throws: ClientError.self) { try await client.call("a", [:]) }
    #expect(error?.code == -32700)
  }

  @Test func `notifications come in their order`() async throws {
    let heard = Mutex<[String]>([])
    let (client, _) = connect(
      notified: { method, params in heard.withLock { $0.append("\(method) \(params.text)") } },
      { client, _ in
        client.received(
          #"{"method":"x","params":{"n":1}}"# + "\n" + #"{"method":"y"}"# + "\n"
            + #"{"id":1,"result":null}"# + "\n"
        )
      }
    )
    #expect(try await client.call("a", [:]) == .null)
    #expect(heard.withLock { $0 } == [#"x {"n":1}"#, "y null"])
  }

  @Test func `the end of the connection ends every call, and later ones at once`() async {
    let (client, link) = connect { client, _ in client.ended() }
    let error = await #expect(throws: ClientError.self) { try await client.call("a", [:]) }
    #expect(error?.code == 0)
    await #expect(throws: ClientError.self) { try await client.call("b", [:]) }
    #expect(link.sent.count == 1)
  }

  /// The call whose response it was would wait forever.
  @Test func `a message over the limit ends the connection`() async {
    let long = String(repeating: "x", count: 200)
    let (client, link) = connect(messageBytesMax: 100) { client, _ in
      client.received(#"{"id":1,"result":"\#(long)"}"# + "\n")
      client.ended()
    }
    await #expect(throws: ClientError.self) { try await client.call("a", [:]) }
    #expect(link.isClosed)
  }

  @Test func `a message that is no JSON ends the connection`() async {
    let (client, link) = connect { client, _ in
      client.received("{\n")
      client.ended()
    }
    await #expect(throws: ClientError.self) { try await client.call("a", [:]) }
    #expect(link.isClosed)
  }
}
