import Engine
import Glibc
import JSON
import JSONRPC
import PersistentStore
import Testing

/// A pipe whose both ends a test has.
private final class TestPipe {
  let reader: Int32
  let writer: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    (reader, writer) = (ends[0], ends[1])
  }

  deinit {
    close(reader)
    close(writer)
  }

  func write(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(unsafe Glibc.write(writer, bytes, bytes.count) == bytes.count)
  }

  /// Returns what was written and not read, without waiting for more.
  func read() -> String {
    var text: [UInt8] = []
    while true {
      var state = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&state, 1, 0) == 1 else { return String(decoding: text, as: UTF8.self) }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe Glibc.read(reader, &bytes, bytes.count)
      text += bytes.prefix(max(0, count))
    }
  }
}

@Suite struct `The progress of a migration` {
  private let input: TestPipe
  private let output: TestPipe

  init() throws {
    input = try TestPipe()
    output = try TestPipe()
  }

  private func reporter(_ framing: Framing? = nil) -> MigrationProgressReporter {
    MigrationProgressReporter(framing: framing, input: input.reader, output: output.writer)
  }

  private static let steps = (0..<3).map {
    MigrationProgress(from: "1", to: "2", title: "Step \($0)", done: $0, count: 3)
  }

  private func initialize(_ token: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"workDoneToken":\#(token)}}"#
  }

  private func values() throws -> [JSONValue] {
    try output.read().split(separator: "\n").map { line in
      let message = try JSONParser.parse(String(line))
      #expect(message["method"] == "$/progress")
      #expect(message["params"]?["token"] == "w")
      return message["params"]?["value"] ?? .null
    }
  }

  @Test func `it is reported to a client that sent a token`() throws {
    input.write(initialize(#""w""#) + "\n")
    let reporter = reporter()
    for step in Self.steps { reporter.report(step) }
    reporter.end()
    let values = try values()
    #expect(values.map { $0["kind"] } == ["begin", "report", "report", "report", "end"])
    #expect(values.compactMap { $0["percentage"]?.integer } == [0, 0, 33, 66])
    #expect(values[1]["message"] == "Step 0")
  }

  @Test func `a client that sent none gets no message before its first response`() throws {
    for message in [initialize("null"), #"{"jsonrpc":"2.0","id":1,"method":"status"}"#, "{"] {
      input.write(message + "\n")
      let reporter = reporter()
      for step in Self.steps { reporter.report(step) }
      reporter.end()
      #expect(output.read().isEmpty)
    }
  }

  @Test func `a client that has sent nothing is not waited for`() {
    let reporter = reporter()
    for step in Self.steps { reporter.report(step) }
    reporter.end()
    #expect(reporter.initialInput.isEmpty)
    #expect(output.read().isEmpty)
  }

  @Test func `it begins when the token arrives during a step`() throws {
    let reporter = reporter()
    reporter.report(Self.steps[0])
    input.write(initialize(#""w""#) + "\n")
    reporter.report(Self.steps[1])
    reporter.end()
    #expect(try values().map { $0["kind"] } == ["begin", "report", "end"])
  }

  @Test(arguments: Framing.allCases)
  func `the input that was read is kept for the service`(framing: Framing) throws {
    let first = framing.frame(Array(initialize(#""w""#).utf8))
    let second = framing.frame(Array(#"{"jsonrpc":"2.0","id":2,"method":"status"}"#.utf8))
    let text = String(decoding: first + second, as: UTF8.self)
    input.write(text)
    let reporter = reporter()
    reporter.report(Self.steps[0])
    #expect(String(decoding: reporter.initialInput, as: UTF8.self) + input.read() == text)
    #expect(output.read().contains("$/progress"))
  }

  @Test func `an output that accepts no bytes does not stop the migration`() throws {
    let filler = [UInt8](repeating: 0x20, count: 4096)
    let flags = fcntl(output.writer, F_GETFL)
    try #require(fcntl(output.writer, F_SETFL, flags | O_NONBLOCK) == 0)
    while unsafe Glibc.write(output.writer, filler, filler.count) > 0 {}
    try #require(fcntl(output.writer, F_SETFL, flags) == 0)
    input.write(initialize(#""w""#) + "\n")
    let reporter = reporter()
    for step in Self.steps { reporter.report(step) }
    reporter.end()
    #expect(!output.read().contains("$/progress"))
  }
}
