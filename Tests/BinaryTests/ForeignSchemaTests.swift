import Foundation
import Testing

/// What a store or an archive brings that somebody else hands over.
@Suite struct `A store that another program changed` {
  private static let trigger =
    "CREATE TRIGGER evil AFTER INSERT ON Task BEGIN UPDATE Task SET title = 'changed'; END"

  private let fixture: Fixture
  private let store: String

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
    let saved = try fixture.run(["save", store], input: #"{"insert":[{"entity":"Task"}]}"#)
    guard saved.code == 0 else { throw Failure(saved.errors) }
  }

  // Evidence: P-136a
  @Test(arguments: [
    ["serve"], ["serve", "--read-only"], ["fetch", "Task"], ["doctor"], ["export"], ["compact"],
  ])
  func `is refused by every command with the name of its trigger`(words: [String]) throws {
    _ = try ForeignClient.run(store, Self.trigger)
    let outcome = try fixture.run([words[0], store] + words.dropFirst())
    #expect(outcome.code == 1)
    #expect(outcome.output == "")
    let lines = outcome.errors.split(separator: "\n")
    #expect(
      lines.first?.hasSuffix(#"the trigger "evil" of another program is on its table "Task""#)
        == true,
      "\(outcome.errors)"
    )
    #expect(lines.count == 2)
    #expect(try ForeignClient.run(store, "SELECT count(*) FROM Task") == "1\n")
  }

  // Evidence: P-136a, P-135e
  @Test func `makes an archive that is not imported`() throws {
    let archive = fixture.path("a.jsonl")
    let daemon = try fixture.daemon(store)
    try daemon.connect().call("status")
    // A service that has the store open continues, and its archive has the trigger.
    _ = try ForeignClient.run(store, Self.trigger)
    let exported = try Child(
      ["export", daemon.socket, "--archive", "--history"],
      input: .nothing,
      output: archive
    )
    #expect(try exported.exitCode() == 0)
    let outcome = try fixture.run(["import", fixture.path("new"), archive])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains(#"the trigger "evil""#), "\(outcome.errors)")
    #expect(!fixture.exists("new"))
  }

  // Evidence: P-133b, P-136b
  @Test func `is verified by its service, and doctor lists what stays`() throws {
    _ = try ForeignClient.run(store, "CREATE VIEW listed AS SELECT title FROM Task")
    let report = try fixture.run(["doctor", store])
    #expect(report.code == 0, "\(report.errors)")
    #expect(
      try report.lines.at(0)["store"]?["foreign"] == [["what": "view", "name": "listed"]]
    )
    let peer = Peer(try Child(["serve", store]))
    try peer.call("status")
    _ = try ForeignClient.run(store, Self.trigger)
    let problems = try peer.call("store/verify")["problems"]
    #expect(problems?[0]?["what"] == "schema")
    #expect(problems?[0]?["message"]?.string?.contains(#"the trigger "evil""#) == true)
  }

  // Evidence: P-095a
  @Test(arguments: [
    "CREATE TRIGGER evil AFTER INSERT ON document BEGIN DELETE FROM document; END",
    "CREATE VIEW evil AS SELECT absent FROM nowhere",
  ])
  func `has its index rebuilt where that has triggers or views`(sql: String) throws {
    _ = try fixture.run(["search", store, "milk"])
    _ = try ForeignClient.run(store, sql, in: "index.sqlite")
    let peer = Peer(try Child(["serve", store]))
    let saved = try peer.call("save", ["insert": [task("milk one"), task("milk two")]])
    let found = try peer.call("search", ["query": "milk", "at": saved["token"] ?? .null])
    #expect(found["total"] == 2)
    #expect(try peer.call("index/verify")["differences"] == [])
    #expect(try peer.call("index/rebuild")["documents"] == 3)
    #expect(
      try ForeignClient.run(
        store,
        "SELECT count(*) FROM sqlite_schema WHERE name = 'evil'",
        in: "index.sqlite"
      ) == "0\n"
    )
  }
}
