import Foundation
import TestSeeds
import Testing

/// The seeds of the tests of random models, several at once.
enum WideSeeds {
  private static let seedsAtOnce = 4

  /// Runs a body for that many seeds, or for those of the environment.
  static func each(
    _ count: UInt64,
    _ test: String = #function,
    _ body: @escaping @Sendable (UInt64) async throws -> Void
  ) async throws {
    let seeds = Seeds.first(count)
    for start in stride(from: 0, to: seeds.count, by: seedsAtOnce) {
      await withTaskGroup(of: Void.self) { group in
        for seed in seeds[start..<min(start + seedsAtOnce, seeds.count)] {
          group.addTask {
            do {
              try await body(seed)
            } catch {
              Issue.record("\(error)\n\(Seeds.repeating(seed, test))")
            }
          }
        }
      }
    }
  }
}
