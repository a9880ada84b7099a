import Testing

@Suite struct `A request that the client cancels` {
  /// A save that takes so long that the messages behind it are read while it runs.
  private static let save = line(1, "save", ["insert": .array((0..<3000).map { task("t\($0)") })])

  private func cancel(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(id)}}"# + "\n"
  }

  // Evidence: P-017a
  @Test func `is answered with -32800 when it did not begin`() throws {
    let fixture = try Fixture()
    let script = Self.save + line(2, "fetch", ["entity": "Task", "result": "count"]) + cancel(2)
    let outcome = try fixture.run(
      ["serve", try fixture.store()],
      input: script + line(3, "fetch", ["entity": "Task", "result": "count"])
    )
    let answers = try outcome.lines
    #expect(answers.map { $0["id"] } == [1, 2, 3])
    #expect(answers.at(0)["result"]?["ids"] != nil)
    #expect(answers.at(1)["error"]?["code"] == -32800)
    #expect(answers.at(2)["result"]?["count"] == 3000)
  }

  // Evidence: P-017a
  @Test func `is answered as usual when it began, and an unknown one not at all`() throws {
    let fixture = try Fixture()
    let script = Self.save + cancel(1) + cancel(77)
    let outcome = try fixture.run(
      ["serve", try fixture.store()],
      input: script + line(2, "fetch", ["entity": "Task", "result": "count"])
    )
    let answers = try outcome.lines
    #expect(answers.map { $0["id"] } == [1, 2])
    #expect(answers.at(0)["error"] == nil)
    #expect(answers.at(1)["result"]?["count"] == 3000)
  }
}
