import Foundation
import Glibc
import JSON
import JSONRPC
import Logging
import Mocks
import PersistentStore
import TestStores
import Testing

@Suite struct `A recording` {
  private static let log = Logger(label: "recorder") { _ in SwiftLogNoOpLogHandler() }

  @Test func `does not wait for the reader of a named pipe`() throws {
    let folder = try TestFolder()
    let path = folder.path + "/pipe"
    #expect(unsafe mkfifo(path, 0o600) == 0)
    #expect(throws: StoreError.self) { try Recorder(path: path, log: Self.log) }
    let reader = unsafe open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let recorder = try Recorder(path: path, log: Self.log)
    let connection = recorder.connect()
    for _ in 0..<200 { connection.received(["text": .string(String(repeating: "x", count: 1000))]) }
    var (bytes, buffer) = (0, [UInt8](repeating: 0, count: 4096))
    while case let count = unsafe read(reader, &buffer, buffer.count), count > 0 { bytes += count }
    #expect(bytes > 1000)
    #expect(bytes <= 65536)
  }

  /// Returns the lines of a recording without their times.
  private static func lines(_ path: String) throws -> [String] {
    try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: 0x0A).map { line in
      let text = String(decoding: line, as: UTF8.self)
      return String(text.split(separator: ",", maxSplits: 1)[1].prefix(75))
    }
  }

  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `has one line for each message, whatever the peer sends`() throws {
    let folder = try TestFolder()
    let path = folder.path + "/session.jsonl"
    let recorder = try Recorder(path: path, log: Self.log)
    let limits = MessageDecoder.Limits(messageBytesMax: 100, depthMax: 128, batchMax: 10)
    func peer(_ framing: Framing) -> Peer {
      Peer(
        framing: framing,
        limits: limits,
        closesOnUnknownFraming: true,
        account: ByteBudget(bytesMax: 1 << 20).open(),
        observer: recorder.connect()
      )
    }
    let (lines, headers) = (peer(.line), peer(.header))
    let pretty = "{\n  \"jsonrpc\": \"2.0\", \"method\": \"note\"\n}"
    headers.receive(Framing.header.frame(Self.bytes(pretty)).span)
    lines.receive(Self.bytes("no JSON\n[]\n\(String(repeating: "x", count: 200))\n").span)
    while lines.next() != nil {}
    headers.notify(MessageBytes(Self.bytes(#"{"method":"changes"}"#)))
    recorder.close()
    #expect(
      try Self.lines(path) == [
        #""connection":2,"from":"client","message":{"jsonrpc":"2.0","method":"note"}}"#,
        #""connection":1,"from":"client","message":"no JSON"}"#,
        #""connection":1,"from":"client","message":[]}"#,
        #""connection":1,"from":"client","message":null,"omitted":"messageBytes"}"#,
        #""connection":1,"from":"service","message":{"jsonrpc":"2.0","id":null,"error"#,
        #""connection":1,"from":"service","message":{"jsonrpc":"2.0","id":null,"error"#,
        #""connection":1,"from":"service","message":{"jsonrpc":"2.0","id":null,"error"#,
        #""connection":2,"from":"service","message":{"method":"changes"}}"#,
      ]
    )
  }

  @Test func `omits what is longer than it may be`() throws {
    let folder = try TestFolder()
    let path = folder.path + "/session.jsonl"
    let recorder = try Recorder(path: path, log: Self.log)
    let limits = MessageDecoder.Limits(
      messageBytesMax: 1 << 22,
      depthMax: 128,
      batchMax: 10,
      valuesMax: 1000
    )
    let peer = Peer(
      framing: .line,
      limits: limits,
      closesOnUnknownFraming: true,
      account: ByteBudget(bytesMax: 1 << 24).open(),
      observer: recorder.connect()
    )
    peer.receive(Self.bytes("[\(String(repeating: "0,", count: 2000))0]\n").span)
    peer.receive(Self.bytes("x\(String(repeating: "y", count: 1 << 21))\n").span)
    recorder.close()
    #expect(
      try Self.lines(path) == [
        #""connection":1,"from":"client","message":null,"omitted":"values"}"#,
        #""connection":1,"from":"client","message":null,"omitted":"recordingBytes"}"#,
      ]
    )
  }

  @Test func `joins the parts of a message, and omits what exceeds their memory`() throws {
    let folder = try TestFolder()
    let path = folder.path + "/session.jsonl"
    let recorder = try Recorder(path: path, log: Self.log)
    var connections = [recorder.connect(), recorder.connect()]
    // Together they exceed the limit, alone neither does.
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: Recorder.unfinishedBytesMax * 5 / 8)
    for connection in connections { connection.sent([Self.bytes("[\""), text], isEnd: false) }
    connections[1].sent([Self.bytes("\"]")], isEnd: true)
    connections[1].sent([Self.bytes("[1,")], isEnd: false)
    connections[1].sent([Self.bytes("2]")], isEnd: true)
    connections[0].sent([Self.bytes("\"]")], isEnd: true)
    // The memory of a message is free after its end, and after that of its connection.
    connections[0].sent([text], isEnd: false)
    connections.removeFirst()
    connections[0].sent([Self.bytes("[\""), text], isEnd: false)
    connections[0].sent([Self.bytes("\"]")], isEnd: true)
    recorder.close()
    let xs = String(repeating: "x", count: 31)
    #expect(
      try Self.lines(path) == [
        #""connection":2,"from":"service","message":null,"omitted":"recordingBytes"}"#,
        #""connection":2,"from":"service","message":[1,2]}"#,
        #""connection":1,"from":"service","message":["\#(xs)"#,
        #""connection":2,"from":"service","message":["\#(xs)"#,
      ]
    )
  }
}
