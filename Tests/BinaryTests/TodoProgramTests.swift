import Foundation
import Testing

/// The Todo program of `Tools/outside` on a terminal, which `script` of Debian's package bsdutils
/// provides.
@Suite(.enabled(if: TodoProgram.isBuilt, "Tools/test builds the program"))
struct `The Todo program` {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private static let objects: [(id: String, values: JSON)] = [
    ("Group/sHome", ["title": "Home"]), ("Group/sWork", ["title": "Work"]),
    ("Task/sMilk", ["title": "Milk", "priority": 1, "group": "Group/sHome"]),
    ("Task/sBread", ["title": "Bread", "completed": true, "group": "Group/sHome"]),
  ]

  private func script() throws -> String {
    let objects = Self.objects.map { #"{"id":"\#($0.id)","values":\#($0.values.text)}"# }
    return try fixture.write(
      #"{"model":"\#(Fixture.todo)","objects":[\#(objects.joined(separator: ","))]}"#,
      to: "mock.json"
    )
  }

  /// A service with the same objects, as a mock or as a store.
  private func serve(isMock: Bool) throws -> Daemon {
    guard !isMock else { return try fixture.daemon(arguments: ["--mock", try script()]) }
    let daemon = try fixture.daemon(try fixture.store())
    let inserts = Self.objects.map { object -> JSON in
      [
        "id": .string(object.id.replacing("/s", with: "/t")),
        "values": .object(
          (object.values.object ?? [:]).mapValues { $0 == "Group/sHome" ? "Group/tHome" : $0 }
        ),
      ]
    }
    try daemon.connect().call("save", ["insert": .array(inserts)])
    return daemon
  }

  @Test(arguments: [true, false])
  func `shows the same screens on a mock and on a store`(isMock: Bool) throws {
    let daemon = try serve(isMock: isMock)
    let other = try daemon.connect()
    let todo = try TodoProgram(["--socket", daemon.socket])
    try todo.expect("Groups", ["> Home (2)", "  Work (0)"])
    try todo.press("\r", then: "Home", ["> [ ] Milk !1", "  [x] Bread"])
    try todo.press(" ", then: "Home", ["> [x] Milk !1", "  [x] Bread"])
    try todo.press("n", then: "Home", ["> [x] Milk !1", "  [x] Bread"], "New task: _")
    let three = ["> [ ] Eggs", "  [x] Milk !1", "  [x] Bread"]
    try todo.press("Eggs\r", then: "Home", three)
    try todo.press("u", then: "Home", ["> [x] Milk !1", "  [x] Bread"], "Undone")
    try todo.press("U", then: "Home", three, "Done again")
    try todo.press("t", then: "Home", ["> [ ] Eggs *", "  [x] Milk !1", "  [x] Bread"])

    func detail(_ state: String, _ group: String, _ priority: Int, _ memo: String) -> [String] {
      [
        "> \(state)", "  Group     \(group)", "  My day    yes", "  Priority  \(priority)",
        "  Memo      \(memo)",
      ]
    }
    try todo.press("\r", then: "Eggs", detail("To do", "Home", 0, "-"))
    try todo.press("e", then: "Eggs", detail("To do", "Home", 0, "-"), "Memo: _")
    try todo.press("salt\r", then: "Eggs", detail("To do", "Home", 0, "salt"))
    // Another client changes the task before this one writes it.
    try todo.press("r", then: "Eggs", detail("To do", "Home", 0, "salt"), "Title: Eggs_")
    let fetched = try other.call("fetch", ["entity": "Task", "predicate": "title == 'Eggs'"])
    let eggs = try #require(fetched["objects"]?[0]?["id"])
    try other.call("save", ["update": [["id": eggs, "values": ["priority": 5]]]])
    try todo.expect("Eggs", detail("To do", "Home", 5, "salt"), "Title: Eggs_")
    try todo.press("!\r", then: "Eggs!", detail("To do", "Home", 5, "salt"))
    try todo.press("g", then: "Eggs!", detail("To do", "Work", 5, "salt"))
    // Another client deletes the task while it is shown.
    try other.call("delete", ["ids": [eggs]])
    try todo.expect("Eggs!", detail("This task was deleted", "Work", 5, "salt"))
    try todo.press("\u{1B}", then: "Home", ["> [x] Milk !1", "  [x] Bread"])

    try todo.press("\u{1B}", then: "Groups", ["> Home (2)", "  Work (0)"])
    try todo.press(
      "s",
      then: "All tasks",
      ["> == Home (2)", "  [x] Bread", "  [x] Milk !1"]
    )
    try todo.press(
      "\u{1B}[B",
      then: "All tasks",
      ["  == Home (2)", "> [x] Bread", "  [x] Milk !1"]
    )
    try todo.press(
      "g",
      then: "All tasks",
      [
        "  == Home (1)", "> [x] Milk !1", "  == Work (1)", "  [x] Bread",
      ]
    )
    try todo.press("\u{1B}", then: "Groups", ["> Home (1)", "  Work (1)"])
    try todo.press("/", then: "Search: ", [])
    try todo.press("MI", then: "Search: MI", ["> [x] Milk !1"])
    try todo.press("\u{7F}", then: "Search: M", ["> [x] Milk !1"])
    try todo.press("\u{1B}", then: "Groups", ["> Home (1)", "  Work (1)"])
    try todo.press("m", then: "My day", [])
    try todo.press("\u{1B}", then: "Groups", ["> Home (1)", "  Work (1)"])
    // A group that another client deletes while its tasks are shown.
    try todo.press("\r", then: "Home", ["> [x] Milk !1"])
    let home = try other.call("fetch", ["entity": "Group", "predicate": "title == 'Home'"])
    try other.call("delete", ["ids": [try #require(home["objects"]?[0]?["id"])]])
    try todo.expect("Home (deleted)", [])
    try todo.press("\u{1B}", then: "Groups", ["> Work (1)"])
    try todo.quit("q")
    daemon.child.end()
  }

  @Test func `runs on a script that it serves itself`() throws {
    let todo = try TodoProgram(["--mock", try script()])
    try todo.expect("Groups", ["> Home (2)", "  Work (0)"])
    try todo.press("\r", then: "Home", ["> [ ] Milk !1", "  [x] Bread"])
    try todo.quit("\u{3}")
  }

  @Test func `follows its service when that is killed and started again`() throws {
    let daemon = try serve(isMock: false)
    let todo = try TodoProgram(["--socket", daemon.socket])
    try todo.expect("Groups", ["> Home (2)", "  Work (0)"])
    daemon.child.signal(9)
    _ = try daemon.child.exitCode()
    let again = try fixture.daemon(fixture.path("Test.cordial"))
    try again.connect().call("save", ["insert": [["id": "Group/t1", "values": ["title": "Trip"]]]])
    try todo.expect("Groups", ["> Home (2)", "  Trip (0)", "  Work (0)"])
    try todo.quit("q")
    again.child.end()
  }

  @Test func `takes keys that arrive together, and shows no control characters`() throws {
    let todo = try TodoProgram(["--mock", try script()])
    try todo.expect("Groups", ["> Home (2)", "  Work (0)"])
    // Down, and a new group whose name has the bytes of an arrow key in its middle.
    try todo.press(
      "\u{1B}[Bn東\u{1B}[1;5C京é\r",
      then: "Groups",
      ["  Home (2)", "> Work (0)", "  東京é (0)"]
    )
    try todo.press(
      "r\u{7F}\u{7F}\u{7F}\u{7F}\u{1B}[Ax\ty\r",
      then: "Groups",
      ["  Home (2)", "> x y (0)", "  東京é (0)"]
    )
    try todo.quit("\u{1B}\u{1B}\u{3}")
  }

  @Test(arguments: [SIGTERM, SIGHUP])
  func `restores the terminal when a signal ends it`(signal: Int32) throws {
    let todo = try TodoProgram(["--mock", try script()])
    try todo.expect("Groups", ["> Home (2)", "  Work (0)"])
    try todo.end(signal: signal)
  }

  @Test func `tells what its arguments are`() throws {
    let child = try Child(["--mock"], program: TodoProgram.path, input: .nothing)
    #expect(try child.errorText().hasPrefix("todo: usage: todo "))
    #expect(try child.exitCode() == 64)
  }
}

/// The program on a terminal.
private final class TodoProgram {
  static let path = FileManager.default.currentDirectoryPath + "/.build/debug/todo"
  static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: path) }

  private let child: Child
  /// The file in which the shell writes the number of the program's process.
  private let processFile = FileManager.default.temporaryDirectory
    .appending(path: "cordial-todo-\(UUID().uuidString)")

  init(_ arguments: [String]) throws {
    let program = ([Self.path, "--program", Child.binary] + arguments).joined(separator: " ")
    child = try Child(
      ["-qec", "echo $$ > \(processFile.path); exec \(program)", "/dev/null"],
      program: "/usr/bin/script",
      environment: ["TERM": "xterm"]
    )
  }

  deinit {
    do { try FileManager.default.removeItem(at: processFile) } catch {}
  }

  /// Presses keys, and waits until the screen shows a page.
  func press(
    _ keys: String,
    then title: String,
    _ rows: [String],
    _ message: String = ""
  ) throws {
    try child.stream.send(keys)
    try expect(title, rows, message)
  }

  /// Waits until the screen shows a page.
  func expect(_ title: String, _ rows: [String], _ message: String = "") throws {
    let wanted = [title, ""] + rows
    var last: [String] = []
    func frame() throws -> String? {
      do {
        return try child.stream.text(upTo: "\u{1B}[J")
      } catch {
        throw Failure("\(error); not \(wanted), but \(last)")
      }
    }
    while let frame = try frame() {
      let start = frame.range(of: "\u{1B}[H")?.upperBound ?? frame.startIndex
      last = frame[start...].replacing("\u{1B}[K", with: "").components(separatedBy: "\r\n")
      let shown = last.dropLast(2).reversed().drop(while: \.isEmpty).reversed()
      let expected = wanted.reversed().drop(while: \.isEmpty).reversed()
      if Array(shown) == Array(expected), last.suffix(2).first == message { return }
    }
    throw Failure("exit \(try child.exitCode()) without \(wanted); the last screen: \(last)")
  }

  /// Ends the program by a signal.
  func end(signal: Int32) throws {
    let text = try String(contentsOf: processFile, encoding: .utf8)
    let process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(kill(process, signal) == 0)
    let rest = try child.stream.rest()
    #expect(rest.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"), "\(rest)")
    #expect(try child.exitCode() == 0)
  }

  /// Ends the program by a key.
  func quit(_ key: String) throws {
    try child.stream.send(key)
    let rest = try child.stream.rest()
    #expect(rest.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"), "\(rest)")
    #expect(try child.exitCode() == 0)
  }
}
