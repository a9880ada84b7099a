import CordialValues

/// The sort positions of the members of an ordered to-many.
package enum SortPositions {
  /// Returns ascending positions that keep as many present positions as possible, if there is
  /// space.
  ///
  /// - Parameters:
  ///   - present: The current position of each member, nil for none.
  ///   - gap: The distance between new positions, if there is space.
  /// - Returns: A position for each member.
  /// - Complexity: O(*n* log *n*).
  package static func assign(_ present: [Int64?], gap: Int64) -> [Int64] {
    func assignedAgain() -> [Int64] { present.indices.map { Int64($0 + 1) * gap } }
    // Outside of this range, a new position or the distance of two positions could overflow.
    let safe = Int64.min / 4...Int64.max / 4
    for case let position? in present where !safe.contains(position) { return assignedAgain() }
    let kept = present.longestAscendingRun { $0 }
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
        // Without space between two positions, all positions are assigned again.
        guard step > 0 else { return assignedAgain() }
        positions += (0..<count).map { lower + step * ($0 + 1) }
      case (let lower?, nil): positions += (0..<count).map { lower + gap * ($0 + 1) }
      case (nil, let upper?): positions += (0..<count).map { upper - gap * (count - $0) }
      case (nil, nil): positions += (0..<count).map { gap * ($0 + 1) }
      }
      if let upper { positions.append(upper) }
    }
    return positions
  }
}
