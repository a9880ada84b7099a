import Glibc
import Testing

/// Answers of several megabytes, read as fast as they come, and what was sent after them.
@Suite struct `Requests during responses of several megabytes` {
  private static let objectCount = 10_000

  private let daemon: Daemon
  private let fixture: Fixture

  init() throws {
    fixture = try Fixture()
    daemon = try fixture.daemon(try fixture.store())
    let peer = try daemon.connect()
    let text = String(repeating: "0123456789", count: 20)
    for part in 0..<10 {
      let numbers = part * Self.objectCount / 10..<(part + 1) * Self.objectCount / 10
      let params: JSON = ["insert": .array(numbers.map { task("\($0) \(text)", priority: $0) })]
      try peer.call("save", params)
    }
  }

  /// Sends everything at once, reads as fast as possible, and returns the IDs of the answers.
  private func converse(
    _ script: String,
    answers count: Int,
    endsInput: Bool = false
  ) throws -> (ids: [Int], longest: Int) {
    let connection = try RawConnection(daemon.socket, hasHeaders: false)
    connection.enqueue(Array(script.utf8))
    var ids: [Int] = []
    var longest = 0
    while endsInput || ids.count < count {
      var polls = [connection.poll(reads: true)]
      guard unsafe poll(&polls, 1, Int32(ByteStream.secondsMax * 1000)) > 0 else {
        throw Failure("nothing came after \(ids.count) of \(count) answers")
      }
      _ = connection.write()
      if endsInput, connection.pending == 0 { connection.endInput() }
      _ = try connection.read { answer in
        guard answer.isWhole else { throw Failure("a broken answer: \(answer.text)") }
        longest = max(longest, answer.length)
        if let id = answer.integerID { ids.append(id) }
      }
      if connection.hasEnded { break }
    }
    return (ids, longest)
  }

  private func check(_ first: (Int) -> String) throws {
    let small = 3000
    for round in 1...4 {
      var script = first(1)
      for number in 2...small + 1 {
        let isLookUp = number % 2 == 0
        script +=
          isLookUp ? line(number, "fetch", ["ids": ["Task/p\(number)"]]) : line(number, "status")
      }
      let (ids, longest) = try converse(script, answers: small + 1)
      guard ids.count == small + 1 else {
        let code = try daemon.child.exitCode()
        let text = try daemon.child.errorText()
        throw Failure("round \(round): \(ids.count) answers, then exit code \(code): \(text)")
      }
      #expect(ids == Array(1...small + 1), "round \(round)")
      #expect(longest > 1 << 20, "round \(round)")
    }
    try daemon.connect().call("status")
    daemon.child.signal(SIGTERM)
    #expect(try daemon.child.exitCode() == 0)
  }

  // Evidence: P-012a, P-019c
  @Test(arguments: [5000, Self.objectCount])
  func `are answered in order after a fetch`(limit: Int) throws {
    try check {
      line($0, "fetch", ["entity": "Task", "sort": ["title"], "limit": .integer(Int64(limit))])
    }
  }

  // Evidence: P-012a, P-019c
  @Test(arguments: [("model", 4000), ("rpc.discover", 400)])
  func `are answered once each, several megabytes together`(
    method: String,
    count: Int
  ) throws {
    for round in 1...4 {
      let script = (1...count).map { line($0, method) }.joined()
      let (ids, _) = try converse(script, answers: count, endsInput: true)
      #expect(ids.count == count, "round \(round)")
      #expect(ids == Array(1...count), "round \(round)")
    }
  }

  // The small answers are ready before the long one, and wait for it.
  // Evidence: P-012a, P-013a
  @Test func `are answered after the end of the input`() throws {
    for round in 1...10 {
      var script = line(1, "fetch", ["entity": "Task"])
      for number in 2...200 { script += line(number, "status") }
      let (ids, longest) = try converse(script, answers: 200, endsInput: true)
      #expect(ids.count == 200, "round \(round)")
      #expect(ids == Array((1...200).prefix(ids.count)), "round \(round)")
      #expect(longest > 1 << 20, "round \(round)")
    }
  }

  // Evidence: P-012a, P-019c
  @Test func `are answered in order after an observe`() throws {
    let fetch: JSON = ["entity": "Task", "sort": ["title"]]
    try check { line($0, "observe", ["fetch": fetch]) }
  }
}
