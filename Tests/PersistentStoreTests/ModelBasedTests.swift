import Foundation
import TestSeeds
import Testing

/// Random models and random operations, compared with a plain model of the contract.
@Suite struct `A store does what a plain model of it does` {
  private static var seeds: [UInt64] {
    let count = ProcessInfo.processInfo.environment["CORDIAL_SEEDS"].flatMap { UInt64($0) }
    return Seeds.first(count ?? 24)
  }

  // Evidence: P-060, P-061, P-062, P-063, P-064, P-065, P-069, P-070, P-071, P-119, P-121, P-122
  // Evidence: P-124, P-125, P-126, P-127
  @Test func `random operations`() async throws {
    for seed in Self.seeds {
      let run = try ModelRun(seed, rowsTogether: false, test: "random operations")
      try await run.run(steps: 60)
    }
    for line in ModelCoverage.shared.excessive { Issue.record("\(line)") }
  }

  /// The way that requests with thousands of rows take, with two rows.
  @Test func `random operations, rows written together`() async throws {
    for seed in Self.seeds {
      let run = try ModelRun(seed, rowsTogether: true, test: "random operations")
      try await run.run(steps: 60)
    }
  }
}
