package import CordialValues

/// The objects to which a predicate limits a search; the store evaluates it.
package struct ObjectFilter {
  /// Returns those of some objects that match.
  package let matching: ([ObjectKey]) throws -> Set<ObjectKey>
  /// Returns the numbers of all objects that match, ascending, by entity.
  package let all: () throws -> [Int: [Int64]]
  /// The number of matches of the words up to which `matching` is asked about them.
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
