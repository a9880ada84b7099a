import CordialService
import TestSeeds
import Testing

/// Long sequences in chunks, beside arrays.
@Suite struct `A sequence of objects` {
  // Evidence: P-082c
  @Test(arguments: Seeds.first(20))
  func `has the elements of an array after the same edits`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    // Several chunks, of which edits empty and split some.
    var array = (0..<random.below(5000)).map { Int64($0) }
    var sequence = ObjectSequence(array)
    for number in 0..<4000 {
      let copy = sequence
      let before = array.count
      if array.isEmpty || random.oneIn(random.oneIn(2) ? 2 : 4) {
        let offset = random.oneIn(2) ? random.below(array.count + 1) : min(700, array.count)
        array.insert(Int64(10_000 + number), at: offset)
        sequence.insert(Int64(10_000 + number), at: offset)
      } else {
        let offset = random.oneIn(2) ? random.below(array.count) : 0
        array.remove(at: offset)
        sequence.remove(at: offset)
      }
      #expect(copy.count == before && sequence.count == array.count)
    }
    let comment: Comment = "\(Seeds.repeating(seed))"
    #expect(Array(sequence) == array, comment)
    #expect(sequence == ObjectSequence(array), comment)
    for offset in array.indices where offset % 97 == 0 {
      #expect(sequence[offset] == array[offset], comment)
      #expect(sequence.firstIndex(of: array[offset]) == offset, comment)
    }
    #expect(sequence.firstIndex(of: -1) == nil, comment)
  }
}
