import CordialService
import TestSeeds
import Testing

/// Sequences in which few elements leave, enter or move.
@Suite struct `The edit of a sequence` {
  /// Applies a difference as the contract says.
  private func applied(_ difference: SequenceDifference, to old: [Int64]) -> [Int64] {
    var sequence = old
    for removal in difference.removals {
      #expect(sequence[removal.offset] == removal.element)
      sequence.remove(at: removal.offset)
    }
    for insertion in difference.insertions {
      sequence.insert(insertion.element, at: insertion.offset)
    }
    return sequence
  }

  // Evidence: P-082c, P-082d
  @Test(arguments: Seeds.first(200))
  func `its difference turns the old sequence into the new one`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let old = (0..<random.below(12)).map { Int64($0) }.shuffled(using: &random)
      let candidates = Set((0..<1 + random.below(5)).map { _ in Int64(random.below(16)) })
      let edit = try SequenceEdit(of: ObjectSequence(old), candidates: candidates) { kept in
        #expect(Array(kept) == old.filter { !candidates.contains($0) })
        let entering = candidates.filter { _ in random.oneIn(2) }.shuffled(using: &random)
        let offsets = entering.map { _ in random.below(kept.count + 1) }.sorted()
        return zip(entering, offsets).map { ($0, $1) }
      }
      let comment: Comment = "\(old) \(candidates); \(Seeds.repeating(seed))"
      #expect(applied(edit.difference, to: old) == Array(edit.sequence), comment)
      let compared = try SequenceDifference(
        from: ObjectSequence(old),
        to: edit.sequence,
        moving: candidates
      )
      #expect(compared == edit.difference, comment)
      // No element is named that stays where it is, and equal sequences have no difference.
      let named = Set(edit.difference.removals.map(\.element))
        .union(edit.difference.insertions.map(\.element))
      #expect(named.isSubset(of: candidates), comment)
      #expect(edit.difference.isEmpty == (old == Array(edit.sequence)), comment)
      for removal in edit.difference.removals {
        #expect(removal.movedTo == edit.sequence.firstIndex(of: removal.element), comment)
      }
      for insertion in edit.difference.insertions {
        #expect(insertion.movedFrom == old.firstIndex(of: insertion.element), comment)
      }
    }
  }
}
