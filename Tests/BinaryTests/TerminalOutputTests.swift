import Foundation
import Testing

/// What commands write to a terminal, which `script` of Debian's package bsdutils provides, and to
/// a pipe.
@Suite struct `The output of a command` {
  /// A color, a bell, a C1 sequence, a deletion, a return and a change of direction.
  private static let hostile = "red\u{1B}[1m\u{7}\u{9B}2J\u{7F}\rx\u{202E}y"
  private static let shown = #"red\u001b[1m\u0007\u009b2J\u007f\rx\u202ey"#

  /// Returns a store whose texts, author and context have control characters.
  private func store(_ fixture: Fixture) throws -> String {
    let store = try fixture.store()
    let save: JSON = [
      "author": .string(Self.hostile), "context": .string(Self.hostile),
      "insert": [
        ["entity": "Task", "values": ["title": .string(Self.hostile)]],
        ["entity": "Group", "values": ["title": .string(Self.hostile)]],
      ],
    ]
    #expect(try fixture.run(["save", store], input: save.text).code == 0)
    return store
  }

  private func terminal(_ arguments: [String]) throws -> String {
    let words = ([Child.binary] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }
    let child = try Child(
      ["-qec", words.joined(separator: " "), "/dev/null"],
      program: "/usr/bin/script",
      environment: ["TERM": "xterm", "NO_COLOR": "1"]
    )
    return try child.stream.rest()
  }

  private static let rows: [(arguments: [String], hasText: Bool)] = [
    (["fetch", "Task"], true), (["get", "Task/p1", "Task/p2"], true), (["history"], true),
    (["search", "red"], true), (["search", "re", "--suggest"], false), (["doctor"], false),
    (["doctor", "--json"], false), (["export"], true), (["export", "Task", "--csv"], true),
    (["export", "--archive"], true), (["call", "fetch", #"{"entity":"Task"}"#], true),
    (["call", "status", "--wire"], false), (["update", "Task", "--where", "title != nil"], false),
    (["delete", "Task/p1", "--dry-run"], false), (["followers", "register", hostile], false),
    (["fetch", "Task", "--\(hostile)"], true), (["fetch", hostile], true),
    (["fetch", "Task", "--where", "title == \(hostile)"], false),
  ]

  // Evidence: P-133c
  @Test(arguments: rows)
  func `shows control characters on a terminal, and sends none`(
    arguments: [String],
    hasText: Bool
  ) throws {
    let fixture = try Fixture()
    var words = arguments
    let isNested = words[0] == "followers"
    words.insert(try store(fixture), at: isNested ? 2 : 1)
    let output = try terminal(words)
    let rest = output.replacing("\r\n", with: "")
    let sent = rest.unicodeScalars.filter { scalar in
      scalar.properties.generalCategory == .control || scalar == "\u{202E}"
    }
    #expect(sent.isEmpty, "\(output.debugDescription)")
    #expect(!hasText || output.contains(Self.shown), "\(output)")
  }

  // Evidence: P-133c
  @Test func `keeps the columns of a table aligned`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let titles = ["plain", "日本語", "\u{1B}[2J", "e\u{301}", "two\nlines"]
    let save: JSON = ["insert": .array(titles.map { task($0, priority: 5) })]
    #expect(try fixture.run(["save", store], input: save.text).code == 0)
    let output = try terminal(["fetch", store, "Task", "--select", "title,priority"])
    #expect(
      output.components(separatedBy: "\r\n") == [
        "id       title      priority", "Task/p1  plain      5", "Task/p2  日本語     5",
        #"Task/p3  \u001b[2J  5"#, "Task/p4  e\u{301}          5", "Task/p5  two lines  5", "",
      ]
    )
  }

  // Evidence: P-133c
  @Test func `has every text unchanged in a pipe`() throws {
    let fixture = try Fixture()
    let store = try store(fixture)
    let csv = try fixture.run(["export", store, "Task", "--csv"])
    #expect(csv.output.contains("\"\(Self.hostile)\""))
    let fetched = try fixture.run(["fetch", store, "Task"])
    #expect(fetched.output.contains("\u{9B}2J\u{7F}") && fetched.output.contains("\u{202E}y"))
    #expect(try fetched.lines.at(0)["values"]?["title"] == .string(Self.hostile))
    #expect(try fixture.run(["fetch", store, Self.hostile]).errors.contains(Self.hostile))
  }

  // Evidence: P-135c, P-135g
  @Test func `is a file of comma-separated values with the ends of lines of RFC 4180`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let save: JSON = ["insert": [task("=1+1"), task("say \"\u{301}x\"")]]
    #expect(try fixture.run(["save", store], input: save.text).code == 0)
    let plain = try fixture.run(["export", store, "Task", "--csv"]).output
    #expect(Array(plain.utf8).split(separator: 0x0A).allSatisfy { $0.last == 0x0D })
    #expect(plain.contains("Task/p1,=1+1,") && plain.contains(",\"say \"\"\u{301}x\"\"\","))
    let quoted = try fixture.run(["export", store, "Task", "--csv", "--quote-formulas"])
    #expect(quoted.code == 0 && quoted.output.contains("Task/p1,'=1+1,"))
    #expect(try fixture.run(["export", store, "--quote-formulas"]).code == 64)
  }

  // Evidence: P-135f
  @Test func `of an import names the line that is not UTF-8`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let file = fixture.path("latin1.csv")
    let bytes = Array("title,priority\nok,1\nbad ".utf8) + [0xE9] + Array(",2\n".utf8)
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let outcome = try fixture.run(["import", store, file, "--csv", "Task"])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("Line 3: the byte 0xE9 is not UTF-8"), "\(outcome.errors)")
    #expect(try fixture.run(["fetch", store, "Task", "--count"]).output == "0\n")
  }

  // Evidence: P-112e
  @Test func `of generate has no code from the texts of a model`() throws {
    let fixture = try Fixture()
    let model: JSON = [
      "name": .string("Shop\nlet evil = 1"), "version": .string("\r\u{202E}"), "entities": [],
    ]
    let file = try fixture.write(model.text, to: "m.json")
    let outcome = try fixture.run(["model", "generate", "--swift", file])
    #expect(outcome.code == 0)
    #expect(!outcome.output.split(separator: "\n").contains { $0.hasPrefix("let evil") })
    #expect(!outcome.output.unicodeScalars.contains("\u{202E}"))
  }
}
