import CordialValues

/// The difference between two sequences of objects, in the form of the protocol.
package struct SequenceDifference: Sendable, Equatable {
  /// An element that is removed from its old offset.
  package struct Removal: Sendable, Equatable {
    /// The element's offset in the old sequence.
    package let offset: Int
    package let element: Int64
    /// The element's offset in the new sequence, or nil if it is not there.
    package let movedTo: Int?
  }

  /// An element that is inserted at its new offset.
  package struct Insertion: Sendable, Equatable {
    /// The element's offset in the new sequence.
    package let offset: Int
    package let element: Int64
    /// The element's offset in the old sequence, or nil if it was not there.
    package let movedFrom: Int?
  }

  /// The removals by descending old offset.
  package let removals: [Removal]
  /// The insertions by ascending new offset.
  package let insertions: [Insertion]

  package var isEmpty: Bool { removals.isEmpty && insertions.isEmpty }

  /// Creates the difference of equal sequences.
  package init() { self.init(removals: [], insertions: []) }

  init(removals: [Removal], insertions: [Insertion]) {
    self.removals = removals
    self.insertions = insertions
  }

  /// Compares two sequences of distinct elements of which only some may have moved.
  ///
  /// The difference equals the difference of a `SequenceEdit`. The initializer returns nil if
  /// elements outside `moving` have moved.
  ///
  /// - Parameters:
  ///   - old: The sequence before.
  ///   - new: The sequence after.
  ///   - moving: The elements that may have moved.
  /// - Throws: `RepeatedObject`.
  /// - Complexity: Linear in the sequences, and O(n log n) in the moving elements.
  package init?(from old: ObjectSequence, to new: ObjectSequence, moving: Set<Int64>) throws {
    let (before, after) = (old.elements, new.elements)
    let (start, tail) = Self.common(before, after)
    let (oldPart, newPart) = (
      before[start..<before.count - tail], after[start..<after.count - tail]
    )
    var candidates = Set(oldPart).symmetricDifference(newPart)
    for element in oldPart where moving.contains(element) { candidates.insert(element) }
    guard
      oldPart.filter({ !candidates.contains($0) }) == newPart.filter({ !candidates.contains($0) })
    else { return nil }
    let placed = after.enumerated().filter { candidates.contains($0.element) }.enumerated()
      .map { (element: $1.element, offset: $1.offset - $0) }
    self = try SequenceEdit(of: old, candidates: candidates) { _ in placed }.difference
  }

  /// Returns the length of the common prefix, and of the common suffix after the prefix.
  private static func common(_ old: [Int64], _ new: [Int64]) -> (start: Int, tail: Int) {
    var start = 0
    while start < old.count, start < new.count, old[start] == new[start] { start += 1 }
    var tail = 0
    while tail < old.count - start, tail < new.count - start,
      old[old.count - 1 - tail] == new[new.count - 1 - tail]
    {
      tail += 1
    }
    return (start, tail)
  }

  /// Returns the elements at the given offsets, each with its offset.
  ///
  /// - Throws: `RepeatedObject` if an element is at two offsets.
  static func offsets<Sequence: RandomAccessCollection>(
    _ offsets: some Collection<Int>,
    in sequence: Sequence
  ) throws -> [Int64: Int] where Sequence.Element == Int64, Sequence.Index == Int {
    try Dictionary(offsets.lazy.map { (sequence[$0], $0) }) { first, _ in
      throw RepeatedObject(number: sequence[first])
    }
  }

  /// Compares two sequences of distinct elements.
  ///
  /// The difference moves as few elements as possible: the elements outside a longest increasing
  /// subsequence of old offsets.
  ///
  /// - Parameters:
  ///   - old: The sequence before.
  ///   - new: The sequence after.
  /// - Throws: `RepeatedObject`.
  /// - Complexity: Linear in the sequences, and O(n log n) between their common prefix and suffix.
  package init(from old: ObjectSequence, to new: ObjectSequence) throws {
    try self.init(from: old.elements, to: new.elements)
  }

  /// Compares two lists as `init(from:to:)` compares sequences.
  package init(from old: [Int64], to new: [Int64]) throws {
    let (start, tail) = Self.common(old, new)
    let oldRange = start..<old.count - tail
    let newRange = start..<new.count - tail
    guard !oldRange.isEmpty || !newRange.isEmpty else {
      removals = []
      insertions = []
      return
    }
    let oldOffsets = try Self.offsets(oldRange, in: old)
    let newOffsets = try Self.offsets(newRange, in: new)
    let common = newRange.filter { oldOffsets[new[$0]] != nil }
    let kept = common.longestAscendingRun { oldOffsets[new[$0]] }
    let unmoved = Set(kept.map { new[common[$0]] })
    removals = oldRange.reversed().filter { !unmoved.contains(old[$0]) }.map {
      Removal(offset: $0, element: old[$0], movedTo: newOffsets[old[$0]])
    }
    insertions = newRange.filter { !unmoved.contains(new[$0]) }.map {
      Insertion(offset: $0, element: new[$0], movedFrom: oldOffsets[new[$0]])
    }
  }
}
