import Foundation
import Glibc
import Testing

/// Folders below one that every user can write, whose names another user can know.
@Suite struct `Folders beside those of other users` {
  /// Runs a script of the shell, and then the program in the same process.
  private func serve(
    _ script: String,
    _ words: [String],
    _ environment: [String: String] = [:]
  ) throws -> Child {
    try Child(
      ["-c", "\(script); exec \"$0\" serve \"$@\"", Child.binary] + words,
      program: "sh",
      environment: environment
    )
  }

  // Evidence: P-004a
  @Test func `a store in memory has a folder that did not exist`() throws {
    // The number of the process is known before the program begins.
    let child = try serve(
      "for n in 0 1; do mkdir -m 777 /dev/shm/cordial-memory-$(id -u)-$$-$n; done",
      ["x", "--in-memory", "--model", Fixture.todo]
    )
    let folders = (0...1).map { "/dev/shm/cordial-memory-\(getuid())-\(child.process)-\($0)" }
    defer {
      for folder in folders {
        do { try FileManager.default.removeItem(atPath: folder) } catch {}
      }
    }
    let peer = Peer(child)
    try peer.call("save", ["insert": [task("secret")]])
    for folder in folders {
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }
    let path = try #require(try peer.call("status")["store"]?["path"]?.string)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  // Evidence: P-004a
  @Test func `the folder of an ended process stays where another user can change it`() throws {
    let ended = try Child(["-c", "exit 0"], program: "sh")
    #expect(try ended.exitCode() == 0)
    let prefix = "/dev/shm/cordial-memory-\(getuid())-\(ended.process)-"
    let (open, link, own) = (prefix + "open", prefix + "link", prefix + "own")
    let fixture = try Fixture()
    let file = try fixture.write("mine", to: "file")
    defer {
      for path in [open, link, own] {
        do { try FileManager.default.removeItem(atPath: path) } catch {}
      }
    }
    for (path, mode) in [(open, 0o777), (own, 0o700)] as [(String, mode_t)] {
      #expect(unsafe mkdir(path, 0o700) == 0)
      #expect(unsafe chmod(path, mode) == 0)
    }
    #expect(unsafe symlink(fixture.folder, link) == 0)
    let outcome = try fixture.run(["serve", "x", "--in-memory", "--model", Fixture.todo])
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(FileManager.default.fileExists(atPath: open))
    #expect(FileManager.default.fileExists(atPath: file))
    #expect(!FileManager.default.fileExists(atPath: own))
  }

  @Test func `a mock leaves no folder in memory`() throws {
    let fixture = try Fixture()
    let script = try fixture.write(#"{"objects":[{"id":"A/s1","values":{"b":1}}]}"#, to: "m.json")
    let child = try Child(["serve", "--mock", script])
    try Peer(child).call("status")
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: "/dev/shm")
    #expect(!names.contains { $0.contains("-\(child.process)-") })
  }

  // Evidence: P-004b
  @Test(arguments: ["mkdir -m 777", "ln -s ../other"])
  func `a cache folder of another user is refused`(command: String) throws {
    let fixture = try Fixture()
    #expect(unsafe mkdir(fixture.path("other"), 0o700) == 0)
    #expect(unsafe mkdir(fixture.path("tmp"), 0o777) == 0)
    let environment = ["HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": fixture.path("tmp")]
    let child = try serve(
      "umask 0; \(command) \"$TMPDIR/cordial-$(id -u)\"",
      ["mine", "--test-mode", "--model", Fixture.todo],
      environment
    )
    child.stream.endInput()
    #expect(try child.exitCode() == 1)
    let said = try child.errorText()
    #expect(said.hasPrefix("cordial: "), "\(said)")
    #expect(said.contains("tmp/cordial-\(getuid())"), "\(said)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path("other")) == [])
  }

  // Evidence: P-004b
  @Test func `without HOME, the cache folder is a new one for this user only`() throws {
    let fixture = try Fixture()
    let environment = ["HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": fixture.folder]
    for _ in 1...2 {
      let outcome = try fixture.run(
        ["serve", "mine", "--test-mode", "--model", Fixture.todo],
        input: line(1, "fetch", ["entity": "Task", "result": "count"]),
        environment: environment
      )
      #expect(outcome.code == 0, "\(outcome.errors)")
    }
    let folder = fixture.path("cordial-\(getuid())")
    let attributes = try FileManager.default.attributesOfItem(atPath: folder)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    #expect(fixture.exists("cordial-\(getuid())/cordial/test/mine/store.sqlite"))
  }
}
