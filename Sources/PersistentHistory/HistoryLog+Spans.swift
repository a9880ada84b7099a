package import CordialValues

/// The first and the last commit that changed each object in a range of commits.
extension HistoryLog {
  /// Returns the combined changes after the commit `from` up to the commit `through`, and the first
  /// and the last commit that changed each object.
  ///
  /// - Parameters:
  ///   - from: The commit after which the changes begin.
  ///   - through: The commit with which the changes end; both commits are sealed.
  /// - Returns: The change set, and the first and last commit for every changed object, including
  ///   objects that were inserted and then deleted; nil if the log does not reach back to `from`.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged between the two commits.
  package func changesWithSpans(
    from: Int64,
    through: Int64
  ) throws -> (set: ChangeSet, spans: [ObjectKey: ClosedRange<Int64>])? {
    guard let range = try changeRange(from: from, through: through) else { return nil }
    var commits: [(number: Int64, lastChange: Int64)] = []
    try eachEntry(after: from, through: through) { commits.append(($0.number, $0.lastChange)) }
    var set = ChangeSet(from: from, through: through)
    var spans: [ObjectKey: ClosedRange<Int64>] = [:]
    var names = LoggedNames()
    var current = 0
    try eachRow(after: range.after, through: range.through) { row in
      while current < commits.count - 1, commits[current].lastChange < row.number { current += 1 }
      guard commits.indices.contains(current) else { return }
      let commit = commits[current].number
      for change in row.changes(in: self.model, &names) {
        set.add(change)
        // A damaged B-tree may return the commits out of order.
        let span = spans[change.key] ?? commit...commit
        spans[change.key] = min(span.lowerBound, commit)...max(span.upperBound, commit)
      }
    }
    return (set, spans)
  }
}
