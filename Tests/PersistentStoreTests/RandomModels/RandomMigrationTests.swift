import Foundation
import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

/// Random models, random objects, and random next versions of the models.
///
/// `CORDIAL_SEEDS=2000` runs more seeds, `CORDIAL_SEED=7` that one.
@Suite struct `Random models migrate as the contract says` {
  // Evidence: P-117b, P-117c, P-117j, P-117l, P-118a
  @Test func `migrations between random versions`() async throws {
    let coverage = ModelCoverage()
    let test = #function
    try await WideSeeds.each(60) { seed in
      var run = try WideMigrationRun(seed, coverage, test)
      try await run.run(versions: 3)
    }
    print("Random migrations:\n\(coverage.text)")
  }

  // Evidence: P-117f, P-117j
  @Test func `a migration through a chain of random versions`() async throws {
    let coverage = ModelCoverage()
    let test = #function
    try await WideSeeds.each(40) { seed in
      var run = try WideMigrationRun(seed, coverage, test)
      try await run.runChain()
    }
    print("Random chains:\n\(coverage.text)")
  }
}
