import SQLite

/// A range of change numbers that begins after the last change of a commit.
package struct ChangeRange: Sendable, Hashable {
  /// The number of the change before the range.
  package let after: Int64
  /// The number of the last change in the range; equal to `after` if the range is empty.
  package let through: Int64

  package var count: Int { Int(through - after) }
  package var isEmpty: Bool { through == after }

  /// Creates a range.
  ///
  /// - Throws: `SQLiteError` if `through` is less than `after` or `after` is negative; only a
  ///   damaged file contains such numbers.
  package init(after: Int64, through: Int64) throws {
    guard after >= 0, after <= through else {
      throw SQLiteError(.corrupt, "An entry of the history ends before its predecessor")
    }
    self.after = after
    self.through = through
  }
}
