import Foundation
import Testing

@Suite struct `Processes killed while they save` {
  /// How many rounds there are, each of which kills one process or two; 0 stands for no end.
  private static let roundCount = number("CORDIAL_TORTURE_ROUNDS") ?? 120

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  // Evidence: P-060a, P-066b, P-067b, P-070b, P-072
  @Test func `leave every acknowledged save exactly once and complete`() throws {
    let seed = Self.number("CORDIAL_TORTURE_SEED") ?? Int.random(in: 1...9999)
    print("CORDIAL_TORTURE_SEED=\(seed)")
    let torture = try Torture(seed: UInt64(truncatingIfNeeded: seed))
    var round = 0
    do {
      while round < Self.roundCount || Self.roundCount == 0 {
        round += 1
        try torture.round()
      }
      try torture.end()
      #expect(torture.killCount >= Self.roundCount)
    } catch {
      Issue.record("Round \(round), CORDIAL_TORTURE_SEED=\(seed): \(error)")
    }
  }
}
