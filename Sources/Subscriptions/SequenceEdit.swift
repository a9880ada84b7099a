import CordialValues

/// The change of a sequence in which few elements leave, enter or move.
package struct SequenceEdit: Sendable {
  /// The sequence after the change.
  package let sequence: [Int64]
  /// The difference, which names only elements that have left, entered or moved.
  package let difference: SequenceDifference

  /// Replaces elements of a sequence.
  ///
  /// - Parameters:
  ///   - old: The sequence of distinct elements before.
  ///   - candidates: The elements that may leave, enter or move.
  ///   - offsets: Returns the candidates that belong to the sequence, in order. It gets the
  ///     sequence without the candidates, and returns each with the number of elements before it.
  /// - Throws: The errors of `offsets`.
  /// - Complexity: Linear in the sequence, with a copy of it.
  package init(
    of old: [Int64],
    candidates: Set<Int64>,
    offsets: ([Int64]) throws -> [(element: Int64, offset: Int)]
  ) rethrows {
    let leaving = Self.positions(of: candidates, in: old)
    var kept = old
    for offset in leaving.reversed() { kept.remove(at: offset) }
    let entering = try offsets(kept)
    // A candidate that stays between the same kept elements, in the same order with others there,
    // has not moved.
    var oldGaps: [Int: [Int64]] = [:]
    for (index, offset) in leaving.enumerated() {
      oldGaps[offset - index, default: []].append(old[offset])
    }
    var newGaps: [Int: [Int64]] = [:]
    for (element, offset) in entering { newGaps[offset, default: []].append(element) }
    var moving: Set<Int64> = []
    for (gap, elements) in newGaps {
      let before = oldGaps[gap] ?? []
      let local = SequenceDifference(from: before, to: elements)
      moving.formUnion(local.insertions.map(\.element))
    }
    var newOffsets: [Int64: Int] = [:]
    for (rank, entry) in entering.enumerated() { newOffsets[entry.element] = entry.offset + rank }
    let oldOffsets = Dictionary(uniqueKeysWithValues: leaving.map { (old[$0], $0) })
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

  /// Returns the offsets of elements, ascending.
  private static func positions(of elements: Set<Int64>, in sequence: [Int64]) -> [Int] {
    guard elements.count > 1 else {
      return elements.first.flatMap { sequence.firstIndex(of: $0) }.map { [$0] } ?? []
    }
    return sequence.indices.filter { elements.contains(sequence[$0]) }
  }

  private static func merged(
    _ kept: [Int64],
    _ entering: [(element: Int64, offset: Int)]
  ) -> [Int64] {
    guard let only = entering.first, entering.count == 1 else {
      var merged: [Int64] = []
      merged.reserveCapacity(kept.count + entering.count)
      var next = 0
      for (element, offset) in entering {
        merged += kept[next..<offset]
        merged.append(element)
        next = offset
      }
      merged += kept[next...]
      return merged
    }
    var merged = kept
    merged.insert(only.element, at: only.offset)
    return merged
  }
}
