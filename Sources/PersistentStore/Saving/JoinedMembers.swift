/// The members of a to-many in the order in which they joined it; joining and leaving take constant
/// time.
struct JoinedMembers {
  private var places: [Int64: Int] = [:]
  private var next = 0

  var count: Int { places.count }

  /// The numbers of the members, in order.
  var inOrder: [Int64] {
    places.sorted { $0.value < $1.value }.map(\.key)
  }

  func contains(_ member: Int64) -> Bool { places[member] != nil }

  /// Adds a member at the end; an existing member keeps its position.
  mutating func append(_ member: Int64) {
    guard places[member] == nil else { return }
    places[member] = next
    next += 1
  }

  /// Removes a member.
  ///
  /// - Returns: Whether it was a member.
  @discardableResult
  mutating func remove(_ member: Int64) -> Bool { places.removeValue(forKey: member) != nil }
}
