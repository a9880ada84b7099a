import CordialService
import CordialValues
import TestSeeds
import Testing

@Suite struct `The difference of two sequences` {
  /// Expects the wire's form of a difference: removals, then insertions; `>` and `<` are places
  /// that an element moved to or from.
  private func check(
    _ old: [Int64],
    _ new: [Int64],
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let difference = try SequenceDifference(from: old, to: new)
    let removals = difference.removals.map { removal in
      "-\(removal.element)@\(removal.offset)" + (removal.movedTo.map { ">\($0)" } ?? "")
    }
    let insertions = difference.insertions.map { insertion in
      "+\(insertion.element)@\(insertion.offset)" + (insertion.movedFrom.map { "<\($0)" } ?? "")
    }
    let text = (removals + insertions).joined(separator: " ")
    #expect(text == expected, "\(old) \(new)", sourceLocation: sourceLocation)
    #expect(difference.isEmpty == expected.isEmpty, sourceLocation: sourceLocation)
    #expect(fault(of: difference, old, new) == nil, sourceLocation: sourceLocation)
  }

  @Test func `the difference of equal sequences is empty`() throws {
    try check([], [], "")
    try check([1], [1], "")
    try check([3, 1, 2], [3, 1, 2], "")
  }

  @Test func `insertions ascend by their new offset`() throws {
    try check([], [1], "+1@0")
    try check([], [7, 5, 6], "+7@0 +5@1 +6@2")
    try check([1, 2], [0, 1, 2], "+0@0")
    try check([1, 2], [1, 9, 2], "+9@1")
    try check([1, 2], [1, 2, 9], "+9@2")
    try check([1, 2], [8, 1, 9, 2, 7], "+8@0 +9@2 +7@4")
  }

  @Test func `removals descend by their old offset`() throws {
    try check([1], [], "-1@0")
    try check([1, 2, 3], [], "-3@2 -2@1 -1@0")
    try check([1, 2, 3], [2, 3], "-1@0")
    try check([1, 2, 3], [1, 3], "-2@1")
    try check([1, 2, 3, 4, 5], [2, 4], "-5@4 -3@2 -1@0")
  }

  @Test func `a moved element is a removal and an insertion with each other's offset`() throws {
    try check([1, 2, 3], [2, 3, 1], "-1@0>2 +1@2<0")
    try check([1, 2, 3], [3, 1, 2], "-3@2>0 +3@0<2")
    try check([1, 2, 3, 4], [1, 3, 4, 2], "-2@1>3 +2@3<1")
    try check([0, 1, 2, 3, 9], [0, 3, 1, 2, 9], "-3@3>1 +3@1<3")
  }

  @Test func `a replacement is a removal and an insertion at one offset`() throws {
    try check([1, 2, 3], [1, 9, 3], "-2@1 +9@1")
    try check([1], [2], "-1@0 +2@0")
  }

  /// A window of three over a longer result: one slides in as another is pushed out.
  @Test func `a window gains and loses elements at its edges`() throws {
    try check([1, 2, 3], [9, 1, 2], "-3@2 +9@0")
    try check([1, 2, 3], [2, 3, 4], "-1@0 +4@2")
  }

