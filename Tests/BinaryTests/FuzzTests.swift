import Foundation
import Glibc
import Testing

@Suite struct `Messages of any shape over a socket` {
  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  // Evidence: P-012a, P-019c
  @Test func `leave the process alive and the store without faults`() throws {
    let seed = Self.number("CORDIAL_SEED") ?? .random(in: 1...9999)
    let count = Self.number("CORDIAL_FUZZ_MESSAGES") ?? 10_000
    print("CORDIAL_SEED=\(seed) CORDIAL_FUZZ_MESSAGES=\(count)")
    let fixture = try Fixture()
    let store = try fixture.store(model: try fixture.write(FuzzCorpus.model, to: "Fuzz.json"))
    let daemon = try fixture.daemon(store, ["--history-days", "0"])
    let process = daemon.child.process
    let fuzz = Fuzz(daemon, folder: fixture.folder, seed: seed, messages: Int(count))
    let inserted = try fuzz.run()
    #expect(inserted > 100_000)
    let peer = try daemon.connect()
    #expect(try peer.call("index/verify")["differences"] == [])
    #expect(try peer.call("store/verify")["problems"] == [])
    #expect(kill(process, 0) == 0)
    daemon.child.signal(SIGTERM)
    #expect(try daemon.child.exitCode() == 0)
    let folders = try FileManager.default.contentsOfDirectory(atPath: fixture.folder)
    #expect(Set(folders).isSubset(of: ["Test.cordial", "Fuzz.json", "b0", "b1", "b2", "none"]))
  }
}
