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

  // Evidence: P-060a, P-061a, P-062c, P-063a, P-063f, P-064a, P-065c, P-069a, P-069b, P-069g, P-070b
  // Evidence: P-071b, P-119a, P-121a, P-122a, P-124b, P-125a, P-126a, P-127a
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
