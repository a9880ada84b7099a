package import CordialValues

/// The objects to which a predicate limits a search; the store evaluates it.
package struct ObjectFilter {
  /// Returns the matching objects among some objects.
  package let matching: ([ObjectKey]) throws -> Set<ObjectKey>
  /// Returns the numbers of all matching objects in ascending order, by entity number.
  package let all: () throws -> [Int: [Int64]]
  /// The maximum count of word matches for which a search calls `matching` rather than `all`.
  package let matchesMax: Int64

  package init(
    matchesMax: Int64 = 10_000,
    matching: @escaping ([ObjectKey]) throws -> Set<ObjectKey>,
    all: @escaping () throws -> [Int: [Int64]]
  ) {
    self.matchesMax = matchesMax
    self.matching = matching
    self.all = all
  }
}
