import Foundation
import TestSeeds
import Testing

/// Random models and random operations, compared with a plain model of the contract.
///
/// - `CORDIAL_SEEDS=2000` runs more seeds than 24, `CORDIAL_SEED=7` that one.
/// - `CORDIAL_FEATURES=swaps,-asOf` turns features of `ModelFeatures.all` on or off.
/// - `CORDIAL_VERBOSE=1` adds the model and all operations to a failure.
@Suite struct `A store does what a plain model of it does` {
  enum Rows: CaseIterable {
    case oneByOne
    /// The way that requests with thousands of rows take, with two rows.
    case together
  }

  private static let seedsAtOnce = 8

  private static var seeds: [UInt64] {
    let count = ProcessInfo.processInfo.environment["CORDIAL_SEEDS"].flatMap { UInt64($0) }
    return Seeds.first(count ?? 24)
  }

  // Evidence: P-060, P-061, P-062, P-063, P-064, P-065, P-069, P-070, P-071, P-119, P-121, P-122
  // Evidence: P-124, P-125, P-126, P-127
  @Test(arguments: Rows.allCases)
  func `random operations`(rows: Rows) async {
    let coverage = ModelCoverage()
    let seeds = Self.seeds
    for start in stride(from: 0, to: seeds.count, by: Self.seedsAtOnce) {
      await withTaskGroup(of: Void.self) { group in
        for seed in seeds[start..<min(start + Self.seedsAtOnce, seeds.count)] {
          group.addTask {
            do {
              let run = try ModelRun(seed, rowsTogether: rows == .together, coverage)
              try await run.run(steps: 60)
            } catch {
              Issue.record("\(error)\n\(Seeds.repeating(seed, "random operations"))")
            }
          }
        }
      }
    }
    print("Random operations, rows \(rows):\n\(coverage.text)")
    for line in coverage.excessive { Issue.record("\(line)") }
  }
}
