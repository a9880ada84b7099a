import CordialValues
import TestSeeds
import Testing

@Suite struct `The longest ascending run` {
  @Test(
    arguments: [
      ([], []), ([5], [0]), ([1, 2, 3], [0, 1, 2]), ([2, 2, 2], [2]),
      ([3, 1, 2, 5, 0], [1, 2, 3]),
      ([nil, 4, nil, 6], [1, 3]), ([nil], []),
    ] as [([Int?], [Int])]
  )
  func `a known sequence has a known run`(values: [Int?], expected: [Int]) {
    #expect(values.longestAscendingRun { $0 } == expected)
  }

  @Test func `random sequences have runs as long as every subset shows`() {
    var random = SplitMix64(seed: 20)
    for _ in 0..<300 {
      let values = (0..<Int.random(in: 0...10, using: &random)).map { _ in
        Int.random(in: 0...3, using: &random) == 0 ? nil : Int.random(in: 0...8, using: &random)
      }
      let run = values.longestAscendingRun { $0 }
      let picked = run.map { values[$0] ?? -1 }
      #expect(zip(picked, picked.dropFirst()).allSatisfy { $0 < $1 }, "\(values)")
      #expect(zip(run, run.dropFirst()).allSatisfy { $0 < $1 }, "\(values)")
      let best = (0..<(1 << values.count)).map { subset -> Int in
        let chosen = values.indices.filter { subset >> $0 & 1 == 1 }.map { values[$0] }
        let known = chosen.compactMap { $0 }
        let ascends = zip(known, known.dropFirst()).allSatisfy { $0 < $1 }
        return ascends && known.count == chosen.count ? chosen.count : 0
      }.max()
      #expect(run.count == best, "\(values)")
    }
  }
}
