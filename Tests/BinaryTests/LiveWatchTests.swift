import Testing

/// `cordial watch` on a terminal, which `script` of Debian's package bsdutils provides.
@Suite struct `The live table of watch` {
  private func watch(_ socket: String, _ request: String) throws -> Child {
    try terminal("\(Child.binary) watch \(socket) \(request)")
  }

  private func terminal(_ command: String) throws -> Child {
    try Child(
      ["-qec", command, "/dev/null"],
      program: "/usr/bin/script",
      environment: ["NO_COLOR": "1", "TERM": "xterm"]
    )
  }

  /// Reads lines until one has a text.
  private func wait(for text: String, on watch: Child) throws {
    while let line = try watch.stream.line() {
      if line.contains(text) { return }
    }
    throw Failure("the table ended without \(text)")
  }

  @Test func `marks changes, resumes from another service, and restores the terminal`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    var daemon = try fixture.daemon(store)
    let watch = try watch(daemon.socket, "Task --sort title --select title")
    try wait(for: "\u{1B}[?1049h", on: watch)
    try daemon.connect().call("save", ["insert": [task("milk"), task("zinc"), task("zulu")]])
    try wait(for: "+ Task/p1  milk", on: watch)
    daemon.child.signal(9)
    _ = try daemon.child.exitCode()
    try wait(for: "(not connected, trying again)", on: watch)
    daemon = try fixture.daemon(store)
    try daemon.connect().call(
      "save",
      ["update": [["id": "Task/p1", "values": ["title": "oats"]]], "delete": ["Task/p2"]]
    )
    try wait(for: "~ Task/p1  oats", on: watch)
    // The last line of the screen has no end, so that another row follows.
    try wait(for: "- Task/p2  zinc", on: watch)
    // The terminal turns this character into a signal.
    try watch.stream.send("\u{3}")
    #expect(try watch.stream.rest().hasSuffix("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"))
    daemon.child.end()
  }

  @Test func `is one of a search while a person types, and opens an object`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let client = try daemon.connect()
    try client.call(
      "save",
      [
        "insert": [
          task("Buy milk"), task("Sell milk"), task("Bread"),
          ["entity": "Group", "values": ["title": "Milk bar"]],
        ]
      ]
    )
    let search = try terminal("\(Child.binary) search \(daemon.socket) --interactive")
    #expect(try search.stream.text(upTo: "Type words") != nil)
    try search.stream.send("mi")
    #expect(try search.stream.text(upTo: "3 found: Group 1, Task 2") != nil)
    try search.stream.send("lk buy")
    #expect(try search.stream.text(upTo: "1 found: Task 1") != nil)
    // Control-W deletes the word, and the arrow selects another hit.
    try search.stream.send("\u{17}")
    #expect(try search.stream.text(upTo: "3 found") != nil)
    try search.stream.send("\u{1B}[B\u{1B}OB\r")
    #expect(try search.stream.text(upTo: "title: Sell milk") != nil)
    try search.stream.send("\u{1B}")
    #expect(try search.stream.text(upTo: "3 found") != nil)
    try search.stream.send("\u{15}brad")
    #expect(try search.stream.text(upTo: "(brad: Bread)") != nil)
    // Tab makes the search strict, and forgiving again.
    try search.stream.send("\t")
    #expect(try search.stream.text(upTo: "0 found") != nil)
    try search.stream.send("\t")
    #expect(try search.stream.text(upTo: "(brad: Bread)") != nil)
    try search.stream.send("\u{1B}")
    #expect(try search.stream.rest().hasSuffix("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"))
    #expect(try search.exitCode() == 0)

    // The terminal is as it was, also after a signal.
    let killed = try terminal(
      "trap : INT; \(Child.binary) search \(daemon.socket) --interactive milk; stty -a"
    )
    #expect(try killed.stream.text(upTo: "3 found") != nil)
    try killed.stream.send("\u{3}")
    let rest = try killed.stream.rest()
    #expect(rest.contains(" icanon") && rest.contains(" echo "), "\(rest)")
    daemon.child.end()
    for arguments in [["search", "x", "--interactive", "--suggest"], ["search", "x"]] {
      #expect(try fixture.run(arguments).code == 64)
    }
    let outcome = try fixture.run(["search", try fixture.store("Other.cordial"), "--interactive"])
    #expect(outcome.code == 1 && outcome.errors.contains("needs a terminal"))
  }

  @Test func `shows what a search finds`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let client = try daemon.connect()
    try client.call("save", ["insert": [task("Buy milk"), task("Sell milk"), task("Bread")]])
    let watch = try watch(daemon.socket, "Task --search milk --select priority")
    try wait(for: "Task/p1  Buy milk", on: watch)
    // The shortest title comes first; the last line of the screen has no end.
    try client.call("save", ["update": [["id": "Task/p3", "values": ["title": "Milk"]]]])
    try wait(for: "+ Task/p3  Milk", on: watch)
    try client.call("delete", ["ids": ["Task/p3"]])
    try wait(for: "- Task/p3  Milk", on: watch)
    try watch.stream.send("\u{3}")
    _ = try watch.stream.rest()
    daemon.child.end()
    let store = try fixture.store("Other.cordial")
    for arguments in [["watch", store], ["watch", store, "--search", "a", "--count"]] {
      #expect(try fixture.run(arguments).code == 64)
    }
  }
}
