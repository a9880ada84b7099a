import Foundation
import Testing

@Suite struct `A program that migrates a store` {
  // Evidence: P-117s
  @Test func `has the usual signals, and no descriptor but its standard streams`() throws {
    let fixture = try Fixture()
    func model(_ version: Int, _ more: String) throws -> String {
      let text = """
        {"name":"M","version":"\(version)","entities":[
          {"name":"A","attributes":[{"name":"t","type":"string"}\(more)]}]}
        """
      return try fixture.write(text, to: "\(version).json")
    }
    let store = try fixture.store(model: try model(1, ""))
    let second = try model(2, #",{"name":"u","type":"int64","optional":true}"#)
    let program = fixture.path("program")
    let text = try fixture.write(
      """
      #!/bin/sh
      grep Sig /proc/self/status >"\(fixture.path("signals"))"
      ls /proc/self/fd >"\(fixture.path("descriptors"))"
      exec cat
      """,
      to: "program.txt"
    )
    // A program that another test starts meanwhile may inherit the descriptor with which this
    // process writes a file, and the system runs no file that is open for writing. Therefore `cp`
    // makes the program. The shell also opens descriptors that the command inherits.
    let child = try Child(
      [
        "-c",
        "cp '\(text)' '\(program)'; chmod 700 '\(program)'; exec 7</dev/null 9</dev/null; "
          + "exec \"$0\" \"$@\"",
        Child.binary, "model", "migrate", store, "--model", second, "--with", program,
      ],
      program: "sh",
      input: .nothing
    )
    let code = try child.exitCode()
    let said = try child.errorText()
    #expect(code == 0, "\(said)")
    let descriptors = try String(contentsOfFile: fixture.path("descriptors"), encoding: .utf8)
    // `ls` itself opens the folder.
    #expect(descriptors.split(separator: "\n") == ["0", "1", "2", "3"])
    let signals = try String(contentsOfFile: fixture.path("signals"), encoding: .utf8)
    for (name, isSet) in [("SigBlk", { $0 != 0 }), ("SigIgn", { $0 & 1 << (SIGPIPE - 1) != 0 })]
      as [(String, (UInt64) -> Bool)]
    {
      let line = try #require(signals.split(separator: "\n").first { $0.hasPrefix(name) })
      let mask = try #require(UInt64(line.split(separator: "\t").last ?? "", radix: 16))
      #expect(!isSet(mask), "\(line)")
    }
  }
}
