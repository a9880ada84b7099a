import CordialValues

/// The change of a sequence in which few elements leave, enter or move.
package struct SequenceEdit: Sendable {
  /// The sequence after the change.
  package let sequence: ObjectSequence
  /// The difference, which names only elements that have left, entered or moved.
  package let difference: SequenceDifference

  /// Replaces elements of a sequence.
  ///
  /// - Parameters:
  ///   - old: The sequence of distinct elements before.
  ///   - candidates: The elements that may leave, enter or move.
  ///   - offsets: Receives the sequence without the candidates. Returns the candidates that belong
  ///     to the new sequence, in order, each with the number of kept elements before it.
  /// - Throws: The errors of `offsets`, and `RepeatedObject`.
  /// - Complexity: Linear in the sequence; for few candidates, only the chunks that they leave or
  ///   enter are copied.
  package init(
    of old: ObjectSequence,
    candidates: Set<Int64>,
    offsets: (ObjectSequence) throws -> [(element: Int64, offset: Int)]
  ) throws {
    let leaving = Self.positions(of: candidates, in: old)
    let kept = Self.removing(leaving, from: old)
    let entering = try offsets(kept)
    // A candidate has not moved if it stays between the same two kept elements, and keeps its order
    // relative to the other candidates there.
    var oldGaps: [Int: [Int64]] = [:]
    for (index, offset) in leaving.enumerated() {
      oldGaps[offset - index, default: []].append(old[offset])
    }
    var newGaps: [Int: [Int64]] = [:]
    for (element, offset) in entering { newGaps[offset, default: []].append(element) }
    var moving: Set<Int64> = []
    for (gap, elements) in newGaps {
      let before = oldGaps[gap] ?? []
      let local = try SequenceDifference(from: before, to: elements)
      moving.formUnion(local.insertions.map(\.element))
    }
    var newOffsets: [Int64: Int] = [:]
    for (rank, entry) in entering.enumerated() { newOffsets[entry.element] = entry.offset + rank }
    let oldOffsets = try SequenceDifference.offsets(leaving, in: old)
    difference = SequenceDifference(
      removals: leaving.reversed().compactMap { offset in
        let element = old[offset]
        guard newOffsets[element] == nil || moving.contains(element) else { return nil }
        return SequenceDifference.Removal(
          offset: offset,
          element: element,
          movedTo: newOffsets[element]
        )
      },
      insertions: entering.enumerated().compactMap { rank, entry in
        guard moving.contains(entry.element) else { return nil }
        return SequenceDifference.Insertion(
          offset: entry.offset + rank,
          element: entry.element,
          movedFrom: oldOffsets[entry.element]
        )
      }
    )
    sequence = Self.merged(kept, entering)
  }

  /// The maximum number of elements that are removed from or inserted into a copy of the sequence.
  ///
  /// With more elements, a new sequence is built.
  private static let editsMax = 64

  /// Returns the offsets of elements, ascending.
  private static func positions(of elements: Set<Int64>, in sequence: ObjectSequence) -> [Int] {
    guard elements.count > 1 else {
      return elements.first.flatMap { sequence.firstIndex(of: $0) }.map { [$0] } ?? []
    }
    return sequence.enumerated().filter { elements.contains($0.element) }.map(\.offset)
  }

  /// Returns a sequence without the elements at some offsets, given in ascending order.
  private static func removing(_ offsets: [Int], from sequence: ObjectSequence) -> ObjectSequence {
    guard offsets.count > editsMax else {
      var kept = sequence
      for offset in offsets.reversed() { kept.remove(at: offset) }
      return kept
    }
    let removed = Set(offsets)
    return ObjectSequence(
      sequence.enumerated().lazy.filter { !removed.contains($0.offset) }.map(\.element)
    )
  }

  private static func merged(
    _ kept: ObjectSequence,
    _ entering: [(element: Int64, offset: Int)]
  ) -> ObjectSequence {
    guard entering.count > editsMax else {
      var merged = kept
      for (rank, entry) in entering.enumerated() {
        merged.insert(entry.element, at: entry.offset + rank)
      }
      return merged
    }
    var merged = ObjectSequence()
    var rest = entering[...]
    for (offset, element) in kept.enumerated() {
      while let next = rest.first, next.offset <= offset {
        merged.append(next.element)
        rest.removeFirst()
      }
      merged.append(element)
    }
    for entry in rest { merged.append(entry.element) }
    return merged
  }
}
