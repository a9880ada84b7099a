import Foundation
import Testing

@Suite struct `A store whose name begins with a hyphen` {
  @Test(arguments: ["init", "serve", "fetch", "import", "doctor", "restore"])
  func `is refused as an option`(command: String) throws {
    let fixture = try Fixture()
    let model = try fixture.write(#"{"name":"M","entities":[{"name":"A"}]}"#, to: "m.json")
    let before = try FileManager.default.contentsOfDirectory(atPath: fixture.folder)
    for name in ["-store", "--store"] {
      let refused = try run([command, name, "--model", model], in: fixture)
      #expect(refused.code == 64, "\(command) \(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder) == before)
  }

  @Test func `is accepted after two hyphens`() throws {
    let fixture = try Fixture()
    let model = try fixture.write(#"{"name":"M","entities":[{"name":"A"}]}"#, to: "m.json")
    #expect(try run(["init", "--model", model, "--", "-store"], in: fixture).code == 0)
    #expect(fixture.exists("-store/store.sqlite"))
    #expect(try run(["fetch", "--count", "--", "-store", "A"], in: fixture).output == "0\n")
  }

  /// Runs a command in the scene's folder, where a relative path would be made.
  private func run(
    _ arguments: [String],
    in fixture: Fixture
  ) throws -> (code: Int32, output: String) {
    let child = try Child(
      ["-C", fixture.folder, Child.binary] + arguments,
      program: "/usr/bin/env",
      input: .nothing
    )
    let output = try child.stream.rest()
    return (try child.exitCode(), output)
  }
}