  /// A damaged file can have an object twice.
  @Test func `a repeated element is an error`() throws {
    func repeated(_ body: () throws -> Void) -> Int64? {
      #expect(throws: RepeatedObject.self, performing: body)?.number
    }
    #expect(repeated { _ = try SequenceDifference(from: [1, 2, 1], to: [3]) } == 1)
    #expect(repeated { _ = try SequenceDifference(from: [3], to: [4, 5, 4]) } == 4)
    #expect(
      repeated { _ = try SequenceDifference(from: [6, 7, 7], to: [8], moving: [7]) } == 7
    )
    let edit = { _ = try SequenceEdit(of: [1, 2, 2, 3], candidates: [1, 2]) { _ in [] } }
    #expect(repeated(edit) == 2)
    // What both sequences have at the same places is not compared.
    #expect(try SequenceDifference(from: [1, 1, 2], to: [1, 1]).removals.map(\.offset) == [2])
  }

  /// Every pair of arrangements of up to four out of four: 65 times 65.
  @Test func `the difference of short sequences is correct and minimal`() throws {
    let all = arrangements(of: [1, 2, 3, 4])
    #expect(all.count == 65)
    for old in all {
      for new in all {
        let difference = try SequenceDifference(from: old, to: new)
        if let fault = fault(of: difference, old, new) {
          Issue.record("\(old) \(new): \(fault)")
        }
        let kept = longestCommon(old[...], new[...])
        if difference.removals.count != old.count - kept
          || difference.insertions.count != new.count - kept
        {
          Issue.record("\(old) \(new): \(difference) keeps fewer than \(kept)")
        }
      }
    }
  }

  // Evidence: P-082c, P-082d
  @Test(arguments: Seeds.first(50))
  func `the difference of random sequences turns the old one into the new one`(seed: UInt64) throws
  {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20 {
      let universe = (1...Int64(1 + random.below(60))).map { $0 &* 7919 }
      let old = universe.filter { _ in random.oneIn(2) }.shuffled(using: &random)
      var new = old
      switch random.below(4) {
      case 0: new = universe.filter { _ in random.oneIn(2) }.shuffled(using: &random)
      case 1: new.shuffle(using: &random)
      case 2: new.reverse()
      default:
        for _ in 0..<1 + random.below(4) {
          if !new.isEmpty { new.remove(at: random.below(new.count)) }
          let fresh = universe.filter { !new.contains($0) }
          if !fresh.isEmpty { new.insert(random.pick(fresh), at: random.below(new.count + 1)) }
        }
      }
      let difference = try SequenceDifference(from: old, to: new)
      let fault = fault(of: difference, old, new)
      #expect(fault == nil, "\(old) \(new); \(Seeds.repeating(seed))")
      let kept = longestCommon(old[...], new[...])
      #expect(difference.removals.count == old.count - kept, "\(Seeds.repeating(seed))")
      #expect(difference.insertions.count == new.count - kept, "\(Seeds.repeating(seed))")
    }
  }

  @Test func `the difference of long sequences takes less than quadratic time`() throws {
    let old = (0..<100_000).map { Int64($0) }
    let new = Array(old.reversed())
    let difference = try SequenceDifference(from: old, to: new)
    #expect(difference.removals.count == 99_999)
    #expect(difference.insertions.count == 99_999)
  }

  // MARK: What a difference has to be

  /// What is wrong with a difference; nil when a client that applies it has the new sequence.
  private func fault(of difference: SequenceDifference, _ old: [Int64], _ new: [Int64]) -> String? {
    var applied = old
    var previous = Int.max
    for removal in difference.removals {
      guard removal.offset < previous else { return "removals don't descend" }
      previous = removal.offset
      guard applied.indices.contains(removal.offset) else { return "\(removal) is outside" }
      guard applied.remove(at: removal.offset) == removal.element else { return "\(removal)" }
      guard removal.movedTo == new.firstIndex(of: removal.element) else { return "\(removal)" }
    }
    previous = -1
    for insertion in difference.insertions {
      guard insertion.offset > previous else { return "insertions don't ascend" }
      previous = insertion.offset
      guard insertion.offset <= applied.count else { return "\(insertion) is outside" }
      applied.insert(insertion.element, at: insertion.offset)
      guard insertion.movedFrom == old.firstIndex(of: insertion.element) else {
        return "\(insertion)"
      }
    }
    return applied == new ? nil : "makes \(applied)"
  }

  /// The length of a longest common subsequence, by the textbook's table.
  private func longestCommon(_ old: ArraySlice<Int64>, _ new: ArraySlice<Int64>) -> Int {
    var row = Array(repeating: 0, count: new.count + 1)
    for element in old {
      var diagonal = 0
      for (index, other) in new.enumerated() {
        let above = row[index + 1]
        row[index + 1] = element == other ? diagonal + 1 : max(above, row[index])
        diagonal = above
      }
    }
    return row[new.count]
  }

  private func arrangements(of elements: [Int64]) -> [[Int64]] {
    [[]]
      + elements.flatMap { first in
        arrangements(of: elements.filter { $0 != first }).map { [first] + $0 }
      }
  }
}
