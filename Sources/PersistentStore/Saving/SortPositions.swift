/// The sort positions of the members of an ordered to-many.
package enum SortPositions {
  /// Assigns ascending positions, most of them the present ones.
  ///
  /// - Parameters:
  ///   - present: The position that each member has now, nil for none.
  ///   - gap: How far apart new positions are where there is room.
  /// - Returns: A position for each member.
  /// - Complexity: O(*n* log *n*).
  package static func assign(_ present: [Int64?], gap: Int64) -> [Int64] {
    let kept = longestAscending(present)
    var positions: [Int64] = []
    positions.reserveCapacity(present.count)
    for (before, next) in zip([nil] + kept.map { Optional($0) }, kept.map { Optional($0) } + [nil])
    {
      let count = Int64((next ?? present.count) - (before.map { $0 + 1 } ?? 0))
      let lower = before.flatMap { present[$0] }
      let upper = next.flatMap { present[$0] }
      switch (lower, upper) {
      case (let lower?, let upper?):
        let step = (upper - lower) / (count + 1)
        // Without room, every position is assigned again.
        guard step > 0 else { return present.indices.map { Int64($0 + 1) * gap } }
        positions += (0..<count).map { lower + step * ($0 + 1) }
      case (let lower?, nil): positions += (0..<count).map { lower + gap * ($0 + 1) }
      case (nil, let upper?): positions += (0..<count).map { upper - gap * (count - $0) }
      case (nil, nil): positions += (0..<count).map { gap * ($0 + 1) }
      }
      if let upper { positions.append(upper) }
    }
    return positions
  }

  /// Returns the indices of as many positions as possible that ascend.
  private static func longestAscending(_ positions: [Int64?]) -> [Int] {
    /// For each length, the index of the smallest position with which such a run ends.
    var ends: [Int] = []
    var previous = Array(repeating: -1, count: positions.count)
    for (index, position) in positions.enumerated() {
      guard let position else { continue }
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if (positions[ends[middle]] ?? 0) < position { low = middle + 1 } else { high = middle }
      }
      previous[index] = low > 0 ? ends[low - 1] : -1
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var run: [Int] = []
    var index = ends.last ?? -1
    while index >= 0 {
      run.append(index)
      index = previous[index]
    }
    return run.reversed()
  }
}
