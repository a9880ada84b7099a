import Foundation
import Testing

// Evidence: P-135h
@Suite struct `The memory of the command line` {
  private static let model = """
    {"name":"M","entities":[{"name":"Note","attributes":[{"name":"text","type":"string"}],
      "relationships":[{"name":"next","destination":"Note","optional":true}]}]}
    """
  /// The resident memory that a command may have, in KiB.
  private static let peakMax = 200 << 10

  /// Writes a file of 40,000 objects, each 4 kB long, and returns its path.
  private func file(_ fixture: Fixture) throws -> String {
    let path = fixture.path("notes.jsonl")
    let text = String(repeating: "x", count: 4000)
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    for first in stride(from: 0, to: 40_000, by: 1000) {
      let lines = (first..<(first + 1000)).map { number in
        #"{"id":"Note/\#(number)","values":{"text":"\#(text)","next":"Note/\#(number + 1)"}}"#
      }
      try handle.write(contentsOf: Data((lines.joined(separator: "\n") + "\n").utf8))
    }
    try handle.close()
    return path
  }

  /// Waits for the end of a command that succeeds, and returns the greatest resident memory that
  /// it had, in KiB.
  ///
  /// What the system reports at the end also counts the process that started the command.
  private func peak(_ child: Child) throws -> Int {
    var peak = 0
    var said = ""
    while !child.errors.hasEnded {
      said += child.errors.availableText()
      // The line is missing as soon as the process ends.
      let status = String(
        decoding: FileManager.default.contents(atPath: "/proc/\(child.process)/status") ?? Data(),
        as: UTF8.self
      )
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
      peak = max(peak, line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
      usleep(5000)
    }
    guard try child.exitCode() == 0 else { throw Failure("it failed: \(said)") }
    #expect(peak > 1000)
    return peak
  }

  @Test(arguments: [false, true])
  func `does not grow with the file of an import`(isPipe: Bool) throws {
    let fixture = try Fixture()
    let file = try file(fixture)
    let model = try fixture.write(Self.model, to: "M.json")
    let store = fixture.path("S")
    let piped = #"exec "$0" import "$1" --model "$2" < <(cat "$3")"#
    let child =
      isPipe
      ? try Child(
        ["-c", piped, Child.binary, store, model, file],
        program: "bash",
        input: .nothing
      )
      : try Child(["import", store, file, "--model", model], input: .nothing)
    #expect(try peak(child) <= Self.peakMax)
    let count = try fixture.run(["fetch", fixture.path("S"), "Note", "--count"])
    #expect(count.output == "40000\n")
  }

  @Test func `does not grow with the archive of an import`() throws {
    let fixture = try Fixture()
    let model = try fixture.write(Self.model, to: "M.json")
    let file = try file(fixture)
    #expect(try fixture.run(["import", fixture.path("S"), file, "--model", model]).code == 0)
    for (flags, name) in [(["--archive"], "A"), (["--archive", "--history"], "H")] {
      let archive = fixture.path(name + ".archive")
      let arguments = ["export", fixture.path("S")] + flags
      let export = try Child(arguments, input: .nothing, output: archive)
      #expect(try peak(export) <= Self.peakMax, "export \(flags)")
      let restore = try Child(["import", fixture.path(name), archive], input: .nothing)
      #expect(try peak(restore) <= Self.peakMax, "import \(flags)")
    }
  }
}
