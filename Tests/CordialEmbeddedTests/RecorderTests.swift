import CordialEmbedded
import Foundation
import Glibc
import Logging
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
    recorder.opened(1)
    let line = Array(#"{"text":"\#(String(repeating: "x", count: 1000))"}"#.utf8) + [0x0A]
    for _ in 0..<200 { recorder.record(line.span, .client, 1) }
    var (bytes, buffer) = (0, [UInt8](repeating: 0, count: 4096))
    while case let count = unsafe read(reader, &buffer, buffer.count), count > 0 { bytes += count }
    #expect(bytes > 1000)
    #expect(bytes <= 65536)
  }

  @Test func `omits the messages that exceed the memory for unfinished ones`() throws {
    let folder = try TestFolder()
    let path = folder.path + "/session.jsonl"
    let recorder = try Recorder(path: path, log: Self.log)
    for channel in [7, 8] { recorder.opened(channel) }
    func record(_ text: String, _ sender: Recorder.Sender, _ channel: Int) {
      recorder.record(Array(text.utf8).span, sender, channel)
    }
    // Together they exceed the limit, alone neither does.
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: Recorder.messageBytesMax * 5 / 8)
    for channel in [7, 8] {
      record(#"{"id":\#(channel),"text":""#, .client, channel)
      recorder.record(text.span, .client, channel)
    }
    record(#"{"id":"answer"}"# + "\n", .service, 8)
    record(#""}"# + "\n" + #"{"id":9}"# + "\n", .client, 8)
    // The memory of a message is free after its end, and after that of its connection.
    record(#""}"# + "\n", .client, 7)
    recorder.record(text.span, .client, 7)
    recorder.closed(7)
    record(#"{"text":""#, .client, 8)
    recorder.record(text.span, .client, 8)
    record(#""}"# + "\n", .client, 8)
    recorder.close()

    let lines = try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: 0x0A)
      .map { String(decoding: $0, as: UTF8.self) }
    let xs = String(decoding: text.prefix(20), as: UTF8.self)
    // The time of each line precedes its other members.
    let members = lines.map { line in
      String(line.split(separator: ",", maxSplits: 1)[1].prefix(68))
    }
    #expect(
      members == [
        #""connection":2,"from":"client","message":null,"omitted":\#(Recorder.messageBytesMax)}"#,
        #""connection":2,"from":"service","message":{"id":"answer"}}"#,
        #""connection":2,"from":"client","message":{"id":9}}"#,
        #""connection":1,"from":"client","message":{"id":7,"text":"\#(xs.prefix(11))"#,
        #""connection":2,"from":"client","message":{"text":"\#(xs.prefix(18))"#,
      ]
    )
  }
}
